//! Reads cluster and workload files: YAML or JSON, one object or many, from a file or from standard input.
//!
//! Files come from people and from `kubectl get -o json`, so faults are expected: each is reported with the file, the
//! document, the object's name, line and column. What a real API server would refuse is refused here too; otherwise a
//! typo would show as a pod that is inexplicably pending.

mod cluster;
mod decode;
mod document;
mod fault;
mod metrics;
mod other_policies;
mod other_schedulers;
mod pod_group;
mod policy_text;
#[cfg(test)]
mod tests;
mod trim;
mod unread;
mod validate;
mod workload;

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

pub use cluster::{Cluster, Priorities, cluster};
pub use document::{Document, Source};
pub use fault::Fault;
pub use metrics::Measured;
pub use pod_group::PodGroup;
pub use policy_text::{PolicyText, policies};
pub(crate) use validate::node as check_node;
pub use workload::{Workload, workload};

/// Reads a file, or standard input if the path is `-`.
///
/// # Errors
/// When it cannot be read or is not UTF-8.
pub fn read(path: &Path) -> anyhow::Result<Source> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        ("standard input".to_owned(), bytes)
    } else {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        (path.display().to_string(), bytes)
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        anyhow::anyhow!("{name}: line {line} is not UTF-8 text")
    })?;
    Ok(Source::new(name, text))
}
