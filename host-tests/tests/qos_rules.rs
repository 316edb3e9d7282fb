//! Every QoS rule at its boundary, asked of the real module call by call.

mod common;

use std::rc::Rc;
use std::sync::LazyLock;

use common::{Snapshot, node, pod};
use serde_json::{Value, json};
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::host::Module;
use stowage_host::object::{NodeObject, PodObject};

static MODULE: LazyLock<Module> =
    LazyLock::new(|| Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads"));

const NOW: i64 = 1_767_225_600_000;
const GIB: i64 = 1 << 30;

/// A node of 100 cores and 100 GiB, on which this much is measured and these classes run.
fn measured(cpu: i64, memory_gib: i64, age_ms: i64, qos: &Value) -> NodeObject {
    let usage = json!({"at": NOW - age_ms, "cpu": cpu, "memory": memory_gib * GIB});
    with_state(&json!({"v": 1, "at": NOW, "usage": usage, "qos": qos}), &json!({}))
}

fn with_state(state: &Value, more: &Value) -> NodeObject {
    let mut annotations = more.clone();
    annotations["stowage.dev/node-state"] = state.to_string().into();
    annotated(&annotations, "0")
}

fn annotated(annotations: &Value, batch_cpu: &str) -> NodeObject {
    let allocatable = json!({"cpu": "100", "memory": "100Gi", "pods": "110", "kubernetes.io/batch-cpu": batch_cpu});
    node(&json!({
        "metadata": {"name": "node-7", "annotations": annotations},
        "status": {"allocatable": allocatable},
    }))
}

/// A pod that is expected to use 1 core and, having no request for memory, 200 MiB.
fn a_pod(labels: &Value, spec: &Value) -> PodObject {
    let mut object = json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": labels},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}]},
    });
    object["spec"].as_object_mut().expect("a spec").extend(spec.as_object().expect("fields").clone());
    pod(&object)
}

fn best_effort() -> PodObject {
    a_pod(&json!({"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch"}), &json!({}))
}

/// `Ok(false)` if the pod needs no Filter call, `Ok(true)` if the node is accepted, else the reason.
fn verdict(policy: &Value, pod: PodObject, node: NodeObject) -> Result<bool, String> {
    let snapshot = Snapshot::new([node]);
    let mut plugin = snapshot.plugin(&MODULE, &policy.to_string());
    let pod = Rc::new(pod);
    let (_, begun) = plugin.pre_filter(&pod);
    match begun.code {
        Code::Skip => return Ok(false),
        Code::Success => {}
        _ => return Err(begun.reason),
    }
    let filtered = plugin.filter(&pod, "node-7");
    if filtered.is_success() { Ok(true) } else { Err(filtered.reason) }
}

/// The pod's own core is 85 percent of a percent.
#[test]
fn thresholds() {
    let classes = json!({"LSE": {"usageThresholds": {"cpu": 90}}, "LSR": {"usageThresholds": {"cpu": 85}},
        "LS": {"usageThresholds": {"cpu": 80}}, "Batch": {"usageThresholds": {"cpu": 70}}});
    let policy = json!({"qos": {"classes": classes}});
    for (name, labels, priority, threshold) in [
        ("LSE", json!({"koordinator.sh/qosClass": "LSE"}), 9500, 90),
        ("LSR", json!({"koordinator.sh/qosClass": "LSR"}), 9500, 85),
        ("LS", json!({"koordinator.sh/qosClass": "LS"}), 9500, 80),
        ("Batch", json!({"koordinator.sh/qosClass": "LS"}), 5500, 70),
        ("BE", json!({"koordinator.sh/qosClass": "BE"}), 5500, 65),
    ] {
        let ask =
            |cpu| verdict(&policy, a_pod(&labels, &json!({"priority": priority})), measured(cpu, 0, 0, &json!({})));
        // Measured and estimated together are below, at and above threshold and a half, where rounding turns.
        let turn = threshold * 1000 + 500;
        assert_eq!(ask(turn - 850 - 1000), Ok(true), "{name}");
        assert_eq!(ask(turn - 850 - 1), Ok(true), "{name}");
        let over = ask(turn - 850).expect_err(name);
        assert!(over.ends_with(&format!("> {threshold} % ({name} threshold)")), "{over}");
    }
    let (low, high) = (measured(0, 60, 0, &json!({})), measured(0, 61, 0, &json!({})));
    assert_eq!(verdict(&json!({}), best_effort(), low), Ok(true));
    assert_eq!(
        verdict(&json!({}), best_effort(), high),
        Err("node-7: memory 61 % + 0 % estimated > 60 % (BE threshold)".to_owned())
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
        Err("node-7: cpu 40 % + 1 % requested > 40 % (BE share)".to_owned())
    );

    let given_out = |amount: i64| {
        let usage = json!({"at": NOW, "cpu": 0, "memory": 0});
        let state = json!({"v": 1, "at": NOW, "usage": usage, "requested": {"kubernetes.io/batch-cpu": amount}});
        annotated(&json!({"stowage.dev/node-state": state.to_string()}), "4000")
    };
    assert_eq!(verdict(&json!({}), best_effort(), given_out(3999)), Ok(true));
    assert_eq!(verdict(&json!({}), best_effort(), given_out(4000)), Ok(true));
    assert_eq!(
        verdict(&json!({}), best_effort(), given_out(4001)),
        Err("node-7: kubernetes.io/batch-cpu: 4001 allocated of 4000 (BE headroom)".to_owned())
    );
}

#[test]
fn annotations_of_other_systems() {
    let usage = json!({"at": NOW, "cpu": 90_000, "memory": 70 * GIB});
    let state = json!({"v": 1, "at": NOW, "usage": usage});
    let own = json!({"scheduling.koordinator.sh/usage-thresholds": r#"{"usageThresholds":{"cpu":100}}"#});
    assert!(verdict(&json!({}), best_effort(), with_state(&state, &json!({}))).is_err());
    assert_eq!(verdict(&json!({}), best_effort(), with_state(&state, &own)), Ok(true));

    // 2026-01-01T00:00:00Z is 08:00 in Shanghai, which the annotator writes with a Z all the same.
    let crane = |cpu: &str, time: &str| {
        let value = |value: &str| format!("{value},{time}");
        let annotations = json!({"cpu_usage_avg_5m": value(cpu), "mem_usage_avg_5m": value("0.10000")});
        with_state(&json!({"v": 1, "at": NOW, "qos": {"LSE": {"pods": 1}}}), &annotations)
    };
    assert_eq!(verdict(&json!({}), best_effort(), crane("0.60000", "2026-01-01T08:00:00Z")), Ok(true));
    assert!(verdict(&json!({}), best_effort(), crane("0.70000", "2026-01-01T08:00:00Z")).is_err());
    assert_eq!(verdict(&json!({}), best_effort(), crane("0.60000", "2026-01-01T07:52:01Z")), Ok(true));
    assert!(verdict(&json!({}), best_effort(), crane("0.60000", "2026-01-01T07:52:00Z")).is_err());
    let utc = json!({"qos": {"usage": {"crane": {"utcOffset": "Z"}}}});
    assert!(verdict(&utc, best_effort(), crane("0.60000", "2026-01-01T08:00:00Z")).is_err(), "from the future");
    assert_eq!(verdict(&utc, best_effort(), crane("0.60000", "2026-01-01T00:00:00Z")), Ok(true));

    let mut volcano = a_pod(&json!({}), &json!({})).pod;
    volcano.metadata.annotations = Some([("volcano.sh/qos-level".to_owned(), "BE".to_owned())].into());
    assert!(verdict(&json!({}), PodObject::new(volcano), measured(70_000, 0, 0, &json!({}))).is_err());
}

#[test]
fn contradictions() {
    let nowhere = || measured(0, 0, 0, &json!({}));
    let odd = || a_pod(&json!({"koordinator.sh/qosClass": "BE"}), &json!({"priority": 9500}));
    assert_eq!(verdict(&json!({}), odd(), nowhere()), Ok(true));
    assert_eq!(
        verdict(&json!({"qos": {"illegalPairs": "Reject"}}), odd(), nowhere()),
        Err("QoS class BE with koord-prod (rule be-needs-mid-batch-or-free)".to_owned())
    );
}
