//! The figures that a cluster is judged by, before and after.

use std::collections::BTreeMap;

use super::model::{cpu, gpu_milli};
use super::text::counted;
use crate::trial::{NodeOutcome, Outcome, PodChange, PodOnNode, amount};

/// A figure with its name and what else there is to say of it.
#[derive(Debug)]
pub struct Figure {
    /// What is counted.
    pub label: &'static str,
    /// How much, after the run.
    pub value: String,
    /// What it was before, or how it is counted.
    pub note: String,
}

/// The figures of an outcome. Clusters without GPUs are judged by cpu.
pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let nodes = &outcome.nodes;
    let gpus: usize = nodes.iter().map(|node| node.gpus).sum();
    let left = nodes.iter().flat_map(pods).filter(|pod| pod.change == PodChange::Left).count();
    let (placed, pending) = (outcome.placements.len(), outcome.pending.len());
    let note = if left == 0 { String::new() } else { format!("{} had to leave a node", counted(left, "pod")) };
    let pods = Figure { label: "Pods", value: format!("{placed} placed, {pending} pending"), note };
    let (allocated, fits) = if gpus > 0 {
        (gpus_allocated(nodes, gpus), largest_job(nodes))
    } else {
        (cpu_allocated(nodes), largest_pod(nodes))
    };
    vec![pods, allocated, empty_nodes(nodes, gpus > 0), fits, gangs(outcome)]
}

fn pods(node: &NodeOutcome) -> impl Iterator<Item = &PodOnNode> {
    node.pods.iter().flatten()
}

fn gpus_allocated(nodes: &[NodeOutcome], gpus: usize) -> Figure {
    let allocated = |after| nodes.iter().flat_map(|node| node.pods_at(after)).map(gpu_milli).sum::<i64>();
    Figure {
        label: "GPUs allocated",
        value: format!("{} of {gpus}", thousandths(allocated(true))),
        note: format!("{} before", thousandths(allocated(false))),
    }
}

fn cpu_allocated(nodes: &[NodeOutcome]) -> Figure {
    let allocated = |after| nodes.iter().flat_map(|node| node.pods_at(after)).map(cpu).sum::<i64>();
    let all = nodes.iter().map(allocatable_cpu).sum();
    Figure {
        label: "CPUs allocated",
        value: format!("{} of {}", amount("cpu", allocated(true)), amount("cpu", all)),
        note: format!("{} before", amount("cpu", allocated(false))),
    }
}

/// Pods that run on every node, or belong to the platform, do not keep a node from being empty.
fn empty_nodes(nodes: &[NodeOutcome], gpu: bool) -> Figure {
    let counting = nodes.iter().filter(|node| node.closed().is_none() && (!gpu || node.gpus > 0));
    let counting: Vec<&NodeOutcome> = counting.collect();
    let platform = |pod: &PodOnNode| matches!(pod.facts.class.as_deref(), Some("DaemonSet" | "SYSTEM"));
    let empty = |after| counting.iter().filter(|node| node.pods_at(after).all(platform)).count();
    Figure {
        label: if gpu { "Empty GPU nodes" } else { "Empty nodes" },
        value: format!("{} of {}", empty(true), counting.len()),
        note: format!("{} before; DaemonSets and system pods do not count{}", empty(false), closed_ones(nodes, gpu)),
    }
}

/// How many nodes were left out because pods do not go there.
fn closed_ones(nodes: &[NodeOutcome], gpu: bool) -> String {
    match nodes.iter().filter(|node| node.closed().is_some() && (!gpu || node.gpus > 0)).count() {
        0 => String::new(),
        closed => format!("; {} left out", counted(closed, "closed node")),
    }
}

/// How many pods of 1, 2, 4, ... GPUs still find free devices.
fn largest_job(nodes: &[NodeOutcome]) -> Figure {
    let free: Vec<usize> = nodes.iter().filter(|node| node.closed().is_none()).map(free_gpus).collect();
    let most = free.iter().copied().max().unwrap_or(0);
    let sizes = std::iter::successors(Some(1_usize), |size| size.checked_mul(2)).take_while(|size| *size <= most);
    let mut jobs = sizes.map(|size| (free.iter().map(|free| free / size).sum::<usize>(), size));
    let words = |(workers, size): (usize, usize)| format!("{workers} × {}", counted(size, "GPU"));
    let value = jobs
        .next()
        .map_or_else(|| "none with GPUs".to_owned(), |(workers, _)| format!("{} × 1 GPU", counted(workers, "worker")));
    let others: Vec<String> = jobs.map(words).collect();
    let others = if others.is_empty() { String::new() } else { format!("or {}; ", others.join(", ")) };
    Figure { label: "Largest job that would still fit", value, note: format!("{others}by free whole GPUs alone") }
}

fn free_gpus(node: &NodeOutcome) -> usize {
    let mut used = vec![false; node.gpus];
    for at in node.pods_at(true).flat_map(|pod| &pod.gpus) {
        if let Some(used) = used.get_mut(*at) {
            *used = true;
        }
    }
    used.iter().filter(|used| !**used).count()
}

fn largest_pod(nodes: &[NodeOutcome]) -> Figure {
    let free = |node: &NodeOutcome| allocatable_cpu(node) - node.pods_at(true).map(cpu).sum::<i64>();
    let open = nodes.iter().filter(|node| node.closed().is_none());
    let best = open.map(|node| (free(node), node)).max_by_key(|(free, _)| *free).filter(|(free, _)| *free > 0);
    let (value, note) = best.map_or_else(
        || ("none".to_owned(), String::new()),
        |(free, node)| (format!("{} CPU", amount("cpu", free)), format!("on {}; by free cpu alone", node.name)),
    );
    Figure { label: "Largest pod that would still fit", value, note }
}

fn allocatable_cpu(node: &NodeOutcome) -> i64 {
    node.allocatable.get("cpu").copied().unwrap_or(0)
}

/// Of the gangs with submitted pods, those that have started: all pods placed, or some and others waiting.
fn gangs(outcome: &Outcome) -> Figure {
    let mut gangs: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let placed = outcome.nodes.iter().flat_map(pods).filter(|pod| pod.change == PodChange::Placed);
    for gang in placed.filter_map(|pod| pod.facts.gang.as_deref()) {
        gangs.entry(gang).or_default().0 += 1;
    }
    for gang in outcome.pending.iter().filter_map(|pod| pod.facts.gang.as_deref()) {
        gangs.entry(gang).or_default().1 += 1;
    }
    let admitted = gangs.values().filter(|(placed, _)| *placed > 0).count();
    let in_part = gangs.values().filter(|(placed, pending)| *placed > 0 && *pending > 0).count();
    let note = match (gangs.len(), in_part) {
        (0, _) => "no gang was submitted".to_owned(),
        (_, 0) => String::new(),
        _ => format!("{in_part} with pods that still wait"),
    };
    Figure { label: "Gangs admitted", value: format!("{admitted} of {}", gangs.len()), note }
}

fn thousandths(milli: i64) -> String {
    let value = milli as f64 / 1000.0;
    if milli % 1000 == 0 { (milli / 1000).to_string() } else { format!("{value:.2}") }
}
