//! Placement formulas of the literature and of the stock scheduler, by name.
//!
//! Scores are integers as in a real scheduler. Sources: FGD (Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing
//! Workloads with Fragmentation Gradient Descent", USENIX ATC'23) and the simulator published with it, which also defines
//! the five baselines; `NodeResourcesFit` of kube-scheduler for MostAllocated.

mod baseline;
mod fgd;
mod most_allocated;
mod stowage;

use anyhow::{Result, bail};

use super::cluster::{Cluster, Node};
use super::read::Trace;
use super::replay::Policy;
use super::workload::Pod;

/// The names that [`named`] knows, in the order of the published table, then the stock scheduler's and the packing of
/// our module, by itself.
pub const NAMES: [&str; 9] = [
    "random",
    "dot-product",
    "gpu-clustering",
    "gpu-packing",
    "best-fit",
    "fgd",
    "most-allocated-gpu",
    "most-allocated-cpu-gpu",
    "stowage-native",
];

/// The formula called `name`, ready for one replay of `trace` under `seed`.
///
/// # Errors
/// If there is no such formula.
pub fn named(name: &str, trace: &Trace, seed: u64) -> Result<Box<dyn Policy>> {
    Ok(match name {
        "random" => Box::new(baseline::Random::new(seed)),
        "dot-product" => Box::new(PerNode::new(baseline::dot_product)),
        "gpu-clustering" => Box::new(PerNode::new(baseline::gpu_clustering)),
        "gpu-packing" => Box::new(PerNode::new(baseline::gpu_packing)),
        "best-fit" => Box::new(PerNode::new(baseline::best_fit)),
        "fgd" => Box::new(PerNode::new(fgd::Fgd::new(&trace.pods))),
        "most-allocated-gpu" => Box::new(PerNode::new(most_allocated::gpu)),
        "most-allocated-cpu-gpu" => Box::new(PerNode::new(most_allocated::cpu_and_gpu)),
        "stowage-native" => Box::new(stowage::Stowage::new()),
        _ => bail!("no formula is called {name:?}; there are {}", NAMES.join(", ")),
    })
}

/// A score that depends on one node and one pod only.
trait Score {
    fn score(&self, node: &Node, pod: &Pod) -> i64;

    fn device(&self, node: &Node, pod: &Pod) -> Option<usize> {
        node.tightest_device(pod.milli)
    }
}

impl<F: Fn(&Node, &Pod) -> i64> Score for F {
    fn score(&self, node: &Node, pod: &Pod) -> i64 {
        self(node, pod)
    }
}

/// Computes a [`Score`] again only after the node has changed.
struct PerNode<S> {
    formula: S,
    /// Per shape of pod and node: the node's version and the score then.
    known: Vec<Vec<Option<(u32, i64)>>>,
}

impl<S: Score> PerNode<S> {
    fn new(formula: S) -> Self {
        Self { formula, known: Vec::new() }
    }
}

impl<S: Score> Policy for PerNode<S> {
    fn score(&mut self, cluster: &Cluster, pod: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()> {
        if self.known.len() <= pod.shape {
            self.known.resize(pod.shape + 1, Vec::new());
        }
        let known = &mut self.known[pod.shape];
        known.resize(cluster.nodes.len(), None);
        scores.extend(candidates.iter().map(|&at| {
            let node = &cluster.nodes[at];
            match known[at] {
                Some((version, score)) if version == node.version => score,
                _ => {
                    let score = self.formula.score(node, pod);
                    known[at] = Some((node.version, score));
                    score
                }
            }
        }));
        Ok(())
    }

    fn device(&mut self, node: &Node, pod: &Pod) -> Option<usize> {
        self.formula.device(node, pod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_formula_and_others_are_refused() {
        for name in NAMES {
            assert!(named(name, &Trace::default(), 1).is_ok(), "{name}");
        }
        let error = named("worst-fit", &Trace::default(), 1).err().unwrap().to_string();
        assert!(error.contains("\"worst-fit\"") && error.contains("best-fit"), "{error}");
    }
}
