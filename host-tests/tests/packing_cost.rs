//! What packing costs beside plain binpack, in wasmtime fuel: about one unit per instruction, the same on every machine.

mod common;

use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::Plugin as _;
use stowage_host::host::{Export, Module};
use stowage_host::object::{NodeObject, PodObject};

const NODES: usize = 5000;
const BINPACK: &str = r#"{"weights":{"packing":0}}"#;

/// Fuel of PreFilter and PreScore per pod, over `measured` pods after `before` others. Pods ask for one, two or eight GPUs;
/// each is placed, and node state tells so before the next.
fn fuel_per_pod(policy: &str, before: usize, measured: usize) -> u64 {
    let module = Module::metered_from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let mut nodes: Vec<Rc<NodeObject>> = common::gpu_nodes(NODES).into_iter().map(Rc::new).collect();
    let snapshot = common::Snapshot::new(common::gpu_nodes(NODES));
    let mut plugin = snapshot.plugin(&module, policy);
    let exports = [Export::PreFilter, Export::PreScore];
    let mut fuel_before = 0;
    for number in 0..before + measured {
        if number == before {
            fuel_before = exports.map(|export| plugin.stats(export).fuel).iter().sum();
        }
        let gpus = [1, 2, 8][number % 3];
        let requests = json!({"cpu": (4 * gpus).to_string(), "nvidia.com/gpu": gpus.to_string()});
        let pod: Rc<PodObject> = Rc::new(common::a_pod(&format!("p{number}"), &requests));
        plugin.pre_filter(&pod);
        plugin.pre_score(&pod, &nodes);
        // Any empty node will do; `gpu_nodes` leaves every eighth one empty.
        let at = number * 8;
        let node = common::gpu_node(at, gpus);
        plugin.reserve(&pod, node.name());
        nodes[at] = Rc::new(common::gpu_node(at, gpus));
        snapshot.set(node);
    }
    let fuel: u64 = exports.map(|export| plugin.stats(export).fuel).iter().sum();
    (fuel - fuel_before) / measured as u64
}

#[test]
fn a_pod_costs_less_than_half_more_than_with_binpack_alone() {
    let (binpack, packing) = (fuel_per_pod(BINPACK, 60, 40), fuel_per_pod("", 60, 40));
    println!("fuel per pod on {NODES} nodes: {binpack} with binpack alone, {packing} with packing");
    assert!(2 * packing < 3 * binpack, "{packing} with packing, {binpack} without");
}
