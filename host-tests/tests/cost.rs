//! What calls cost, in wasmtime fuel: about one unit per instruction, the same on every machine.

mod common;

use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::{Code, Handle as _, Plugin as _};
use stowage_host::host::{Export, Module};

/// Fuel of PreFilter and PreScore for the second of two equal pods on `count` nodes, all of which a pod with a GPU has
/// made known before.
fn fuel(count: usize, policy: &str, requests: &serde_json::Value, answer: Code) -> u64 {
    let module = Module::metered_from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let snapshot = common::Snapshot::new(common::gpu_nodes(count));
    let mut plugin = snapshot.plugin(&module, policy);
    let nodes = snapshot.nodes();
    let first = Rc::new(common::a_pod("first", &gpu_pod()));
    plugin.pre_filter(&first);
    assert_eq!(plugin.pre_score(&first, &nodes).code, Code::Success);
    let mut spent = || {
        let before: u64 = [Export::PreFilter, Export::PreScore].map(|export| plugin.stats(export).fuel).iter().sum();
        let pod = Rc::new(common::a_pod("p", requests));
        plugin.pre_filter(&pod);
        assert_eq!(plugin.pre_score(&pod, &nodes).code, answer);
        [Export::PreFilter, Export::PreScore].map(|export| plugin.stats(export).fuel).iter().sum::<u64>() - before
    };
    spent();
    spent()
}

fn gpu_pod() -> serde_json::Value {
    json!({"cpu": "1", "nvidia.com/gpu": "1"})
}

#[test]
fn a_pod_without_an_opinion_costs_the_same_on_any_cluster() {
    let policy = json!({"weights": {"gpuNodeAvoidance": 0}, "binpack": {"scoringStrategy":
        {"type": "MostAllocated", "resources": [{"name": "nvidia.com/gpu"}]}}})
    .to_string();
    let small = fuel(100, &policy, &json!({"cpu": "1"}), Code::Skip);
    let large = fuel(5000, &policy, &json!({"cpu": "1"}), Code::Skip);
    assert_eq!(small, large);
}

#[test]
fn the_cost_of_a_pod_grows_no_faster_than_the_cluster() {
    let small = fuel(500, "", &gpu_pod(), Code::Success);
    let large = fuel(5000, "", &gpu_pod(), Code::Success);
    assert!(large < 11 * small, "{small} on 500 nodes, {large} on 5,000");
}
