//! A real control plane on loopback, and the parts of Stowage that run against it.
//!
//! Everything is a plain process of the user who runs the tests: no containers, no root, no network beyond loopback.
//! Processes are started and ended by their own handles, so that several control planes can run side by side.

pub mod cluster;
pub mod control_plane;
pub mod environment;
pub mod kubectl;
pub mod objects;
pub mod process;
pub mod publisher;
pub mod recount;
pub mod scheduler;
pub mod wait;

use std::path::{Path, PathBuf};

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
