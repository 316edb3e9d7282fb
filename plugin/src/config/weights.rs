//! How the parts of the score are mixed.

use serde::Deserialize;

use super::Faults;

/// How much each part of the score counts, 0 (not at all) to 100.
///
/// The score of a node is the mean of the parts that apply to the pod, weighted by these. A part that says nothing
/// about a pod (GPU-node avoidance for a pod that asks for GPUs) is left out of the mean. With only `binpack` above 0
/// the score equals the in-tree `NodeResourcesFit` plugin's, bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weights {
    /// Fill the fullest node (`binpack`). Default 1.
    pub binpack: u32,
    /// Keep pods that ask for no GPU off nodes that have some, while others fit. Default 1.
    pub gpu_node_avoidance: u32,
    /// Batch and best-effort pods to the emptiest node, latency-sensitive ones away from hot nodes (`qos`), by measured
    /// load. Default 0.
    pub qos: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { binpack: 1, gpu_node_avoidance: 1, qos: 0 }
    }
}

impl Weights {
    pub(super) fn validate(&self, faults: &mut Faults) {
        for (path, weight) in [
            ("weights.binpack", self.binpack),
            ("weights.gpuNodeAvoidance", self.gpu_node_avoidance),
            ("weights.qos", self.qos),
        ] {
            if weight > 100 {
                faults.push(path, format!("{weight} is out of range, allowed are 0 to 100"));
            }
        }
    }
}
