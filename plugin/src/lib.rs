//! Stowage: a scheduling policy for GPU clusters, compiled to one WebAssembly module.
//!
//! Dependencies point one way: [`policy`] <- [`cluster`], [`object`], [`config`] <- [`host`].
//! A trap in the module costs the scheduler memory for good and a loop without a bound freezes it, so nothing here
//! indexes, unwraps, divides or overflows unchecked; the lints below say so.
//!
//! It does without std, whose panic messages, environment and allocator are a tenth of a module and do nothing in it.

#![cfg_attr(not(test), no_std)]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::exit,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unreachable,
    clippy::unwrap_used
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unwrap_used
    )
)]

extern crate alloc;

#[macro_use]
pub mod say;

pub mod cluster;
pub mod config;
pub mod cycle;
#[cfg(target_family = "wasm")]
mod exports;
mod gather;
pub mod host;
pub mod json;
pub mod object;
pub mod policy;
mod reckon;
mod sort;
pub mod sorted_map;
pub mod text;

#[cfg(test)]
mod testing;
