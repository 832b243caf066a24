//! Fuzzer of the target that the environment variable `TARGET` names; `./run` builds and starts it.

#![no_main]

use std::sync::LazyLock;
use supergat_fuzz::{TARGETS, Target};

static READER: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    let known = || TARGETS.map(|(known, _)| known).join(", ");
    TARGETS.into_iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("TARGET must be one of {}", known())).1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| READER(bytes));
