//! The replay reproduces figures measured elsewhere: the published table, and an independent replay of the stock scorer.

mod openb;

use openb::{published, workload};
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

#[test]
fn the_published_table_is_reproduced_under_fixed_ties() {
    let published = published();
    let seeds: Vec<u64> = (42..52).collect();
    let trace = workload("openb_pod_list_default");
    let names = ["random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit", "fgd"];
    for (policy, expected) in names.iter().zip(published["openb_pod_list_default"].values()) {
        let found = allocated(&trace, policy, &seeds, Ties::Fixed, [90, 95, 100, 130]);
        for (percent, found) in ["90", "95", "100", "130"].iter().zip(found) {
            let expected = expected[*percent].mean;
            assert!((found - expected).abs() < 0.3, "{policy} at {percent} %: {found:.2}, published {expected}");
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
