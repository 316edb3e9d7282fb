//! Which class a pod is, whoever says so, and what it may not say together.

use serde_json::{Value, json};
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::object::PodObject;

use crate::common::{Snapshot, pod};
use crate::support::*;

/// The class by whose threshold a full node is refused to the pod; `None` if it is not filtered.
fn class_of(pod: PodObject) -> Option<String> {
    let limited = json!({"usageThresholds": {"cpu": 90}});
    let classes: Value = CLASSES.into_iter().map(|class| (class.to_owned(), limited.clone())).collect();
    match verdict(&json!({"qos": {"classes": classes}}), pod, measured(99_000, 0, 0, &json!({}))) {
        Ok(filtered) => {
            assert!(!filtered, "a full node is accepted");
            None
        }
        Err(reason) => Some(reason.rsplit_once('(').expect("a rule").1.trim_end_matches(" threshold)").to_owned()),
    }
}

fn a_pod_of(labels: &Value, annotations: &Value, resources: &Value, more: &Value) -> PodObject {
    let mut object = json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": labels, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "resources": resources}]},
    });
    for (part, fields) in more.as_object().expect("parts") {
        if object[part].is_null() {
            object[part] = json!({});
        }
        object[part].as_object_mut().expect("fields").extend(fields.as_object().expect("fields").clone());
    }
    pod(&object)
}

#[test]
fn labels_levels_and_requests_name_the_class() {
    let none = json!({});
    let burstable = json!({"requests": {"cpu": "1"}});
    let guaranteed = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
    let koordinator = |class: &str| json!({"koordinator.sh/qosClass": class});
    let volcano = |level: &str| json!({"volcano.sh/qos-level": level});
    for (class, expected) in
        [("LSE", Some("LSE")), ("LSR", Some("LSR")), ("LS", Some("LS")), ("BE", Some("BE")), ("SYSTEM", None)]
    {
        assert_eq!(class_of(a_pod_of(&koordinator(class), &none, &burstable, &none)).as_deref(), expected, "{class}");
    }
    for (level, expected) in [
        ("LC", "LSE"),
        ("HLS", "LSR"),
        ("2", "LSR"),
        ("LS", "LS"),
        ("1", "LS"),
        ("BE", "BE"),
        ("-1", "BE"),
        ("0", "LS"),
        ("", "LS"),
        ("-1 ", "LS"),
    ] {
        let found = class_of(a_pod_of(&none, &volcano(level), &burstable, &none));
        assert_eq!(found.as_deref(), Some(expected), "{level:?}");
    }
    let both = class_of(a_pod_of(&koordinator("LSE"), &volcano("BE"), &burstable, &none));
    assert_eq!(both.as_deref(), Some("LSE"), "the label counts before the level");
    for (resources, expected) in [(&none, "BE"), (&burstable, "LS"), (&guaranteed, "LSR")] {
        assert_eq!(class_of(a_pod_of(&none, &none, resources, &none)).as_deref(), Some(expected), "{resources}");
    }
    let by_status = class_of(a_pod_of(&none, &none, &guaranteed, &json!({"status": {"qosClass": "BestEffort"}})));
    assert_eq!(by_status.as_deref(), Some("BE"), "what the API server has worked out counts");
}

#[test]
fn bands_make_batch_of_it() {
    let ls = json!({"koordinator.sh/qosClass": "LS"});
    for (priority, expected) in [
        (2999, "LS"),
        (3000, "Batch"),
        (3999, "Batch"),
        (4000, "LS"),
        (4999, "LS"),
        (5000, "Batch"),
        (5999, "Batch"),
        (6000, "LS"),
        (7500, "LS"),
        (9500, "LS"),
        (-5500, "LS"),
        (i32::MAX, "LS"),
    ] {
        assert_eq!(class_of(a_pod(&ls, &json!({"priority": priority}))).as_deref(), Some(expected), "{priority}");
    }
    let labelled = json!({"koordinator.sh/qosClass": "LS", "koordinator.sh/priority-class": "koord-prod"});
    assert_eq!(class_of(a_pod(&labelled, &json!({"priority": 5500}))).as_deref(), Some("LS"), "the label counts first");
    let amounts = json!({"cpu": "1", "memory": "1Gi"});
    let resources = json!({"limits": amounts, "requests": amounts});
    let guaranteed = |priority| {
        let containers = json!([{"name": "main", "resources": resources}]);
        class_of(a_pod(&json!({}), &json!({"priority": priority, "containers": containers})))
    };
    assert_eq!(guaranteed(9500).as_deref(), Some("LSR"));
    assert_eq!(guaranteed(5500).as_deref(), Some("Batch"), "batch work with guaranteed requests");
}

#[test]
fn contradictions_go_by_the_name_of_the_rule() {
    let labels = |class: &str, band: &str| {
        let labels = [("koordinator.sh/qosClass", class), ("koordinator.sh/priority-class", band)];
        labels
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .collect::<Value>()
    };
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    let batch = json!({"requests": {"cpu": "1", "kubernetes.io/batch-cpu": "1000"}});
    let level = |level: &str| json!({"volcano.sh/qos-level": level});
    let none = || json!({});
    for (labels, annotations, resources, rule) in [
        (
            labels("BE", "koord-prod"),
            none(),
            cpu("1"),
            "QoS class BE with koord-prod (rule be-needs-mid-batch-or-free)",
        ),
        (labels("BE", ""), none(), cpu("1"), "QoS class BE with no priority band (rule be-needs-mid-batch-or-free)"),
        (labels("LSR", "koord-batch"), none(), cpu("1"), "QoS class LSR with koord-batch (rule lsr-needs-prod)"),
        (labels("LSR", ""), none(), cpu("1"), "QoS class LSR with no priority band (rule lsr-needs-prod)"),
        (labels("LS", ""), none(), batch, "batch-cpu or batch-memory with QoS class LS (rule batch-resources-need-be)"),
        (
            labels("LSE", "koord-prod"),
            none(),
            cpu("1500m"),
            "QoS class LSE without a whole number of CPUs (rule lse-lsr-need-whole-cpus)",
        ),
        (
            labels("be", ""),
            none(),
            cpu("1"),
            "koordinator.sh/qosClass is none of LSE, LSR, LS, BE, SYSTEM (rule known-qos-class)",
        ),
        (labels("", "batch"), none(), cpu("1"), "(rule known-priority-class)"),
        (
            none(),
            level("3"),
            cpu("1"),
            "volcano.sh/qos-level is none of LC, HLS, LS, BE, 2, 1, 0, -1 (rule known-qos-level)",
        ),
    ] {
        let contradictory = || a_pod_of(&labels, &annotations, &resources, &json!({}));
        let rejecting = json!({"qos": {"illegalPairs": "Reject"}});
        let reason = verdict(&rejecting, contradictory(), measured(0, 0, 0, &json!({}))).expect_err(rule);
        assert!(reason.ends_with(rule), "{reason}");

        let snapshot = Snapshot::new([measured(0, 0, 0, &json!({}))]);
        let mut plugin = snapshot.plugin(&MODULE, "");
        let pod = std::rc::Rc::new(contradictory());
        for _ in 0..3 {
            let (_, begun) = plugin.pre_filter(&pod);
            assert!(matches!(begun.code, Code::Success | Code::Skip), "{rule}: only logged");
        }
        let log = snapshot.log.borrow();
        assert_eq!(log.len(), 1, "once: {log:?}");
        assert!(log[0].contains(&format!("pod ns/p: {reason}")), "{log:?}");
    }
    let daemon = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]);
    let owned = a_pod_of(&labels("BE", ""), &none(), &cpu("1"), &json!({"metadata": {"ownerReferences": daemon}}));
    let rejecting = json!({"qos": {"illegalPairs": "Reject"}});
    assert_eq!(verdict(&rejecting, owned, measured(0, 0, 0, &none())), Ok(false), "a DaemonSet's pod passes");
}
