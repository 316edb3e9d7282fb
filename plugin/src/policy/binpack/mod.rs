//! Binpack: how full a node would be with the pod on it, as the in-tree `NodeResourcesFit` plugin scores it.
//!
//! Integer arithmetic follows the in-tree plugin step by step (kubernetes 1.33,
//! `pkg/scheduler/framework/plugins/noderesources`), quirks included: utilisation is truncated, a shape is evaluated
//! with truncating division, and `RequestedToCapacityRatio` drops the weight of a resource that scores 0. One deviation:
//! the in-tree plugin multiplies by 100 in 64 bits and wraps above about 9.2e16; here the product is exact.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::gather::Gather;
use crate::object::{GpuNames, ResourceId, ResourceNames, Resources};
use crate::policy::portion::portion;
use crate::text::is_like;

/// The highest score a part may give.
pub const MAX_SCORE: i64 = 100;

/// A formula from utilisation to score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// `(allocatable - requested) x 100 / allocatable`, 0 when over.
    LeastAllocated,
    /// `min(requested, allocatable) x 100 / allocatable`.
    MostAllocated,
    /// Piecewise linear in utilisation.
    RequestedToCapacityRatio(Shape),
}

/// A piecewise linear function of utilisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Utilisation in percent, strictly increasing, and score 0..100.
    points: Vec<(i64, i64)>,
}

impl Shape {
    /// A shape through points of utilisation (percent, strictly increasing) and score (0..10, as configured).
    #[must_use]
    pub fn new(points: impl IntoIterator<Item = (i64, i64)>) -> Self {
        Self { points: points.into_iter().map(|(at, score)| (at, score.saturating_mul(10))).gather() }
    }

    /// The score at a utilisation in percent.
    #[must_use]
    pub fn at(&self, utilization: i64) -> i64 {
        let mut before: Option<(i64, i64)> = None;
        for &(at, score) in &self.points {
            if utilization <= at {
                let Some((at_before, score_before)) = before else { return score };
                let rise = score.saturating_sub(score_before).saturating_mul(utilization.saturating_sub(at_before));
                let step = rise.checked_div(at.saturating_sub(at_before)).unwrap_or(0);
                return score_before.saturating_add(step);
            }
            before = Some((at, score));
        }
        before.map_or(0, |(_, score)| score)
    }
}

/// One resource of a pod that counts in its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Which resource.
    pub resource: ResourceId,
    /// What the pod adds, as the scorer counts it (defaults for absent cpu and memory).
    pub request: i64,
    /// How much it counts, 1..100.
    pub weight: i64,
}

/// The score of a node, 0..100, if the pod went there.
///
/// `allocatable` and `requested` are the node's, `requested` without the pod and as the scorer counts it. A resource of
/// which the node has none is left out.
#[must_use]
pub fn score(formula: &Formula, terms: &[Term], allocatable: &Resources, requested: &Resources) -> i64 {
    let mut sum: i64 = 0;
    let mut weights: i64 = 0;
    for term in terms {
        let capacity = allocatable.get(term.resource);
        if capacity <= 0 {
            continue;
        }
        let used = requested.get(term.resource).saturating_add(term.request).max(0);
        let score = match formula {
            Formula::LeastAllocated if used > capacity => 0,
            Formula::LeastAllocated => percent(capacity.saturating_sub(used), capacity),
            Formula::MostAllocated => percent(used.min(capacity), capacity),
            Formula::RequestedToCapacityRatio(shape) => {
                let score = shape.at(if used > capacity { MAX_SCORE } else { percent(used, capacity) });
                if score == 0 {
                    continue; // In-tree: a zero score takes its weight along.
                }
                score
            }
        };
        // At most 100 x 100. A multiplication that looks for overflow takes some fifty instructions of a wasm module.
        sum = sum.saturating_add(score.wrapping_mul(term.weight));
        weights = weights.saturating_add(term.weight);
    }
    let mean = match formula {
        // In-tree: math.Round of a float division; exact here, and away from zero as there.
        Formula::RequestedToCapacityRatio(_) => {
            sum.saturating_mul(2).saturating_add(weights).checked_div(weights.saturating_mul(2))
        }
        Formula::LeastAllocated | Formula::MostAllocated => sum.checked_div(weights),
    };
    mean.unwrap_or(0).clamp(0, MAX_SCORE)
}

/// `part x 100 / whole`, truncated. Needs `0 <= part <= whole` and `whole > 0`.
fn percent(part: i64, whole: i64) -> i64 {
    portion(part, MAX_SCORE, whole).unwrap_or(0)
}

/// Which resources a weight is for.
#[derive(Clone, Debug)]
pub enum Counted {
    /// Those of this name; `*` stands for any text.
    Named(Box<str>),
    /// Every GPU resource.
    AnyGpu,
}

/// Which resources count and how: a scoring strategy with its resource names resolved.
///
/// Names may be patterns and new names turn up while the scheduler runs, so a weight is decided per [`ResourceId`] when
/// the id is first met ([`Weighing::learn`]).
#[derive(Clone, Debug)]
pub struct Weighing {
    counted: Vec<(Counted, i64)>,
    /// Terms per known resource: a resource named twice counts twice, as in-tree.
    terms: Vec<(ResourceId, i64)>,
    known: usize,
}

impl Weighing {
    /// Resources, each with its weight.
    #[must_use]
    pub const fn new(counted: Vec<(Counted, i64)>) -> Self {
        Self { counted, terms: Vec::new(), known: 0 }
    }

    /// Takes note of resource names met since the last call. `names` must be the same table each time, and `gpus` have
    /// learned it.
    pub fn learn(&mut self, names: &ResourceNames, gpus: &GpuNames) {
        for (id, name) in names.iter().skip(self.known) {
            for (counted, weight) in &self.counted {
                let counts = match counted {
                    Counted::Named(pattern) => is_like(name, pattern),
                    Counted::AnyGpu => gpus.unit(id).is_some(),
                };
                if counts {
                    self.terms.push((id, *weight));
                }
            }
        }
        self.known = names.len();
    }

    /// The terms of a pod: every weighted resource that it asks for, and cpu, memory and ephemeral storage even if it
    /// does not.
    #[must_use]
    pub fn terms(&self, request: &Resources) -> Vec<Term> {
        self.terms
            .iter()
            .map(|&(resource, weight)| Term { resource, request: request.get(resource), weight })
            .filter(|term| term.resource != ResourceId::PODS && (term.request != 0 || !term.resource.is_scalar()))
            .gather()
    }
}

#[cfg(test)]
mod tests;
