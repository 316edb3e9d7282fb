use proptest::prelude::*;

use super::ledger::MAX_PLACED;
use super::*;
use crate::object::{PodInfo, RequestOptions, ResourceId};
use crate::testing::{self, FakeHost};

fn a_pod(uid: &str, cpu: i64) -> PodInfo {
    let bytes = testing::pod(uid, &[], &[("cpu", &format!("{cpu}m"))]);
    PodInfo::read(&bytes, &mut ResourceNames::default(), &RequestOptions::default()).expect("a valid pod")
}

fn node_with(state: Option<&str>) -> Vec<u8> {
    let annotations: Vec<(&str, &str)> = state.iter().map(|state| (node_state::ANNOTATION, *state)).collect();
    testing::node("n", &[], &annotations, &[("cpu", "64"), ("pods", "110")])
}

fn state_of(pods: &[PodInfo], at: i64) -> String {
    let mut state = NodeState::empty(at);
    for pod in pods {
        state.count(pod, &ResourceNames::default(), Some("LS"), None);
    }
    state.seal();
    state.to_json()
}

fn cpu(cluster: &Cluster) -> Option<i64> {
    Some(cluster.node(cluster.find("n")?)?.known()?.requested.get(ResourceId::CPU))
}

#[test]
fn node_state_reads_what_it_wrote_and_stays_small() {
    let pods: Vec<PodInfo> = (0..110).map(|i| a_pod(&format!("pod-{i}"), 1000 + i)).collect();
    let text = state_of(&pods, 1_764_000_000_000);
    let state = NodeState::parse(&text).expect("just written");
    let busy = NodeState { left: state.uids.clone(), ..state.clone() }.to_json();
    assert!(busy.len() < 4096, "{} bytes", busy.len());
    assert_eq!(NodeState::parse(&busy).expect("just written").left, state.uids);
    assert_eq!((state.pods, state.uids.len()), (110, 110));
    assert_eq!(state.to_json(), text);
    let mut reversed = pods;
    reversed.reverse();
    assert_eq!(state_of(&reversed, 1_764_000_000_000), text, "the order of pods does not show");
}

#[test]
fn unreadable_node_state_says_what_is_wrong() {
    for (text, why) in [
        (r#"{"v":2,"at":1}"#, "has version 2"),
        (r#"{"v":2,"at":"later shapes may differ"}"#, "has version 2"),
        (r#"{"v":1}"#, "at is missing"),
        ("", "ends too early"),
        ("[]", "v is missing"),
        (r#"{"v":-1}"#, "v is no whole number"),
        (r#"{"v":1,"at":1,"requested":{"cpu":-1}}"#, "cpu is no whole number from 0"),
        (r#"{"v":1,"at":1,"requested":{"cpu":9223372036854775808}}"#, "cpu is no whole number"),
        (r#"{"v":1,"at":1,"requested":{"cpu":1.5}}"#, "cpu is no whole number"),
        (r#"{"v":1,"at":1,"requested":[]}"#, "requested is no object"),
        (r#"{"v":1,"at":1,"qos":{"LS":{}}}"#, "pods is missing"),
        (r#"{"v":1,"at":1,"usage":1}"#, "at is missing"),
        (r#"{"v":1,"at":1,"pods":1}"#, "uids does not list every pod"),
        (r#"{"v":1,"at":1,"pods":1,"uids":"0123456z"}"#, "hexadecimal"),
        (r#"{"v":1,"at":1,"left":"0123456"}"#, "left is not 8 hexadecimal"),
        (r#"{"v":1,"at":1,"gpuFree":[1001]}"#, "gpuFree is no whole number from 0 to 1000"),
    ] {
        let unknown = NodeState::parse(text).expect_err(text).to_string();
        assert!(unknown.contains(why), "{text}: {unknown}");
    }
}

#[test]
fn a_document_has_no_more_fields_than_there_are_resources() {
    let document = |count: usize| {
        let fields: Vec<String> = (0..count).rev().map(|at| format!("\"r{at}\":1")).collect();
        format!("{{\"v\":1,\"at\":1,\"requested\":{{{}}}}}", fields.join(","))
    };
    assert_eq!(NodeState::parse(&document(1024)).expect("as many as there may be").requested.len(), 1024);
    let unknown = NodeState::parse(&document(1025)).expect_err("one too many").to_string();
    assert!(unknown.contains("requested has too many fields"), "{unknown}");
}

#[test]
fn a_node_goes_by_the_name_under_which_it_was_given() {
    let mut host = FakeHost::default();
    host.set_node("virtual/n", node_with(Some(&state_of(&[], 1))));
    let mut cluster = Cluster::new(Vec::new(), 120);
    let at = cluster.read(&mut host, "virtual/n").expect("its object says n");
    assert_eq!(cluster.node(at).map(|node| &*node.name), Some("virtual/n"));
    host.nodes.clear();
    assert_eq!(cluster.read(&mut host, "virtual/n"), None);
    assert_eq!((cluster.find("virtual/n"), cluster.find("n")), (None, None));
}

#[test]
fn an_unreadable_node_takes_no_room_and_is_said_once() {
    let mut host = FakeHost::default();
    host.set_node("broken", vec![0xff; 9]);
    let mut cluster = Cluster::new(Vec::new(), 120);
    for _ in 0..MAX_NODES {
        assert_eq!(cluster.read(&mut host, "broken"), None);
    }
    assert_eq!(host.log.len(), 1, "{:?}", host.log.get(..2));
    host.set_node("n", node_with(Some(&state_of(&[], 1))));
    assert!(cluster.read(&mut host, "n").is_some());
    assert_eq!(cluster.capacity(), 1);
}

#[test]
fn a_survey_reads_what_stands_behind_a_broken_node() {
    let mut host = FakeHost::default();
    for name in ["a", "c"] {
        let state = state_of(&[], 1);
        host.set_node(name, testing::node(name, &[], &[(node_state::ANNOTATION, &state)], &[("cpu", "64")]));
    }
    host.set_node("b", vec![0x0a, 0x01, 0xff]);
    let mut cluster = Cluster::new(Vec::new(), 120);
    for _ in 0..2 {
        cluster.begin_cycle();
        cluster.survey(&mut host);
        assert!(cluster.find("a").is_some() && cluster.find("c").is_some());
    }
    assert_eq!(host.log, ["list of nodes: metadata ends within a field"]);
}

#[test]
fn the_ledger_is_bounded_however_often_a_pod_comes_back() {
    let mut host = FakeHost::default();
    host.set_node("n", node_with(Some(&state_of(&[], 1))));
    let mut cluster = Cluster::new(Vec::new(), 120);
    let at = cluster.read(&mut host, "n").expect("there is a node");
    let again = a_pod("again", 1);
    for _ in 0..3 * MAX_PLACED {
        cluster.place(&again, None, at);
    }
    assert_eq!(cluster.placed(), 1);

    // Each on a node of its own: what a node has is looked through one by one.
    let mut pod = a_pod("", 1);
    for number in 0..MAX_PLACED {
        pod.uid = number.to_string().into();
        let name = format!("n{}", number / 100);
        host.set_node(&name, node_with(None));
        let at = cluster.find(&name).or_else(|| cluster.read(&mut host, &name)).expect("there is a node");
        cluster.place(&pod, None, at);
    }
    assert_eq!(cluster.placed(), MAX_PLACED);
    assert!(!cluster.is_placed(node_state::uid_hash("again")), "the oldest has made room");
    assert!(cluster.is_placed(node_state::uid_hash("0")) && cpu(&cluster) == Some(0));
}

#[test]
fn unknown_is_not_empty_and_is_said_once() {
    let mut host = FakeHost::default();
    host.set_node("n", node_with(None));
    let mut cluster = Cluster::new(Vec::new(), 120);
    for _ in 0..3 {
        cluster.begin_cycle();
        let at = cluster.read(&mut host, "n").expect("there is a node");
        assert!(cluster.node(at).expect("read").known().is_none());
    }
    assert_eq!(host.log, ["node n: allocation unknown, it gets no opinion: no annotation stowage.dev/node-state"]);
    host.set_node("n", node_with(Some(r#"{"v":7,"at":1}"#)));
    cluster.read(&mut host, "n");
    assert_eq!(host.log.len(), 2, "another cause is news: {:?}", host.log);
}

#[test]
fn a_node_that_is_gone_is_forgotten_with_its_ledger() {
    let mut host = FakeHost::default();
    host.set_node("n", node_with(Some(&state_of(&[], 1))));
    let mut cluster = Cluster::new(Vec::new(), 120);
    let at = cluster.read(&mut host, "n").expect("there is a node");
    cluster.place(&a_pod("a", 1), None, at);
    host.nodes.clear();
    assert_eq!(cluster.read(&mut host, "n"), None);
    assert_eq!((cluster.find("n"), cluster.placed()), (None, 0));
}

#[test]
fn a_pod_that_has_left_uncounted_is_forgotten_at_once() {
    let mut host = FakeHost::default();
    host.set_node("n", node_with(Some(&state_of(&[], 1_000))));
    let mut cluster = Cluster::new(Vec::new(), 120);
    let at = cluster.read(&mut host, "n").expect("there is a node");
    for (name, amount) in [("a", 7), ("b", 5)] {
        cluster.place(&a_pod(name, amount), None, at);
    }
    let left = NodeState { left: vec![node_state::short_uid("a")], ..NodeState::empty(1_001) };
    host.set_node("n", node_with(Some(&left.to_json())));
    cluster.read(&mut host, "n");
    assert_eq!((cpu(&cluster), cluster.placed()), (Some(5), 1));
}

/// A cluster of empty nodes, published a second after 1970, with a pod of 7m placed on `n`.
fn with_one_placed(nodes: &[&str]) -> (FakeHost, Cluster) {
    let mut host = FakeHost::default();
    let mut cluster = Cluster::new(Vec::new(), 120);
    for node in nodes {
        publish(&mut host, node, 1_000);
        cluster.read(&mut host, node);
    }
    let at = cluster.find("n").expect("there is a node");
    cluster.place(&a_pod("a", 7), None, at);
    (host, cluster)
}

fn publish(host: &mut FakeHost, node: &str, at: i64) {
    let state = state_of(&[], at);
    host.set_node(
        node,
        testing::node(node, &[], &[(node_state::ANNOTATION, &state)], &[("cpu", "64"), ("pods", "110")]),
    );
}

#[test]
fn a_pod_deleted_before_it_was_counted_is_forgotten_in_time() {
    let (mut host, mut cluster) = with_one_placed(&["n", "m"]);
    for (now, expected) in [(2_000, 7), (122_000, 7), (122_001, 0)] {
        publish(&mut host, "m", now);
        cluster.read(&mut host, "m");
        cluster.read(&mut host, "n");
        assert_eq!(cpu(&cluster), Some(expected), "the clock stands at {now}");
    }
}

#[test]
fn the_document_that_tells_the_time_ends_what_it_does_not_count() {
    let (mut host, mut cluster) = with_one_placed(&["n"]);
    for (now, expected) in [(2_000, 7), (122_001, 0)] {
        publish(&mut host, "n", now);
        cluster.read(&mut host, "n");
        assert_eq!(cpu(&cluster), Some(expected), "the clock stands at {now}");
    }
    // In a survey, for nodes that were read before it, too.
    let (mut host, mut cluster) = with_one_placed(&["n", "z"]);
    for (now, expected) in [(2_000, 7), (122_001, 0)] {
        publish(&mut host, "z", now);
        cluster.begin_cycle();
        cluster.survey(&mut host);
        assert_eq!(cpu(&cluster), Some(expected), "the clock stands at {now}");
    }
}

#[test]
fn time_passes_for_the_ledger_with_pods_that_are_created() {
    let (mut host, mut cluster) = with_one_placed(&["n"]);
    cluster.pod_created(600);
    cluster.read(&mut host, "n");
    assert_eq!(cpu(&cluster), Some(7), "nothing has been written that could count it");
    publish(&mut host, "n", 700_000);
    for (created, expected) in [(820, 7), (821, 0)] {
        cluster.pod_created(created);
        cluster.read(&mut host, "n");
        assert_eq!(cpu(&cluster), Some(expected), "a pod was created at {created}");
    }
}

#[test]
fn a_pod_placed_after_a_quiet_time_is_not_taken_for_an_old_one() {
    // Nothing was written for ten minutes before it was placed.
    let (mut host, mut cluster) = with_one_placed(&["n", "m"]);
    publish(&mut host, "m", 601_000);
    cluster.read(&mut host, "m");
    cluster.read(&mut host, "n");
    assert_eq!(cpu(&cluster), Some(7), "what is written about others says nothing of it");
}

/// A pod's life as the ledger sees it.
#[derive(Clone, Debug)]
enum Step {
    /// The module places pod `.0`.
    Place(usize),
    /// Its binding fails, if it is on its way.
    Fail(usize),
    /// Its binding succeeds, if it is on its way.
    Bind(usize),
    /// It ends, if it runs.
    End(usize),
    /// The publisher writes what it saw of the first `.0` percent of events so far.
    Publish(usize),
    /// The module reads the node.
    Read,
}

proptest! {
    /// Whatever the publisher's lag, each pod that is on the node or on its way there counts exactly once, and pods
    /// that have ended stop counting as soon as a state that knows so is read.
    #[test]
    fn the_ledger_counts_every_pod_once(
        steps in proptest::collection::vec(
            prop_oneof![
                4 => (0usize..12).prop_map(Step::Place),
                1 => (0usize..12).prop_map(Step::Fail),
                4 => (0usize..12).prop_map(Step::Bind),
                1 => (0usize..12).prop_map(Step::End),
                3 => (0usize..=100).prop_map(Step::Publish),
                4 => Just(Step::Read),
            ],
            1..120,
        )
    ) {
        let mut host = FakeHost::default();
        host.set_node("n", node_with(Some(&state_of(&[], 1))));
        let mut cluster = Cluster::new(Vec::new(), 120);
        let at = cluster.read(&mut host, "n").expect("there is a node");

        let pods: Vec<PodInfo> = (0..12).map(|i| a_pod(&format!("uid-{i}"), 1 << i)).collect();
        let (mut placed, mut running, mut ended) = ([false; 12], [false; 12], [false; 12]);
        // What ran after each event, for a publisher that lags behind.
        let mut history = vec![running];
        let mut seen = 0;
        let mut published = running;
        // Pods that a state which the module has read did count.
        let mut read_counted = [false; 12];
        for (now, step) in steps.into_iter().enumerate() {
            match step {
                Step::Place(i) if !placed[i] && !running[i] && !ended[i] => {
                    cluster.place(&pods[i], None, at);
                    placed[i] = true;
                }
                Step::Fail(i) if placed[i] => {
                    cluster.unplace(node_state::uid_hash(&pods[i].uid));
                    placed[i] = false;
                }
                Step::Bind(i) if placed[i] => {
                    (placed[i], running[i]) = (false, true);
                    history.push(running);
                }
                Step::End(i) if running[i] => {
                    (running[i], ended[i]) = (false, true);
                    history.push(running);
                }
                Step::Publish(percent) => {
                    seen = seen.max((history.len() - 1) * percent / 100);
                    published = history[seen];
                    let on_node: Vec<PodInfo> = (0..12).filter(|i| published[*i]).map(|i| pods[i].clone()).collect();
                    host.set_node("n", node_with(Some(&state_of(&on_node, 2 + i64::try_from(now).expect("small")))));
                }
                Step::Read => {
                    cluster.begin_cycle();
                    cluster.read(&mut host, "n");
                    let total = cpu(&cluster).expect("known");
                    for i in 0..12 {
                        let counted = total >> i & 1 == 1;
                        read_counted[i] |= published[i];
                        if placed[i] || running[i] {
                            prop_assert!(counted, "pod {i} is lost: {total:#b}");
                        } else if !ended[i] || read_counted[i] {
                            // An ended pod counts as long as node state says so.
                            prop_assert_eq!(counted, published[i], "pod {} is not there: {:#b}", i, total);
                        }
                    }
                    // A sum of distinct powers of two has no carry: a pod counted twice would show as its neighbour.
                    prop_assert!(total < 1 << 12);
                }
                _ => {}
            }
        }
    }
}
