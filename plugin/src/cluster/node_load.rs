//! What decides about a node's load, put together when the node is read: node state, thresholds of its own, crane's
//! measurements, and what the module placed there since.

use core::cell::Cell;

use super::node_state::NodeState;
use crate::json::Json;
use crate::object::{Metadata, Quantity, ResourceId, Resources};
use crate::policy::qos::budget::Budget;
use crate::policy::qos::class::{Class, QosClass};
use crate::policy::qos::crane;
use crate::policy::qos::filter::NodeThresholds;
use crate::policy::qos::load::{Load, Percents};
use crate::policy::qos::usage::{AHEAD_SECONDS, Measurement, Timestamp};
use crate::reckon::Reckon;

/// Koordinator's annotation with a node's own usage thresholds.
pub const THRESHOLDS: &str = "scheduling.koordinator.sh/usage-thresholds";

/// Koordinator's annotation with what a node has where allocatable is amplified, so that more can be requested of it.
pub const RAW_ALLOCATABLE: &str = "node.koordinator.sh/raw-allocatable";

/// Volcano's annotations with the percent of cpu and of memory from which on a node evicts best-effort pods.
const EVICTS_CPU: &str = "volcano.sh/evicting-cpu-high-watermark";
const EVICTS_MEMORY: &str = "volcano.sh/evicting-memory-high-watermark";

/// How a node is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The zone of crane's annotator, in seconds east of Greenwich; `None` if its annotations are not read.
    pub crane_offset: Option<i32>,
    /// The time, milliseconds since 1970, if any is known.
    pub now: Option<Timestamp>,
}

/// What decides about a node's load.
#[derive(Clone, Debug, Default)]
pub struct NodeLoad {
    /// Allocatable cpu and memory: what there is, not what Koordinator amplifies it to.
    pub allocatable: Load,
    /// Thresholds of its own.
    pub thresholds: NodeThresholds,
    /// Whether [`THRESHOLDS`] is there but cannot be read. As in Koordinator the policy's thresholds then hold.
    pub broken_thresholds: bool,
    /// Usage at which the node evicts best-effort pods, by Volcano's annotations.
    pub evicts_at: Percents,
    /// The measurement in node state.
    pub measured: Option<Measurement>,
    /// Crane's measurement.
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

/// A budget found earlier, which holds for a class as long as nothing here changes and the clock stays where it holds.
#[derive(Clone, Copy, Debug)]
struct Answer {
    class: Class,
    declared: bool,
    /// Both ends included.
    holds: (Timestamp, Timestamp),
    budget: Option<Budget>,
}

impl NodeLoad {
    pub(super) fn read(
        meta: &Metadata<'_>,
        allocatable: &Resources,
        state: Option<&NodeState>,
        Reading { crane_offset, now }: Reading,
    ) -> Self {
        let thresholds = meta.annotation(THRESHOLDS).map(read_thresholds);
        let allocatable = Load { cpu: allocatable.get(ResourceId::CPU), memory: allocatable.get(ResourceId::MEMORY) };
        let allocatable = meta.annotation(RAW_ALLOCATABLE).map_or(allocatable, |raw| raw_allocatable(raw, allocatable));
        let usage = state.and_then(|state| state.usage.as_ref());
        let crane = crane_offset.and_then(|offset| {
            let (cpu, memory) = meta.annotation(crane::CPU).zip(meta.annotation(crane::MEMORY))?;
            crane::measurement(cpu, memory, allocatable, offset)
        });
        let mut counted = state.map(Sums::of);
        if let (Some(state), Some(counted)) = (state, &mut counted)
            && state.at <= contained(crane, now)
        {
            counted.unmeasured = Load::default();
        }
        Self {
            allocatable,
            broken_thresholds: matches!(thresholds, Some(None)),
            thresholds: thresholds.flatten().unwrap_or_default(),
            evicts_at: Percents {
                cpu: meta.annotation(EVICTS_CPU).and_then(watermark),
                memory: meta.annotation(EVICTS_MEMORY).and_then(watermark),
            },
            measured: usage.map(|it| Measurement { at: it.at, load: Load { cpu: it.cpu, memory: it.memory } }),
            crane,
            counted,
            ..Self::default()
        }
    }

    /// Pods placed up to this time, in milliseconds since 1970, are part of crane's mean.
    pub(super) fn contained(&self, now: Option<Timestamp>) -> Timestamp {
        contained(self.crane, now)
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
        let (from, until) = answer.holds;
        let same = answer.class == class && answer.declared == declared && from <= now && now <= until;
        same.then_some(answer.budget)
    }

    /// Keeps the budget of a class, which holds from the one time to the other.
    pub fn keep_budget(&self, class: Class, declared: bool, holds: (Timestamp, Timestamp), budget: Option<Budget>) {
        self.budget.set(Some(Answer { class, declared, holds, budget }));
    }

    pub(super) fn place(&mut self, pod: &Footprint) {
        self.placed.protected = self.placed.protected.saturating_add(pod.qos.is_protected().into());
        self.placed.unmeasured = self.placed.unmeasured.plus(pod.estimate);
        if pod.qos == QosClass::Be {
            self.placed.best_effort = self.placed.best_effort.plus(pod.requests);
        }
        self.budget.set(None);
    }

    /// Counts all pods placed here anew.
    pub(super) fn count<'a>(&mut self, pods: impl Iterator<Item = &'a Footprint>) {
        self.placed = Sums::default();
        pods.for_each(|pod| self.place(pod));
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

/// A measurement of the future is not believed: by a wrong time zone it would contain everything.
fn contained(crane: Option<Measurement>, now: Option<Timestamp>) -> Timestamp {
    let ahead = i64::from(AHEAD_SECONDS).saturating_mul(1000);
    let believed = crane.filter(|measured| now.is_none_or(|now| measured.at <= now.saturating_add(ahead)));
    believed.map_or(Timestamp::MIN, |measured| measured.at.minus(crane::MEAN_MS))
}

/// The amounts in Koordinator's document. What it does not name, or not as a quantity, is not amplified.
fn raw_allocatable(document: &str, allocatable: Load) -> Load {
    let raw = Json::parse(document).unwrap_or(Json::Null);
    let amount = |name| Quantity::parse(raw.get(name)?.text()?).ok().filter(|amount| *amount > Quantity::ZERO);
    Load {
        cpu: amount("cpu").map_or(allocatable.cpu, Quantity::milli_value),
        memory: amount("memory").map_or(allocatable.memory, Quantity::value),
    }
}

/// What is no percentage says nothing.
fn watermark(text: &str) -> Option<u8> {
    let percent = text.trim_ascii().bytes().try_fold(0_u8, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit)
    });
    percent.filter(|percent| (1..=100).contains(percent))
}

/// What counts of Koordinator's document; `None` if it is not one. Thresholds of aggregated usage (percentiles) are not
/// among it: no percentile reaches the module.
fn read_thresholds(text: &str) -> Option<NodeThresholds> {
    let document = Json::parse(text).ok().filter(|document| matches!(document, Json::Object(_)))?;
    let prod_apart = percents(document.get("prodUsageThresholds"))?.is_some();
    Some(NodeThresholds { usage: percents(document.get("usageThresholds"))?, prod_apart })
}

/// A set of thresholds. One without entries is none, and the policy's hold; one whose entries limit nothing counts.
fn percents(thresholds: Option<&Json<'_>>) -> Option<Option<Percents>> {
    match thresholds {
        None | Some(Json::Null) => Some(None),
        Some(thresholds @ Json::Object(entries)) => {
            let limits = Percents { cpu: limit(thresholds.get("cpu"))?, memory: limit(thresholds.get("memory"))? };
            Some((!entries.is_empty()).then_some(limits))
        }
        Some(_) => None,
    }
}

/// 0 is no threshold, as in Koordinator.
fn limit(threshold: Option<&Json<'_>>) -> Option<Option<u8>> {
    match threshold {
        None | Some(Json::Null | Json::Integer(0)) => Some(None),
        Some(Json::Integer(limit @ 1..)) => Some(Some(u8::try_from(*limit).unwrap_or(u8::MAX))),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_amounts_count_where_they_are_given() {
        let amplified = Load { cpu: 150_000, memory: 1 << 40 };
        let raw = |cpu, memory| Load { cpu, memory };
        for (text, expected) in [
            (r#"{"cpu":"100"}"#, raw(100_000, 1 << 40)),
            (r#"{"cpu":"99500m","memory":"512Gi"}"#, raw(99_500, 1 << 39)),
            (r#"{"cpu":"-1","memory":"many"}"#, amplified),
            (r#"{"cpu":"0"}"#, amplified),
            ("{}", amplified),
            ("[]", amplified),
            ("100", amplified),
            ("", amplified),
        ] {
            assert_eq!(raw_allocatable(text, amplified), expected, "{text}");
        }
    }

    #[test]
    fn watermarks_are_percentages() {
        for (text, expected) in [
            ("80", Some(80)),
            (" 100 ", Some(100)),
            ("0", None),
            ("101", None),
            ("80%", None),
            ("", None),
            ("-1", None),
        ] {
            assert_eq!(watermark(text), expected, "{text:?}");
        }
    }

    #[test]
    fn thresholds_are_read_as_koordinator_writes_them() {
        let limits = |cpu, memory| Some(Percents { cpu, memory });
        for (text, expected) in [
            ("{}", Some((None, false))),
            (r#"{"usageThresholds":{"cpu":65,"memory":95}}"#, Some((limits(Some(65), Some(95)), false))),
            (r#"{"usageThresholds":{"cpu":0,"memory":300}}"#, Some((limits(None, Some(255)), false))),
            (r#"{"usageThresholds":{"cpu":0}}"#, Some((limits(None, None), false))),
            (r#"{"usageThresholds":{},"prodUsageThresholds":{}}"#, Some((None, false))),
            (r#"{"usageThresholds":null,"prodUsageThresholds":{"cpu":55}}"#, Some((None, true))),
            (r#"{"aggregatedUsage":{"usageThresholds":{"cpu":50}}}"#, Some((None, false))),
            (r#"{"usageThresholds":{"cpu":-1}}"#, None),
            (r#"{"usageThresholds":{"cpu":9223372036854775808}}"#, None),
            (r#"{"usageThresholds":{"cpu":65}"#, None),
            (r#"{"usageThresholds":{"cpu":"65"}}"#, None),
            (r#"{"usageThresholds":{"cpu":65.5}}"#, None),
            (r#"{"usageThresholds":65}"#, None),
            ("[]", None),
            ("", None),
        ] {
            let found = read_thresholds(text).map(|found| (found.usage, found.prod_apart));
            assert_eq!(found, expected, "{text}");
        }
    }
}
