use super::*;
use crate::cluster::NodeState;
use crate::testing::{self, FakeHost};

const GPU_NODE: &[(&str, &str)] = &[("cpu", "64"), ("memory", "256Gi"), ("pods", "110"), ("nvidia.com/gpu", "4")];
const CPU_NODE: &[(&str, &str)] = &[("cpu", "64"), ("memory", "256Gi"), ("pods", "110")];

/// A node with node state: so many GPUs in use.
fn node(name: &str, allocatable: &[(&str, &str)], gpus: i64) -> Vec<u8> {
    let mut state = NodeState::empty(1);
    state.requested.insert("nvidia.com/gpu".into(), gpus);
    testing::node(name, &[], &[(node_state::ANNOTATION, &state.to_json())], allocatable)
}

fn cluster(policy: &str, nodes: &[(&str, Vec<u8>)]) -> (Module, FakeHost) {
    let mut host = FakeHost { config: policy.into(), ..FakeHost::default() };
    for (name, bytes) in nodes {
        host.set_node(name, bytes.clone());
    }
    host.filter_all();
    (Module::start(&mut host).expect("a valid policy"), host)
}

/// Runs a cycle up to Score for every node; `None` where PreScore answers Skip.
fn scores(module: &mut Module, host: &mut FakeHost, pod: Vec<u8>) -> Option<Vec<i32>> {
    host.current_pod = pod;
    assert_eq!(module.pre_filter(host), Code::Skip);
    if module.pre_score(host) == Code::Skip {
        return None;
    }
    let names: Vec<String> = host.nodes.keys().cloned().collect();
    Some(names.into_iter().map(|name| score(module, host, &name)).collect())
}

fn score(module: &mut Module, host: &mut FakeHost, node: &str) -> i32 {
    node.clone_into(&mut host.current_node);
    module.score(host)
}

fn gpu_pod(name: &str) -> Vec<u8> {
    testing::pod(name, &[], &[("cpu", "1"), ("memory", "1Gi"), ("nvidia.com/gpu", "1")])
}

#[test]
fn the_fullest_gpu_node_wins_and_a_burst_goes_on_filling_it() {
    let (mut module, mut host) = cluster("", &[("a", node("a", GPU_NODE, 1)), ("b", node("b", GPU_NODE, 2))]);
    let before = scores(&mut module, &mut host, gpu_pod("p")).expect("an opinion");
    assert!(before[1] > before[0], "{before:?}");
    // Node state stands still, the ledger does not.
    host.current_node = "b".into();
    assert_eq!(module.reserve(&mut host), Code::Success);
    let after = scores(&mut module, &mut host, gpu_pod("q")).expect("an opinion");
    assert!(after[1] > before[1] && after[0] == before[0], "{before:?} {after:?}");
    // The first pod's binding fails while the second is being scheduled.
    host.current_pod = gpu_pod("p");
    module.unreserve(&mut host);
    assert_eq!(scores(&mut module, &mut host, gpu_pod("q")), Some(before));
}

#[test]
fn pods_without_gpus_keep_off_gpu_nodes_while_others_are_left() {
    let nodes = [("a", node("a", GPU_NODE, 3)), ("b", node("b", CPU_NODE, 0))];
    let (mut module, mut host) = cluster("", &nodes);
    let pod = || testing::pod("p", &[], &[("cpu", "60"), ("memory", "250Gi")]);
    let both = scores(&mut module, &mut host, pod()).expect("an opinion");
    assert!(both[1] > both[0] + 40, "{both:?}");
    host.filtered = br#"["a"]"#.to_vec();
    let alone = scores(&mut module, &mut host, pod()).expect("an opinion");
    assert!(alone[0] > both[0], "nothing is avoided where there is no choice: {alone:?}");
}

#[test]
fn a_node_of_unknown_allocation_gets_no_opinion() {
    let unknown = testing::node("a", &[], &[], GPU_NODE);
    let spread = r#"{"binpack":{"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"nvidia.com/gpu"}]}}}"#;
    let (mut module, mut host) = cluster(spread, &[("a", unknown.clone()), ("b", node("b", GPU_NODE, 2))]);
    assert_eq!(scores(&mut module, &mut host, gpu_pod("p")), Some(vec![0, 25]), "unknown is not taken for empty");
    let (mut module, mut host) = cluster(spread, &[("a", unknown)]);
    assert_eq!(scores(&mut module, &mut host, gpu_pod("p")), None);
}

#[test]
fn the_winner_is_read_again_before_it_is_trusted() {
    let policy = r#"{"cluster":{"refreshPerCycle":0}}"#;
    let (mut module, mut host) = cluster(policy, &[("a", node("a", GPU_NODE, 1)), ("b", node("b", GPU_NODE, 3))]);
    scores(&mut module, &mut host, gpu_pod("p"));
    // Everything on b has ended meanwhile: from memory it would win.
    host.set_node("b", node("b", GPU_NODE, 0));
    let reads = host.node_reads;
    let scores = scores(&mut module, &mut host, gpu_pod("q")).expect("an opinion");
    assert!(scores[0] > scores[1], "{scores:?}");
    assert_eq!(host.node_reads - reads, 2, "the false winner and the true one");
}

#[test]
fn a_pod_without_an_opinion_costs_no_node() {
    let policy = r#"{"weights":{"gpuNodeAvoidance":0},"cluster":{"refreshPerCycle":0},
        "binpack":{"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"nvidia.com/gpu"}]}}}"#;
    let (mut module, mut host) = cluster(policy, &[("a", node("a", GPU_NODE, 1))]);
    let pod = || testing::pod("p", &[], &[("cpu", "1")]);
    assert_eq!(scores(&mut module, &mut host, pod()), None);
    assert_eq!(host.node_reads, 0);
}

#[test]
fn hostile_objects_are_no_opinion() {
    let (mut module, mut host) = cluster("", &[("a", node("a", GPU_NODE, 1)), ("b", vec![0xff; 40])]);
    assert_eq!(scores(&mut module, &mut host, vec![0xff; 9]), None, "a pod that is not one");
    assert!(host.log.iter().any(|line| line.starts_with("pod cannot be read")), "{:?}", host.log);
    let found = scores(&mut module, &mut host, gpu_pod("p")).expect("an opinion on a");
    assert!(found[0] > 0 && found[1] == 0, "{found:?}");
    assert!(host.log.iter().any(|line| line.starts_with("node b: cannot be read")), "{:?}", host.log);
    host.filtered = b"[\"a\",".to_vec();
    assert_eq!(scores(&mut module, &mut host, gpu_pod("p")), None, "a broken list of nodes");
}

#[test]
fn explain_logs_the_parts_of_each_score() {
    let (mut module, mut host) =
        cluster(r#"{"explain":true,"weights":{"packing":0}}"#, &[("a", node("a", GPU_NODE, 1))]);
    let found = scores(&mut module, &mut host, gpu_pod("p")).expect("an opinion");
    let line = host.log.iter().find_map(|line| line.strip_prefix("explain ")).expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(line, serde_json::json!({"pod":"ns/p","node":"a","parts":{"binpack":found[0]},"final":found[0]}));
}

#[test]
fn a_faulty_policy_does_not_start() {
    let mut host = FakeHost { config: r#"{"weights":{"binpak":1}}"#.into(), ..FakeHost::default() };
    let faults = Module::start(&mut host).expect_err("a typo").to_string();
    assert!(faults.contains("weights") && faults.contains("binpak") && faults.contains("gpuNodeAvoidance"), "{faults}");
}
