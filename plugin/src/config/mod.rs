//! The policy document: what a platform engineer may tune, as JSON in the scheduler's `guestConfig`.
//!
//! Every key is optional and every default is documented. What is given is taken seriously: an unknown key, a value out
//! of range or an impossible combination is a fault with the path of the field, and the module refuses to start. A
//! policy that silently did something else would be found out only by its bill.

mod binpack;
mod cluster;
mod faults;
mod gang;
mod gpu;
mod path;
pub mod qos;
mod weights;

pub use binpack::{
    Binpack, RequestedToCapacityRatio, ResourceWeight, ScoringStrategy, ScoringStrategyType, ShapePoint,
};
pub use cluster::ClusterOptions;
pub use faults::Faults;
pub use gang::{CountedMembers, Gang, TopologyPolicy, UnknownSize};
pub use gpu::GpuResources;
pub use qos::Qos;
pub use weights::Weights;

use serde::Deserialize;

/// The policy document.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// How much each part of the score counts.
    pub weights: Weights,
    /// Fill the fullest node that fits.
    pub binpack: Binpack,
    /// Pods that start together or not at all.
    pub gang: Gang,
    /// Which resources are GPUs.
    pub gpu: GpuResources,
    /// Keep batch and best-effort pods off hot and protected nodes.
    pub qos: Qos,
    /// How the module keeps what it knows of nodes.
    pub cluster: ClusterOptions,
    /// Count pod-level requests (`spec.resources`) as Kubernetes 1.34 and later do. Off by default, as in 1.33.
    pub pod_level_resources: bool,
    /// Log every score with its parts. For `stowage explain`; costs a log line per node and pod.
    pub explain: bool,
}

impl Policy {
    /// Reads a policy document. An empty text is the default policy.
    ///
    /// # Errors
    /// Every fault found, each with the path of the field. A document that is not JSON of the right shape stops at the
    /// first one, with line and column.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        let policy: Self = serde_json::from_str(text)
            .map_err(|error| Faults::one(&path::at(text, error.line(), error.column()), error))?;
        let mut faults = Faults::default();
        policy.validate(&mut faults);
        if faults.is_empty() { Ok(policy) } else { Err(faults) }
    }

    fn validate(&self, faults: &mut Faults) {
        self.weights.validate(faults);
        self.binpack.validate(faults);
        self.gang.validate(faults);
        self.gpu.validate(faults);
        self.qos.validate(faults);
        self.cluster.validate(faults);
    }
}

#[cfg(test)]
mod tests;
