//! The wasm host, with modules written as text: what calls carry, what ends them, which instance they run on, and
//! which modules load at all.

mod calls;
mod faults;
mod mask;
mod pool;
mod support;
mod upstream;
