//! What a scheduling cycle costs in the module, call by call and as the cluster grows.
//!
//! Times are this machine's; the fuel printed first (about one unit per instruction) is the same everywhere.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::rc::Rc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use stowage_host::framework::{Handle as _, Plugin as _};
use stowage_host::host::{Export, Module};
use stowage_host::object::PodObject;

const SIZES: [usize; 3] = [100, 1000, 5000];

fn gpu_pod() -> Rc<PodObject> {
    Rc::new(common::a_pod("p", &json!({"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"})))
}

/// Fuel per call: the first cycle, which reads every node, and a later one.
fn fuel() {
    let module = Module::metered_from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    println!("fuel per call       nodes       cold       warm  warm per node");
    for count in SIZES {
        let snapshot = common::Snapshot::new(common::gpu_nodes(count));
        let mut plugin = snapshot.plugin(&module, "");
        let (nodes, pod) = (snapshot.nodes(), gpu_pod());
        let exports = [Export::PreFilter, Export::PreScore, Export::Score];
        let mut cycle = || {
            let before = exports.map(|export| plugin.stats(export).fuel);
            plugin.pre_filter(&pod);
            plugin.pre_score(&pod, &nodes);
            plugin.score(&pod, "node-7");
            let after = exports.map(|export| plugin.stats(export).fuel);
            [after[0] - before[0], after[1] - before[1], after[2] - before[2]]
        };
        let (cold, warm) = (cycle(), cycle());
        for (at, name) in ["PreFilter", "PreScore", "Score"].into_iter().enumerate() {
            let per_node = if name == "PreScore" { warm[at] / count as u64 } else { warm[at] };
            println!("{name:<16} {count:>8} {:>10} {:>10} {per_node:>14}", cold[at], warm[at]);
        }
    }
}

fn calls(criterion: &mut Criterion) {
    fuel();
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let pod = gpu_pod();
    let mut group = criterion.benchmark_group("call");
    for count in SIZES {
        let snapshot = common::Snapshot::new(common::gpu_nodes(count));
        let nodes = snapshot.nodes();
        let mut plugin = snapshot.plugin(&module, "");
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("prefilter", count), |bench| bench.iter(|| plugin.pre_filter(&pod)));
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("prescore", count), |bench| {
            bench.iter(|| {
                plugin.pre_filter(&pod);
                plugin.pre_score(&pod, &nodes)
            });
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("filter", count), |bench| {
            bench.iter(|| plugin.filter(&pod, black_box("node-7")));
        });
        group.bench_function(BenchmarkId::new("score", count), |bench| {
            bench.iter(|| plugin.score(&pod, black_box("node-7")));
        });
        // Judged by QoS from memory; the score only looks the node up.
        let mut plugin = snapshot.plugin(&module, r#"{"qos":{"classes":{"BE":{"unknownUsage":"Allow"}}}}"#);
        let best_effort = Rc::new(common::best_effort_pod("b"));
        plugin.pre_filter(&best_effort);
        group.bench_function(BenchmarkId::new("filter-qos", count), |bench| {
            bench.iter(|| plugin.filter(&best_effort, black_box("node-7")));
        });
        let idle = Rc::new(common::a_pod("q", &json!({"cpu": "1"})));
        let policy = r#"{"weights":{"gpuNodeAvoidance":0},"binpack":{"scoringStrategy":
            {"type":"MostAllocated","resources":[{"name":"nvidia.com/gpu"}]}}}"#;
        let mut plugin = snapshot.plugin(&module, policy);
        group.bench_function(BenchmarkId::new("no-opinion", count), |bench| {
            bench.iter(|| {
                plugin.pre_filter(&idle);
                plugin.pre_score(&idle, &nodes)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
