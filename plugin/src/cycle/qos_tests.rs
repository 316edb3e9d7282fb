//! QoS through the extension points, as the scheduler calls them.

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
}

const BE: PodSpec<'_> = PodSpec {
    labels: &[("koordinator.sh/qosClass", "BE"), ("koordinator.sh/priority-class", "koord-batch")],
    annotations: &[],
    owner_kind: "",
    priority: 0,
    requests: &[],
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
    let container = Message::default().bytes(1, b"main").message(8, Message::default().quantities(2, spec.requests));
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

#[test]
fn a_hot_node_is_refused_with_the_numbers() {
    // The pod's own 250m and 200 MiB round to 0 percent of the node.
    for (state, expected) in [
        (measured(65, 59), Ok(Code::Success)),
        (measured(66, 0), Err("node-7: cpu 66 % + 0 % estimated > 65 % (BE threshold)".to_owned())),
        (measured(0, 61), Err("node-7: memory 61 % + 0 % estimated > 60 % (BE threshold)".to_owned())),
    ] {
        assert_eq!(one_node("", BE, node("node-7", &state, &[])), expected);
    }
    let heavy = PodSpec { requests: &[("cpu", "7"), ("memory", "1Gi")], ..BE };
    assert_eq!(
        one_node("", heavy, node("node-7", &measured(71, 0), &[])),
        Err("node-7: cpu 71 % + 6 % estimated > 65 % (BE threshold)".to_owned())
    );
}

#[test]
fn pods_that_no_rule_concerns_cost_no_filter_call() {
    let hot = node("node-7", &with_class(measured(99, 99), "LSE", 3), &[]);
    for spec in [
        PodSpec { requests: &[("cpu", "1")], ..PodSpec::default() },
        PodSpec { labels: &[("koordinator.sh/qosClass", "LS")], ..BE },
        PodSpec { labels: &[("koordinator.sh/qosClass", "SYSTEM")], ..BE },
        PodSpec { annotations: &[("volcano.sh/qos-level", "LC")], ..PodSpec::default() },
        PodSpec { owner_kind: "DaemonSet", ..BE },
        PodSpec { priority: 9000, requests: &[("cpu", "1")], ..PodSpec::default() },
    ] {
        assert_eq!(one_node("", spec, hot.clone()), Ok(Code::Skip));
    }
    assert_eq!(one_node(r#"{"qos":{"enabled":false}}"#, BE, hot), Ok(Code::Skip));
}

#[test]
fn the_class_comes_from_every_system() {
    let hot = || node("node-7", &measured(70, 0), &[]);
    let refused = |spec| one_node("", spec, hot()).expect_err("refused");
    assert!(
        refused(PodSpec { annotations: &[("volcano.sh/qos-level", "BE")], ..PodSpec::default() })
            .ends_with("(BE threshold)")
    );
    assert!(refused(PodSpec { owner_kind: "ReplicaSet", ..PodSpec::default() }).ends_with("(BE threshold)"));
    let batch = PodSpec { priority: 5500, requests: &[("cpu", "1")], ..PodSpec::default() };
    assert!(refused(batch).ends_with("(Batch threshold)"));
}

#[test]
fn usage_goes_stale_by_the_clock_of_the_cluster() {
    let (mut module, mut host) = start("");
    let state = NodeState { usage: Some(Usage { at: NOW - 179_999, ..usage(10, 10) }), ..NodeState::empty(NOW) };
    host.set_node("node-7", node("node-7", &with_class(state, "LSR", 1), &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("p", BE), "node-7"), Ok(Code::Success));
    // Another node tells that time has passed.
    host.set_node("other", node("other", &NodeState { at: NOW + 1, ..measured(0, 0) }, &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("p", BE), "other"), Ok(Code::Success));
    assert_eq!(
        verdict(&mut module, &mut host, pod("p", BE), "node-7"),
        Err("node-7: usage older than 180 s beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
}

#[test]
fn unknown_usage_counts_beside_protected_pods() {
    let lse = with_class(NodeState::empty(NOW), "LSE", 1);
    assert_eq!(
        one_node("", BE, node("node-7", &lse, &[])),
        Err("node-7: usage unknown beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
    let allow = r#"{"qos":{"classes":{"BE":{"unknownUsage":"Allow"}}}}"#;
    assert_eq!(one_node(allow, BE, node("node-7", &lse, &[])), Ok(Code::Success));
    assert_eq!(one_node("", BE, node("node-7", &NodeState::empty(NOW), &[])), Ok(Code::Success));
    assert_eq!(
        one_node("", BE, testing::node("node-7", &[], &[], ALLOCATABLE)),
        Err("node-7: usage unknown and no node state: LSE/LSR pods may run there (BE usage rule)".to_owned())
    );
    let silent = PodSpec::default();
    assert_eq!(one_node("", silent, node("node-7", &lse, &[])), Ok(Code::Success), "it never said it is best effort");
}

#[test]
fn crane_measures_where_node_state_does_not() {
    let crane = |cpu: &str, time: &str| {
        let (cpu, memory) = (format!("{cpu},{time}"), format!("0.10000,{time}"));
        let annotations = [("cpu_usage_avg_5m", cpu.as_str()), ("mem_usage_avg_5m", memory.as_str())];
        node("node-7", &with_class(NodeState::empty(NOW), "LSE", 1), &annotations)
    };
    assert_eq!(one_node("", BE, crane("0.64000", CRANE_NOW)), Ok(Code::Success));
    assert_eq!(
        one_node("", BE, crane("0.70000", CRANE_NOW)),
        Err("node-7: cpu 70 % + 0 % estimated > 65 % (BE threshold)".to_owned())
    );
    assert_eq!(one_node("", BE, crane("0.10000", "2025-11-24T23:52:01Z")), Ok(Code::Success));
    let stale = one_node("", BE, crane("0.10000", "2025-11-24T23:52:00Z")).expect_err("eight minutes");
    assert!(stale.contains("usage older than 480 s"), "{stale}");
    // Taken for UTC, the same text lies eight hours ahead.
    let utc = r#"{"qos":{"usage":{"crane":{"utcOffset":"Z"}}}}"#;
    let ahead = one_node(utc, BE, crane("0.10000", CRANE_NOW)).expect_err("in the future");
    assert!(ahead.contains("usage dated in the future (time zone?)"), "{ahead}");
    let off = r#"{"qos":{"usage":{"crane":{"enabled":false}}}}"#;
    assert!(one_node(off, BE, crane("0.10000", CRANE_NOW)).expect_err("not read").contains("usage unknown"));
    // Without a publisher crane's own times are the clock.
    let (cpu, memory) = (format!("0.70000,{CRANE_NOW}"), format!("0.10000,{CRANE_NOW}"));
    let bare = [("cpu_usage_avg_5m", cpu.as_str()), ("mem_usage_avg_5m", memory.as_str())];
    let alone = one_node("", BE, testing::node("node-7", &[], &bare, ALLOCATABLE)).expect_err("hot");
    assert!(alone.contains("cpu 70 %"), "{alone}");
}

#[test]
fn a_burst_is_judged_with_the_pods_just_placed() {
    let (mut module, mut host) = start("");
    host.set_node("node-7", node("node-7", &measured(60, 0), &[]));
    let two_cores = PodSpec { requests: &[("cpu", "2"), ("memory", "1Gi")], ..BE };
    for (name, expected) in [("a", true), ("b", true), ("c", true), ("d", false)] {
        let found = verdict(&mut module, &mut host, pod(name, two_cores), "node-7");
        assert_eq!(found.is_ok(), expected, "{name}: {found:?}");
        if expected {
            assert_eq!(module.reserve(&mut host), Code::Success);
        } else {
            assert_eq!(found, Err("node-7: cpu 60 % + 7 % estimated > 65 % (BE threshold)".to_owned()));
        }
    }
    // One of them is not bound after all.
    host.current_pod = pod("c", two_cores);
    module.unreserve(&mut host);
    assert!(verdict(&mut module, &mut host, pod("d", two_cores), "node-7").is_ok());
    // The publisher knows of pods that others placed.
    let mut busy = measured(60, 0);
    busy.unmeasured = Some(Expected { cpu: 6000, memory: 0 });
    assert!(one_node("", two_cores, node("node-7", &busy, &[])).is_err());
}

#[test]
fn a_node_may_bring_its_own_thresholds() {
    let key = "scheduling.koordinator.sh/usage-thresholds";
    let with = |json: &str| node("node-7", &measured(90, 70), &[(key, json)]);
    assert_eq!(one_node("", BE, with(r#"{"usageThresholds":{"cpu":100}}"#)), Ok(Code::Success));
    assert!(one_node("", BE, with(r#"{"prodUsageThresholds":{"cpu":100}}"#)).is_err());
    assert!(one_node(r#"{"qos":{"nodeThresholds":false}}"#, BE, with(r#"{"usageThresholds":{"cpu":100}}"#)).is_err());

    let (mut module, mut host) = start("");
    host.set_node("node-7", with(r#"{"usageThresholds":{"cpu":"#));
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_err(), "the policy's thresholds hold");
    assert_eq!(host.log, ["node node-7: scheduling.koordinator.sh/usage-thresholds cannot be read, the policy's hold"]);

    let ls = PodSpec { labels: &[("koordinator.sh/qosClass", "LS")], ..BE };
    host.set_node("node-7", with(r#"{"usageThresholds":{"cpu":80}}"#));
    assert_eq!(verdict(&mut module, &mut host, pod("p", ls), "node-7"), Ok(Code::Skip), "not seen yet");
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_err());
    assert_eq!(
        verdict(&mut module, &mut host, pod("p", ls), "node-7"),
        Err("node-7: cpu 90 % + 0 % estimated > 80 % (LS threshold, set on the node)".to_owned())
    );
    host.nodes.clear();
    assert_eq!(verdict(&mut module, &mut host, pod("p", BE), "node-7"), Ok(Code::Success), "the scheduler says so");
    host.nodes.clear();
    module.cluster.read(&mut host, "node-7");
    assert_eq!(verdict(&mut module, &mut host, pod("p", ls), "node-7"), Ok(Code::Skip), "the node is gone");
}

#[test]
fn shares_and_headroom_count_the_ledger() {
    let batch = |allocatable: &str, allocated: i64| {
        let mut state = measured(10, 10);
        state.requested.insert("kubernetes.io/batch-cpu".into(), allocated);
        state.qos.insert("BE".into(), QosClassState { pods: 1, cpu: allocated, memory: 0 });
        let json = state.to_json();
        let allocatable = [ALLOCATABLE, &[("kubernetes.io/batch-cpu", allocatable)]].concat();
        testing::node("node-7", &[], &[(node_state::ANNOTATION, &json)], &allocatable)
    };
    let asks = PodSpec { requests: &[("kubernetes.io/batch-cpu", "10000")], ..BE };
    assert_eq!(one_node("", BE, batch("40000", 40_000)), Ok(Code::Success));
    assert_eq!(
        one_node("", BE, batch("40000", 40_001)),
        Err("node-7: kubernetes.io/batch-cpu: 40001 allocated of 40000 (BE headroom)".to_owned())
    );
    let reserve = r#"{"qos":{"reclaimed":{"reserve":10}}}"#;
    let (mut module, mut host) = start(reserve);
    host.set_node("node-7", batch("40000", 16_000));
    assert_eq!(verdict(&mut module, &mut host, pod("a", asks), "node-7"), Ok(Code::Success));
    assert_eq!(module.reserve(&mut host), Code::Success);
    assert_eq!(verdict(&mut module, &mut host, pod("b", asks), "node-7"), Ok(Code::Success));
    assert_eq!(module.reserve(&mut host), Code::Success);
    assert_eq!(
        verdict(&mut module, &mut host, pod("c", asks), "node-7"),
        Err("node-7: needs 10000 kubernetes.io/batch-cpu, headroom 0 with 10 % kept free".to_owned())
    );

    let (mut module, mut host) = start(r#"{"qos":{"bestEffortShare":{"cpu":40}}}"#);
    host.set_node("node-7", batch("90000", 25_000));
    assert_eq!(verdict(&mut module, &mut host, pod("a", asks), "node-7"), Ok(Code::Success));
    assert_eq!(module.reserve(&mut host), Code::Success);
    assert_eq!(
        verdict(&mut module, &mut host, pod("b", asks), "node-7"),
        Err("node-7: cpu 35 % + 10 % requested > 40 % (BE share)".to_owned())
    );
}

#[test]
fn protected_pods_just_placed_protect_at_once() {
    let (mut module, mut host) = start(r#"{"qos":{"classes":{"BE":{"besideProtected":false}}}}"#);
    host.set_node("node-7", node("node-7", &measured(0, 0), &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("be", BE), "node-7"), Ok(Code::Success));
    let lsr = PodSpec { labels: &[("koordinator.sh/qosClass", "LSR")], ..BE };
    assert_eq!(verdict(&mut module, &mut host, pod("lsr", lsr), "node-7"), Ok(Code::Skip));
    assert_eq!(module.reserve(&mut host), Code::Success);
    assert_eq!(
        verdict(&mut module, &mut host, pod("be", BE), "node-7"),
        Err("node-7: hosts 1 LSE/LSR pods (BE kept apart)".to_owned())
    );
}

#[test]
fn contradictions_are_logged_or_rejected() {
    let spec = PodSpec { labels: &[("koordinator.sh/qosClass", "BE")], priority: 9500, ..BE };
    let why = "QoS class BE with koord-prod (rule be-needs-mid-batch-or-free)";
    let (mut module, mut host) = start("");
    host.set_node("node-7", node("node-7", &measured(0, 0), &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("p", spec), "node-7"), Ok(Code::Success));
    assert_eq!(host.log, [format!("pod ns/p: {why}")]);
    let rejecting = r#"{"qos":{"illegalPairs":"Reject"}}"#;
    assert_eq!(one_node(rejecting, spec, node("node-7", &measured(0, 0), &[])), Err(why.to_owned()));
}

#[test]
fn acceptance_is_from_memory_and_verified_for_the_winner() {
    let (mut module, mut host) = start("");
    host.set_node("node-7", node("node-7", &measured(10, 10), &[]));
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_ok());
    let reads = host.node_reads;
    host.set_node("node-7", node("node-7", &measured(90, 10), &[]));
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_ok());
    assert_eq!(host.node_reads, reads, "a known node is not fetched");
    assert_eq!(module.reserve(&mut host), Code::UnschedulableAndUnresolvable);
    assert_eq!(host.reason, "node-7: cpu 90 % + 0 % estimated > 65 % (BE threshold)");
    assert_eq!(module.cluster.placed(), 0);
    // A refusal from memory is looked at again.
    host.set_node("node-7", node("node-7", &measured(10, 10), &[]));
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_ok());
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_ok());
}

#[test]
fn many_refusals_are_summed_up() {
    let (mut module, mut host) = start("");
    let mut reasons = std::collections::BTreeSet::new();
    for at in 0..100 {
        host.set_node(&format!("node-{at}"), node(&format!("node-{at}"), &measured(66 + at % 30, 0), &[]));
    }
    host.current_pod = pod("p", BE);
    module.pre_filter(&mut host);
    for at in 0..100 {
        host.current_node = format!("node-{at}");
        assert_eq!(module.filter(&mut host), Code::UnschedulableAndUnresolvable);
        reasons.insert(host.reason.clone());
    }
    assert_eq!(reasons.len(), 17, "the rest share one");
    assert!(reasons.contains("cpu above 65 % (BE threshold)"));
    assert!(reasons.contains("node-7: cpu 73 % + 0 % estimated > 65 % (BE threshold)"));
}

#[test]
fn scores_follow_load_where_the_policy_weighs_it() {
    let (mut module, mut host) = start(r#"{"weights":{"binpack":0,"gpuNodeAvoidance":0,"qos":1}}"#);
    for (name, state) in [("cool", measured(13, 0)), ("warm", measured(60, 0)), ("hot", measured(90, 0))] {
        host.set_node(name, node(name, &state, &[]));
    }
    host.set_node("dark", node("dark", &NodeState::empty(NOW), &[]));
    host.filter_all();
    let mut scores = |spec| {
        host.current_pod = pod("p", spec);
        module.pre_filter(&mut host);
        assert_eq!(module.pre_score(&mut host), Code::Success);
        ["cool", "warm", "hot", "dark"].map(|name| {
            name.clone_into(&mut host.current_node);
            module.score(&mut host)
        })
    };
    assert_eq!(scores(BE), [79, 7, 0, 0]);
    let ls = PodSpec { labels: &[("koordinator.sh/qosClass", "LS")], ..BE };
    assert_eq!(scores(ls), [100, 100, 27, 0]);
    host.current_pod = pod("p", PodSpec { owner_kind: "DaemonSet", ..BE });
    module.pre_filter(&mut host);
    assert_eq!(module.pre_score(&mut host), Code::Skip);
}

#[test]
fn new_node_state_makes_a_refused_pod_worth_another_try() {
    let (mut module, mut host) = start("");
    module.enqueue(&mut host);
    assert_eq!(host.events, [(0, 1 | 2 | 128), (1, 1 | 4 | 8 | 16 | 64)]);
    let (mut module, mut host) = start(r#"{"qos":{"enabled":false},"gang":{"enabled":false}}"#);
    module.enqueue(&mut host);
    assert_eq!(host.events, [(0, 1 | 2), (1, 1 | 4 | 8 | 16)]);
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

#[test]
fn a_gang_is_planned_within_what_the_rules_leave() {
    let labels = |size: &'static str| {
        [
            ("koordinator.sh/qosClass", "BE"),
            ("koordinator.sh/priority-class", "koord-batch"),
            ("pod-group.scheduling.sigs.k8s.io/name", "sweep"),
            ("pod-group.scheduling.sigs.k8s.io/min-available", size),
        ]
    };
    // A member is expected to use 8.5 percent of a node: one fits on warm, two on cool.
    let requests = &[("cpu", "10"), ("memory", "1Gi")];
    let run = |size: &'static str, members: usize| {
        let (mut module, mut host) = start("");
        for (name, percent) in [("hot", 70), ("warm", 50), ("cool", 40)] {
            host.set_node(name, node(name, &measured(percent, 0), &[]));
        }
        let labels = labels(size);
        let spec = PodSpec { labels: &labels, requests, ..BE };
        let mut waiting: Vec<String> = (0..members).map(|at| format!("sweep-{at}")).collect();
        let (mut placed, mut reasons) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            waiting.retain(|name| match schedule(&mut module, &mut host, pod(name, spec)) {
                Ok(node) => {
                    placed.push(node);
                    false
                }
                Err(reason) => {
                    reasons.push(reason);
                    true
                }
            });
        }
        placed.sort();
        (placed, reasons)
    };
    assert_eq!(run("3", 3).0, ["cool", "cool", "warm"]);
    let (placed, reasons) = run("4", 4);
    assert!(placed.is_empty(), "each alone would be accepted: {placed:?}");
    let last = reasons.last().expect("a reason");
    assert!(last.starts_with("gang ns/sweep: 4 of 4 members, needs 4 x "), "{last}");
    assert!(last.contains("8500 milli-CPU below the BE threshold, room for 3"), "{last}");
}
