//! How much of a node is in use: what is measured, by whom, when, and what is estimated on top.

use std::rc::Rc;

use serde_json::{Value, json};
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::object::NodeObject;

use crate::common::Snapshot;
use crate::support::*;

/// A node with a pod of class LSE that crane measures.
fn crane(cpu: &str, time: &str) -> NodeObject {
    let value = |value: &str| format!("{value},{time}");
    let annotations = json!({"cpu_usage_avg_5m": value(cpu), "mem_usage_avg_5m": value("0.10000")});
    with_state(&json!({"v": 1, "at": NOW, "qos": {"LSE": {"pods": 1}}}), &annotations)
}

fn zone(utc_offset: &str) -> Value {
    json!({"qos": {"usage": {"crane": {"utcOffset": utc_offset}}}})
}

#[test]
fn crane_writes_local_time() {
    let ask = |policy: &Value, cpu, time| verdict(policy, best_effort(), crane(cpu, time));
    // 2026-01-01T00:00:00Z is 08:00 in Shanghai, which the annotator writes with a Z all the same.
    assert_eq!(ask(&json!({}), "0.60000", "2026-01-01T08:00:00Z"), Ok(true));
    assert_eq!(
        ask(&json!({}), "0.70000", "2026-01-01T08:00:00Z"),
        Err("node-7: cpu 70 + 1 estimated > 65 percent (BE threshold)".to_owned())
    );
    for (offset, now, still_fresh, just_stale) in [
        ("+08:00", "2026-01-01T08:00:00Z", "2026-01-01T07:52:01Z", "2026-01-01T07:52:00Z"),
        ("Z", "2026-01-01T00:00:00Z", "2025-12-31T23:52:01Z", "2025-12-31T23:52:00Z"),
        ("-03:30", "2025-12-31T20:30:00Z", "2025-12-31T20:22:01Z", "2025-12-31T20:22:00Z"),
        ("+05:45", "2026-01-01T05:45:00Z", "2026-01-01T05:37:01Z", "2026-01-01T05:37:00Z"),
        ("+14:00", "2026-01-01T14:00:00Z", "2026-01-01T13:52:01Z", "2026-01-01T13:52:00Z"),
        ("-12:00", "2025-12-31T12:00:00Z", "2025-12-31T11:52:01Z", "2025-12-31T11:52:00Z"),
    ] {
        let policy = zone(offset);
        assert_eq!(ask(&policy, "0.60000", now), Ok(true), "{offset}");
        assert_eq!(ask(&policy, "0.60000", still_fresh), Ok(true), "{offset}");
        assert_eq!(
            ask(&policy, "0.60000", just_stale),
            Err("node-7: usage older than 480 s beside 1 LSE/LSR pods (BE usage rule)".to_owned()),
            "{offset}"
        );
    }
    // A quarter of an hour ahead is a clock, more is a zone.
    assert_eq!(ask(&zone("Z"), "0.60000", "2026-01-01T00:15:00Z"), Ok(true));
    for ahead in ["2026-01-01T00:15:01Z", "2026-01-01T08:00:00Z", "9999-12-31T23:59:60Z"] {
        assert_eq!(
            ask(&zone("Z"), "0.60000", ahead),
            Err("node-7: usage dated in the future (time zone?) beside 1 LSE/LSR pods (BE usage rule)".to_owned()),
            "{ahead}"
        );
    }
    let off = json!({"qos": {"usage": {"crane": {"enabled": false}}}});
    let unknown = ask(&off, "0.60000", "2026-01-01T08:00:00Z").expect_err("not read");
    assert!(unknown.contains("usage unknown"), "{unknown}");
}

#[test]
fn what_is_no_measurement_is_none() {
    let fresh = "2026-01-01T08:00:00Z";
    for (cpu, time) in [
        ("", fresh),
        ("NaN", fresh),
        ("-0.1", fresh),
        ("1e-1", fresh),
        ("0,1", fresh),
        ("0.1", ""),
        ("0.1", "now"),
        ("0.1", "2026-01-01T08:00:00+08:00"),
        ("0.1", "2026-00-01T08:00:00Z"),
        ("0.1", "2026-01-01T24:00:00Z"),
        ("0.1", "99999-01-01T08:00:00Z"),
        ("0.1", "２０２６-01-01T08:00:00Z"),
    ] {
        assert_eq!(
            verdict(&json!({}), best_effort(), crane(cpu, time)),
            Err("node-7: usage unknown beside 1 LSE/LSR pods (BE usage rule)".to_owned()),
            "{cpu:?} {time:?}"
        );
    }
    let absurd = verdict(&json!({}), best_effort(), crane("987654321.5", fresh)).expect_err("more than there is");
    assert!(absurd.starts_with("node-7: cpu 10050 + 1 estimated"), "{absurd}");
}

#[test]
fn estimates_are_tuned_by_the_policy() {
    let ask = |estimation: Value, requests: Value| {
        let policy = json!({"qos": {"estimation": estimation, "classes": {"BE": {"usageThresholds": {"memory": 0}}}}});
        verdict(&policy, best_effort_with(&requests), measured(60_000, 0, 0, &json!({})))
    };
    let hot = |percent: u32| Err(format!("node-7: cpu 60 + {percent} estimated > 65 percent (BE threshold)"));
    // 85 percent of a request by default.
    assert_eq!(ask(json!({}), json!({"cpu": "6469m"})), Ok(true));
    assert_eq!(ask(json!({}), json!({"cpu": "6470m"})), hot(6));
    assert_eq!(ask(json!({"scalingFactors": {"cpu": 50}}), json!({"cpu": "10"})), Ok(true));
    assert_eq!(ask(json!({"scalingFactors": {"cpu": 150}}), json!({"cpu": "4"})), hot(6));
    assert_eq!(ask(json!({}), json!({"memory": "1Gi"})), Ok(true), "250m for a pod that says nothing");
    assert_eq!(ask(json!({"defaultRequest": {"cpu": "5500m"}}), json!({"memory": "1Gi"})), hot(6));
    // Batch and mid resources are made of cpu.
    for name in ["kubernetes.io/batch-cpu", "kubernetes.io/mid-cpu", "koordinator.sh/batch-cpu"] {
        assert_eq!(ask(json!({}), json!({name: "6469"})), Ok(true), "{name}");
        assert_eq!(ask(json!({}), json!({name: "6470"})), hot(6), "{name}");
    }
}

#[test]
fn pods_placed_since_the_measurement_count() {
    let state = |unmeasured: i64| {
        let usage = json!({"at": NOW, "cpu": 60_000, "memory": 0});
        with_state(
            &json!({"v": 1, "at": NOW, "usage": usage, "unmeasured": {"cpu": unmeasured, "memory": 0}}),
            &json!({}),
        )
    };
    let snapshot = Snapshot::new([state(0)]);
    let mut plugin = snapshot.plugin(&MODULE, "");
    let place = |plugin: &mut stowage_host::host::WasmPlugin, name: &str| {
        let mut object = best_effort_with(&json!({"cpu": "2"})).pod;
        object.metadata.name = Some(name.to_owned());
        object.metadata.uid = Some(name.to_owned());
        let pod = Rc::new(stowage_host::object::PodObject::new(object));
        assert_eq!(plugin.pre_filter(&pod).1.code, Code::Success);
        let filtered = plugin.filter(&pod, "node-7");
        if filtered.is_success() {
            assert!(plugin.reserve(&pod, "node-7").is_success());
        }
        filtered.reason
    };
    // Ours, as the module remembers them: 1.7 percent each.
    let reasons = ["a", "b", "c", "d"].map(|name| place(&mut plugin, name));
    assert_eq!(reasons, ["", "", "", "node-7: cpu 60 + 7 estimated > 65 percent (BE threshold)"]);
    // Those of others, as the publisher reports them.
    assert_eq!(verdict(&json!({}), best_effort(), state(4649)), Ok(true));
    assert_eq!(
        verdict(&json!({}), best_effort(), state(4650)),
        Err("node-7: cpu 60 + 6 estimated > 65 percent (BE threshold)".to_owned())
    );
}

#[test]
fn a_pod_created_much_later_tells_that_nobody_publishes_any_more() {
    let created = |time: &str| {
        let mut object = best_effort().pod;
        object.metadata.creation_timestamp = Some(serde_json::from_value(time.into()).expect("a time"));
        stowage_host::object::PodObject::new(object)
    };
    let node = || measured(0, 0, 0, &json!({"LSR": {"pods": 1}}));
    assert_eq!(verdict(&json!({}), created("2026-01-01T00:15:00Z"), node()), Ok(true));
    assert_eq!(
        verdict(&json!({}), created("2026-01-01T00:15:01Z"), node()),
        Err("node-7: usage older than 180 s beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
}

#[test]
fn documents_of_nonsense_do_no_harm() {
    let thresholds = "scheduling.koordinator.sh/usage-thresholds";
    let usage = json!({"at": NOW, "cpu": 90_000, "memory": 0});
    let state = json!({"v": 1, "at": NOW, "usage": usage});
    let hot = Err("node-7: cpu 90 + 1 estimated > 65 percent (BE threshold)".to_owned());
    let (deep, long) =
        ("[".repeat(100_000), format!("{{\"usageThresholds\":{{{}\"cpu\":100}}}}", "\"x\":1,".repeat(20_000)));
    for (document, expected) in [
        ("", hot.clone()),
        ("null", hot.clone()),
        ("[]", hot.clone()),
        (deep.as_str(), hot.clone()),
        (r#"{"usageThresholds":{}}"#, hot.clone()),
        (r#"{"usageThresholds":{"cpu":-1}}"#, hot.clone()),
        (r#"{"usageThresholds":{"cpu":1e2}}"#, hot.clone()),
        (r#"{"usageThresholds":{"cpu":"100"}}"#, hot.clone()),
        (r#"{"usageThresholds":{"cpu":99999999999999999999}}"#, hot.clone()),
        (r#"{"usageThresholds":{"cpu":0}}"#, Ok(true)),
        (r#"{"usageThresholds":{"cpu":9223372036854775807}}"#, Ok(true)),
        (r#"{"usageThresholds":{"cpu":1,"cpu":100}}"#, Ok(true)),
        (long.as_str(), Ok(true)),
    ] {
        let found = verdict(&json!({}), best_effort(), with_state(&state, &json!({thresholds: document})));
        assert_eq!(found, expected, "{:.60}", document);
    }
    // A node with ten thousand labels, annotated with everything at once.
    let mut annotations = json!({thresholds: "{", "cpu_usage_avg_5m": "x", "mem_usage_avg_5m": ",",
        "volcano.sh/evicting-cpu-high-watermark": "-3", "node.koordinator.sh/raw-allocatable": "{\"cpu\":[]}"});
    for at in 0..10_000 {
        annotations[format!("example.com/note-{at}")] = "nothing".into();
    }
    assert_eq!(verdict(&json!({}), best_effort(), with_state(&state, &annotations)), hot);
}
