//! The policy document: what a platform engineer may tune, as JSON in the scheduler's `guestConfig`.
//!
//! Every key is optional and every default is documented. What is given is taken seriously: an unknown key, a value out
//! of range or an impossible combination is a fault with the place of the field, and the module refuses to start. A
//! policy that silently did something else would be found out only by its bill.

mod binpack;
mod cluster;
mod faults;
mod fields;
mod gang;
mod gpu;
mod packing;
mod position;
pub mod qos;
mod weights;

pub use binpack::{
    Binpack, RequestedToCapacityRatio, ResourceWeight, ScoringStrategy, ScoringStrategyType, ShapePoint,
};
pub use cluster::ClusterOptions;
pub use faults::{Fault, Faults};
pub use gang::{CountedMembers, Gang, TopologyPolicy, UnknownSize};
pub use gpu::{Gpu, GpuResource};
pub use packing::{ExpectedPods, Packing};
pub use qos::Qos;
pub use weights::Weights;

use fields::{Fields, Section};

/// The policy document.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Policy {
    /// How much each part of the score counts.
    pub weights: Weights,
    /// Fill the fullest node that fits.
    pub binpack: Binpack,
    /// Keep room on GPUs for the pods that will come.
    pub packing: Packing,
    /// Pods that start together or not at all.
    pub gang: Gang,
    /// Which resources are GPUs.
    pub gpu: Gpu,
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
    /// Every fault found, each with line, column and path. A document that is no JSON stops at the first one.
    #[inline(never)]
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut policy = Self::default();
        if !text.trim_ascii().is_empty() {
            fields::read(text, &mut policy)?;
        }
        Ok(policy)
    }
}

impl Section for Policy {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.section("binpack", &mut self.binpack);
        if self.binpack.scoring_strategy.is_some() {
            self.weights.packing = 0;
        }
        fields.section("weights", &mut self.weights);
        fields.section("packing", &mut self.packing);
        fields.section("gang", &mut self.gang);
        fields.section("gpu", &mut self.gpu);
        fields.section("qos", &mut self.qos);
        fields.section("cluster", &mut self.cluster);
        fields.flag("podLevelResources", &mut self.pod_level_resources);
        fields.flag("explain", &mut self.explain);
    }
}

#[cfg(all(test, feature = "schema"))]
mod schema_tests;
#[cfg(test)]
mod tests;
