//! The rules, one after the other.

use super::*;

#[test]
fn a_hot_node_is_refused_with_the_numbers() {
    // The pod's own 250m and 200 MiB round to 0 percent of the node.
    for (state, expected) in [
        (measured(65, 59), Ok(Code::Success)),
        (measured(66, 0), Err("node-7: cpu 66 + 0 estimated > 65 percent (BE threshold)".to_owned())),
        (measured(0, 61), Err("node-7: memory 61 + 0 estimated > 60 percent (BE threshold)".to_owned())),
    ] {
        assert_eq!(one_node("", BE, node("node-7", &state, &[])), expected);
    }
    let heavy = PodSpec { requests: &[("cpu", "7"), ("memory", "1Gi")], ..BE };
    assert_eq!(
        one_node("", heavy, node("node-7", &measured(71, 0), &[])),
        Err("node-7: cpu 71 + 6 estimated > 65 percent (BE threshold)".to_owned())
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
        Err("node-7: cpu 90 + 0 estimated > 80 percent (LS threshold, set on the node)".to_owned())
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
        Err("node-7: needs 10000 kubernetes.io/batch-cpu, headroom 0 with 10 percent kept free".to_owned())
    );

    let (mut module, mut host) = start(r#"{"qos":{"bestEffortShare":{"cpu":40}}}"#);
    host.set_node("node-7", batch("90000", 25_000));
    assert_eq!(verdict(&mut module, &mut host, pod("a", asks), "node-7"), Ok(Code::Success));
    assert_eq!(module.reserve(&mut host), Code::Success);
    assert_eq!(
        verdict(&mut module, &mut host, pod("b", asks), "node-7"),
        Err("node-7: cpu 35 + 10 requested > 40 percent (BE share)".to_owned())
    );
}

#[test]
fn contradictions_are_logged_or_rejected() {
    let spec = PodSpec { labels: &[("koordinator.sh/qosClass", "BE")], priority: 9500, ..BE };
    let why = "QoS class BE with koord-prod (rule be-needs-mid-batch-or-free)";
    let (mut module, mut host) = start("");
    host.set_node("node-7", node("node-7", &measured(0, 0), &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("p", spec), "node-7"), Ok(Code::Success));
    assert!(verdict(&mut module, &mut host, pod("p", spec), "node-7").is_ok());
    assert_eq!(host.log, [format!("pod ns/p: {why}")], "said once, however often the pod comes");
    assert!(verdict(&mut module, &mut host, pod("q", spec), "node-7").is_ok());
    assert_eq!(host.log.len(), 2);
    let rejecting = r#"{"qos":{"illegalPairs":"Reject"}}"#;
    assert_eq!(one_node(rejecting, spec, node("node-7", &measured(0, 0), &[])), Err(why.to_owned()));
    let daemon = PodSpec { owner_kind: "DaemonSet", ..spec };
    assert_eq!(one_node(rejecting, daemon, node("node-7", &measured(99, 0), &[])), Ok(Code::Skip));
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
    assert!(reasons.contains("cpu above 65 percent (BE threshold)"));
    assert!(reasons.contains("node-7: cpu 73 + 0 estimated > 65 percent (BE threshold)"));
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
    // hot is refused by now, so no other has 0.
    assert_eq!(scores(BE), [79, 7, 0, 1]);
    let ls = PodSpec { labels: &[("koordinator.sh/qosClass", "LS")], ..BE };
    assert_eq!(scores(ls), [100, 100, 27, 0]);
    host.current_pod = pod("p", PodSpec { owner_kind: "DaemonSet", ..BE });
    module.pre_filter(&mut host);
    assert_eq!(module.pre_score(&mut host), Code::Skip);
}
