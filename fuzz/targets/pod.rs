//! Any bytes as a protobuf `v1.Pod`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stowage_fuzz::walk::pod(bytes));
