//! The five baselines that FGD was published against.

use anyhow::Result;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::openb::cluster::{Cluster, DEVICE, Node};
use crate::openb::replay::Policy;
use crate::openb::workload::Pod;

/// The largest node that amounts are measured against: cpu in milli-CPU, GPU in milli.
const LARGEST: [f64; 2] = [128_000.0, 8_000.0];

fn free(node: &Node) -> [f64; 2] {
    [node.cpu_free as f64, node.gpu_free() as f64]
}

fn request(pod: &Pod) -> [f64; 2] {
    [pod.cpu as f64, pod.gpu_milli() as f64]
}

/// A fraction as an integer score. Rounds down, as every plugin of the stock scheduler does.
fn score(fraction: f64) -> i64 {
    (100.0 * fraction) as i64
}

/// Any node, and any device of it that fits.
pub(super) struct Random {
    rng: StdRng,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed ^ 0x0061_6e79) }
    }
}

impl Policy for Random {
    fn score(&mut self, _: &Cluster, _: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()> {
        let chosen = self.rng.random_range(0..candidates.len());
        scores.extend((0..candidates.len()).map(|at| if at == chosen { 100 } else { 0 }));
        Ok(())
    }

    fn device(&mut self, node: &Node, pod: &Pod) -> Option<usize> {
        let fitting = || node.devices.iter().enumerate().filter(|(_, free)| **free >= pod.milli);
        let chosen = self.rng.random_range(0..fitting().count().max(1));
        fitting().nth(chosen).map(|(device, _)| device)
    }
}

/// Tetris' alignment (Grandl et al., SIGCOMM'14), turned around: the smaller the product of what is free and what is
/// requested, the better.
pub(super) fn dot_product(node: &Node, pod: &Pod) -> i64 {
    let (free, request) = (free(node), request(pod));
    let product: f64 = (0..2).map(|i| free[i] / LARGEST[i] * (request[i] / LARGEST[i])).sum();
    score(1.0 - product / 2.0)
}

/// The least left over, cpu and GPU at equal weights.
pub(super) fn best_fit(node: &Node, pod: &Pod) -> i64 {
    let (free, request) = (free(node), request(pod));
    let left: f64 = (0..2).map(|i| (free[i] - request[i]) / LARGEST[i] / 2.0).sum();
    score(1.0 - left)
}

/// Nodes that run only pods of this kind (shared, 1 GPU, 2 GPUs, …) first, then nodes that run some, then empty ones, then
/// the others; the fuller the better within each.
pub(super) fn gpu_clustering(node: &Node, pod: &Pod) -> i64 {
    if pod.gpus == 0 {
        return 0;
    }
    let kind = if pod.is_shared() { 0 } else { pod.gpus };
    let class = match (node.kinds.contains(&kind), node.kinds.len()) {
        (true, 1) => 75,
        (true, _) => 50,
        (false, 0) => 25,
        (false, _) => 0,
    };
    25 * (8_000 - node.gpu_free()) / 8_000 + class
}

/// Devices in use first, then free devices of nodes in use, then free nodes.
pub(super) fn gpu_packing(node: &Node, pod: &Pod) -> i64 {
    if pod.gpus == 0 {
        return 0;
    }
    let whole = node.whole_devices();
    if whole == node.devices.len() {
        let whole = i64::try_from(whole).unwrap_or(i64::MAX);
        return (100 / 3 - whole).max(whole);
    }
    let mut fitting: Vec<u32> = node.devices.iter().copied().filter(|free| *free >= pod.milli).collect();
    fitting.sort_unstable();
    let taken = fitting.iter().take(pod.gpus as usize);
    let opened = taken.clone().filter(|free| **free == DEVICE).count();
    if opened > 0 {
        return (100 / 2 - i64::try_from(opened).unwrap_or(i64::MAX)).max(100 / 3);
    }
    let free: i64 = taken.map(|free| i64::from(*free) * 100 / i64::from(DEVICE)).sum();
    (100 - free / 10).max(100 / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openb::formula::fgd::tests::{Cases, node};

    #[test]
    fn packing_scores_are_the_published_ones() {
        for case in &Cases::read().gpu_packing_scores {
            let pod = case.pod.pod();
            assert_eq!(gpu_packing(&node(0, &case.gpu_left, None), &pod), case.score, "{case:?}");
        }
    }

    #[test]
    fn clustering_prefers_its_own_kind() {
        let pod = Pod { gpus: 1, milli: 500, ..Pod::default() };
        let with = |kinds: &[u32]| Node { kinds: kinds.to_vec(), ..node(0, &[500, 1000], None) };
        let scores = [&[0][..], &[0, 2], &[], &[2]].map(|kinds| gpu_clustering(&with(kinds), &pod));
        assert_eq!(scores, [95, 70, 45, 20]);
    }
}
