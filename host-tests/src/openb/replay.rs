//! One replay: pods arrive, a policy places each, and the share of GPUs given away is noted as demand grows.
//!
//! Everything follows the published experiment: all nodes that fit are offered for every pod, failures are dropped, nothing
//! departs. The published scheduler takes the first node among equal scores, in an order drawn once a run; a stock
//! kube-scheduler takes any ([`Ties`]). Integer scores leave so many ties that this alone is worth several points.

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::cluster::{Cluster, Node};
use super::read::Trace;
use super::workload::{Draw, Pod};

/// What decides where a pod goes.
pub trait Policy {
    /// `pod` arrives, before any node is looked at.
    ///
    /// # Errors
    /// If the policy cannot go on.
    fn arrives(&mut self, pod: &Pod) -> Result<()> {
        let _ = pod;
        Ok(())
    }

    /// Takes out of `candidates`, the indices of nodes that fit the pod, those that the policy refuses.
    ///
    /// # Errors
    /// If the policy cannot answer.
    fn filter(&mut self, candidates: &mut Vec<usize>) -> Result<()> {
        let _ = candidates;
        Ok(())
    }

    /// Scores of the `candidates` (indices of nodes that fit `pod`) into `scores`, in the same order; higher is better.
    ///
    /// # Errors
    /// If the policy cannot answer, which ends the replay.
    fn score(&mut self, cluster: &Cluster, pod: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()>;

    /// The device that a shared pod takes on the node it was given to.
    fn device(&mut self, node: &Node, pod: &Pod) -> Option<usize> {
        node.tightest_device(pod.milli)
    }

    /// `pod` now runs on node `index`; `None` if it was dropped.
    ///
    /// # Errors
    /// If the policy cannot go on.
    fn placed(&mut self, cluster: &Cluster, pod: &Pod, index: Option<usize>) -> Result<()> {
        let _ = (cluster, pod, index);
        Ok(())
    }
}

/// Which of several equally good nodes gets the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Any, drawn from the seed: what kube-scheduler does.
    Random,
    /// The first in an order of the nodes that the seed draws once, the same as in the published experiment.
    Fixed,
}

/// How a replay is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of the arrival order and of random ties.
    pub seed: u64,
    /// Demand that arrives, as a multiple of the cluster's GPUs.
    pub arrive: f64,
    /// Which of several equally good nodes gets the pod.
    pub ties: Ties,
}

/// What a replay shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Per percent of the cluster's GPUs that has arrived as demand: percent of them allocated, the mean over the pods at
    /// which arrived demand rounds to that percent.
    pub allocated: Vec<(u32, f64)>,
    /// Pods that arrived.
    pub pods: usize,
    /// Pods that fitted nowhere.
    pub failed: usize,
}

impl Outcome {
    /// Percent of the GPUs allocated when `percent` has arrived.
    #[must_use]
    pub fn at(&self, percent: u32) -> Option<f64> {
        self.allocated.iter().find(|(arrived, _)| *arrived == percent).map(|(_, allocated)| *allocated)
    }
}

/// Replays `trace` under `policy`; `step` is called once a pod, for whoever shows progress.
///
/// # Errors
/// If the cluster has no GPUs or the policy fails.
pub fn replay(trace: &Trace, policy: &mut dyn Policy, options: Options, step: &dyn Fn()) -> Result<Outcome> {
    let capacity = trace.gpu_milli();
    ensure!(capacity > 0, "no node has a GPU, so there is nothing to measure");
    let draw = Draw::new(&trace.pods, trace.nodes.len(), capacity, options.arrive, options.seed);
    // A stream of its own: the order of arrival must not depend on how many ties a policy leaves.
    let mut ties = StdRng::seed_from_u64(options.seed ^ 0x7469_6573);
    let mut cluster = Cluster::new(&trace.nodes);
    let mut curve = Curve::new(capacity);
    let mut fitting = Fitting::default();
    let (mut candidates, mut scores, mut equal) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed = 0;
    for &index in &draw.arrivals {
        let pod = &trace.pods[index];
        policy.arrives(pod)?;
        candidates.clear();
        candidates.extend(fitting.nodes(&cluster, pod));
        policy.filter(&mut candidates)?;
        let chosen = match candidates.len() {
            0 => None,
            // As in kube-scheduler, which does not score a single node.
            1 => candidates.first().copied(),
            _ => {
                scores.clear();
                policy.score(&cluster, pod, &candidates, &mut scores)?;
                ensure!(scores.len() == candidates.len(), "{} scores for {} nodes", scores.len(), candidates.len());
                let highest = scores.iter().max().copied();
                equal.clear();
                let with_scores = candidates.iter().zip(&scores);
                equal.extend(with_scores.filter(|(_, score)| Some(**score) == highest).map(|(at, _)| *at));
                match options.ties {
                    Ties::Fixed => equal.iter().copied().min_by_key(|at| draw.ranks[*at]),
                    Ties::Random => equal.choose(&mut ties).copied(),
                }
            }
        };
        match chosen {
            Some(at) => {
                let node = &mut cluster.nodes[at];
                let device = if pod.is_shared() { policy.device(node, pod) } else { None };
                node.take(pod, device);
            }
            None => failed += 1,
        }
        policy.placed(&cluster, pod, chosen)?;
        curve.arrived(pod.gpu_milli(), chosen.is_some());
        step();
    }
    Ok(Outcome { allocated: curve.finish(), pods: draw.arrivals.len(), failed })
}

/// Per shape of pod the nodes that it fits on, with their version. Nothing departs, so that they only become fewer.
#[derive(Default)]
struct Fitting(Vec<Option<Vec<(usize, u32)>>>);

impl Fitting {
    fn nodes(&mut self, cluster: &Cluster, pod: &Pod) -> impl Iterator<Item = usize> {
        if self.0.len() <= pod.shape {
            self.0.resize(pod.shape + 1, None);
        }
        let all = || cluster.nodes.iter().enumerate().filter(|(_, node)| node.fits(pod));
        let known = self.0[pod.shape].get_or_insert_with(|| all().map(|(at, node)| (at, node.version)).collect());
        known.retain_mut(|(at, version)| {
            let node = &cluster.nodes[*at];
            let fits = *version == node.version || node.fits(pod);
            *version = node.version;
            fits
        });
        known.iter().map(|(at, _)| *at)
    }
}

/// Allocated over arrived, in percent of the capacity.
struct Curve {
    capacity: f64,
    arrived: i64,
    allocated: i64,
    /// Sum and number of samples per rounded percent.
    samples: Vec<(f64, u32)>,
}

impl Curve {
    fn new(capacity: i64) -> Self {
        Self { capacity: capacity as f64, arrived: 0, allocated: 0, samples: Vec::new() }
    }

    fn arrived(&mut self, gpu_milli: i64, placed: bool) {
        self.arrived += gpu_milli;
        self.allocated += if placed { gpu_milli } else { 0 };
        let percent = (100.0 * self.arrived as f64 / self.capacity).round_ties_even() as usize;
        if self.samples.len() <= percent {
            self.samples.resize(percent + 1, (0.0, 0));
        }
        let sample = &mut self.samples[percent];
        *sample = (sample.0 + 100.0 * self.allocated as f64 / self.capacity, sample.1 + 1);
    }

    fn finish(self) -> Vec<(u32, f64)> {
        let with_pods = (0..).zip(self.samples).filter(|(_, (_, count))| *count > 0);
        with_pods.map(|(percent, (sum, count))| (percent, sum / f64::from(count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openb::NodeRow;

    #[test]
    fn the_curve_takes_the_mean_of_all_pods_that_round_to_a_percent() {
        let mut curve = Curve::new(100_000);
        curve.arrived(1000, true);
        curve.arrived(400, true);
        curve.arrived(0, false);
        curve.arrived(600, false);
        assert_eq!(curve.finish(), [(1, (1.0 + 1.4 + 1.4) / 3.0), (2, 1.4)]);
    }

    /// Every node is as good as any other.
    struct Indifferent;

    impl Policy for Indifferent {
        fn score(&mut self, _: &Cluster, _: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()> {
            scores.extend(candidates.iter().map(|_| 50));
            Ok(())
        }
    }

    #[test]
    fn fixed_ties_fill_node_after_node_and_random_ties_do_not() {
        let node = |i| NodeRow { name: format!("n{i}"), cpu: 8, memory: 8, gpus: 8, model: None };
        let pod = |i| Pod { name: format!("p{i}"), cpu: 1, memory: 1, gpus: 1, milli: 1000, ..Pod::default() };
        let large = |i| Pod { cpu: 8, gpus: 8, shape: 1, ..pod(i) };
        let trace = Trace {
            nodes: (0..8).map(node).collect(),
            pods: (0..16).map(pod).chain((16..22).map(large)).collect(),
            models: Vec::new(),
        };
        let failed = |ties| {
            let options = |seed| Options { seed, arrive: 1.0, ties };
            let outcome = |seed| replay(&trace, &mut Indifferent, options(seed), &|| ()).unwrap();
            (0..10).map(|seed| outcome(seed).failed).sum::<usize>()
        };
        assert_eq!(failed(Ties::Fixed), 0);
        assert!(failed(Ties::Random) > 0);
    }
}
