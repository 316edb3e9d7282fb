//! A cluster and its workload without anybody's names, to be attached to a report.
//!
//! Only what scheduling looks at is written: fields that are not named here are left out, so that nothing slips through.
//! Everything that is not known to mean the same in every cluster ([`known`]) is replaced, the same text by the same
//! replacement wherever it stands ([`names`]): selectors still select, gangs are still gangs. Kept are amounts, resources
//! and GPU models of public vendors, zones' keys, priorities, times and the words of scheduling keys. Environment variables
//! are left out, and with them what `gang.inferSizeFromEnv` would find there.

mod known;
mod names;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use self::names::Names;
use crate::trial::Trial;

/// The trial's cluster and workload as one List. Workloads are written as the pods that their controllers make.
#[must_use]
pub fn anonymize(trial: &Trial) -> Value {
    let mut names = Names::default();
    let (cluster, workload) = (&trial.cluster, &trial.workload);
    let mut items = Vec::new();
    for node in &cluster.nodes {
        let written = serde_json::to_value(node).expect("nodes have string keys only");
        items.push(self::node(&mut names, &written));
    }
    for measured in &cluster.measured {
        items.push(json!({
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "NodeMetrics",
            "metadata": {"name": names.of("node", &measured.node)},
            "timestamp": measured.at.and_then(|at| k8s_openapi::jiff::Timestamp::from_millisecond(at).ok()).map(|at| at.to_string()),
            "usage": {"cpu": format!("{}m", measured.cpu), "memory": measured.memory.to_string()},
        }));
    }
    for group in cluster.pod_groups.iter().chain(&workload.pod_groups) {
        let Some(least) = group.min_member else { continue };
        items.push(json!({
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"namespace": names.namespace(&group.namespace), "name": names.of("name", &group.name)},
            "spec": {"minMember": least},
        }));
    }
    for pod in cluster.pods.iter().chain(&workload.pods) {
        items.push(self::pod(&mut names, &pod.json()));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn metadata(names: &mut Names, kind: &'static str, object: &Value) -> Value {
    let meta = &object["metadata"];
    let text = |name: &str| meta[name].as_str();
    present([
        ("name", text("name").map(|name| names.of(kind, name).into())),
        ("namespace", text("namespace").map(|name| names.namespace(name).into())),
        ("uid", text("uid").map(|uid| names.of("uid", uid).into())),
        ("creationTimestamp", meta.get("creationTimestamp").cloned()),
        ("deletionTimestamp", meta.get("deletionTimestamp").cloned()),
        ("labels", names.labels(meta.get("labels"))),
        ("annotations", names.annotations(meta.get("annotations"))),
        ("ownerReferences", Some(names.owners(&meta["ownerReferences"]))),
    ])
}

fn node(names: &mut Names, node: &Value) -> Value {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten().map(|taint| {
        let key = taint["key"].as_str().unwrap_or_default();
        let value = taint["value"].as_str().map(|value| names.value(key, value));
        json!({"key": names.key(key), "value": value, "effect": taint["effect"]})
    });
    let taints: Vec<Value> = taints.collect();
    let status = &node["status"];
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(names, "node", node),
        "spec": present([("taints", Some(taints.into())), ("unschedulable", node["spec"].get("unschedulable").cloned())]),
        "status": present(["allocatable", "capacity"].map(|list| (list, status.get(list).map(|list| names.amounts(list))))),
    })
}

fn pod(names: &mut Names, pod: &Value) -> Value {
    let spec = &pod["spec"];
    let text = |name: &str| spec[name].as_str().filter(|text| !text.is_empty());
    let copied = |name: &'static str| (name, spec.get(name).cloned());
    let fields = [
        ("nodeName", text("nodeName").map(|name| names.of("node", name).into())),
        ("schedulerName", text("schedulerName").map(|name| names.scheduler(name).into())),
        ("priorityClassName", text("priorityClassName").map(|name| names.priority_class(name).into())),
        ("containers", containers(names, &spec["containers"])),
        ("initContainers", containers(names, &spec["initContainers"])),
        ("nodeSelector", names.labels(spec.get("nodeSelector"))),
        ("affinity", spec.get("affinity").map(|rules| names.rules(rules))),
        ("tolerations", spec.get("tolerations").map(|rules| names.rules(rules))),
        ("topologySpreadConstraints", spec.get("topologySpreadConstraints").map(|rules| names.rules(rules))),
        ("schedulingGates", spec.get("schedulingGates").map(|gates| names.all(gates))),
        ("schedulingGroup", spec.get("schedulingGroup").map(|group| names.all(group))),
        ("workloadRef", spec.get("workloadRef").map(|group| names.all(group))),
        ("overhead", spec.get("overhead").map(|amounts| names.amounts(amounts))),
        ("resources", spec.get("resources").map(|requirements| names.requirements(requirements))),
        copied("priority"),
        copied("preemptionPolicy"),
        copied("hostNetwork"),
        copied("terminationGracePeriodSeconds"),
    ];
    let status = &pod["status"];
    let nominated = status["nominatedNodeName"].as_str().map(|name| names.of("node", name).into());
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(names, "pod", pod),
        "spec": present(fields),
        "status": present([
            ("phase", status.get("phase").cloned()),
            ("qosClass", status.get("qosClass").cloned()),
            ("nominatedNodeName", nominated),
            ("conditions", status.get("conditions").map(conditions)),
            ("containerStatuses", status.get("containerStatuses").map(|list| resize_statuses(names, list))),
            ("initContainerStatuses", status.get("initContainerStatuses").map(|list| resize_statuses(names, list))),
        ]),
    })
}

fn containers(names: &mut Names, containers: &Value) -> Option<Value> {
    let containers = containers.as_array()?.iter().enumerate().map(|(at, container)| {
        let ports = container["ports"].as_array().into_iter().flatten();
        let ports: Vec<Value> = ports
            .filter(|port| port.get("hostPort").is_some())
            .map(|port| json!({"containerPort": port["containerPort"], "hostPort": port["hostPort"], "protocol": port["protocol"]}))
            .collect();
        present([
            ("name", Some(format!("container-{at}").into())),
            ("image", container["image"].as_str().map(|image| names.of("image", image).into())),
            ("resources", container.get("resources").map(|requirements| names.requirements(requirements))),
            ("restartPolicy", container.get("restartPolicy").cloned()),
            ("resizePolicy", container.get("resizePolicy").cloned()),
            ("ports", (!ports.is_empty()).then(|| ports.into())),
        ])
    });
    Some(Value::Array(containers.collect()))
}

/// The conditions that Kubernetes sets. Others, and what is said about any, are left out: load balancers write the names of
/// services there.
fn conditions(conditions: &Value) -> Value {
    let conditions = conditions.as_array().into_iter().flatten();
    let known = conditions.filter(|one| one["type"].as_str().is_some_and(|name| known::CONDITIONS.contains(&name)));
    let written = known.map(|one| {
        let reason = one.get("reason").filter(|reason| reason.as_str().is_some_and(|it| known::REASONS.contains(&it)));
        present([
            ("type", one.get("type").cloned()),
            ("status", one.get("status").cloned()),
            ("reason", reason.cloned()),
        ])
    });
    written.collect()
}

/// What a resize has made of containers; their names are those that [`containers`] gives.
fn resize_statuses(names: &mut Names, statuses: &Value) -> Value {
    let statuses = statuses.as_array().into_iter().flatten().enumerate();
    statuses
        .map(|(at, status)| {
            present([
                ("name", Some(format!("container-{at}").into())),
                ("resources", status.get("resources").map(|requirements| names.requirements(requirements))),
                ("allocatedResources", status.get("allocatedResources").map(|amounts| names.amounts(amounts))),
                ("ready", status.get("ready").cloned()),
                ("restartCount", Some(0.into())),
                ("image", Some("image".into())),
                ("imageID", Some("image".into())),
            ])
        })
        .collect()
}

/// An object of the fields that are there.
fn present<const N: usize>(fields: [(&'static str, Option<Value>); N]) -> Value {
    let there =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.filter(|it| !it.is_null())?)));
    Value::Object(there.collect::<Map<_, _>>())
}
