//! A faithful local host for modules made for kube-scheduler-wasm-extension, and a scheduling loop around it.

pub mod anonymize;
mod builtin;
pub mod command;
pub mod comparison;
mod duration;
pub mod framework;
pub mod hint;
pub mod host;
pub mod load;
pub mod measurement;
pub mod object;
pub mod openb;
pub mod picture;
mod protobuf;
pub mod publisher;
pub mod recording;
pub mod scenario;
pub mod scheduler;
pub mod simulation;
pub mod snapshot;
pub mod trial;
pub mod workload;

pub use builtin::builtin_module;
