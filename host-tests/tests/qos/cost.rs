//! What QoS costs per call, in wasmtime fuel: about one unit per instruction, the same on every machine.

use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::{Code, Handle as _, Plugin as _};
use stowage_host::host::{Export, Module, WasmPlugin};

use crate::common::{self, Snapshot, node, pod};

const NODES: usize = 500;

/// Measured nodes with pods of several classes.
fn snapshot() -> Rc<Snapshot> {
    let at = 1_767_225_600_000_i64;
    let state = json!({"v": 1, "at": at, "usage": {"at": at, "cpu": 8000, "memory": 1_i64 << 34},
        "qos": {"LSE": {"pods": 1, "cpu": 8000}, "BE": {"pods": 3, "cpu": 6000}}, "requested": {"cpu": 14000}});
    Snapshot::new((0..NODES).map(|at| {
        node(&json!({
            "metadata": {"name": format!("node-{at}"), "annotations": {"stowage.dev/node-state": state.to_string()}},
            "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", "kubernetes.io/batch-cpu": "20000"}},
        }))
    }))
}

/// Fuel of one call.
fn fuel(plugin: &mut WasmPlugin, export: Export, call: impl FnOnce(&mut WasmPlugin)) -> u64 {
    let before = plugin.stats(export).fuel;
    call(plugin);
    plugin.stats(export).fuel - before
}

/// Score only looks up what was found in `PreScore`: no call that is about a node can do less.
#[test]
fn judging_a_known_node_costs_little_more_than_looking_it_up() {
    let module = Module::metered_from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let snapshot = snapshot();
    let mut plugin = snapshot.plugin(&module, "");
    let pod = Rc::new(common::best_effort_pod("p"));
    assert_eq!(plugin.pre_filter(&pod).1.code, Code::Success);
    let filter = |plugin: &mut WasmPlugin| {
        fuel(plugin, Export::Filter, |plugin| assert!(plugin.filter(&pod, "node-7").is_success()))
    };
    let (unseen, known) = (filter(&mut plugin), filter(&mut plugin));
    plugin.pre_score(&pod, &snapshot.nodes());
    let lookup = fuel(&mut plugin, Export::Score, |plugin| drop(plugin.score(&pod, "node-7")));
    println!("fuel: Filter of an unseen node {unseen}, of a known one {known}; Score {lookup}");
    assert!(2 * known <= 3 * lookup, "{known} for judging, {lookup} for looking up");
}

#[test]
fn a_pod_that_no_rule_concerns_costs_no_filter_call() {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let snapshot = snapshot();
    let mut plugin = snapshot.plugin(&module, "");
    let service = Rc::new(pod(&json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": {"koordinator.sh/qosClass": "LS"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    })));
    assert_eq!(plugin.pre_filter(&service).1.code, Code::Skip);
}
