//! The policies. Pure: plain data in, a decision with its reason out; no wasm, no JSON, no protobuf.

pub mod binpack;
pub mod gang;
pub mod packing;
pub mod portion;
pub mod qos;
