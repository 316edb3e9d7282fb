//! What there is to see: nodes with their pods before and after, pods told apart by job and class, pending pods.

use std::collections::HashMap;

use anyhow::bail;

use super::figures::{Figure, figures};
use super::group::{Group, Groups, job_of};
use crate::trial::{NodeOutcome, Outcome, Pending, PodChange, PodFacts, PodOnNode};

/// Everything that is drawn.
#[derive(Debug)]
pub struct Picture<'a> {
    /// The jobs; a pod's job is an index into them.
    pub jobs: Vec<Group>,
    /// The classes, likewise.
    pub classes: Vec<Group>,
    /// The nodes, in the cluster's order.
    pub nodes: Vec<NodeView<'a>>,
    /// Pending pods; those of one job that wait for one reason stand together.
    pub waiting: Vec<Waiting<'a>>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// How many pods the run placed.
    pub placed: usize,
    /// How many wait.
    pub pending: usize,
}

/// A node.
#[derive(Debug)]
pub struct NodeView<'a> {
    /// What the outcome says of it.
    pub node: &'a NodeOutcome,
    /// Nodes of one kind look the same, before and after.
    pub kind: usize,
    /// The pods that were or are on it.
    pub pods: Vec<PodView<'a>>,
}

/// A pod on a node.
#[derive(Clone, Copy, Debug)]
pub struct PodView<'a> {
    /// What the outcome says of it.
    pub pod: &'a PodOnNode,
    /// Index of its job.
    pub job: usize,
    /// Index of its class.
    pub class: usize,
}

/// Pending pods of one job with one reason.
#[derive(Debug)]
pub struct Waiting<'a> {
    /// Why they wait.
    pub reason: &'a str,
    /// Index of their job.
    pub job: usize,
    /// Index of the first one's class.
    pub class: usize,
    /// The pods.
    pub pods: Vec<&'a Pending>,
}

impl<'a> Picture<'a> {
    /// Reads an outcome.
    ///
    /// # Errors
    /// When it does not say which pods are on the nodes.
    pub fn of(outcome: &'a Outcome) -> anyhow::Result<Self> {
        if outcome.nodes.iter().any(|node| node.pods.is_none()) {
            bail!("the result does not say which pods are on the nodes; `stowage run -o json` of this version does");
        }
        let (mut jobs, mut classes) = (Groups::default(), Groups::default());
        let mut count = |pod: &str, facts: &PodFacts, submitted: bool, gpu_milli: i64| {
            let class = facts.class.clone().unwrap_or_else(|| "unknown".to_owned());
            (jobs.count(job_of(pod, facts), submitted, gpu_milli), classes.count(class, submitted, gpu_milli))
        };
        let mut nodes: Vec<NodeView<'a>> = Vec::new();
        for node in &outcome.nodes {
            let pods = node.pods.iter().flatten().map(|pod| {
                let placed = pod.change == PodChange::Placed;
                let (job, class) = count(&pod.pod, &pod.facts, placed, gpu_milli(pod));
                PodView { pod, job, class }
            });
            nodes.push(NodeView { node, kind: 0, pods: pods.collect() });
        }
        let mut waiting: Vec<Waiting<'a>> = Vec::new();
        let mut known = HashMap::new();
        for pod in &outcome.pending {
            let (job, class) = count(&pod.pod, &pod.facts, true, 0);
            let at = *known.entry((job, &*pod.reason)).or_insert_with(|| {
                waiting.push(Waiting { reason: &pod.reason, job, class, pods: Vec::new() });
                waiting.len() - 1
            });
            waiting[at].pods.push(pod);
        }
        let ((jobs, job_numbers), (classes, class_numbers)) = (jobs.jobs(), classes.classes());
        for pod in nodes.iter_mut().flat_map(|node| &mut node.pods) {
            (pod.job, pod.class) = (job_numbers[pod.job], class_numbers[pod.class]);
        }
        for group in &mut waiting {
            (group.job, group.class) = (job_numbers[group.job], class_numbers[group.class]);
        }
        waiting.sort_by_key(|group| group.job);
        number_kinds(&mut nodes);
        Ok(Self {
            figures: figures(outcome),
            jobs,
            classes,
            nodes,
            waiting,
            placed: outcome.placements.len(),
            pending: outcome.pending.len(),
        })
    }
}

/// GPUs of a pod, in thousandths.
pub fn gpu_milli(pod: &PodOnNode) -> i64 {
    i64::try_from(pod.gpus.len()).unwrap_or(i64::MAX).saturating_mul(pod.gpu_milli.unwrap_or(1000))
}

/// Requested cpu, milli-CPU.
pub fn cpu(pod: &PodOnNode) -> i64 {
    pod.facts.requests.get("cpu").copied().unwrap_or(0)
}

/// Nodes are of one kind if nobody can tell their rows from each other by anything but names.
fn number_kinds(nodes: &mut [NodeView<'_>]) {
    let mut kinds = HashMap::new();
    for node in nodes {
        let mut pods: Vec<_> = node
            .pods
            .iter()
            .map(|pod| (pod.job, pod.class, pod.pod.change, &pod.pod.gpus, pod.pod.gpu_milli, cpu(pod.pod)))
            .collect();
        pods.sort_unstable();
        let next = kinds.len();
        node.kind = *kinds.entry((node.node.gpus, node.cpu(), node.node.closed(), pods)).or_insert(next);
    }
}

impl<'a> NodeView<'a> {
    /// Allocatable cpu, milli-CPU.
    #[must_use]
    pub fn cpu(&self) -> i64 {
        self.node.allocatable.get("cpu").copied().unwrap_or(0)
    }

    /// Whether the run changed anything on it.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.pods.iter().any(|pod| pod.pod.change != PodChange::Stayed)
    }

    /// Its pods after the run, or before it.
    pub fn pods_at(&self, after: bool) -> impl Iterator<Item = &PodView<'a>> {
        let other = if after { PodChange::Left } else { PodChange::Placed };
        self.pods.iter().filter(move |pod| pod.pod.change != other)
    }
}
