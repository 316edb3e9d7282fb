//! One scheduling cycle: from a pod to a node that is reserved for it, or to the reason why there is none.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use super::cache::Cache;
use super::diagnosis::Diagnosis;
use super::node::NodeInfo;
use super::plugin::{Failure, Nomination, PluginId, PluginSet, Rejection};
use super::pod::PodInfo;
use super::queue::QueuedPod;
use super::report::{CycleReport, NodeReport, Verdict};
use super::{Preemption, Scheduler, Time, filter, select};
use crate::framework::{Code, Status};
use crate::object::NodeObject;

/// Longest time that a pod waits in Permit.
const MAX_PERMIT_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How a cycle ended.
#[derive(Debug)]
pub enum Outcome {
    /// The pod is assumed to run on the node that it names now.
    Assumed {
        /// The pod as it will be when it is bound.
        pod: Rc<PodInfo>,
        /// Permit wants it to wait this long at most.
        wait: Option<Duration>,
    },
    /// It is not.
    Failed {
        /// Why.
        failure: Failure,
        /// Pods that are to make room for it.
        preemption: Option<Preemption>,
    },
}

/// What a search for nodes found: fitting nodes (by position), or why there are none.
struct Search {
    feasible: Vec<usize>,
    diagnosis: Diagnosis,
}

impl Scheduler {
    /// Runs the scheduling cycle of a pod that was just popped. On success the pod is in the cache.
    pub fn schedule(&mut self, queued: &QueuedPod, now: Time) -> Outcome {
        let kept = self.profile.explain.as_deref() == Some(&*queued.info.key);
        if kept || self.profile.on_report.is_some() {
            self.report = Some(CycleReport {
                pod: queued.info.key.to_string(),
                time: now,
                attempt: queued.attempts,
                nodes: Vec::new(),
                chosen: None,
                failure: None,
            });
        }
        let outcome = self.run_cycle(&queued.info);
        if let Some(mut report) = self.report.take() {
            match &outcome {
                Outcome::Assumed { pod, .. } => report.chosen = pod.node_name().map(str::to_owned),
                Outcome::Failed { failure, .. } => report.failure = Some(failure.message.to_string()),
            }
            if let Some(sink) = &self.profile.on_report {
                (sink.0)(&report);
            }
            if kept {
                self.reports.push(report);
            }
        }
        outcome
    }

    fn run_cycle(&mut self, pod: &Rc<PodInfo>) -> Outcome {
        let handle = self.handle.clone();
        let chosen = {
            let cache = handle.cache.borrow();
            self.choose(pod, &cache)
        };
        let node = match chosen {
            Ok(node) => node,
            Err(outcome) => return outcome,
        };
        let assumed = Rc::new(pod.on_node(&node));
        handle.cache.borrow_mut().assume_pod(&assumed);
        self.forget_nomination(&assumed.uid);
        let failed = match self.reserve_and_permit(&assumed, &node) {
            Ok(wait) => return Outcome::Assumed { pod: assumed, wait },
            Err(failed) => failed,
        };
        self.unreserve(&assumed);
        Outcome::Failed { failure: failed, preemption: None }
    }

    /// Undoes what a cycle did for a pod that will not be bound.
    pub fn unreserve(&mut self, assumed: &Rc<PodInfo>) {
        if self.interfaces.reserve {
            self.plugin.unreserve(&assumed.object, assumed.node_name().unwrap_or_default());
        }
        self.handle.cache.borrow_mut().remove_pod(&assumed.uid);
    }

    /// PreFilter to Score, and PostFilter if no node is left.
    fn choose(&mut self, pod: &Rc<PodInfo>, cache: &Cache) -> Result<Rc<str>, Outcome> {
        let failed = |failure| Outcome::Failed { failure, preemption: None };
        let nodes = cache.nodes();
        if nodes.is_empty() {
            return Err(failed(Failure {
                code: Code::UnschedulableAndUnresolvable,
                ..Failure::error("no nodes available to schedule pods")
            }));
        }
        let mut skip_filter = false;
        let search = self.find_nodes(pod, cache, &mut skip_filter).map_err(failed)?;
        let Search { feasible, diagnosis } = search;
        if feasible.is_empty() {
            self.report_nodes(cache, &diagnosis, &[], None);
            return Err(self.post_filter(pod, cache, diagnosis, skip_filter));
        }
        let scores = self.score(pod, nodes, &feasible).map_err(failed)?;
        self.report_nodes(cache, &diagnosis, &feasible, scores.as_deref());
        let best = match &scores {
            Some(scores) => select::best(scores, self.profile.ties, &mut self.random),
            None => 0,
        };
        Ok(nodes[feasible[best]].name.clone())
    }

    fn find_nodes(&mut self, pod: &Rc<PodInfo>, cache: &Cache, skip_filter: &mut bool) -> Result<Search, Failure> {
        let mut diagnosis = Diagnosis::default();
        let mut only = filter::pre_filter(pod).map(|names| names.into_iter().collect::<BTreeSet<_>>());
        let mut restricting = PluginSet::default();
        if only.is_some() {
            restricting.insert(PluginId::NodeAffinity);
        }

        let (names, status) = self.plugin.pre_filter(&pod.object);
        match status.code {
            Code::Success => {
                if let Some(names) = names {
                    restricting.insert(PluginId::Wasm);
                    let names: BTreeSet<String> = names.into_iter().collect();
                    only = Some(only.map_or(names.clone(), |known| &known & &names));
                }
            }
            Code::Skip => *skip_filter = true,
            Code::Unschedulable | Code::UnschedulableAndUnresolvable => {
                diagnosis.reject_all(Rejection::by_module(status));
                return Ok(Search { feasible: Vec::new(), diagnosis });
            }
            _ => return Err(self.error_answer("PreFilter", &status)),
        }

        diagnosis.rejectors = restricting;
        if only.as_ref().is_some_and(BTreeSet::is_empty) {
            diagnosis.reject_all(unsatisfied(restricting, " simultaneously"));
            return Ok(Search { feasible: Vec::new(), diagnosis });
        }
        if let Some(nominated) = pod.nominated_node_name().and_then(|name| cache.index_of(name)) {
            let mut on_nominated = Diagnosis::default();
            let feasible = self.filter_nodes(pod, cache, &[nominated], 1, *skip_filter, &mut on_nominated)?;
            if !feasible.is_empty() {
                return Ok(Search { feasible, diagnosis });
            }
        }

        let count = cache.nodes().len();
        let start = if self.profile.sampling == select::Sampling::All { 0 } else { self.next_start };
        let candidates: Vec<usize> = match &only {
            None => (0..count).map(|at| (start + at) % count).collect(),
            Some(names) => {
                diagnosis.others = Some(unsatisfied(restricting, ""));
                names.iter().filter_map(|name| cache.index_of(name)).collect()
            }
        };
        let wanted = self.profile.sampling.nodes_to_find(candidates.len());
        let feasible = self.filter_nodes(pod, cache, &candidates, wanted, *skip_filter, &mut diagnosis)?;
        self.next_start = (self.next_start + feasible.len() + diagnosis.nodes.len()) % count;
        Ok(Search { feasible, diagnosis })
    }

    /// Filters `candidates` in order until `wanted` of them fit.
    fn filter_nodes(
        &mut self,
        pod: &Rc<PodInfo>,
        cache: &Cache,
        candidates: &[usize],
        wanted: usize,
        skip_filter: bool,
        diagnosis: &mut Diagnosis,
    ) -> Result<Vec<usize>, Failure> {
        let mut feasible = Vec::new();
        for at in candidates {
            match self.filter_with_nominated(pod, &cache.nodes()[*at], skip_filter) {
                Ok(()) => feasible.push(*at),
                Err(rejection) if rejection.is_rejected() => diagnosis.reject_node(*at, rejection),
                Err(error) => {
                    return Err(self.plugin_error(format!("running \"wasm\" filter plugin: {}", error.message())));
                }
            }
            if feasible.len() >= wanted {
                break;
            }
        }
        Ok(feasible)
    }

    /// Filters with the pods nominated to the node counted as if they were there, and once more without, since they may
    /// never come.
    pub(super) fn filter_with_nominated(
        &mut self,
        pod: &Rc<PodInfo>,
        node: &NodeInfo,
        skip_filter: bool,
    ) -> Result<(), Rejection> {
        if !self.nominator.is_empty() {
            let nominated: Vec<Rc<PodInfo>> = self
                .nominator
                .on_node(&node.name)
                .filter(|other| other.priority >= pod.priority && other.uid != pod.uid)
                .cloned()
                .collect();
            if !nominated.is_empty() {
                let mut crowded = node.clone();
                for other in nominated {
                    crowded.add_pod(other.clone(), false);
                    self.add_pod(pod, &other, &node.name, skip_filter)?;
                }
                self.filter(pod, &crowded, skip_filter)?;
            }
        }
        self.filter(pod, node, skip_filter)
    }

    fn filter(&mut self, pod: &Rc<PodInfo>, node: &NodeInfo, skip_filter: bool) -> Result<(), Rejection> {
        filter::filter(pod, node, &self.names.borrow())?;
        if skip_filter || !self.interfaces.filter {
            return Ok(());
        }
        let status = self.plugin.filter(&pod.object, &node.name);
        if status.is_success() { Ok(()) } else { Err(Rejection::by_module(status)) }
    }

    /// The module's scores of the feasible nodes; `None` if there is but one, for which nobody is asked.
    fn score(&mut self, pod: &PodInfo, nodes: &[NodeInfo], feasible: &[usize]) -> Result<Option<Vec<i64>>, Failure> {
        if feasible.len() == 1 {
            return Ok(None);
        }
        let unscored = Ok(Some(vec![0; feasible.len()]));
        if !self.interfaces.score {
            return unscored;
        }
        if self.interfaces.pre_score {
            let objects: Vec<Rc<NodeObject>> = feasible.iter().map(|at| nodes[*at].object.clone()).collect();
            let status = self.plugin.pre_score(&pod.object, &objects);
            match status.code {
                Code::Success => {}
                Code::Skip => return unscored,
                _ => return Err(self.plugin_error(format!("running PreScore plugin \"wasm\": {}", status.reason))),
            }
        }
        let mut scores = Vec::with_capacity(feasible.len());
        for at in feasible {
            let (score, status) = self.plugin.score(&pod.object, &nodes[*at].name);
            if !status.is_success() {
                let message = format!("running Score plugins: plugin \"wasm\" failed with: {}", status.reason);
                return Err(self.plugin_error(message));
            }
            scores.push(score);
        }
        if self.interfaces.normalize_score {
            scores = self.normalize(pod, nodes, feasible, scores)?;
        }
        match scores.iter().find(|score| !(0..=100).contains(*score)) {
            Some(score) => Err(self.plugin_error(format!(
                "applying score defaultWeights on Score plugins: plugin \"wasm\" returns an invalid score {score}, it should in the range of [0, 100] after normalizing"
            ))),
            None => Ok(Some(scores)),
        }
    }

    fn normalize(
        &mut self,
        pod: &PodInfo,
        nodes: &[NodeInfo],
        feasible: &[usize],
        scores: Vec<i64>,
    ) -> Result<Vec<i64>, Failure> {
        let names = feasible.iter().map(|at| nodes[*at].name.to_string());
        let mut named: Vec<(String, i64)> = names.zip(scores).collect();
        let status = self.plugin.normalize_score(&pod.object, &mut named);
        if !status.is_success() {
            return Err(self.plugin_error(format!("running Normalize on Score plugins: {}", status.reason)));
        }
        // By position, not by name, as the framework does.
        Ok(named.into_iter().map(|(_, score)| score).collect())
    }

    fn reserve_and_permit(&mut self, assumed: &Rc<PodInfo>, node: &str) -> Result<Option<Duration>, Failure> {
        if self.interfaces.reserve {
            let status = self.plugin.reserve(&assumed.object, node);
            if !status.is_success() {
                return Err(self.refused_after_choice("Reserve", status));
            }
        }
        if !self.interfaces.permit {
            return Ok(None);
        }
        let (status, milliseconds) = self.plugin.permit(&assumed.object, node);
        match status.code {
            Code::Success => Ok(None),
            Code::Wait => Ok(Some(Duration::from_millis(milliseconds.into()).min(MAX_PERMIT_TIMEOUT))),
            _ => Err(self.refused_after_choice("Permit", status)),
        }
    }

    fn refused_after_choice(&mut self, point: &str, status: Status) -> Failure {
        match status.code {
            Code::Unschedulable | Code::UnschedulableAndUnresolvable | Code::Pending => {
                refused_on_choice(Rejection::by_module(status))
            }
            _ => self.error_answer(point, &status),
        }
    }

    /// Keeps what the cycle saw, if somebody wants to know.
    fn report_nodes(&mut self, cache: &Cache, diagnosis: &Diagnosis, feasible: &[usize], scores: Option<&[i64]>) {
        let Some(report) = &mut self.report else { return };
        let refused = |rejection: &Rejection| Verdict::Refused {
            plugin: rejection.plugin.to_string(),
            reason: rejection.message(),
        };
        let others = diagnosis.others.as_ref().map_or(Verdict::NotVisited, refused);
        let mut verdicts = vec![others; cache.nodes().len()];
        for (at, rejection) in &diagnosis.nodes {
            verdicts[*at] = refused(rejection);
        }
        for (position, at) in feasible.iter().enumerate() {
            verdicts[*at] = Verdict::Fits { score: scores.map(|scores| scores[position]) };
        }
        let named = cache.nodes().iter().zip(verdicts);
        report.nodes = named.map(|(node, verdict)| NodeReport { node: node.name.to_string(), verdict }).collect();
    }
}

/// What holds for the nodes that PreFilter left out.
fn unsatisfied(plugins: PluginSet, how: &str) -> Rejection {
    let named = [PluginId::NodeAffinity, PluginId::Wasm].into_iter().filter(|plugin| plugins.contains(*plugin));
    let names: Vec<String> = named.map(|plugin| plugin.to_string()).collect();
    let reason = match names.as_slice() {
        [one] if !how.is_empty() => format!("node(s) didn't satisfy plugin {one}"),
        _ => format!("node(s) didn't satisfy plugin(s) [{}]{how}", names.join(" ")),
    };
    let plugin = if plugins.contains(PluginId::Wasm) { PluginId::Wasm } else { PluginId::NodeAffinity };
    Rejection::new(Code::UnschedulableAndUnresolvable, plugin, reason)
}

/// The failure of a pod that was refused on the very node chosen for it.
pub(super) fn refused_on_choice(rejection: Rejection) -> Failure {
    let code = rejection.code;
    let mut diagnosis = Diagnosis::default();
    diagnosis.reject_node(0, rejection);
    Failure {
        code,
        rejectors: diagnosis.rejectors,
        pending: diagnosis.pending,
        message: diagnosis.message(1).into(),
        nominate: Some(Nomination::Clear),
    }
}
