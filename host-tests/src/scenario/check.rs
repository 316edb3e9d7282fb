//! Whether a simulation is as expected.

use std::collections::BTreeMap;

use super::expect::{Expectations, OneOrMore};
use super::pattern;
use crate::hint;
use crate::simulation::Simulation;
use crate::trial::reason;

/// Something that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What, in a sentence.
    pub what: String,
    /// The pods that it is about, `namespace/name`.
    pub pods: Vec<String>,
}

impl Failure {
    /// A failure that is about these pods.
    fn of(pods: impl IntoIterator<Item = impl Into<String>>, what: String) -> Self {
        Self { what, pods: pods.into_iter().map(Into::into).collect() }
    }
}

/// What is not as expected; `log` is what the module has logged so far.
pub fn check(expected: &Expectations, simulation: &Simulation, log: &[String]) -> Vec<Failure> {
    let pods = Pods::of(simulation);
    let mut failures = Vec::new();
    for (pattern, nodes) in &expected.placements {
        pods.placement(pattern, nodes, &mut failures);
    }
    for group in &expected.same_node {
        let placed = pods.placed(group, &mut failures);
        let mut nodes: Vec<&str> = placed.iter().map(|(_, node)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.len() > 1 {
            let what = format!("{} should be on one node, are on {}", group.join(", "), nodes.join(", "));
            failures.push(Failure::of(placed.into_iter().map(|(pod, _)| pod), what));
        }
    }
    for group in &expected.different_nodes {
        let placed = pods.placed(group, &mut failures);
        for (at, (pod, node)) in placed.iter().enumerate() {
            if placed[..at].iter().any(|(_, other)| other == node) {
                let what = format!("{} should be on different nodes, several are on {node}", group.join(", "));
                failures.push(Failure::of([*pod], what));
            }
        }
    }
    for (pattern, nodes) in &expected.none_of {
        for (pod, state) in pods.matching(pattern, &mut failures) {
            if let State::Bound(node) = state
                && nodes.contains(node)
            {
                failures.push(Failure::of([pod], format!("{pod} should not be on {node}")));
            }
        }
    }
    for group in &expected.all_or_none {
        let states = group.iter().flat_map(|pattern| pods.matching(pattern, &mut failures)).collect::<Vec<_>>();
        let bound = states.iter().filter(|(_, state)| matches!(state, State::Bound(_))).count();
        if bound != 0 && bound != states.len() {
            let what = format!("{} should all be bound or none, {bound} of {} are", group.join(", "), states.len());
            let waiting = states.iter().filter(|(_, state)| matches!(state, State::Pending(_)));
            failures.push(Failure::of(waiting.map(|(pod, _)| *pod), what));
        }
    }
    for (pattern, text) in &expected.pending {
        pods.pending(pattern, text, &mut failures);
    }
    for (pattern, most) in &expected.attempts {
        pods.matching(pattern, &mut failures);
        for pod in simulation.pods().iter().filter(|pod| pattern::pod(pattern, &pod.info.key)) {
            if pod.attempts.len() > *most {
                let what = format!("{} should take {most} cycles, takes {}", pod.info.key, pod.attempts.len());
                failures.push(Failure::of([&*pod.info.key], what));
            }
        }
    }
    for pattern in &expected.gone {
        if let Some(pod) = pods.0.keys().find(|pod| pattern::pod(pattern, pod)) {
            failures.push(Failure::of([pod], format!("{pod} should be gone")));
        }
    }
    if let Some(placed) = expected.placed {
        let is = simulation.placements().len();
        if is != placed {
            let waiting = simulation.pending().into_iter().map(|pod| &*pod.info.key);
            failures.push(Failure::of(waiting, format!("{placed} pods should be placed, {is} are")));
        }
    }
    for text in expected.logged.iter().filter(|text| !log.iter().any(|line| pattern::contains(text, line))) {
        failures.push(Failure::of(NOBODY, format!("the module should log {text:?}")));
    }
    failures
}

/// A failure that no pod has a part in.
const NOBODY: [&str; 0] = [];

/// What became of a pod.
enum State {
    Bound(String),
    Pending(String),
}

struct Pods(BTreeMap<String, State>);

impl Pods {
    fn of(simulation: &Simulation) -> Self {
        let state = |pod: &&crate::simulation::StoredPod| match pod.info.node_name() {
            Some(node) => State::Bound(node.to_owned()),
            None => State::Pending(reason(pod)),
        };
        Self(simulation.pods().iter().map(|pod| (pod.info.key.to_string(), state(pod))).collect())
    }

    fn matching<'a>(&'a self, pattern: &'a str, failures: &mut Vec<Failure>) -> Vec<(&'a str, &'a State)> {
        let found: Vec<_> = self
            .0
            .iter()
            .filter(|(key, _)| pattern::pod(pattern, key))
            .map(|(key, state)| (key.as_str(), state))
            .collect();
        if found.is_empty() {
            failures.push(Failure::of(NOBODY, self.no_pod(pattern)));
        }
        found
    }

    fn no_pod(&self, pattern: &str) -> String {
        let hint = hint::did_you_mean(&pattern::full(pattern), self.0.keys().map(String::as_str));
        format!("there is no pod {pattern}{hint}")
    }

    /// Those of a group that are bound, with their nodes.
    fn placed<'a>(&'a self, group: &'a [String], failures: &mut Vec<Failure>) -> Vec<(&'a str, &'a str)> {
        let mut placed = Vec::new();
        for pattern in group {
            for (pod, state) in self.matching(pattern, failures) {
                match state {
                    State::Bound(node) => placed.push((pod, node.as_str())),
                    State::Pending(reason) => {
                        failures.push(Failure::of([pod], format!("{pod} should be placed, waits: {reason}")));
                    }
                }
            }
        }
        placed
    }

    fn placement(&self, pattern: &str, nodes: &OneOrMore, failures: &mut Vec<Failure>) {
        for (pod, state) in self.matching(pattern, failures) {
            let is = match state {
                State::Bound(node) if nodes.contains(node) => continue,
                State::Bound(node) => format!("is on {node}"),
                State::Pending(reason) => format!("waits: {reason}"),
            };
            failures.push(Failure::of([pod], format!("{pod} should be on {nodes}, {is}")));
        }
    }

    fn pending(&self, pattern: &str, text: &str, failures: &mut Vec<Failure>) {
        for (pod, state) in self.matching(pattern, failures) {
            let what = match state {
                State::Bound(node) => format!("{pod} should wait, is on {node}"),
                State::Pending(reason) if pattern::contains(text, reason) => continue,
                State::Pending(reason) => format!("{pod} should wait for {text:?}, waits: {reason}"),
            };
            failures.push(Failure::of([pod], what));
        }
    }
}
