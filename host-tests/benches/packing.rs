//! What packing costs beside plain binpack: a pod's PreFilter and PreScore on clusters of 1,000 and 5,000 nodes.
//!
//! Cold is the first pod of a module that knows nothing of the cluster; warm is a pod like others before it, on a cluster
//! of which one node has changed. Times are this machine's; the fuel is in `tests/packing_cost.rs`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::rc::Rc;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use stowage_host::framework::{Handle as _, Plugin as _};
use stowage_host::host::{Module, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};

const POLICIES: [(&str, &str); 2] = [("binpack", r#"{"weights":{"packing":0}}"#), ("packing", "")];

fn pod(number: usize) -> Rc<PodObject> {
    Rc::new(common::a_pod(&format!("p{number}"), &json!({"cpu": "4", "nvidia.com/gpu": "1"})))
}

fn score(plugin: &mut WasmPlugin, pod: &Rc<PodObject>, nodes: &[Rc<NodeObject>]) {
    plugin.pre_filter(pod);
    plugin.pre_score(pod, nodes);
}

fn packing(criterion: &mut Criterion) {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let mut group = criterion.benchmark_group("pod");
    group.sample_size(10);
    for count in [1000, 5000] {
        let snapshot = common::Snapshot::new(common::gpu_nodes(count));
        let nodes = snapshot.nodes();
        for (name, policy) in POLICIES {
            group.bench_function(BenchmarkId::new(format!("{name}-cold"), count), |bench| {
                let start = || snapshot.plugin(&module, policy);
                bench.iter_batched_ref(start, |plugin| score(plugin, &pod(0), &nodes), BatchSize::PerIteration);
            });
            let mut plugin = snapshot.plugin(&module, policy);
            // Long enough for what was learned of the first pods to have reached all nodes.
            (0..50).for_each(|number| score(&mut plugin, &pod(number), &nodes));
            let mut number = 50;
            group.bench_function(BenchmarkId::new(format!("{name}-warm"), count), |bench| {
                bench.iter(|| {
                    let pod = pod(number);
                    score(&mut plugin, &pod, &nodes);
                    plugin.reserve(&pod, nodes[number % count].name());
                    number += 1;
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, packing);
criterion_main!(benches);
