use super::super::class::{Band, QosClass};
use super::super::rules::ReclaimedRules;
use super::super::usage::Measurement;
use super::*;
use crate::config::Policy;

const GIB: i64 = 1 << 30;

fn rules(document: &str) -> Rules {
    Policy::parse(&format!(r#"{{"qos":{document}}}"#)).expect("a policy").qos.rules().expect("switched on")
}

fn class(qos: QosClass) -> PodClass {
    PodClass { qos, band: None, declared: true, daemon_set: false }
}

fn pod(qos: QosClass) -> Pod {
    Pod { class: class(qos), estimate: Load::default(), requests: Load::default() }
}

/// 100 cores and 100 GiB, so that a core is a percent.
fn node(cpu_percent: i64, memory_percent: i64) -> Node<'static> {
    Node {
        allocatable: Load { cpu: 100_000, memory: 100 * GIB },
        usage: Usage::Known(Measurement {
            at: 0,
            load: Load { cpu: cpu_percent * 1000, memory: memory_percent * GIB },
        }),
        placed_since: Load::default(),
        protected: Some(0),
        best_effort: Some(Load::default()),
        thresholds: NodeThresholds::default(),
        evicts_at: Percents::NONE,
        reclaimed: &[],
    }
}

fn reason(rules: &Rules, pod: &Pod, node: &Node<'_>) -> Option<String> {
    filter(rules, pod, node).err().map(|rejection| rejection.to_string())
}

#[test]
fn the_threshold_itself_passes() {
    let tight = r#"{"classes":{"LSE":{"usageThresholds":{"cpu":90,"memory":90}},
        "LSR":{"usageThresholds":{"cpu":85,"memory":90}},"LS":{"usageThresholds":{"cpu":80,"memory":95}}}}"#;
    let rules = rules(tight);
    let batch = PodClass { band: Some(Band::Batch), ..class(QosClass::Ls) };
    for (class, cpu, memory) in [
        (class(QosClass::Lse), 90, 90),
        (class(QosClass::Lsr), 85, 90),
        (class(QosClass::Ls), 80, 95),
        (batch, 65, 80),
        (class(QosClass::Be), 65, 60),
    ] {
        let pod = Pod { class, ..pod(QosClass::Be) };
        let name = class.row().expect("a row");
        for (node, rejected) in [
            (node(cpu - 1, 0), false),
            (node(cpu, 0), false),
            (node(cpu + 1, 0), true),
            (node(0, memory - 1), false),
            (node(0, memory), false),
            (node(0, memory + 1), true),
        ] {
            assert_eq!(filter(&rules, &pod, &node).is_err(), rejected, "{name}: {node:?}");
        }
    }
}

#[test]
fn percentages_round_as_in_load_aware() {
    let rules = rules("{}");
    let at = |cpu| {
        let mut node = node(0, 0);
        node.usage = Usage::Known(Measurement { at: 0, load: Load { cpu, memory: 0 } });
        filter(&rules, &pod(QosClass::Be), &node).is_ok()
    };
    assert!(at(65_499) && !at(65_500));
}

#[test]
fn classes_without_thresholds_pass() {
    let rules = rules("{}");
    for qos in [QosClass::Lse, QosClass::Lsr, QosClass::Ls, QosClass::System] {
        assert_eq!(reason(&rules, &pod(qos), &node(99, 99)), None);
        assert!(!rules.concern(class(qos), true, false), "{qos:?} pods need no Filter call");
    }
    assert!(rules.concern(class(QosClass::Be), false, false));
}

#[test]
fn daemon_set_pods_pass() {
    let rules = rules("{}");
    let daemon = PodClass { daemon_set: true, ..class(QosClass::Be) };
    assert_eq!(reason(&rules, &Pod { class: daemon, ..pod(QosClass::Be) }, &node(99, 99)), None);
    assert!(!rules.concern(daemon, true, true));
}

#[test]
fn estimates_count_and_show_in_the_reason() {
    let rules = rules("{}");
    let burst = Node { placed_since: Load { cpu: 4000, memory: 0 }, ..node(60, 10) };
    let fits = Pod { estimate: Load { cpu: 1000, memory: 0 }, ..pod(QosClass::Be) };
    assert_eq!(reason(&rules, &fits, &burst), None);
    let over = Pod { estimate: Load { cpu: 2000, memory: 0 }, ..fits };
    assert_eq!(reason(&rules, &over, &burst).unwrap(), "cpu 60 + 6 estimated > 65 percent (BE threshold)");
    assert_eq!(
        reason(&rules, &pod(QosClass::Be), &node(10, 70)).unwrap(),
        "memory 70 + 0 estimated > 60 percent (BE threshold)"
    );
}

#[test]
fn thresholds_of_the_node_replace_those_of_the_policy() {
    let rules = rules("{}");
    let own =
        |usage, prod_apart| Node { thresholds: NodeThresholds { usage: Some(usage), prod_apart }, ..node(90, 70) };
    let relaxed = own(Percents { cpu: Some(100), memory: None }, false);
    assert_eq!(reason(&rules, &pod(QosClass::Be), &relaxed), None, "memory is not limited any more");
    let free = own(Percents::NONE, false);
    assert_eq!(reason(&rules, &pod(QosClass::Be), &free), None, "nor is cpu, if the node says so");
    let tight = own(Percents { cpu: Some(50), memory: None }, false);
    assert_eq!(
        reason(&rules, &pod(QosClass::Ls), &tight).unwrap(),
        "cpu 90 + 0 estimated > 50 percent (LS threshold, set on the node)"
    );
    assert!(rules.concern(class(QosClass::Ls), false, true), "so pods of every class need Filter calls");
    let apart = own(Percents { cpu: Some(50), memory: None }, true);
    assert_eq!(reason(&rules, &pod(QosClass::Ls), &apart), None, "prod pods have thresholds of their own");
    assert!(reason(&rules, &pod(QosClass::Be), &apart).is_some());
}

#[test]
fn gap_fillers_keep_a_margin_below_eviction() {
    let evicts = |cpu, memory| Node { evicts_at: Percents { cpu, memory }, ..node(58, 50) };
    let rules = rules(r#"{"evictionMargin":8,"classes":{"BE":{"usageThresholds":{"memory":0}}}}"#);
    assert_eq!(reason(&rules, &pod(QosClass::Be), &evicts(Some(66), None)), None);
    assert_eq!(
        reason(&rules, &pod(QosClass::Be), &evicts(Some(65), None)).unwrap(),
        "cpu 58 + 0 estimated > 57 percent (BE threshold, set on the node)"
    );
    assert_eq!(reason(&rules, &pod(QosClass::Be), &evicts(Some(90), Some(10))), None, "memory has no limit");
    assert_eq!(reason(&rules, &pod(QosClass::Be), &Node { ..evicts(Some(90), None) }), None, "the policy is stricter");
    let own = NodeThresholds { usage: Some(Percents { cpu: Some(100), memory: None }), prod_apart: false };
    let both = Node { thresholds: own, ..evicts(Some(60), None) };
    assert!(reason(&rules, &pod(QosClass::Be), &both).is_some(), "whatever the node's thresholds say");
    let everywhere = Rules { evicts_at: Percents { cpu: Some(62), memory: None }, ..rules.clone() };
    let relaxed = Node { thresholds: own, ..evicts(None, None) };
    assert_eq!(
        reason(&everywhere, &pod(QosClass::Be), &relaxed).unwrap(),
        "cpu 58 + 0 estimated > 54 percent (BE threshold)",
        "nor above what the policy says of all nodes"
    );
    let late = Node { thresholds: own, ..evicts(Some(90), None) };
    assert_eq!(reason(&everywhere, &pod(QosClass::Be), &late), None, "but a node knows itself best");
    assert_eq!(reason(&rules, &pod(QosClass::Ls), &evicts(Some(10), Some(10))), None, "services are not evicted");
}

#[test]
fn unknown_usage() {
    let stale = Usage::Stale { after: 180 };
    let beside = r#"{"classes":{"BE":{}}}"#;
    let deny = r#"{"classes":{"BE":{"unknownUsage":"Deny","staleUsage":"Deny"}}}"#;
    let allow = r#"{"classes":{"BE":{"unknownUsage":"Allow","staleUsage":"Allow"}}}"#;
    let mixed = r#"{"classes":{"BE":{"unknownUsage":"Deny","staleUsage":"Allow"}}}"#;
    for (policy, usage, protected, expected) in [
        (beside, Usage::Unknown, Some(0), None),
        (beside, Usage::Unknown, Some(1), Some("usage unknown beside 1 LSE/LSR pods (BE usage rule)")),
        (
            beside,
            Usage::Unknown,
            None,
            Some("usage unknown and no node state: LSE/LSR pods may run there (BE usage rule)"),
        ),
        (beside, stale, Some(0), None),
        (beside, stale, Some(2), Some("usage older than 180 s beside 2 LSE/LSR pods (BE usage rule)")),
        (
            beside,
            Usage::Ahead,
            Some(2),
            Some("usage dated in the future (time zone?) beside 2 LSE/LSR pods (BE usage rule)"),
        ),
        (deny, Usage::Unknown, Some(0), Some("usage unknown (BE usage rule)")),
        (deny, stale, Some(0), Some("usage older than 180 s (BE usage rule)")),
        (allow, Usage::Unknown, Some(1), None),
        (allow, stale, None, None),
        (mixed, Usage::Unknown, Some(0), Some("usage unknown (BE usage rule)")),
        (mixed, stale, Some(1), None),
    ] {
        let node = Node { usage, protected, ..node(0, 0) };
        assert_eq!(reason(&rules(policy), &pod(QosClass::Be), &node).as_deref(), expected, "{policy} {node:?}");
    }
}

#[test]
fn what_is_not_known_is_not_held_against_pods_that_declare_nothing() {
    let silent = Pod { class: PodClass { declared: false, ..class(QosClass::Be) }, ..pod(QosClass::Be) };
    let unknown = Node { usage: Usage::Unknown, protected: None, best_effort: None, ..node(0, 0) };
    let with = |undeclared: &str| {
        rules(&format!(
            r#"{{"undeclared":"{undeclared}","bestEffortShare":{{"cpu":50}},"classes":{{"BE":{{"unknownUsage":"Deny"}}}}}}"#
        ))
    };
    assert_eq!(reason(&with("Known"), &silent, &unknown), None);
    assert!(reason(&with("Known"), &silent, &node(70, 0)).is_some(), "a hot node is known");
    assert!(reason(&with("All"), &silent, &unknown).is_some());
    assert_eq!(reason(&with("Ignore"), &silent, &node(99, 99)), None);
    assert!(!with("Ignore").concern(silent.class, false, true));
    assert!(reason(&with("Ignore"), &pod(QosClass::Be), &node(99, 99)).is_some());
}

#[test]
fn classes_may_be_kept_apart_from_protected_pods() {
    let apart = rules(r#"{"classes":{"BE":{"besideProtected":false}}}"#);
    let hosts = |protected| Node { protected, ..node(0, 0) };
    assert_eq!(reason(&apart, &pod(QosClass::Be), &hosts(Some(0))), None);
    assert_eq!(reason(&apart, &pod(QosClass::Be), &hosts(Some(3))).unwrap(), "hosts 3 LSE/LSR pods (BE kept apart)");
    assert_eq!(
        reason(&apart, &pod(QosClass::Be), &hosts(None)).unwrap(),
        "no node state: may host LSE/LSR pods (BE kept apart)"
    );
    assert_eq!(reason(&apart, &pod(QosClass::Ls), &hosts(Some(3))), None);
    assert_eq!(reason(&rules("{}"), &pod(QosClass::Be), &hosts(Some(3))), None, "allowed by default");
}

#[test]
fn best_effort_pods_have_a_share() {
    let rules = rules(r#"{"bestEffortShare":{"cpu":50,"memory":0}}"#);
    let with = |requested| Node { best_effort: Some(Load { cpu: requested, memory: 99 * GIB }), ..node(0, 0) };
    let asks = Pod { requests: Load { cpu: 10_000, memory: 10 * GIB }, ..pod(QosClass::Be) };
    assert_eq!(reason(&rules, &asks, &with(39_000)), None);
    assert_eq!(reason(&rules, &asks, &with(40_000)), None);
    assert_eq!(reason(&rules, &asks, &with(41_000)).unwrap(), "cpu 41 + 10 requested > 50 percent (BE share)");
    let unknown = Node { best_effort: None, ..node(0, 0) };
    assert_eq!(reason(&rules, &asks, &unknown).unwrap(), "no node state: best-effort requests unknown (BE share)");
    assert_eq!(reason(&rules, &Pod { class: class(QosClass::Ls), ..asks }, &with(90_000)), None);
}

#[test]
fn reclaimed_resources_may_shrink_below_what_is_given_out() {
    let batch_cpu =
        |allocated, requested| Reclaimed { name: "kubernetes.io/batch-cpu", allocatable: 4000, allocated, requested };
    let with = |rules: &Rules, resource: Reclaimed| {
        reason(rules, &pod(QosClass::Be), &Node { reclaimed: &[resource], ..node(0, 0) })
    };
    let plain = rules("{}");
    assert_eq!(with(&plain, batch_cpu(Some(3999), 0)), None);
    assert_eq!(with(&plain, batch_cpu(Some(4000), 0)), None);
    assert_eq!(
        with(&plain, batch_cpu(Some(4001), 0)).unwrap(),
        "kubernetes.io/batch-cpu: 4001 allocated of 4000 (BE headroom)"
    );
    assert_eq!(with(&plain, batch_cpu(None, 0)), None);
    assert_eq!(with(&rules(r#"{"reclaimed":{"denyOverdrawn":false}}"#), batch_cpu(Some(5000), 0)), None);

    let reserve = rules(r#"{"reclaimed":{"reserve":10}}"#);
    assert_eq!(reserve.reclaimed, ReclaimedRules { deny_overdrawn: true, reserve: 10 });
    assert_eq!(with(&reserve, batch_cpu(Some(2600), 999)), None);
    assert_eq!(with(&reserve, batch_cpu(Some(2600), 1000)), None);
    assert_eq!(
        with(&reserve, batch_cpu(Some(2600), 1001)).unwrap(),
        "needs 1001 kubernetes.io/batch-cpu, headroom 1000 with 10 percent kept free"
    );
    assert_eq!(with(&reserve, batch_cpu(Some(4000), 0)), None, "a pod that asks for none takes none");
}

#[test]
fn reasons_can_be_had_without_what_differs_from_node_to_node() {
    let rules = rules(r#"{"bestEffortShare":{"cpu":50},"reclaimed":{"reserve":10}}"#);
    let asks = Pod { requests: Load { cpu: 10_000, memory: 0 }, ..pod(QosClass::Be) };
    let short = |node: &Node<'_>| filter(&rules, &asks, node).expect_err("refused").brief();
    let batch_cpu = |allocated, requested| {
        [Reclaimed { name: "kubernetes.io/batch-cpu", allocatable: 4000, allocated: Some(allocated), requested }]
    };
    for (node, expected) in [
        (node(70, 0), "cpu above 65 percent (BE threshold)"),
        (node(0, 70), "memory above 60 percent (BE threshold)"),
        (
            Node { usage: Usage::Unknown, protected: Some(2), ..node(0, 0) },
            "usage unknown beside LSE/LSR pods (BE usage rule)",
        ),
        (
            Node { best_effort: Some(Load { cpu: 45_000, memory: 0 }), ..node(0, 0) },
            "cpu requests above 50 percent (BE share)",
        ),
        (Node { reclaimed: &batch_cpu(5000, 0), ..node(0, 0) }, "kubernetes.io/batch-cpu overdrawn (BE headroom)"),
        (
            Node { reclaimed: &batch_cpu(3000, 700), ..node(0, 0) },
            "needs 700 kubernetes.io/batch-cpu, with 10 percent kept free",
        ),
    ] {
        assert_eq!(short(&node), expected);
    }
}

#[test]
fn a_node_without_cpu_is_not_judged_by_cpu() {
    let mut bare = node(99, 0);
    bare.allocatable.cpu = 0;
    assert_eq!(reason(&rules("{}"), &pod(QosClass::Be), &bare), None);
}
