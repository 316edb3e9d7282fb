//! Measured usage of nodes: metrics-server's NodeMetrics and Koordinator's NodeMetric.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;
use stowage::object::Quantity;

/// What was measured on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The node.
    pub node: String,
    /// When, in milliseconds since 1970, if the object says.
    pub at: Option<i64>,
    /// Milli-CPU.
    pub cpu: i64,
    /// Bytes.
    pub memory: i64,
}

/// `metrics.k8s.io` NodeMetrics.
#[derive(Deserialize)]
pub(super) struct NodeMetrics {
    metadata: ObjectMeta,
    timestamp: Option<Time>,
    usage: BTreeMap<String, Text>,
}

/// `slo.koordinator.sh` NodeMetric.
#[derive(Deserialize)]
pub(super) struct NodeMetric {
    metadata: ObjectMeta,
    status: Option<NodeMetricStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeMetricStatus {
    update_time: Option<Time>,
    node_metric: Option<NodeMetricInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeMetricInfo {
    node_usage: Option<ResourceMap>,
}

#[derive(Deserialize)]
struct ResourceMap {
    #[serde(default)]
    resources: BTreeMap<String, Text>,
}

impl NodeMetrics {
    pub(super) fn measured(&self) -> Result<Measured, String> {
        measured(&self.metadata, self.timestamp.as_ref(), &self.usage)
    }
}

impl NodeMetric {
    /// `None` if koordlet has not reported yet.
    pub(super) fn measured(&self) -> Result<Option<Measured>, String> {
        let Some(status) = &self.status else { return Ok(None) };
        let Some(usage) = status.node_metric.as_ref().and_then(|metric| metric.node_usage.as_ref()) else {
            return Ok(None);
        };
        measured(&self.metadata, status.update_time.as_ref(), &usage.resources).map(Some)
    }
}

fn measured(meta: &ObjectMeta, time: Option<&Time>, usage: &BTreeMap<String, Text>) -> Result<Measured, String> {
    let amount = |name: &str| match usage.get(name) {
        Some(text) => Quantity::parse(&text.0).map_err(|error| format!("usage of {name} is {:?}, {error}", text.0)),
        None => Ok(Quantity::ZERO),
    };
    Ok(Measured {
        node: meta.name.clone().unwrap_or_default(),
        at: time.map(|time| time.0.as_millisecond()),
        cpu: amount("cpu")?.milli_value(),
        memory: amount("memory")?.value(),
    })
}
