//! What packing costs beside plain binpack, in wasmtime fuel: about one unit per instruction, the same on every machine.

mod common;

use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::Plugin as _;
use stowage_host::host::{Export, Module, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};

const BINPACK: &str = r#"{"weights":{"packing":0}}"#;

/// Fuel of PreFilter and PreScore for a pod.
struct Fuel {
    /// The first pod, for which every node is read.
    cold: u64,
    /// The mean of 40 pods after 60 others.
    warm: u64,
}

/// Pods ask for one, two or eight GPUs; each is placed, and node state tells so before the next.
fn fuel(policy: &str, count: usize) -> Fuel {
    let module = Module::metered_from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let mut nodes: Vec<Rc<NodeObject>> = common::gpu_nodes(count).into_iter().map(Rc::new).collect();
    let snapshot = common::Snapshot::new(common::gpu_nodes(count));
    let mut plugin = snapshot.plugin(&module, policy);
    let mut costs = Vec::new();
    for number in 0..100 {
        let gpus = [1, 2, 8][number % 3];
        let requests = json!({"cpu": (4 * gpus).to_string(), "nvidia.com/gpu": gpus.to_string()});
        let pod: Rc<PodObject> = Rc::new(common::a_pod(&format!("p{number}"), &requests));
        let spent = |plugin: &WasmPlugin| -> u64 {
            [Export::PreFilter, Export::PreScore].map(|export| plugin.stats(export).fuel).iter().sum()
        };
        let before = spent(&plugin);
        plugin.pre_filter(&pod);
        plugin.pre_score(&pod, &nodes);
        costs.push(spent(&plugin) - before);
        // Any empty node will do; `gpu_nodes` leaves every eighth one empty.
        let at = number * 8;
        let node = common::gpu_node(at, gpus);
        plugin.reserve(&pod, node.name());
        nodes[at] = Rc::new(common::gpu_node(at, gpus));
        snapshot.set(node);
    }
    Fuel { cold: costs[0], warm: costs[60..].iter().sum::<u64>() / 40 }
}

#[test]
fn a_warm_pod_costs_less_than_half_more_than_with_binpack_alone() {
    for count in [1000, 5000] {
        let (binpack, packing) = (fuel(BINPACK, count), fuel("", count));
        println!(
            "fuel per pod on {count} nodes: binpack alone {} cold, {} warm; packing {} cold, {} warm",
            binpack.cold, binpack.warm, packing.cold, packing.warm
        );
        assert!(2 * packing.warm < 3 * binpack.warm, "{count} nodes: {} and {}", packing.warm, binpack.warm);
        assert!(packing.cold < 2 * binpack.cold, "{count} nodes: {} and {}", packing.cold, binpack.cold);
    }
}
