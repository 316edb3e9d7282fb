//! Any bytes as a node-state document.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stowage_fuzz::walk::node_state(bytes));
