//! Any bytes as the pod and the node of whole scheduling cycles.
#![no_main]

libfuzzer_sys::fuzz_target!(|objects: (Vec<u8>, Vec<u8>)| {
    stowage_fuzz::walk::cycle::cycle(&objects.0, &objects.1);
});
