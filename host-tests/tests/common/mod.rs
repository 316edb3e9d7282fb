//! A cluster for tests that drive a module call by call, without a scheduling loop.
#![allow(dead_code)] // Each test uses a part.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use stowage_host::framework::{Handle, Plugin as _};
use stowage_host::host::{Module, Options, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};

/// The snapshot that a module's calls see, and what the module logged.
#[derive(Default)]
pub struct Snapshot {
    nodes: RefCell<BTreeMap<String, Rc<NodeObject>>>,
    pub log: RefCell<Vec<String>>,
}

impl Snapshot {
    pub fn new(nodes: impl IntoIterator<Item = NodeObject>) -> Rc<Self> {
        let snapshot = Self::default();
        for node in nodes {
            snapshot.set(node);
        }
        Rc::new(snapshot)
    }

    /// Adds or replaces a node.
    pub fn set(&self, node: NodeObject) {
        self.nodes.borrow_mut().insert(node.name().to_owned(), Rc::new(node));
    }

    /// A module on this cluster, past its start-up.
    pub fn plugin(self: &Rc<Self>, module: &Module, policy: &str) -> WasmPlugin {
        let mut plugin =
            WasmPlugin::new(module, policy, Rc::clone(self) as Rc<dyn Handle>, Options::default()).expect("it starts");
        plugin.events_to_register().expect("the policy is valid");
        plugin
    }
}

impl Handle for Snapshot {
    fn node(&self, name: &str) -> Option<Rc<NodeObject>> {
        self.nodes.borrow().get(name).cloned()
    }
    fn nodes(&self) -> Vec<Rc<NodeObject>> {
        self.nodes.borrow().values().cloned().collect()
    }
    fn image_states(&self, _: &str) -> String {
        "null".to_owned()
    }
    fn reject_waiting_pod(&self, _: &str) -> bool {
        false
    }
    fn waiting_pod(&self, _: &str) -> Option<Rc<PodObject>> {
        None
    }
    fn record_event(&self, _: &str) {}
    fn log(&self, _: i32, message: &str) {
        self.log.borrow_mut().push(message.to_owned());
    }
}

/// A node from JSON.
pub fn node(node: &Value) -> NodeObject {
    NodeObject::new(serde_json::from_value(node.clone()).expect("a node"))
}

/// A pod from JSON.
pub fn pod(pod: &Value) -> PodObject {
    PodObject::new(serde_json::from_value(pod.clone()).expect("a pod"))
}

/// `count` nodes of 8 GPUs with `i % 8` of them in use.
pub fn gpu_nodes(count: usize) -> Vec<NodeObject> {
    (0..count).map(|i| gpu_node(i, i % 8)).collect()
}

/// Node `i` of 8 GPUs with `used` of them in use, about as large as a real one (4 kB).
pub fn gpu_node(i: usize, used: usize) -> NodeObject {
    let state = json!({"v": 1, "at": 1, "requested": {"nvidia.com/gpu": used, "cpu": used * 4000}});
    let labels: serde_json::Map<String, Value> =
        (0..30).map(|k| (format!("feature.node.example.com/property-{k}"), "true".into())).collect();
    let images: Vec<Value> = (0..15)
        .map(|k| json!({"names": [format!("registry.example.com/team/image-{k}@sha256:{k:064}")], "sizeBytes": k}))
        .collect();
    let amounts = json!({"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"});
    node(&json!({
        "metadata": {"name": format!("node-{i}"), "labels": labels,
            "annotations": {"stowage.dev/node-state": state.to_string()}},
        "status": {"allocatable": amounts, "capacity": amounts, "images": images},
    }))
}

/// A pod of one container with these requests.
pub fn a_pod(name: &str, requests: &Value) -> PodObject {
    pod(&json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
    }))
}

/// A pod of class BE that asks for a core.
pub fn best_effort_pod(name: &str) -> PodObject {
    pod(&json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name,
            "labels": {"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    }))
}
