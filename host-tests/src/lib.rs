//! A faithful local host for modules made for kube-scheduler-wasm-extension, and a scheduling loop around it.

mod builtin;
pub mod framework;
pub mod host;
pub mod object;
pub mod openb;
mod protobuf;
pub mod publisher;
pub mod scheduler;
pub mod simulation;

pub use builtin::builtin_module;
