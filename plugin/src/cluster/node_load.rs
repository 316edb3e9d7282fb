//! What decides about a node's load, put together when the node is read: node state, thresholds of its own, crane's
//! measurements, and what the module placed there since.

use std::cell::Cell;

use serde::Deserialize;

use super::node_state::NodeState;
use crate::object::{Metadata, ResourceId, Resources};
use crate::policy::qos::budget::Budget;
use crate::policy::qos::class::{Class, QosClass};
use crate::policy::qos::crane;
use crate::policy::qos::filter::NodeThresholds;
use crate::policy::qos::load::{Load, Percents};
use crate::policy::qos::usage::{Measurement, Timestamp};

/// Koordinator's annotation with a node's own usage thresholds.
pub const THRESHOLDS: &str = "scheduling.koordinator.sh/usage-thresholds";

/// What decides about a node's load.
#[derive(Clone, Debug, Default)]
pub struct NodeLoad {
    /// Allocatable cpu and memory.
    pub allocatable: Load,
    /// Thresholds of its own.
    pub thresholds: NodeThresholds,
    /// Whether [`THRESHOLDS`] is there but cannot be read. As in Koordinator the policy's thresholds then hold.
    pub broken_thresholds: bool,
    /// The measurement in node state.
    pub measured: Option<Measurement>,
    /// Crane's measurement, with the time as written: local to the annotator's zone.
    pub crane: Option<Measurement>,
    /// What node state counts; `None` without node state.
    counted: Option<Sums>,
    /// What the module placed here and node state does not count yet.
    placed: Sums,
    budget: Cell<Option<Answer>>,
}

/// Sums over pods.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// LSE and LSR pods.
    protected: u32,
    /// Requests of best-effort pods.
    best_effort: Load,
    /// Expected usage of pods that no measurement contains.
    unmeasured: Load,
}

/// What a pod counts for in QoS until node state and a measurement contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Its class.
    pub qos: QosClass,
    /// What it is expected to use.
    pub estimate: Load,
    /// What it requests, batch and mid resources counted as cpu and memory.
    pub requests: Load,
}

/// A budget found earlier, which holds for a class as long as nothing here changes and the clock is not past `until`.
#[derive(Clone, Copy, Debug)]
struct Answer {
    class: Class,
    declared: bool,
    until: Timestamp,
    budget: Option<Budget>,
}

impl NodeLoad {
    pub(super) fn read(meta: &Metadata<'_>, allocatable: &Resources, state: Option<&NodeState>) -> Self {
        let document = meta.annotation(THRESHOLDS).map(serde_json::from_str::<Document>);
        let allocatable = Load { cpu: allocatable.get(ResourceId::CPU), memory: allocatable.get(ResourceId::MEMORY) };
        let usage = state.and_then(|state| state.usage.as_ref());
        Self {
            allocatable,
            broken_thresholds: matches!(document, Some(Err(_))),
            thresholds: document.and_then(Result::ok).unwrap_or_default().into(),
            measured: usage.map(|it| Measurement { at: it.at, load: Load { cpu: it.cpu, memory: it.memory } }),
            crane: meta
                .annotation(crane::CPU)
                .zip(meta.annotation(crane::MEMORY))
                .and_then(|(cpu, memory)| crane::measurement(cpu, memory, allocatable, 0)),
            counted: state.map(Sums::of),
            ..Self::default()
        }
    }

    /// LSE and LSR pods here. Without node state, those that the module placed itself; `None` if it placed none.
    #[must_use]
    pub fn protected(&self) -> Option<u32> {
        let placed = self.placed.protected;
        self.counted.map(|counted| counted.protected.saturating_add(placed)).or((placed > 0).then_some(placed))
    }

    /// Requests of the best-effort pods here; `None` without node state.
    #[must_use]
    pub fn best_effort(&self) -> Option<Load> {
        self.counted.map(|counted| counted.best_effort.plus(self.placed.best_effort))
    }

    /// Expected usage of the pods here that no measurement contains.
    #[must_use]
    pub fn unmeasured(&self) -> Load {
        self.counted.unwrap_or_default().unmeasured.plus(self.placed.unmeasured)
    }

    /// The budget of a class found earlier, if it still holds.
    #[must_use]
    pub fn budget(&self, class: Class, declared: bool, now: Timestamp) -> Option<Option<Budget>> {
        let answer = self.budget.get()?;
        let same = answer.class == class && answer.declared == declared && now <= answer.until;
        same.then_some(answer.budget)
    }

    /// Keeps the budget of a class, which holds up to `until`.
    pub fn keep_budget(&self, class: Class, declared: bool, until: Timestamp, budget: Option<Budget>) {
        self.budget.set(Some(Answer { class, declared, until, budget }));
    }

    pub(super) fn place(&mut self, pod: &Footprint) {
        self.placed.protected = self.placed.protected.saturating_add(pod.qos.is_protected().into());
        self.placed.unmeasured = self.placed.unmeasured.plus(pod.estimate);
        if pod.qos == QosClass::Be {
            self.placed.best_effort = self.placed.best_effort.plus(pod.requests);
        }
        self.budget.set(None);
    }

    pub(super) fn unplace(&mut self, pod: &Footprint) {
        self.placed.protected = self.placed.protected.saturating_sub(pod.qos.is_protected().into());
        self.placed.unmeasured = self.placed.unmeasured.minus(pod.estimate);
        if pod.qos == QosClass::Be {
            self.placed.best_effort = self.placed.best_effort.minus(pod.requests);
        }
        self.budget.set(None);
    }
}

impl Sums {
    fn of(state: &NodeState) -> Self {
        let class = |class: QosClass| state.qos.get(class.name()).cloned().unwrap_or_default();
        let best_effort = class(QosClass::Be);
        let unmeasured = state.unmeasured.clone().unwrap_or_default();
        Self {
            protected: class(QosClass::Lse).pods.saturating_add(class(QosClass::Lsr).pods),
            best_effort: Load { cpu: best_effort.cpu, memory: best_effort.memory },
            unmeasured: Load { cpu: unmeasured.cpu, memory: unmeasured.memory },
        }
    }
}

/// What counts of Koordinator's document. Thresholds of aggregated usage (percentiles) are not among it: no percentile
/// reaches the module.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Document {
    usage_thresholds: Thresholds,
    prod_usage_thresholds: Thresholds,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Thresholds {
    cpu: Option<i64>,
    memory: Option<i64>,
}

impl From<Document> for NodeThresholds {
    fn from(document: Document) -> Self {
        let prod = document.prod_usage_thresholds;
        Self { usage: document.usage_thresholds.into(), prod_apart: !Percents::from(prod).is_none() }
    }
}

impl From<Thresholds> for Percents {
    /// 0 is no threshold, as in Koordinator.
    fn from(thresholds: Thresholds) -> Self {
        let one =
            |limit: Option<i64>| limit.filter(|limit| *limit > 0).map(|limit| u8::try_from(limit).unwrap_or(u8::MAX));
        Self { cpu: one(thresholds.cpu), memory: one(thresholds.memory) }
    }
}
