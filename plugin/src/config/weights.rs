//! How the parts of the score are mixed.

use super::fields::{Fields, Section};

/// How much each part of the score counts, 0 (not at all) to 100.
///
/// The score of a node is the mean of the parts that apply to the pod, weighted by these. A part that says nothing
/// about a pod (GPU-node avoidance for a pod that asks for GPUs) is left out of the mean. With only `binpack` above 0
/// the score equals the in-tree `NodeResourcesFit` plugin's, bit for bit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Weights {
    /// Fill the fullest node (`binpack`). Default 1.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub binpack: u32,
    /// Keep room on GPUs for the pods that will come (`packing`). Default 4, so that `binpack` decides between nodes that
    /// are nearly as good; 0 where `binpack.scoringStrategy` is given: who says how nodes are scored gets just that.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub packing: u32,
    /// Keep pods that ask for no GPU off nodes that have some, while others fit. Default 1.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub gpu_node_avoidance: u32,
    /// Members of a gang near their siblings: on the planned node, then in the same topology domain (`gang`). Default 16,
    /// so that it outweighs the parts above.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub locality: u32,
    /// Batch and best-effort pods to the emptiest node, latency-sensitive ones away from hot nodes (`qos`), by measured
    /// load. Default 0.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub qos: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { binpack: 1, packing: 4, gpu_node_avoidance: 1, locality: 16, qos: 0 }
    }
}

impl Section for Weights {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.number("binpack", &mut self.binpack, 0..=100);
        fields.number("packing", &mut self.packing, 0..=100);
        fields.number("gpuNodeAvoidance", &mut self.gpu_node_avoidance, 0..=100);
        fields.number("locality", &mut self.locality, 0..=100);
        fields.number("qos", &mut self.qos, 0..=100);
    }
}
