//! Koordinator's `NodeMetric` objects (`slo.koordinator.sh`), which its agent on each node keeps up to date.

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use super::{Amounts, Measured, usage};

/// The few fields that matter of an object that tells the usage of every pod.
#[derive(Deserialize)]
struct NodeMetric {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Meta {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    update_time: Option<Time>,
    node_metric: NodeMetricInfo,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeMetricInfo {
    node_usage: ResourceMap,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResourceMap {
    resources: Amounts,
}

/// What a `NodeMetric` tells; `None` if the node has not reported yet.
///
/// # Errors
/// It cannot be read.
pub fn koordinator(bytes: &[u8]) -> Result<Option<Measured>> {
    let NodeMetric { metadata: Meta { name }, status } =
        serde_json::from_slice(bytes).context("a NodeMetric that cannot be read")?;
    let amounts = status.node_metric.node_usage.resources;
    let Some(at) = status.update_time.filter(|_| !amounts.is_empty()) else { return Ok(None) };
    let usage = usage(&at, &amounts).with_context(|| format!("NodeMetric {name}"))?;
    Ok(Some(Measured { node: name, usage }))
}

/// The node that a `NodeMetric` is about.
///
/// # Errors
/// It cannot be read.
pub fn node_of(bytes: &[u8]) -> Result<String> {
    let metric: NodeMetric = serde_json::from_slice(bytes).context("a deleted NodeMetric that cannot be read")?;
    Ok(metric.metadata.name)
}

#[cfg(test)]
mod tests {
    use stowage::cluster::node_state::Usage;

    use super::*;

    fn read(status: &str) -> Result<Option<Usage>> {
        let json = format!(r#"{{"metadata":{{"name":"a"}},"spec":{{}},"status":{status}}}"#);
        assert_eq!(node_of(json.as_bytes()).unwrap_or_default(), "a");
        Ok(koordinator(json.as_bytes())?.map(|measured| measured.usage))
    }

    #[test]
    fn as_koordlet_writes_it() {
        let status = r#"{"updateTime":"2025-11-30T00:00:01Z","podsMetric":[{"name":"p","podUsage":{"resources":{}}}],
            "nodeMetric":{"nodeUsage":{"resources":{"cpu":"1482m","memory":"2054020Ki"},"devices":[]}}}"#;
        let usage = Usage { at: 1_764_460_801_000, cpu: 1482, memory: 2054020 << 10 };
        assert_eq!(read(status).unwrap(), Some(usage));
    }

    #[test]
    fn a_node_that_has_not_reported_is_not_idle() {
        for status in ["{}", r#"{"updateTime":"2025-11-30T00:00:01Z","nodeMetric":{"nodeUsage":{}}}"#] {
            assert_eq!(read(status).unwrap(), None, "{status}");
        }
        let broken = r#"{"updateTime":"2025-11-30T00:00:01Z","nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}}}}"#;
        assert_eq!(format!("{:#}", read(broken).unwrap_err()), "NodeMetric a: no usage of memory");
    }
}
