//! Upstream's host on wasmtime: runs any module made for kube-scheduler-wasm-extension, with what hurts.
//!
//! What is copied, because modules depend on it: the exports and their signatures, the table of export sets that load,
//! the pool that decides which instance serves a call, the buffer protocol and formats of every import, an instance
//! that is used again after a trap as the trap left it, a clock and a random source that do not depend on the machine,
//! and the words of errors.
//!
//! What is ours: limits on the time and memory of a call ([`Limits`]). Upstream has none, and a module that needs them
//! freezes or starves a real scheduler; a test bench that froze too could not say so.

mod call;
mod engine;
mod exports;
mod fault;
mod guest;
mod imports;
mod inspection;
mod module;
mod plugin;
mod pool;

pub use engine::Limits;
pub use exports::{Export, ExportSet};
pub use inspection::{ExportInfo, ImportInfo, Inspection, Offer, Role};
pub use module::Module;
pub use plugin::{CallStats, Options, WasmPlugin};
