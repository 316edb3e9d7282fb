//! Every rule at its boundary.

use serde_json::{Value, json};
use stowage_host::object::PodObject;

use crate::support::*;

/// The pod's own core is 85 percent of a percent.
#[test]
fn thresholds() {
    let classes = json!({"LSE": {"usageThresholds": {"cpu": 90}}, "LSR": {"usageThresholds": {"cpu": 85}},
        "LS": {"usageThresholds": {"cpu": 80}}, "Batch": {"usageThresholds": {"cpu": 70}}});
    let policy = json!({"qos": {"classes": classes}});
    for (name, threshold) in CLASSES.into_iter().zip([90, 85, 80, 70, 65]) {
        let ask = |cpu| verdict(&policy, of_class(name), measured(cpu, 0, 0, &json!({})));
        // Measured and estimated together are below, at and above threshold and a half, where rounding turns.
        let turn = threshold * 1000 + 500;
        assert_eq!(ask(turn - 850 - 1000), Ok(true), "{name}");
        assert_eq!(ask(turn - 850 - 1), Ok(true), "{name}");
        let over = ask(turn - 850).expect_err(name);
        assert!(over.ends_with(&format!("> {threshold} percent ({name} threshold)")), "{over}");
    }
    let (low, high) = (measured(0, 60, 0, &json!({})), measured(0, 61, 0, &json!({})));
    assert_eq!(verdict(&json!({}), best_effort(), low), Ok(true));
    assert_eq!(
        verdict(&json!({}), best_effort(), high),
        Err("node-7: memory 61 + 0 estimated > 60 percent (BE threshold)".to_owned())
    );
}

#[test]
fn fresh_stale_and_missing_usage() {
    let beside = json!({"LSE": {"pods": 1}});
    let apart = json!({"LS": {"pods": 9}});
    let policy = |rule: &str| json!({"qos": {"classes": {"BE": {"unknownUsage": rule, "staleUsage": rule}}}});
    let unmeasured = |qos: &Value| with_state(&json!({"v": 1, "at": NOW, "qos": qos}), &json!({}));
    let rule = "DenyBesideProtected";
    assert_eq!(verdict(&policy(rule), best_effort(), measured(0, 0, 179_999, &beside)), Ok(true));
    assert_eq!(
        verdict(&policy(rule), best_effort(), measured(0, 0, 180_000, &beside)),
        Err("node-7: usage older than 180 s beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
    assert_eq!(verdict(&policy(rule), best_effort(), measured(0, 0, 180_000, &apart)), Ok(true));
    assert_eq!(
        verdict(&policy(rule), best_effort(), unmeasured(&beside)),
        Err("node-7: usage unknown beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
    assert_eq!(verdict(&policy(rule), best_effort(), unmeasured(&apart)), Ok(true));
    for (node, allowed) in [(measured(0, 0, 180_000, &apart), false), (unmeasured(&apart), false)] {
        assert_eq!(verdict(&policy("Deny"), best_effort(), node).is_ok(), allowed);
    }
    for node in [measured(99_000, 0, 180_000, &beside), unmeasured(&beside)] {
        assert_eq!(verdict(&policy("Allow"), best_effort(), node), Ok(true));
    }
}

#[test]
fn pods_that_no_rule_concerns_are_not_filtered() {
    let hot = || measured(99_000, 99, 0, &json!({"LSE": {"pods": 3}}));
    let daemon = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]);
    let mut of_daemon_set = best_effort().pod;
    of_daemon_set.metadata.owner_references = serde_json::from_value(daemon).expect("owners");
    assert_eq!(verdict(&json!({}), PodObject::new(of_daemon_set), hot()), Ok(false));
    for class in ["SYSTEM", "LS", "LSR", "LSE"] {
        let pod = a_pod(&json!({"koordinator.sh/qosClass": class}), &json!({}));
        assert_eq!(verdict(&json!({}), pod, hot()), Ok(false), "{class}");
    }
    assert!(verdict(&json!({}), best_effort(), hot()).is_err());
    assert_eq!(verdict(&json!({"qos": {"enabled": false}}), best_effort(), hot()), Ok(false));
}

#[test]
fn protection_share_and_headroom() {
    let hosts = |pods: u32| measured(0, 0, 0, &json!({"LSR": {"pods": pods}}));
    let apart = json!({"qos": {"classes": {"BE": {"besideProtected": false}}}});
    assert_eq!(verdict(&apart, best_effort(), hosts(0)), Ok(true));
    assert_eq!(
        verdict(&apart, best_effort(), hosts(1)),
        Err("node-7: hosts 1 LSE/LSR pods (BE kept apart)".to_owned())
    );

    let share = json!({"qos": {"bestEffortShare": {"cpu": 40}}});
    let requested = |cpu: i64| measured(0, 0, 0, &json!({"BE": {"pods": 1, "cpu": cpu}}));
    assert_eq!(verdict(&share, best_effort(), requested(38_000)), Ok(true));
    assert_eq!(verdict(&share, best_effort(), requested(39_000)), Ok(true));
    assert_eq!(
        verdict(&share, best_effort(), requested(40_000)),
        Err("node-7: cpu 40 + 1 requested > 40 percent (BE share)".to_owned())
    );

    let given_out = |amount: i64| {
        let usage = json!({"at": NOW, "cpu": 0, "memory": 0});
        let state = json!({"v": 1, "at": NOW, "usage": usage, "requested": {"kubernetes.io/batch-cpu": amount}});
        annotated(&json!({"stowage.dev/node-state": state.to_string()}), &json!({"kubernetes.io/batch-cpu": "4000"}))
    };
    assert_eq!(verdict(&json!({}), best_effort(), given_out(3999)), Ok(true));
    assert_eq!(verdict(&json!({}), best_effort(), given_out(4000)), Ok(true));
    assert_eq!(
        verdict(&json!({}), best_effort(), given_out(4001)),
        Err("node-7: kubernetes.io/batch-cpu: 4001 allocated of 4000 (BE headroom)".to_owned())
    );
}

#[test]
fn memory_has_thresholds_and_shares_of_its_own() {
    let limits = json!({"memory": 70});
    let classes: Value =
        CLASSES.into_iter().map(|class| (class.to_owned(), json!({"usageThresholds": limits}))).collect();
    for class in CLASSES {
        // 200 MiB are a fifth of a percent.
        let ask =
            |gib| verdict(&json!({"qos": {"classes": classes}}), of_class(class), measured(0, gib, 0, &json!({})));
        assert_eq!((ask(69), ask(70)), (Ok(true), Ok(true)), "{class}");
        assert_eq!(ask(71), Err(format!("node-7: memory 71 + 0 estimated > 70 percent ({class} threshold)")));
    }
    let share = json!({"qos": {"bestEffortShare": {"memory": 40}}});
    let ask = |gib: i64| {
        let node = measured(0, 0, 0, &json!({"BE": {"pods": 1, "memory": gib * GIB}}));
        verdict(&share, best_effort_with(&json!({"memory": "1Gi"})), node)
    };
    assert_eq!((ask(38), ask(39)), (Ok(true), Ok(true)));
    assert_eq!(ask(40), Err("node-7: memory 40 + 1 requested > 40 percent (BE share)".to_owned()));
}

#[test]
fn every_class_may_be_denied_what_is_not_known() {
    let unmeasured = |qos: &Value| with_state(&json!({"v": 1, "at": NOW, "qos": qos}), &json!({}));
    let (beside, apart) = (json!({"LSE": {"pods": 2}}), json!({}));
    for class in CLASSES {
        let policy = |unknown: &str, stale: &str| json!({"qos": {"classes": {class: {"unknownUsage": unknown, "staleUsage": stale}}}});
        let ask = |policy: &Value, node| verdict(policy, of_class(class), node);
        let fresh = |qos: &Value| measured(0, 0, 179_999, qos);
        let stale = |qos: &Value| measured(0, 0, 180_000, qos);
        for rule in ["DenyBesideProtected", "Deny"] {
            let (unknown_rule, stale_rule) = (policy(rule, "Allow"), policy("Allow", rule));
            let always = rule == "Deny";
            let because = if always { "" } else { " beside 2 LSE/LSR pods" };
            let unknown_reason = Err(format!("node-7: usage unknown{because} ({class} usage rule)"));
            let stale_reason = Err(format!("node-7: usage older than 180 s{because} ({class} usage rule)"));
            assert_eq!(ask(&unknown_rule, unmeasured(&beside)), unknown_reason);
            assert_eq!(ask(&unknown_rule, stale(&beside)), Ok(true), "{class}: stale is not unknown");
            assert_eq!(ask(&stale_rule, stale(&beside)), stale_reason);
            assert_eq!(ask(&stale_rule, unmeasured(&beside)), Ok(true), "{class}: unknown is not stale");
            assert_eq!(ask(&unknown_rule, unmeasured(&apart)).is_ok(), !always, "{class} {rule}");
            assert_eq!(ask(&stale_rule, stale(&apart)).is_ok(), !always, "{class} {rule}");
            assert_eq!(ask(&policy(rule, rule), fresh(&beside)), Ok(true), "{class} {rule}");
        }
    }
}

#[test]
fn every_class_may_be_kept_apart() {
    for class in CLASSES {
        let apart = json!({"qos": {"classes": {class: {"besideProtected": false}}}});
        let ask = |qos: Value| verdict(&apart, of_class(class), measured(0, 0, 0, &qos));
        assert_eq!(ask(json!({"LS": {"pods": 5}, "BE": {"pods": 5}, "SYSTEM": {"pods": 5}})), Ok(true), "{class}");
        for hosted in ["LSE", "LSR"] {
            let reason = format!("node-7: hosts 1 LSE/LSR pods ({class} kept apart)");
            assert_eq!(ask(json!({hosted: {"pods": 1}})), Err(reason));
        }
    }
}

#[test]
fn reclaimed_resources_keep_a_reserve() {
    let reserve = json!({"qos": {"reclaimed": {"reserve": 10}}});
    for name in
        ["kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"]
    {
        let given_out = |amount: i64| {
            let usage = json!({"at": NOW, "cpu": 0, "memory": 0});
            let state = json!({"v": 1, "at": NOW, "usage": usage, "requested": {name: amount}});
            annotated(&json!({"stowage.dev/node-state": state.to_string()}), &json!({name: "4000"}))
        };
        let ask = |policy: &Value, amount| verdict(policy, best_effort_with(&json!({name: "1000"})), given_out(amount));
        assert_eq!((ask(&reserve, 2599), ask(&reserve, 2600)), (Ok(true), Ok(true)), "{name}");
        let reason = format!("node-7: needs 1000 {name}, headroom 999 with 10 percent kept free");
        assert_eq!(ask(&reserve, 2601), Err(reason));
        assert_eq!(ask(&json!({}), 4000), Ok(true), "{name}");
        let overdrawn = format!("node-7: {name}: 4001 allocated of 4000 (BE headroom)");
        assert_eq!(ask(&json!({}), 4001), Err(overdrawn));
        assert_eq!(ask(&json!({"qos": {"reclaimed": {"denyOverdrawn": false}}}), 4001), Ok(true), "{name}");
        for (class, filtered) in [("Batch", true), ("LS", false)] {
            assert_eq!(verdict(&json!({}), of_class(class), given_out(4001)).is_err(), filtered, "{class}");
        }
    }
}

#[test]
fn nodes_bring_their_own_numbers() {
    let usage = json!({"at": NOW, "cpu": 60_000, "memory": 70 * GIB});
    let state = json!({"v": 1, "at": NOW, "usage": usage});
    let ask =
        |policy: &Value, pod: PodObject, annotations: Value| verdict(policy, pod, with_state(&state, &annotations));
    let none = json!({});
    let own = |document: &str| json!({"scheduling.koordinator.sh/usage-thresholds": document});
    let reason = |text: &str| Err(format!("node-7: {text}"));
    assert_eq!(ask(&none, best_effort(), json!({})), reason("memory 70 + 0 estimated > 60 percent (BE threshold)"));
    assert_eq!(ask(&none, best_effort(), own(r#"{"usageThresholds":{"cpu":61}}"#)), Ok(true));
    assert_eq!(
        ask(&none, best_effort(), own(r#"{"usageThresholds":{"cpu":60}}"#)),
        reason("cpu 60 + 1 estimated > 60 percent (BE threshold, set on the node)")
    );
    assert_eq!(
        ask(&json!({"qos": {"nodeThresholds": false}}), best_effort(), own(r#"{"usageThresholds":{"memory":90}}"#)),
        reason("memory 70 + 0 estimated > 60 percent (BE threshold)")
    );
    // Nor does a node that brings its own fill up beyond the point of eviction, its own or that of all nodes.
    let everywhere = json!({"qos": {"evictionWatermarks": {"memory": 65},
        "classes": {"Batch": {"usageThresholds": {"memory": 60}}}}});
    let relaxed = own(r#"{"usageThresholds":{"memory":90}}"#);
    assert_eq!(ask(&none, best_effort(), relaxed.clone()), Ok(true));
    assert_eq!(
        ask(&everywhere, best_effort(), relaxed.clone()),
        reason("memory 70 + 0 estimated > 60 percent (BE threshold)")
    );
    let mut evicts = relaxed;
    evicts["volcano.sh/evicting-memory-high-watermark"] = "74".into();
    assert_eq!(
        ask(&none, best_effort(), evicts.clone()),
        reason("memory 70 + 0 estimated > 69 percent (BE threshold, set on the node)")
    );
    evicts["volcano.sh/evicting-memory-high-watermark"] = "75".into();
    assert_eq!(ask(&everywhere, best_effort(), evicts), Ok(true), "it knows itself best");
    // Where Koordinator amplifies allocatable, 60 cores are 75 percent of the 80 that there are.
    let raw = json!({"node.koordinator.sh/raw-allocatable": r#"{"cpu":"80","memory":"200Gi"}"#});
    assert_eq!(ask(&none, best_effort(), raw), reason("cpu 75 + 1 estimated > 65 percent (BE threshold)"));
}
