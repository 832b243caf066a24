//! Tests of the engine through its public types.

mod common;
mod constraints;
mod determinism;
mod gradients;
mod parity;
mod properties;

/// Runs all tests of this binary again with each instruction set that the processor's best one includes.
#[test]
fn passes_on_lesser_instruction_sets() {
    common::repeat_on_lesser_instruction_sets("passes_on_lesser_instruction_sets");
}
