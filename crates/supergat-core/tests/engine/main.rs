//! Tests of the engine through its public types.

mod common;
mod constraints;
mod determinism;
mod gradients;
mod parity;
mod properties;

/// Runs all tests of this binary again with portable code and with AVX2.
#[test]
fn passes_on_lesser_instruction_sets() {
    common::repeat_on_lesser_instruction_sets(Some("passes_on_lesser_instruction_sets"));
}
