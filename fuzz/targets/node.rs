//! Any bytes as a protobuf `v1.Node`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stowage_fuzz::walk::node(bytes));
