//! Any bytes as a policy document.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stowage_fuzz::walk::config(bytes));
