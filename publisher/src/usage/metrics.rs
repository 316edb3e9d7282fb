//! The resource metrics API (`metrics.k8s.io`), where the cluster has it. It cannot be watched.

use std::time::Duration;

use anyhow::Result;
use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::{Amounts, Measured, usage};

const PATH: &str = "/apis/metrics.k8s.io/v1beta1/nodes";
/// metrics-server measures every 15 seconds.
const PERIOD: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct List {
    items: Vec<Value>,
}

#[derive(Deserialize)]
struct NodeMetrics {
    metadata: Meta,
    timestamp: Time,
    usage: Amounts,
}

#[derive(Deserialize)]
struct Meta {
    name: String,
}

/// Sends what was measured, node by node, until nobody listens any more.
pub async fn poll(client: Client, to: mpsc::Sender<Vec<Measured>>) {
    let mut served = None;
    while !to.is_closed() {
        let answer = tokio::time::timeout(PATIENCE, measure(&client)).await;
        let answer = answer.unwrap_or_else(|_| Err(anyhow::anyhow!("no answer within {PATIENCE:?}")));
        let now_served = answer.is_ok();
        match answer {
            Ok(measured) => drop(to.send(measured).await),
            // Once is enough: many clusters have no metrics.
            Err(error) if served != Some(false) => {
                warn!(error = format!("{error:#}"), "no measured usage, asking on");
            }
            Err(_) => {}
        }
        if now_served && served != Some(true) {
            info!("usage is measured");
        }
        served = Some(now_served);
        tokio::time::sleep(PERIOD).await;
    }
}

async fn measure(client: &Client) -> Result<Vec<Measured>> {
    let list: List = client.request(Request::get(PATH).body(Vec::new())?).await?;
    // One node with a value that cannot be read is no reason to do without the others.
    let read = |item: Value| {
        let name = item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let measured = NodeMetrics::deserialize(item).map_err(anyhow::Error::from).and_then(NodeMetrics::measured);
        measured
            .inspect_err(|error| warn!(node = name, error = format!("{error:#}"), "metrics that cannot be read"))
            .ok()
    };
    Ok(list.items.into_iter().filter_map(read).collect())
}

impl NodeMetrics {
    fn measured(self) -> Result<Measured> {
        Ok(Measured { usage: usage(&self.timestamp, &self.usage)?, node: self.metadata.name })
    }
}

#[cfg(test)]
mod tests {
    use stowage::cluster::node_state::Usage;

    use super::*;

    fn read(usage: &str) -> Result<Usage> {
        let json = format!(
            r#"{{"metadata":{{"name":"a"}},"timestamp":"2025-11-30T00:00:01Z","window":"20s","usage":{usage}}}"#
        );
        Ok(serde_json::from_str::<NodeMetrics>(&json)?.measured()?.usage)
    }

    #[test]
    fn as_metrics_server_writes_it() {
        let usage = read(r#"{"cpu":"1482346919n","memory":"2054020Ki"}"#).unwrap();
        assert_eq!(usage, Usage { at: 1_764_460_801_000, cpu: 1483, memory: 2054020 << 10 });
    }

    #[test]
    fn what_is_missing_or_broken_is_named() {
        assert_eq!(read(r#"{"cpu":"1"}"#).unwrap_err().to_string(), "no usage of memory");
        assert!(read(r#"{"cpu":"much","memory":"1"}"#).unwrap_err().to_string().contains("cpu is \"much\""));
    }
}
