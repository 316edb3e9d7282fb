//! The module that the `stowage` command carries.

/// The policy module, as built from this tree with the profile it ships with.
#[must_use]
pub fn builtin_module() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/stowage.wasm"))
}
