//! The loop against plugins whose answers the test knows.

mod double;
mod preemption;
mod retries;
mod world;

use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::json;

use self::double::Double;
use super::{Options, Simulation};
use crate::object::{NodeObject, PodObject};

/// A node with this much cpu, 10 GPUs and room for 110 pods.
fn node(name: &str, cpu: u32) -> NodeObject {
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu.to_string(), "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "10"}},
    }))
    .unwrap();
    NodeObject::new(node)
}

/// A pod that asks for this much cpu.
fn pod(name: &str, cpu: u32) -> PodObject {
    pod_with(name, cpu, &json!({}))
}

/// A pod with more in its spec.
fn pod_with(name: &str, cpu: u32, spec: &serde_json::Value) -> PodObject {
    let mut pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu.to_string()}}}]},
    });
    pod["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    PodObject::new(serde_json::from_value::<Pod>(pod).unwrap())
}

/// A simulation of `nodes` under `double`.
fn simulation(nodes: Vec<NodeObject>, double: &Rc<Double>) -> Simulation {
    let double = double.clone();
    let factory = Box::new(move |handle| Ok(double.plugin(handle)));
    Simulation::new(nodes, [], factory, Options::default()).unwrap()
}

fn placed(simulation: &Simulation) -> Vec<String> {
    simulation.placements().into_iter().map(|(pod, node)| format!("{pod} {node}")).collect()
}

fn reason(simulation: &Simulation, key: &str) -> String {
    match &simulation.pod(key).unwrap().attempts.last().unwrap().result {
        Ok(node) => panic!("{key} is bound to {node}"),
        Err(message) => message.to_string(),
    }
}
