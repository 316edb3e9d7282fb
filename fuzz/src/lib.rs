//! What the targets call: the functions that the property tests run too.

#[path = "../../plugin/tests/walk/mod.rs"]
pub mod walk;
