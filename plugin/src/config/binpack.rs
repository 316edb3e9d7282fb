//! `binpack`: the in-tree `NodeResourcesFit` arguments, taken as they are.

use serde::Deserialize;

use super::Faults;

/// Fill the fullest node that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Binpack {
    /// The `scoringStrategy` of the in-tree plugin `NodeResourcesFit`. Default: `MostAllocated` over the GPU resources
    /// with weight 20 each, cpu and memory with weight 1, so that GPUs decide and cpu and memory break ties.
    pub scoring_strategy: Option<ScoringStrategy>,
}

/// How usage becomes a score, and over which resources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoringStrategy {
    /// Which formula.
    #[serde(rename = "type")]
    pub kind: ScoringStrategyType,
    /// Resources that count. Default, as in-tree: cpu and memory with weight 1. A name may hold `*`
    /// (`nvidia.com/mig-*`): then each resource that matches counts.
    #[serde(default = "cpu_and_memory")]
    pub resources: Vec<ResourceWeight>,
    /// The shape; needed by, and only allowed with, `RequestedToCapacityRatio`.
    #[serde(default)]
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatio>,
}

/// The in-tree formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ScoringStrategyType {
    /// The emptier the better: spreads.
    LeastAllocated,
    /// The fuller the better: packs.
    MostAllocated,
    /// Any piecewise linear function of utilisation.
    RequestedToCapacityRatio,
}

/// A resource and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceWeight {
    /// Resource name; `*` stands for any run of characters.
    pub name: String,
    /// 1 to 100. Default 1. An explicit 0 is a fault, where the in-tree defaulting would quietly turn it into 1.
    #[serde(default = "one")]
    pub weight: i64,
}

/// The function from utilisation to score.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestedToCapacityRatio {
    /// Its points, by strictly increasing utilisation; linear between them, constant outside.
    pub shape: Vec<ShapePoint>,
}

/// A point of the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShapePoint {
    /// Percent, 0 to 100.
    pub utilization: i64,
    /// 0 to 10.
    pub score: i64,
}

const fn one() -> i64 {
    1
}

fn cpu_and_memory() -> Vec<ResourceWeight> {
    ["cpu", "memory"].map(|name| ResourceWeight { name: name.to_owned(), weight: 1 }).to_vec()
}

impl Binpack {
    pub(super) fn validate(&self, faults: &mut Faults) {
        let Some(strategy) = &self.scoring_strategy else { return };
        if strategy.resources.is_empty() {
            faults.push("binpack.scoringStrategy.resources", "is empty, at least one resource is needed".into());
        }
        for (at, resource) in strategy.resources.iter().enumerate() {
            let path = format!("binpack.scoringStrategy.resources[{at}]");
            if resource.name.is_empty() {
                faults.push(&format!("{path}.name"), "is empty".into());
            }
            if !(1..=100).contains(&resource.weight) {
                faults.push(
                    &format!("{path}.weight"),
                    format!("{} is out of range, allowed are 1 to 100", resource.weight),
                );
            }
        }
        let path = "binpack.scoringStrategy.requestedToCapacityRatio";
        match (&strategy.requested_to_capacity_ratio, strategy.kind) {
            (None, ScoringStrategyType::RequestedToCapacityRatio) => {
                faults.push(path, "is missing, type RequestedToCapacityRatio needs its shape".into());
            }
            (Some(_), ScoringStrategyType::LeastAllocated | ScoringStrategyType::MostAllocated) => {
                faults.push(path, "is only allowed with type RequestedToCapacityRatio".into());
            }
            (Some(ratio), ScoringStrategyType::RequestedToCapacityRatio) => ratio.validate(path, faults),
            (None, _) => {}
        }
    }
}

impl RequestedToCapacityRatio {
    fn validate(&self, path: &str, faults: &mut Faults) {
        if self.shape.is_empty() {
            faults.push(&format!("{path}.shape"), "is empty, at least one point is needed".into());
        }
        let mut last = -1;
        for (at, point) in self.shape.iter().enumerate() {
            if !(0..=100).contains(&point.utilization) {
                faults.push(
                    &format!("{path}.shape[{at}].utilization"),
                    format!("{} is out of range, allowed are 0 to 100", point.utilization),
                );
            } else if point.utilization <= last {
                faults.push(
                    &format!("{path}.shape[{at}].utilization"),
                    format!("{} does not increase, the point before it has {last}", point.utilization),
                );
            }
            last = last.max(point.utilization);
            if !(0..=10).contains(&point.score) {
                faults.push(
                    &format!("{path}.shape[{at}].score"),
                    format!("{} is out of range, allowed are 0 to 10", point.score),
                );
            }
        }
    }
}
