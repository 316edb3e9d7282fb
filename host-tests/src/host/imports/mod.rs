//! The functions that a module can import: upstream's four host modules.
//!
//! WASI is ours, not wasmtime-wasi: that one sleeps for real, offers files and sockets that upstream does not, keeps
//! its output where it cannot be emptied after each call, and wants everything in the store to be `Send`. What a module
//! gets from upstream's WASI is small: a clock, random bytes, output, exit, and "no such file" for the rest.

mod api;
mod klog;
mod memory;
mod scheduler;
mod wasi;

use wasmtime::{Engine, Linker};

use super::call::State;
pub(super) use klog::structured;
pub(super) use wasi::Wasi;

/// The modules that the host has.
pub(super) const HOST_MODULES: [&str; 4] = [api::MODULE, klog::MODULE, scheduler::MODULE, wasi::MODULE];

/// Everything that upstream's host offers.
pub(super) fn linker(engine: &Engine) -> Linker<State> {
    let mut linker = Linker::new(engine);
    let defined = api::define(&mut linker)
        .and_then(|()| klog::define(&mut linker))
        .and_then(|()| scheduler::define(&mut linker))
        .and_then(|()| wasi::define(&mut linker));
    defined.expect("every import is defined once");
    linker
}
