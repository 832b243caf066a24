//! Tests of training over several processes, which are threads here.

mod cluster;
#[path = "../../../supergat-cpu/tests/engine/common.rs"]
#[allow(dead_code)]
mod common;
mod options;

/// Runs all tests of this binary again with portable code and with AVX2.
#[test]
fn passes_on_lesser_instruction_sets() {
    common::repeat_on_lesser_instruction_sets(Some("passes_on_lesser_instruction_sets"));
}
