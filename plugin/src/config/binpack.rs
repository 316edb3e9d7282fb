//! `binpack`: the in-tree `NodeResourcesFit` arguments, taken as they are.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::fields::{Fields, Section};
use crate::gather::Gather;

/// Fill the fullest node that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Binpack {
    /// The `scoringStrategy` of the in-tree plugin `NodeResourcesFit`. Default: `MostAllocated` over the GPU resources
    /// (`gpu.resources`) with weight 20 each, cpu and memory with weight 1, so that GPUs decide and cpu and memory break
    /// ties.
    pub scoring_strategy: Option<ScoringStrategy>,
}

/// How usage becomes a score, and over which resources.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct ScoringStrategy {
    /// Which formula.
    #[cfg_attr(feature = "schema", serde(rename = "type"))]
    pub kind: ScoringStrategyType,
    /// Resources that count. Default, as in-tree: cpu and memory with weight 1. A name may hold `*`
    /// (`nvidia.com/mig-*`): then each resource that matches counts.
    #[cfg_attr(feature = "schema", serde(default = "cpu_and_memory"), schemars(length(min = 1)))]
    pub resources: Vec<ResourceWeight>,
    /// The shape; needed by, and only allowed with, `RequestedToCapacityRatio`.
    #[cfg_attr(feature = "schema", serde(default))]
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatio>,
}

/// The in-tree formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum ScoringStrategyType {
    /// The emptier the better: spreads.
    LeastAllocated,
    /// The fuller the better: packs.
    MostAllocated,
    /// Any piecewise linear function of utilisation.
    RequestedToCapacityRatio,
}

/// A resource and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct ResourceWeight {
    /// Resource name; `*` stands for any run of characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub name: String,
    /// 1 to 100. Default 1. An explicit 0 is a fault, where the in-tree defaulting would quietly turn it into 1.
    #[cfg_attr(feature = "schema", serde(default = "one"), schemars(range(min = 1, max = 100)))]
    pub weight: i64,
}

/// The function from utilisation to score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct RequestedToCapacityRatio {
    /// Its points, by strictly increasing utilisation; linear between them, constant outside.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub shape: Vec<ShapePoint>,
}

/// A point of the shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct ShapePoint {
    /// Percent, 0 to 100.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub utilization: i64,
    /// 0 to 10.
    #[cfg_attr(feature = "schema", schemars(range(max = 10)))]
    pub score: i64,
}

const fn one() -> i64 {
    1
}

fn cpu_and_memory() -> Vec<ResourceWeight> {
    ["cpu", "memory"].iter().map(|name| ResourceWeight { name: (*name).to_owned(), weight: one() }).gather()
}

impl Default for ScoringStrategy {
    fn default() -> Self {
        Self {
            kind: ScoringStrategyType::LeastAllocated,
            resources: cpu_and_memory(),
            requested_to_capacity_ratio: None,
        }
    }
}

impl Default for ResourceWeight {
    fn default() -> Self {
        Self { name: String::new(), weight: one() }
    }
}

impl Section for Binpack {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.optional_section("scoringStrategy", &mut self.scoring_strategy);
    }
}

impl Section for ScoringStrategy {
    fn read(&mut self, fields: &mut Fields<'_>) {
        use ScoringStrategyType::{LeastAllocated, MostAllocated, RequestedToCapacityRatio};
        fields.require("type");
        fields.choice(
            "type",
            &mut self.kind,
            &[
                ("LeastAllocated", LeastAllocated),
                ("MostAllocated", MostAllocated),
                ("RequestedToCapacityRatio", RequestedToCapacityRatio),
            ],
        );
        if fields.sections("resources", &mut self.resources) && self.resources.is_empty() {
            fields.fault("resources", "is empty, at least one resource is needed");
        }
        let shape = "requestedToCapacityRatio";
        fields.optional_section(shape, &mut self.requested_to_capacity_ratio);
        match (fields.has(shape), self.kind) {
            (false, RequestedToCapacityRatio) => {
                fields.fault(shape, "is missing, type RequestedToCapacityRatio needs its shape");
            }
            (true, LeastAllocated | MostAllocated) => {
                fields.fault(shape, "is only allowed with type RequestedToCapacityRatio");
            }
            (true, RequestedToCapacityRatio) | (false, _) => {}
        }
    }
}

impl Section for ResourceWeight {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.require("name");
        fields.text("name", &mut self.name);
        fields.number("weight", &mut self.weight, 1..=100);
    }
}

impl Section for RequestedToCapacityRatio {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.require("shape");
        if !fields.sections("shape", &mut self.shape) {
            return;
        }
        if fields.has("shape") && self.shape.is_empty() {
            fields.fault("shape", "is empty, at least one point is needed");
        }
        let pairs = self.shape.iter().zip(self.shape.iter().skip(1));
        for (at, (before, point)) in (1..).zip(pairs) {
            if point.utilization <= before.utilization {
                let (found, last) = (point.utilization, before.utilization);
                let message = say!(found, " does not increase, the point before it has ", last);
                fields.fault(&say!("shape[", at, "].utilization"), message);
            }
        }
    }
}

impl Section for ShapePoint {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.require("utilization");
        fields.number("utilization", &mut self.utilization, 0..=100);
        fields.require("score");
        fields.number("score", &mut self.score, 0..=10);
    }
}
