//! Any bytes as JSON, beside serde_json.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stowage_fuzz::walk::json(bytes));
