#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| supergat_fuzz::table_files(bytes));
