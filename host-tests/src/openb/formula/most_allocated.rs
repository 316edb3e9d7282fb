//! `NodeResourcesFit` with `MostAllocated`, over GPU-milli alone or over cpu and GPU-milli alike.

use crate::openb::cluster::{DEVICE, Node};
use crate::openb::workload::Pod;

/// GPU-milli alone. A CPU-only pod has no opinion, as in the stock plugin, which leaves out resources not asked for.
pub(super) fn gpu(node: &Node, pod: &Pod) -> i64 {
    gpu_share(node, pod).unwrap_or(0)
}

/// Cpu and GPU-milli at equal weights.
pub(super) fn cpu_and_gpu(node: &Node, pod: &Pod) -> i64 {
    let cpu = share(node.cpu - node.cpu_free + pod.cpu, node.cpu);
    let known = [cpu, gpu_share(node, pod)];
    let count = known.iter().flatten().count().max(1);
    known.iter().flatten().sum::<i64>() / i64::try_from(count).unwrap_or(1)
}

fn gpu_share(node: &Node, pod: &Pod) -> Option<i64> {
    if pod.gpus == 0 {
        return None;
    }
    let allocatable = node.devices.len() as i64 * i64::from(DEVICE);
    share(allocatable - node.gpu_free() + pod.gpu_milli(), allocatable)
}

/// Percent of `allocatable` in use, `None` where there is nothing to use.
fn share(requested: i64, allocatable: i64) -> Option<i64> {
    (allocatable > 0).then(|| requested.min(allocatable) * 100 / allocatable)
}
