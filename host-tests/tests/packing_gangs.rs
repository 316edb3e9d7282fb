//! Gangs among single pods on a nearly full cluster: packing by typical pods starts at least as many as plain binpack does,
//! on no more nodes.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use serde_json::json;
use stowage_host::framework::{Handle, Plugin};
use stowage_host::host::{self, Module, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};
use stowage_host::simulation::{Change, Options, PluginFactory, Simulation};

const NODES: u32 = 12;
/// Per node.
const GPUS: u32 = 8;
/// Per node: as much as eight GPUs of the hungriest jobs ask for.
const CPU: u32 = 96;
/// Gangs by members, the GPUs of each, and how many there are: half of the cluster in all.
const GANGS: [(u32, u32, usize); 3] = [(8, 1, 2), (4, 2, 2), (2, 8, 1)];

/// One job: a gang, or a single pod if it has no members beside itself.
struct Job {
    members: u32,
    gpus: u32,
    /// Cpu per GPU.
    cpu: u32,
}

/// Gangs and single pods in random order that ask for 95 % of the GPUs.
fn jobs(rng: &mut StdRng) -> Vec<Job> {
    let mut left = NODES * GPUS * 95 / 100;
    let mut jobs = Vec::new();
    let mut add = |members, gpus, rng: &mut StdRng| {
        if members * gpus <= left {
            left -= members * gpus;
            jobs.push(Job { members, gpus, cpu: *[2, 4, 12].choose(rng).expect("some") });
        }
        left > 0
    };
    for (members, gpus, count) in GANGS {
        for _ in 0..count {
            add(members, gpus, rng);
        }
    }
    while add(1, *[1, 1, 1, 2, 4].choose(rng).expect("some"), rng) {}
    jobs.shuffle(rng);
    jobs
}

/// Gangs that started and the nodes that they are on.
#[derive(Debug, Default)]
struct Started {
    gangs: usize,
    nodes: usize,
}

fn run(module: &Module, policy: &'static str, seed: u64, jobs: &[Job]) -> Started {
    let module = module.clone();
    let factory: PluginFactory = Box::new(move |handle: Rc<dyn Handle>| {
        Ok(Box::new(WasmPlugin::new(&module, policy, handle, host::Options::default())?) as Box<dyn Plugin>)
    });
    let amounts = json!({"cpu": CPU.to_string(), "memory": "512Gi", "pods": "110", "nvidia.com/gpu": GPUS.to_string()});
    let node = |at| {
        let node = json!({"metadata": {"name": format!("gpu-{at}")}, "status": {"allocatable": amounts}});
        NodeObject::new(serde_json::from_value(node).expect("a node"))
    };
    let options = Options { seed, ..Options::default() };
    let mut simulation = Simulation::new((0..NODES).map(node), [], factory, options).expect("the module starts");
    let mut time = Duration::ZERO;
    for (job, Job { members, gpus, cpu }) in jobs.iter().enumerate() {
        for member in 0..*members {
            let mut annotations = json!({});
            if *members > 1 {
                annotations =
                    json!({"stowage.dev/gang": format!("g{job}"), "stowage.dev/gang-min": members.to_string()});
            }
            let requests = json!({"cpu": (gpus * cpu).to_string(), "nvidia.com/gpu": gpus.to_string()});
            let pod = PodObject::from_json(&json!({
                "metadata": {"name": format!("g{job}-{member}"), "namespace": "ml", "annotations": annotations},
                "spec": {"schedulerName": "stowage",
                    "containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}]},
            }));
            simulation.at(time, Change::CreatePod(pod.expect("a pod")));
        }
        time += Duration::from_secs(1);
    }
    simulation.run_until_idle().expect("the module goes on");
    assert_eq!(simulation.plugin_errors(), [""; 0]);
    let mut started = Started::default();
    for (job, Job { members, .. }) in jobs.iter().enumerate().filter(|(_, job)| job.members > 1) {
        let nodes: Vec<_> = (0..*members)
            .filter_map(|member| Some(simulation.pod(&format!("ml/g{job}-{member}"))?.info.node_name()?.to_owned()))
            .collect();
        if nodes.len() == *members as usize {
            started.gangs += 1;
            started.nodes += nodes.iter().collect::<BTreeSet<_>>().len();
        }
    }
    started
}

#[test]
fn at_least_as_many_gangs_start_as_with_binpack_on_no_more_nodes() {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let all = |policy| {
        (0..60)
            .map(|seed| run(&module, policy, seed, &jobs(&mut StdRng::seed_from_u64(seed))))
            .fold(Started::default(), |sum, one| Started { gangs: sum.gangs + one.gangs, nodes: sum.nodes + one.nodes })
    };
    let (packing, binpack) = (all("{}"), all(r#"{"weights":{"packing":0}}"#));
    println!("with packing {packing:?}, with binpack alone {binpack:?}");
    assert!(packing.gangs >= binpack.gangs, "{packing:?} {binpack:?}");
    // Nodes per gang, without rounding.
    assert!(packing.nodes * binpack.gangs <= binpack.nodes * packing.gangs, "{packing:?} {binpack:?}");
}

/// Small pods on half of the GPUs, then jobs that want whole nodes, as the policy was told to expect.
fn whole_nodes_last(rng: &mut StdRng) -> Vec<Job> {
    let mut left = NODES * GPUS / 2;
    let mut jobs = Vec::new();
    while left > 0 {
        let gpus = (*[1, 1, 2, 4].choose(rng).expect("some")).min(left);
        left -= gpus;
        jobs.push(Job { members: 1, gpus, cpu: *[2, 4, 12].choose(rng).expect("some") });
    }
    jobs.extend((0..NODES / 2).map(|_| Job { members: 2, gpus: GPUS, cpu: 1 }));
    jobs
}

#[test]
fn whole_nodes_stay_free_for_jobs_that_are_expected() {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let started = |policy| {
        let run = |seed| run(&module, policy, seed, &whole_nodes_last(&mut StdRng::seed_from_u64(seed))).gangs;
        (0..30).map(run).sum::<usize>()
    };
    let (packing, binpack) =
        (started(r#"{"packing":{"expected":[{"pods":5,"gpus":8}]}}"#), started(r#"{"weights":{"packing":0}}"#));
    println!("jobs of two whole nodes with packing: {packing}, with binpack alone: {binpack}");
    assert!(packing >= binpack, "{packing} {binpack}");
}
