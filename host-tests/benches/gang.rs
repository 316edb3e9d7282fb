//! What planning costs in the module: gangs of 8, 64 and 512 members with a GPU each, on 1,000 nodes.
//!
//! The fuel printed first is the same everywhere; times are this machine's. How many cycles a gang takes is asserted by
//! the gang tests (`scale`).

#[path = "../tests/common/mod.rs"]
mod common;

use std::rc::Rc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::host::{Export, Module, WasmPlugin};
use stowage_host::object::PodObject;

const NODES: usize = 1_000;
const SIZES: [usize; 3] = [8, 64, 512];

fn member(gang: &str, index: usize, min: usize, gpus: &str) -> Rc<PodObject> {
    let name = format!("{gang}-{index}");
    Rc::new(common::pod(&json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name,
            "annotations": {"stowage.dev/gang": gang, "stowage.dev/gang-min": min.to_string()}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "4", "nvidia.com/gpu": gpus}}}]},
    })))
}

/// A gang of which all members but the last have been turned away, and the last.
fn almost_complete(plugin: &mut WasmPlugin, gang: &str, members: usize, gpus: &str) -> Rc<PodObject> {
    for index in 1..members {
        let (_, status) = plugin.pre_filter(&member(gang, index, members, gpus));
        assert_eq!(status.code, Code::UnschedulableAndUnresolvable, "{}", status.reason);
    }
    member(gang, 0, members, gpus)
}

/// Nodes of which each has a GPU free, or more.
fn cluster() -> Rc<common::Snapshot> {
    common::Snapshot::new(common::gpu_nodes(NODES))
}

fn fuel() {
    let module = Module::metered_from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    println!("fuel per PreFilter, gangs on {NODES} nodes");
    println!("(after 64 cycles the nodes are read again, which is part of the larger figures)");
    println!("members  incomplete  completes   no room  one more");
    for members in SIZES {
        let mut plugin = cluster().plugin(&module, "");
        // Reads the nodes, which the first pod of all pays for.
        plugin.pre_filter(&member("first", 0, 2, "1"));
        let spent = |pod: &Rc<PodObject>, plugin: &mut WasmPlugin| {
            let before = plugin.stats(Export::PreFilter).fuel;
            plugin.pre_filter(pod);
            plugin.stats(Export::PreFilter).fuel - before
        };
        let incomplete = spent(&member("fits", 1, members, "1"), &mut plugin);
        let last = almost_complete(&mut plugin, "fits", members, "1");
        let completes = spent(&last, &mut plugin);
        let last = almost_complete(&mut plugin, "large", members, "9");
        let no_room = spent(&last, &mut plugin);
        let one_more = spent(&member("large", members, members, "9"), &mut plugin);
        println!("{members:>7} {incomplete:>11} {completes:>10} {no_room:>9} {one_more:>9}");
    }
}

fn planning(criterion: &mut Criterion) {
    fuel();
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let mut group = criterion.benchmark_group("gang");
    group.sample_size(10);
    for members in SIZES {
        for (name, gpus, code) in [("plan", "1", Code::Success), ("no-room", "9", Code::UnschedulableAndUnresolvable)] {
            group.bench_function(BenchmarkId::new(name, members), |bench| {
                let mut plugin = cluster().plugin(&module, "");
                let mut gangs = 0;
                bench.iter_custom(|rounds| {
                    (0..rounds)
                        .map(|_| {
                            gangs += 1;
                            let last = almost_complete(&mut plugin, &format!("gang-{gangs}"), members, gpus);
                            let begin = std::time::Instant::now();
                            let (_, status) = plugin.pre_filter(&last);
                            let spent = begin.elapsed();
                            assert_eq!(status.code, code, "{}", status.reason);
                            spent
                        })
                        .sum()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);
