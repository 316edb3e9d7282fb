//! What a node's annotations say about its load, besides node state: thresholds of its own, and crane's measurements.

use serde::Deserialize;

use crate::object::{Metadata, ResourceId, Resources};
use crate::policy::qos::crane;
use crate::policy::qos::filter::NodeThresholds;
use crate::policy::qos::load::{Load, Percents};
use crate::policy::qos::usage::Measurement;

/// Koordinator's annotation with a node's own usage thresholds.
pub const THRESHOLDS: &str = "scheduling.koordinator.sh/usage-thresholds";

/// What a node says about its load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLoad {
    /// Thresholds of its own.
    pub thresholds: NodeThresholds,
    /// Whether [`THRESHOLDS`] is there but cannot be read. As in Koordinator the policy's thresholds then hold.
    pub broken_thresholds: bool,
    /// Crane's measurement, with the time as written: local to the annotator's zone.
    pub crane: Option<Measurement>,
}

impl NodeLoad {
    pub(super) fn read(meta: &Metadata<'_>, allocatable: &Resources) -> Self {
        let document = meta.annotation(THRESHOLDS).map(serde_json::from_str::<Document>);
        let allocatable = Load { cpu: allocatable.get(ResourceId::CPU), memory: allocatable.get(ResourceId::MEMORY) };
        Self {
            broken_thresholds: matches!(document, Some(Err(_))),
            thresholds: document.and_then(Result::ok).unwrap_or_default().into(),
            crane: meta
                .annotation(crane::CPU)
                .zip(meta.annotation(crane::MEMORY))
                .and_then(|(cpu, memory)| crane::measurement(cpu, memory, allocatable, 0)),
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
