//! Nodes and pods as a test makes them.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

/// The scheduler that `deploy/` runs beside the default one.
pub const SCHEDULER_NAME: &str = "stowage-scheduler";

/// A ready node with 32 CPUs, 256 GiB and some GPUs.
///
/// # Errors
/// Never, unless the types change.
pub fn node(name: &str, gpus: u32) -> Result<Node> {
    let amounts = json!({"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": gpus.to_string()});
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Pretended", "message": "no kubelet"}],
        },
    }))?)
}

/// What a pod is asked to be.
#[derive(Clone, Debug, Default)]
pub struct PodSpec {
    /// In the namespace `default`.
    pub name: String,
    /// Requests of its one container.
    pub requests: Vec<(&'static str, String)>,
    /// Requests of an init container, if it has one.
    pub init: Vec<(&'static str, String)>,
    /// Labels.
    pub labels: Vec<(&'static str, String)>,
    /// Annotations.
    pub annotations: Vec<(&'static str, String)>,
    /// Which scheduler places it.
    pub scheduler: Option<&'static str>,
}

impl PodSpec {
    /// A pod for the scheduler of `deploy/` that wants some GPUs.
    #[must_use]
    pub fn with_gpus(name: impl Into<String>, gpus: u32) -> Self {
        let requests =
            vec![("cpu", "1".to_owned()), ("memory", "1Gi".to_owned()), ("nvidia.com/gpu", gpus.to_string())];
        Self { name: name.into(), requests, scheduler: Some(SCHEDULER_NAME), ..Self::default() }
    }

    /// The same as a member of a gang of `min`.
    #[must_use]
    pub fn in_gang(mut self, gang: &str, min: u32) -> Self {
        self.labels.extend([("stowage.dev/gang", gang.to_owned()), ("stowage.dev/gang-min", min.to_string())]);
        self
    }

    /// The object.
    ///
    /// # Errors
    /// Never, unless the types change.
    pub fn pod(&self) -> Result<Pod> {
        let map = |pairs: &[(&str, String)]| -> Value { pairs.iter().map(|(key, value)| (*key, &**value)).collect() };
        // The API server wants a limit beside every extended resource.
        let container = |name: &str, requests: &[(&'static str, String)]| {
            let extended: Vec<_> = requests.iter().filter(|(name, _)| name.contains('/')).cloned().collect();
            json!({"name": name, "image": "image", "resources": {"requests": map(requests), "limits": map(&extended)}})
        };
        let init: Vec<Value> = if self.init.is_empty() { Vec::new() } else { vec![container("init", &self.init)] };
        Ok(serde_json::from_value(json!({
            "metadata": {"name": self.name, "namespace": "default", "labels": map(&self.labels), "annotations": map(&self.annotations)},
            "spec": {
                "schedulerName": self.scheduler,
                "initContainers": init,
                "containers": [container("main", &self.requests)],
            },
        }))?)
    }
}
