//! The replay reproduces figures measured elsewhere: the published runs, and an independent replay of the stock scorer.

mod openb;

use std::collections::BTreeMap;

use openb::{data, published, workload};
use stowage_host::openb::compare::{self, Contestant, Job};
use stowage_host::openb::replay::{Options, Ties, replay};
use stowage_host::openb::{Trace, formula};

/// Mean allocation at `percent` arrived, per percent.
fn allocated<const N: usize>(trace: &Trace, policy: &str, seeds: &[u64], ties: Ties, percents: [u32; N]) -> [f64; N] {
    let mut sums = [0.0; N];
    for &seed in seeds {
        let mut policy = formula::named(policy, trace, seed).unwrap();
        let outcome = replay(trace, &mut *policy, Options { seed, arrive: 1.3, ties }, &|| ()).unwrap();
        sums.iter_mut().zip(percents).for_each(|(sum, percent)| *sum += outcome.at(percent).unwrap());
    }
    sums.map(|sum| sum / seeds.len() as f64)
}

/// The formulas in the order of the published table.
const NAMES: [&str; 6] = ["random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit", "fgd"];
/// Where FGD, which takes as long as the others together, is replayed: as it is, with many restricted and with whole pods only.
const FGD_ON: [&str; 3] = ["openb_pod_list_default", "openb_pod_list_gpuspec25", "openb_pod_list_multigpu40"];

/// What one published run, of seed 42, had allocated at each of [`PERCENTS`].
struct Run {
    workload: String,
    policy: &'static str,
    allocated: [f64; 4],
}

const PERCENTS: [u32; 4] = [90, 95, 100, 130];

fn published_runs() -> Vec<Run> {
    let text = std::fs::read_to_string(data("fgd_expected_seed_42.csv")).expect("the runs are there");
    let run = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [workload, policy, allocated @ ..] = &*fields else { panic!("{line}") };
        let number =
            policy.split('-').next().and_then(|number| number.parse::<usize>().ok()).expect("a numbered policy");
        Run {
            workload: (*workload).to_owned(),
            policy: NAMES[number - 1],
            allocated: std::array::from_fn(|at| allocated[at].parse().expect("a figure")),
        }
    };
    text.lines().skip(1).map(run).collect()
}

/// Formulas and the order of pods and nodes are the published ones. One pod that went elsewhere would show in the figures.
#[test]
fn published_runs_are_repeated_to_the_digit() {
    let runs: Vec<Run> = published_runs()
        .into_iter()
        .filter(|run| run.policy != "random" && (run.policy != "fgd" || FGD_ON.contains(&&*run.workload)))
        .collect();
    assert_eq!(runs.len(), 43);
    let traces: BTreeMap<&str, Trace> = runs.iter().map(|run| (&*run.workload, workload(&run.workload))).collect();
    let contestants = NAMES.map(Contestant::Formula);
    let options = Options { seed: 42, arrive: 1.3, ties: Ties::Fixed };
    let job = |run: &Run| {
        let at = NAMES.iter().position(|name| *name == run.policy).expect("a formula");
        (&traces[&*run.workload], &contestants[at])
    };
    let jobs: Vec<Job> = runs.iter().map(job).map(|(trace, contestant)| Job { trace, contestant, options }).collect();
    for (run, (outcome, _)) in runs.iter().zip(compare::run(&jobs, &|| ()).unwrap()) {
        for (percent, expected) in PERCENTS.into_iter().zip(run.allocated) {
            let found = outcome.at(percent).unwrap();
            // Every sample of a published figure was rounded to two digits, and so was their mean.
            let Run { workload, policy, .. } = run;
            assert!(
                (found - expected).abs() < 0.011,
                "{workload}, {policy} at {percent} %: {found:.3}, published {expected}"
            );
        }
    }
}

/// The published experiment draws nodes by their place in a list that threads fill as they are done, so that chance remains.
#[test]
fn random_comes_out_as_published_on_the_average() {
    let published = published();
    let seeds: Vec<u64> = (42..52).collect();
    for name in ["openb_pod_list_default", "openb_pod_list_gpushare100"] {
        let found = allocated(&workload(name), "random", &seeds, Ties::Fixed, PERCENTS);
        for (percent, found) in PERCENTS.iter().zip(found) {
            let expected = published[name]["01-Random"][&percent.to_string()].mean;
            assert!((found - expected).abs() < 0.3, "{name} at {percent} %: {found:.2}, published {expected}");
        }
    }
}

#[test]
fn most_allocated_is_what_an_independent_replay_measured() {
    let trace = workload("openb_pod_list_default");
    let seeds: Vec<u64> = (42..47).collect();
    for (policy, ties, expected) in [
        ("most-allocated-gpu", Ties::Random, 88.7),
        ("most-allocated-gpu", Ties::Fixed, 91.6),
        ("most-allocated-cpu-gpu", Ties::Random, 90.3),
    ] {
        let [found] = allocated(&trace, policy, &seeds, ties, [100]);
        assert!(
            (found - expected).abs() < 0.6,
            "{policy} with {ties:?} ties: {found:.2}, measured elsewhere {expected}"
        );
    }
}
