//! A faithful local host for modules made for kube-scheduler-wasm-extension, and a scheduling loop around it.

pub mod framework;
pub mod object;
pub mod openb;
