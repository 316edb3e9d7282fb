//! What the publisher tells Prometheus.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::api::Resource;

/// Label `resource`.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Of {
    resource: &'static str,
}

impl From<Resource> for Of {
    fn from(resource: Resource) -> Self {
        Self { resource: resource.name }
    }
}

impl Of {
    /// Label `resource="nodes"`.
    pub const NODES: Self = Self { resource: "nodes" };
    /// Label `resource="pods"`.
    pub const PODS: Self = Self { resource: "pods" };
}

/// All metrics; a clone counts into the same ones.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Nodes that the API server has.
    pub nodes: Gauge,
    /// Pods that are counted on some node.
    pub pods: Gauge,
    /// 1 while this replica writes.
    pub leader: Gauge,
    /// Nodes whose annotation is behind.
    pub waiting: Gauge,
    /// Successful writes.
    pub writes: Family<Of, Counter>,
    /// Writes that failed for another reason than a conflict.
    pub failures: Family<Of, Counter>,
    /// Writes that the API server refused as conflicting.
    pub conflicts: Family<Of, Counter>,
    /// Annotations that somebody else changed.
    pub repairs: Counter,
    /// Objects that could not be read.
    pub skipped: Family<Of, Counter>,
    /// Lists: one for each resource at the start, more when a watch could not go on.
    pub lists: Family<Of, Counter>,
    /// From a change of a node's pods to the annotation that counts it.
    pub lag: Lag,
}

/// A histogram of seconds.
#[derive(Clone, Debug)]
pub struct Lag(pub Histogram);

impl Default for Lag {
    fn default() -> Self {
        Self(Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]))
    }
}

impl Metrics {
    /// The metrics and the page that shows them.
    #[must_use]
    pub fn registered() -> (Self, Arc<Registry>) {
        let metrics = Self::default();
        let mut registry = Registry::with_prefix("stowage_publisher");
        registry.register("nodes", "Nodes that the API server has", metrics.nodes.clone());
        registry.register("pods", "Pods that are counted on some node", metrics.pods.clone());
        registry.register("leader", "1 while this replica writes", metrics.leader.clone());
        registry.register("waiting_nodes", "Nodes whose annotation is behind", metrics.waiting.clone());
        registry.register("writes", "Successful writes", metrics.writes.clone());
        registry.register("write_failures", "Writes that failed, conflicts apart", metrics.failures.clone());
        registry.register("write_conflicts", "Writes refused as conflicting", metrics.conflicts.clone());
        registry.register("repairs", "Annotations changed by somebody else", metrics.repairs.clone());
        registry.register("skipped_objects", "Objects that could not be read", metrics.skipped.clone());
        registry.register("lists", "Lists, the first of each resource included", metrics.lists.clone());
        registry.register(
            "lag_seconds",
            "From a change of a node's pods to the annotation that counts it",
            metrics.lag.0.clone(),
        );
        let started: Gauge<f64, AtomicU64> = Gauge::default();
        started.set(crate::clock::now_ms() as f64 / 1e3);
        registry.register("start_time_seconds", "When the process started, seconds since 1970", started);
        (metrics, Arc::new(registry))
    }
}

/// The page in OpenMetrics text.
#[must_use]
pub fn page(registry: &Registry) -> String {
    let mut text = String::new();
    match encode(&mut text, registry) {
        Ok(()) => text,
        Err(error) => format!("# {error}\n"),
    }
}
