use super::*;
use crate::cluster::NodeState;
use crate::testing::{self, FakeHost};

/// Only packing has a say.
const PACKING: &str = r#"{"weights":{"binpack":0,"gpuNodeAvoidance":0,"packing":1}"#;

fn policy(expected: &str) -> String {
    format!(r#"{PACKING},"packing":{{"expected":{expected}}}}}"#)
}

fn start(policy: &str, nodes: &[(&str, Vec<u8>)]) -> (Module, FakeHost) {
    let mut host = FakeHost { config: policy.into(), ..FakeHost::default() };
    for (name, bytes) in nodes {
        host.set_node(name, bytes.clone());
    }
    host.filter_all();
    (Module::start(&mut host).expect("a valid policy"), host)
}

/// The scores by name of node; `None` where PreScore answers Skip.
fn scores(module: &mut Module, host: &mut FakeHost, pod: Vec<u8>) -> Option<Vec<i32>> {
    host.current_pod = pod;
    module.pre_filter(host);
    if module.pre_score(host) == Code::Skip {
        return None;
    }
    let names: Vec<String> = host.nodes.keys().cloned().collect();
    let score = |name: String| {
        host.current_node = name;
        module.score(host)
    };
    Some(names.into_iter().map(score).collect())
}

fn node(
    name: &str,
    labels: &[(&str, &str)],
    allocatable: &[(&str, &str)],
    requested: &[(&str, i64)],
    free: &[u16],
) -> Vec<u8> {
    let mut state = NodeState { gpu_free: free.to_vec(), ..NodeState::empty(1) };
    for (name, amount) in requested {
        state.requested.insert((*name).into(), *amount);
    }
    testing::node(name, labels, &[(node_state::ANNOTATION, &state.to_json())], allocatable)
}

fn whole(name: &str, cpu_used: i64, gpus_used: i64) -> Vec<u8> {
    let allocatable = [("cpu", "64"), ("memory", "256Gi"), ("pods", "110"), ("nvidia.com/gpu", "4")];
    node(name, &[], &allocatable, &[("cpu", cpu_used), ("nvidia.com/gpu", gpus_used)], &[])
}

fn pod(requests: &[(&str, &str)]) -> Vec<u8> {
    testing::pod("p", &[], requests)
}

#[test]
fn gpus_without_cpu_for_the_pods_to_come_go_first() {
    let policy = policy(r#"[{"pods":10,"cpu":"8"}]"#);
    let (mut module, mut host) =
        start(&policy, &[("a", whole("a", 0, 2)), ("b", whole("b", 62_000, 1)), ("c", whole("c", 0, 1))]);
    let found = scores(&mut module, &mut host, pod(&[("cpu", "1"), ("nvidia.com/gpu", "1")]));
    assert_eq!(found, Some(vec![9, 100, 9]), "binpack would say a");
    // A pod that needs cpu only takes it where it is of no use to GPUs.
    let found = scores(&mut module, &mut host, pod(&[("cpu", "2")])).expect("an opinion");
    assert_eq!(found, [100, 50, 100], "the one pod seen could still run on b");
    let found = scores(&mut module, &mut host, pod(&[("cpu", "48")])).expect("an opinion");
    assert!(found[0] > found[2], "two GPUs lose their cpu, then three: {found:?}");
}

#[test]
fn what_will_come_is_learned_and_each_pod_counts_once() {
    let (mut module, mut host) = start(&format!("{PACKING}}}"), &[("a", whole("a", 0, 0)), ("b", whole("b", 0, 2))]);
    assert_eq!(scores(&mut module, &mut host, pod(&[("cpu", "1")])), None, "no GPU pod was seen");
    // A large pod is tried and tried, small ones come one by one.
    for name in ["p0", "p1", "p2", "p3", "p4", "p5"] {
        scores(&mut module, &mut host, testing::pod(name, &[], &[("nvidia.com/gpu", "1")]));
    }
    for _ in 0..100 {
        scores(&mut module, &mut host, testing::pod("large", &[], &[("nvidia.com/gpu", "4")]));
    }
    let packing = &module.packer.as_ref().expect("packing is on");
    assert_eq!(packing.seen(), 7);
    let found = scores(&mut module, &mut host, testing::pod("p6", &[], &[("nvidia.com/gpu", "1")]));
    assert_eq!(found.map(|scores| scores[1]), Some(100), "room for the large pod is kept");
}

#[test]
fn shares_fill_holes_and_the_ledger_knows_them() {
    let policy = policy(r#"[{"pods":10,"gpuMilli":500},{"pods":10}]"#);
    let allocatable = [("cpu", "64"), ("memory", "1Gi"), ("pods", "110"), ("stowage.dev/gpu-milli", "2000")];
    let used = [("stowage.dev/gpu-milli", 500)];
    let nodes = [
        ("a", node("a", &[], &allocatable, &used, &[500, 1000])),
        ("b", node("b", &[], &allocatable, &[], &[1000, 1000])),
    ];
    let (mut module, mut host) = start(&policy, &nodes);
    let half = |name: &str| testing::pod(name, &[], &[("stowage.dev/gpu-milli", "500")]);
    let found = scores(&mut module, &mut host, half("p")).expect("an opinion");
    assert!(found[0] == 100 && found[1] < 80, "{found:?}");
    host.current_node = "a".into();
    assert_eq!(module.reserve(&mut host), Code::Success);
    // Node state stands still; the hole is taken, so both nodes would open a device.
    let found = scores(&mut module, &mut host, half("q")).expect("an opinion");
    assert!(found[1] >= found[0], "{found:?}");
    host.current_pod = half("p");
    module.unreserve(&mut host);
    let found = scores(&mut module, &mut host, half("q")).expect("an opinion");
    assert!(found[0] == 100 && found[1] < 80, "{found:?}");
}

#[test]
fn models_that_pods_ask_for_are_spared() {
    let policy = policy(r#"[{"pods":10},{"pods":10,"models":["H100"]}]"#);
    let allocatable = [("cpu", "64"), ("pods", "110"), ("nvidia.com/gpu", "4")];
    let with = |name, model| node(name, &[("nvidia.com/gpu.product", model)], &allocatable, &[], &[]);
    let (mut module, mut host) = start(&policy, &[("a", with("a", "H100")), ("b", with("b", "T4"))]);
    let found = scores(&mut module, &mut host, pod(&[("nvidia.com/gpu", "1")])).expect("an opinion");
    assert!(found[1] == 100 && found[0] < 30, "{found:?}");
}

#[test]
fn slices_are_devices_of_their_own() {
    let policy = format!("{PACKING}}}");
    let allocatable = [("cpu", "16"), ("pods", "110"), ("nvidia.com/mig-1g.5gb", "7")];
    let with =
        |name, cpu, slices| node(name, &[], &allocatable, &[("cpu", cpu), ("nvidia.com/mig-1g.5gb", slices)], &[]);
    let nodes = [("a", with("a", 15_000, 1)), ("b", with("b", 2000, 1)), ("c", whole("c", 0, 0))];
    let (mut module, mut host) = start(&policy, &nodes);
    let slice = |name: &str, cpu: &str| testing::pod(name, &[], &[("cpu", cpu), ("nvidia.com/mig-1g.5gb", "1")]);
    for name in ["p0", "p1", "p2"] {
        scores(&mut module, &mut host, slice(name, "2"));
    }
    let found = scores(&mut module, &mut host, slice("p3", "1")).expect("an opinion");
    assert_eq!(found[0], 100, "its slices lack cpu for the others");
    assert!(found[1] < found[0] && found[2] == 0, "{found:?}");
}

#[test]
fn a_node_of_unknown_allocation_gets_no_opinion() {
    let allocatable = [("cpu", "64"), ("nvidia.com/gpu", "4")];
    let unknown = testing::node("a", &[], &[], &allocatable);
    let (mut module, mut host) = start(&format!("{PACKING}}}"), &[("a", unknown), ("b", whole("b", 0, 3))]);
    assert_eq!(scores(&mut module, &mut host, pod(&[("nvidia.com/gpu", "1")])), Some(vec![0, 100]));
}

#[test]
fn explain_says_what_is_lost() {
    let policy = r#"{"explain":true,"packing":{"expected":[{"pods":10,"gpus":4,"cpu":"16"}]}}"#;
    let (mut module, mut host) = start(policy, &[("a", whole("a", 0, 0)), ("b", whole("b", 0, 2))]);
    scores(&mut module, &mut host, pod(&[("cpu", "1"), ("nvidia.com/gpu", "1")]));
    let line = host.log.iter().find_map(|line| line.strip_prefix("explain ")).expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let parts = &line["parts"];
    assert_eq!(line["node"], "a", "{line}");
    // The pod itself has been seen and counts for one of eleven.
    assert!(parts["regret"].as_i64().is_some_and(|regret| (2500..3000).contains(&regret)), "{line}");
    assert_eq!((&parts["loser"], &parts["loses"]), (&"4 x 1000 milli, 16000m cpu".into(), &4000.into()), "{line}");
    assert_eq!((&parts["valueBefore"], &parts["valueAfter"]), (&4000.into(), &3000.into()), "{line}");
}

#[test]
fn expected_pods_are_checked() {
    let faults = Policy::parse(r#"{"packing":{"expected":[{"gpus":2,"gpuMilli":500,"cpu":"-1"}],"horizonPods":1}}"#);
    let faults = faults.expect_err("faults").to_string();
    for part in [
        "packing.expected[0].pods: is missing",
        "packing.expected[0].gpuMilli: must be 1000 for several GPUs",
        "packing.expected[0].cpu: `-1` is no quantity",
        "packing.horizonPods: 1 is out of range, allowed are 100 to 1000000",
    ] {
        assert!(faults.contains(part), "{part} in {faults}");
    }
}
