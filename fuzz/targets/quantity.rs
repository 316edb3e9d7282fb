//! Any text as a quantity.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| stowage_fuzz::walk::quantity(text));
