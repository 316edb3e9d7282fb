//! QoS through the extension points, as the scheduler calls them.

mod gangs;
mod memory;
mod rules;
mod time;

use super::*;
use crate::cluster::NodeState;
use crate::cluster::node_state::{Expected, QosClassState, Usage};
use crate::testing::{self, FakeHost, Message};

const NOW: i64 = 1_764_000_000_000;
/// 2025-11-24T16:00:00 UTC, as crane's annotator writes it in Shanghai.
const CRANE_NOW: &str = "2025-11-25T00:00:00Z";
/// 100 cores and 100 GiB: a core is a percent, and so is a GiB.
const ALLOCATABLE: &[(&str, &str)] = &[("cpu", "100"), ("memory", "100Gi"), ("pods", "110")];
const GIB: i64 = 1 << 30;

fn usage(cpu_percent: i64, memory_percent: i64) -> Usage {
    Usage { at: NOW, cpu: cpu_percent * 1000, memory: memory_percent * GIB }
}

fn measured(cpu_percent: i64, memory_percent: i64) -> NodeState {
    NodeState { usage: Some(usage(cpu_percent, memory_percent)), ..NodeState::empty(NOW) }
}

fn with_class(mut state: NodeState, class: &str, pods: u32) -> NodeState {
    state.qos.insert(class.into(), QosClassState { pods, cpu: 0, memory: 0 });
    state
}

fn node(name: &str, state: &NodeState, annotations: &[(&str, &str)]) -> Vec<u8> {
    let json = state.to_json();
    let annotations: Vec<(&str, &str)> =
        annotations.iter().copied().chain([(node_state::ANNOTATION, json.as_str())]).collect();
    testing::node(name, &[], &annotations, ALLOCATABLE)
}

/// A pod that asks for nothing, and so is expected to use 250m and 200 MiB.
#[derive(Clone, Copy, Default)]
struct PodSpec<'a> {
    labels: &'a [(&'a str, &'a str)],
    annotations: &'a [(&'a str, &'a str)],
    owner_kind: &'a str,
    priority: u64,
    requests: &'a [(&'a str, &'a str)],
    limits: &'a [(&'a str, &'a str)],
    /// Seconds since 1970.
    created: i64,
}

const BE: PodSpec<'_> = PodSpec {
    labels: &[("koordinator.sh/qosClass", "BE"), ("koordinator.sh/priority-class", "koord-batch")],
    annotations: &[],
    owner_kind: "",
    priority: 0,
    requests: &[],
    limits: &[],
    created: 0,
};

fn pod(name: &str, spec: PodSpec<'_>) -> Vec<u8> {
    let mut meta = Message::default()
        .bytes(1, name.as_bytes())
        .bytes(3, b"ns")
        .bytes(5, name.as_bytes())
        .strings(11, spec.labels)
        .strings(12, spec.annotations);
    if !spec.owner_kind.is_empty() {
        let owner = Message::default().bytes(1, spec.owner_kind.as_bytes()).bytes(3, b"owner").varint_field(6, 1);
        meta = meta.message(13, owner);
    }
    if spec.created > 0 {
        meta = meta.message(8, Message::default().varint_field(1, spec.created.unsigned_abs()));
    }
    let resources = Message::default().quantities(1, spec.limits).quantities(2, spec.requests);
    let container = Message::default().bytes(1, b"main").message(8, resources);
    let mut rest = Message::default().message(2, container);
    if spec.priority > 0 {
        rest = rest.varint_field(25, spec.priority);
    }
    Message::default().message(1, meta).message(2, rest).encode()
}

fn start(policy: &str) -> (Module, FakeHost) {
    let mut host = FakeHost { config: policy.into(), ..FakeHost::default() };
    (Module::start(&mut host).expect("a valid policy"), host)
}

/// PreFilter and, unless that skips, Filter for one node: `Err` with the reason if the pod is refused.
fn verdict(module: &mut Module, host: &mut FakeHost, pod: Vec<u8>, node: &str) -> Result<Code, String> {
    host.current_pod = pod;
    node.clone_into(&mut host.current_node);
    match module.pre_filter(host) {
        Code::Success => {}
        Code::Skip => return Ok(Code::Skip),
        _ => return Err(host.reason.clone()),
    }
    match module.filter(host) {
        Code::Success => Ok(Code::Success),
        _ => Err(host.reason.clone()),
    }
}

fn one_node(policy: &str, spec: PodSpec<'_>, node: Vec<u8>) -> Result<Code, String> {
    let (mut module, mut host) = start(policy);
    host.set_node("node-7", node);
    verdict(&mut module, &mut host, pod("p", spec), "node-7")
}

/// A whole cycle: the node that the pod was let through to, or why it was not.
fn schedule(module: &mut Module, host: &mut FakeHost, pod: Vec<u8>) -> Result<String, String> {
    host.current_pod = pod;
    host.node_names.clear();
    host.reason.clear();
    let begun = module.pre_filter(host);
    if !matches!(begun, Code::Success | Code::Skip) {
        return Err(host.reason.clone());
    }
    let all: Vec<String> = host.nodes.keys().cloned().collect();
    let asked = if host.node_names.is_empty() { all } else { host.node_names.clone() };
    let mut left = Vec::new();
    for name in asked {
        host.current_node.clone_from(&name);
        if begun == Code::Skip || module.filter(host) == Code::Success {
            left.push(name);
        }
    }
    host.filtered = serde_json::to_vec(&left).expect("names are strings");
    module.pre_score(host);
    let score = |name: &String| {
        host.current_node.clone_from(name);
        module.score(host)
    };
    let Some(chosen) = left.into_iter().max_by_key(score) else { return Err(host.reason.clone()) };
    host.current_node.clone_from(&chosen);
    if module.reserve(host) == Code::Success { Ok(chosen) } else { Err(host.reason.clone()) }
}
