//! Tests of the engine through its public types.

mod attention_v2;
mod common;
mod constraints;
mod depth;
mod determinism;
mod gradients;
mod label_input;
mod order;
mod parity;
mod precision;
mod properties;
mod resume;

/// Runs all tests of this binary again with portable code and with AVX2.
#[test]
fn passes_on_lesser_instruction_sets() {
    common::repeat_on_lesser_instruction_sets(Some("passes_on_lesser_instruction_sets"));
}
