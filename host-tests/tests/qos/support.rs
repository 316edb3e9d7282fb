//! One node, one pod, one question.

use std::rc::Rc;
use std::sync::LazyLock;

use serde_json::{Value, json};
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::host::Module;
use stowage_host::object::{NodeObject, PodObject};

use crate::common::{Snapshot, node, pod};

pub static MODULE: LazyLock<Module> =
    LazyLock::new(|| Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads"));

/// 2026-01-01T00:00:00Z.
pub const NOW: i64 = 1_767_225_600_000;
pub const GIB: i64 = 1 << 30;

/// A node of 100 cores and 100 GiB, on which this much is measured and these classes run.
pub fn measured(cpu: i64, memory_gib: i64, age_ms: i64, qos: &Value) -> NodeObject {
    let usage = json!({"at": NOW - age_ms, "cpu": cpu, "memory": memory_gib * GIB});
    with_state(&json!({"v": 1, "at": NOW, "usage": usage, "qos": qos}), &json!({}))
}

/// The same with this node state and more annotations.
pub fn with_state(state: &Value, more: &Value) -> NodeObject {
    let mut annotations = more.clone();
    annotations["stowage.dev/node-state"] = state.to_string().into();
    annotated(&annotations, &json!({}))
}

/// The same with these annotations, and more that is allocatable.
pub fn annotated(annotations: &Value, more: &Value) -> NodeObject {
    let mut allocatable = json!({"cpu": "100", "memory": "100Gi", "pods": "110"});
    allocatable.as_object_mut().expect("amounts").extend(more.as_object().expect("amounts").clone());
    node(&json!({
        "metadata": {"name": "node-7", "annotations": annotations},
        "status": {"allocatable": allocatable},
    }))
}

/// A pod that is expected to use 850m and, having no request for memory, 200 MiB.
pub fn a_pod(labels: &Value, spec: &Value) -> PodObject {
    let mut object = json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": labels},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}]},
    });
    object["spec"].as_object_mut().expect("a spec").extend(spec.as_object().expect("fields").clone());
    pod(&object)
}

/// A pod of class BE with these requests.
pub fn best_effort_with(requests: &Value) -> PodObject {
    let containers = json!([{"name": "main", "resources": {"requests": requests}}]);
    a_pod(
        &json!({"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch"}),
        &json!({"containers": containers}),
    )
}

pub fn best_effort() -> PodObject {
    best_effort_with(&json!({"cpu": "1"}))
}

/// A pod of each class of the policy, by its name there.
pub fn of_class(class: &str) -> PodObject {
    let (qos, priority) = match class {
        "Batch" => ("LS", 5500),
        "BE" => ("BE", 5500),
        other => (other, 9500),
    };
    a_pod(&json!({"koordinator.sh/qosClass": qos}), &json!({"priority": priority}))
}

pub const CLASSES: [&str; 5] = ["LSE", "LSR", "LS", "Batch", "BE"];

/// `Ok(false)` if the pod needs no Filter call, `Ok(true)` if the node is accepted, else the reason.
pub fn verdict(policy: &Value, pod: PodObject, node: NodeObject) -> Result<bool, String> {
    let snapshot = Snapshot::new([node]);
    let mut plugin = snapshot.plugin(&MODULE, &policy.to_string());
    let pod = Rc::new(pod);
    let (_, begun) = plugin.pre_filter(&pod);
    match begun.code {
        Code::Skip => return Ok(false),
        Code::Success => {}
        _ => return Err(begun.reason),
    }
    let filtered = plugin.filter(&pod, "node-7");
    if filtered.is_success() { Ok(true) } else { Err(filtered.reason) }
}
