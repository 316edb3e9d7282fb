//! Whether a simulation is as expected.

use std::collections::BTreeMap;

use super::expect::{Expectations, OneOrMore};
use super::pattern;
use crate::simulation::Simulation;
use crate::trial::reason;

/// What is not as expected.
pub fn check(expected: &Expectations, simulation: &Simulation) -> Vec<String> {
    let pods = Pods::of(simulation);
    let mut failures = Vec::new();
    for (pattern, nodes) in &expected.placements {
        pods.placement(pattern, nodes, &mut failures);
    }
    for group in &expected.same_node {
        let mut nodes = pods.nodes(group, &mut failures);
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.len() > 1 {
            failures.push(format!("{} should be on one node, are on {}", group.join(", "), nodes.join(", ")));
        }
    }
    for group in &expected.different_nodes {
        let nodes = pods.nodes(group, &mut failures);
        for (at, node) in nodes.iter().enumerate() {
            if nodes[..at].contains(node) {
                failures.push(format!("{} should be on different nodes, several are on {node}", group.join(", ")));
            }
        }
    }
    for (pattern, nodes) in &expected.none_of {
        for (pod, state) in pods.matching(pattern, &mut failures) {
            if let State::Bound(node) = state
                && nodes.contains(node)
            {
                failures.push(format!("{pod} should not be on {node}"));
            }
        }
    }
    for group in &expected.all_or_none {
        let states = group.iter().flat_map(|pattern| pods.matching(pattern, &mut failures)).collect::<Vec<_>>();
        let bound = states.iter().filter(|(_, state)| matches!(state, State::Bound(_))).count();
        if bound != 0 && bound != states.len() {
            failures.push(format!("{} should all be bound or none, {bound} of {} are", group.join(", "), states.len()));
        }
    }
    for (pattern, text) in &expected.pending {
        pods.pending(pattern, text, &mut failures);
    }
    for (pattern, most) in &expected.attempts {
        pods.matching(pattern, &mut failures);
        for pod in simulation.pods().iter().filter(|pod| pattern::pod(pattern, &pod.info.key)) {
            if pod.attempts.len() > *most {
                failures.push(format!("{} should take {most} cycles, takes {}", pod.info.key, pod.attempts.len()));
            }
        }
    }
    for pattern in &expected.gone {
        if let Some(pod) = pods.0.keys().find(|pod| pattern::pod(pattern, pod)) {
            failures.push(format!("{pod} should be gone"));
        }
    }
    if let Some(placed) = expected.placed {
        let is = simulation.placements().len();
        if is != placed {
            failures.push(format!("{placed} pods should be placed, {is} are"));
        }
    }
    failures
}

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

    fn matching<'a>(&'a self, pattern: &'a str, failures: &mut Vec<String>) -> Vec<(&'a str, &'a State)> {
        let found: Vec<_> = self
            .0
            .iter()
            .filter(|(key, _)| pattern::pod(pattern, key))
            .map(|(key, state)| (key.as_str(), state))
            .collect();
        if found.is_empty() {
            failures.push(format!("there is no pod {pattern}"));
        }
        found
    }

    /// The nodes of bound pods.
    fn nodes(&self, group: &[String], failures: &mut Vec<String>) -> Vec<&str> {
        let mut nodes = Vec::new();
        for pattern in group {
            let found = self.0.iter().filter(|(key, _)| pattern::pod(pattern, key));
            let before = nodes.len();
            for (pod, state) in found {
                match state {
                    State::Bound(node) => nodes.push(node.as_str()),
                    State::Pending(reason) => failures.push(format!("{pod} should be placed, waits: {reason}")),
                }
            }
            if nodes.len() == before {
                failures.push(format!("no pod {pattern} is placed"));
            }
        }
        nodes
    }

    fn placement(&self, pattern: &str, nodes: &OneOrMore, failures: &mut Vec<String>) {
        for (pod, state) in self.matching(pattern, failures) {
            match state {
                State::Bound(node) if nodes.contains(node) => {}
                State::Bound(node) => failures.push(format!("{pod} should be on {nodes}, is on {node}")),
                State::Pending(reason) => failures.push(format!("{pod} should be on {nodes}, waits: {reason}")),
            }
        }
    }

    fn pending(&self, pattern: &str, text: &str, failures: &mut Vec<String>) {
        for (pod, state) in self.matching(pattern, failures) {
            match state {
                State::Bound(node) => failures.push(format!("{pod} should wait, is on {node}")),
                State::Pending(reason) if pattern::contains(text, reason) => {}
                State::Pending(reason) => failures.push(format!("{pod} should wait for {text:?}, waits: {reason}")),
            }
        }
    }
}
