//! What the module remembers of nodes and of the pods it placed.

use super::*;

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
            assert_eq!(found, Err("node-7: cpu 60 + 7 estimated > 65 percent (BE threshold)".to_owned()));
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
fn a_node_refused_since_it_was_accepted_wins_no_tie() {
    let (mut module, mut host) = start(r#"{"weights":{"binpack":1,"packing":0,"gpuNodeAvoidance":0,"qos":0}}"#);
    for name in ["node-1", "node-9"] {
        host.set_node(name, node(name, &measured(10, 10), &[]));
    }
    assert_eq!(schedule(&mut module, &mut host, pod("a", BE)), Ok("node-9".to_owned()), "the last of a tie");
    host.set_node("node-9", node("node-9", &measured(90, 10), &[]));
    assert_eq!(schedule(&mut module, &mut host, pod("b", BE)), Ok("node-1".to_owned()));
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
    assert_eq!(module.reserve(&mut host), Code::Error, "tried again soon, not when something happens");
    assert_eq!(host.reason, "node-7: cpu 90 + 0 estimated > 65 percent (BE threshold)");
    assert_eq!(module.cluster.placed(), 0);
    // A refusal from memory is looked at again.
    host.set_node("node-7", node("node-7", &measured(10, 10), &[]));
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_ok());
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_ok());
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

#[test]
fn every_refused_node_is_looked_at_again_in_time() {
    let (mut module, mut host) = start("");
    let names: Vec<String> = (0..200).map(|at| format!("node-{at:03}")).collect();
    for name in &names {
        host.set_node(name, node(name, &measured(90, 0), &[]));
    }
    // The scheduler asks about all nodes, in the same order each time.
    let cycle = |module: &mut Module, host: &mut FakeHost| {
        host.current_pod = pod("p", BE);
        assert_eq!(module.pre_filter(host), Code::Success);
        let reads = host.node_reads;
        let mut accepts = |name: &String| {
            host.current_node.clone_from(name);
            module.filter(host) == Code::Success
        };
        let accepted = names.iter().map(&mut accepts).filter(|accepted| *accepted).count();
        (accepted, host.node_reads - reads)
    };
    assert_eq!(cycle(&mut module, &mut host), (0, 200), "each node is read once");
    for cooled in [0, 77, 199] {
        host.set_node(&names[cooled], node(&names[cooled], &measured(10, 0), &[]));
        let tries = (1..50).find(|_| {
            let (accepted, reads) = cycle(&mut module, &mut host);
            assert!(reads <= 32, "{reads}");
            accepted > 0
        });
        assert!(tries.is_some(), "node {cooled} has cooled down, and nobody looks");
        host.set_node(&names[cooled], node(&names[cooled], &measured(90, 0), &[]));
        module.cluster.read(&mut host, &names[cooled]);
    }
}

#[test]
fn a_cycle_that_began_in_another_life_is_not_ended_blindly() {
    let (mut module, mut host) = start("");
    host.set_node("node-7", node("node-7", &measured(90, 0), &[]));
    host.current_pod = pod("p", BE);
    "node-7".clone_into(&mut host.current_node);
    assert_eq!(module.filter(&mut host), Code::Error);
    assert_eq!(module.reserve(&mut host), Code::Error);
    assert_eq!(host.reason, "the policy was started anew in the middle of this cycle");
    assert_eq!(module.cluster.placed(), 0);
    assert!(verdict(&mut module, &mut host, pod("p", BE), "node-7").is_err(), "the next one is as ever");
}

#[test]
fn pods_of_absurd_size_leave_no_trace_when_they_go() {
    let (mut module, mut host) = start(r#"{"qos":{"classes":{"LS":{"usageThresholds":{"cpu":0}}}}}"#);
    host.set_node("node-7", node("node-7", &measured(60, 0), &[]));
    let small = PodSpec { requests: &[("cpu", "4")], ..BE };
    let absurd = PodSpec {
        labels: &[("koordinator.sh/qosClass", "LS")],
        requests: &[("cpu", "1")],
        limits: &[("cpu", "9223372036854775"), ("memory", "8Ei")],
        ..BE
    };
    let place = |module: &mut Module, host: &mut FakeHost, name: &str, spec| {
        assert!(verdict(module, host, pod(name, spec), "node-7").is_ok(), "{name}");
        assert_eq!(module.reserve(host), Code::Success, "{name}");
    };
    place(&mut module, &mut host, "small", small);
    for name in ["a", "b"] {
        place(&mut module, &mut host, name, absurd);
    }
    assert!(verdict(&mut module, &mut host, pod("c", small), "node-7").is_err());
    for name in ["a", "b"] {
        host.current_pod = pod(name, absurd);
        module.unreserve(&mut host);
    }
    assert_eq!(
        verdict(&mut module, &mut host, pod("c", small), "node-7"),
        Err("node-7: cpu 60 + 7 estimated > 65 percent (BE threshold)".to_owned()),
        "the small one is still there, and nothing else"
    );
}
