//! Fuzzer of the target that the environment variable `TARGET` names; `./run` builds and starts it.

#![no_main]

use std::sync::LazyLock;

static READER: LazyLock<fn(&[u8]) -> bool> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    supergat_fuzz::target(&name).unwrap_or_else(|known| panic!("TARGET must be one of {known}"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    READER(bytes);
});
