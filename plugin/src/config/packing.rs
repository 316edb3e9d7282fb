//! `packing`: keep room for the pods that will come.

use alloc::string::String;
use alloc::vec::Vec;

use super::fields::{Fields, Section};
use crate::object::Quantity;

/// Place a pod where the pods that will come lose the least room on GPUs.
///
/// What will come is learned from the pods that arrive; `weights.packing` says how much it counts beside `binpack`. Where
/// no GPU pod has been seen yet, or no node with GPUs, packing has no opinion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Packing {
    /// A pod counts half once so many others have arrived, 100 to 1000000: how quickly an old workload is forgotten. Default
    /// 10000.
    #[cfg_attr(feature = "schema", schemars(range(min = 100, max = 1_000_000)))]
    pub horizon_pods: u32,
    /// Pods to expect before any has arrived, for instance after a restart. Default: none.
    pub expected: Vec<ExpectedPods>,
}

/// Pods that ask for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct ExpectedPods {
    /// For how many pods that have arrived they count, 1 to 100000.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub pods: u32,
    /// GPUs of each, 1 to 64. Default 1.
    #[cfg_attr(feature = "schema", serde(default = "one"), schemars(range(min = 1, max = 64)))]
    pub gpus: u32,
    /// Thousandths of its GPU that a pod of one GPU takes, 1 to 1000. Default 1000.
    #[cfg_attr(feature = "schema", serde(default = "whole"), schemars(range(min = 1, max = 1000)))]
    pub gpu_milli: u32,
    /// Cpu of each. Default `0`.
    #[cfg_attr(feature = "schema", serde(default = "zero"))]
    pub cpu: String,
    /// Memory of each. Default `0`.
    #[cfg_attr(feature = "schema", serde(default = "zero"))]
    pub memory: String,
    /// The values of the model labels (`gpu.modelLabels`) that they may run on. Default: any.
    #[cfg_attr(feature = "schema", serde(default))]
    pub models: Vec<String>,
}

#[cfg(feature = "schema")]
const fn one() -> u32 {
    1
}

#[cfg(feature = "schema")]
const fn whole() -> u32 {
    1000
}

#[cfg(feature = "schema")]
fn zero() -> String {
    "0".into()
}

impl Default for Packing {
    fn default() -> Self {
        Self { horizon_pods: 10_000, expected: Vec::new() }
    }
}

impl Default for ExpectedPods {
    fn default() -> Self {
        Self { pods: 1, gpus: 1, gpu_milli: 1000, cpu: "0".into(), memory: "0".into(), models: Vec::new() }
    }
}

impl Section for Packing {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.number("horizonPods", &mut self.horizon_pods, 100..=1_000_000);
        fields.sections("expected", &mut self.expected);
    }
}

impl Section for ExpectedPods {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.require("pods");
        fields.number("pods", &mut self.pods, 1..=100_000);
        fields.number("gpus", &mut self.gpus, 1..=64);
        fields.number("gpuMilli", &mut self.gpu_milli, 1..=1000);
        for (name, slot) in [("cpu", &mut self.cpu), ("memory", &mut self.memory)] {
            fields.text(name, slot);
            if !Quantity::parse(slot).is_ok_and(|quantity| quantity >= Quantity::ZERO) {
                let message = say!("`", slot, "` is no quantity of at least 0");
                fields.fault(name, message);
            }
        }
        fields.texts("models", &mut self.models);
        if self.gpus > 1 && self.gpu_milli < 1000 {
            fields.fault("gpuMilli", "must be 1000 for several GPUs: only one can be shared");
        }
    }
}
