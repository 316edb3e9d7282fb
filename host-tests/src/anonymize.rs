//! A cluster and its workload without anybody's names, to be attached to a report.
//!
//! Only what scheduling looks at is written: fields that are not named here are left out, so that nothing slips through.
//! Names, namespaces, UIDs, images, and keys and values of labels are replaced, the same text by the same replacement
//! wherever it stands: selectors still select, gangs are still gangs. Kept are amounts, resource names, GPU models, zones'
//! and roles' keys, priorities, times and the values of scheduling keys that name nothing. Environment variables are left
//! out, and with them what `gang.inferSizeFromEnv` would find there.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use stowage::cluster::node_state;
use stowage::policy::qos::crane;

use crate::trial::Trial;

/// Domains whose keys mean the same everywhere. A key of any other is replaced.
const KNOWN_DOMAINS: [&str; 19] = [
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "habana.ai",
    "huawei.com",
    "cambricon.com",
    "koordinator.sh",
    "volcano.sh",
    "kubeflow.org",
    "ray.io",
    "yunikorn.apache.org",
    "stowage.dev",
    "cloud.google.com",
    "k8s.amazonaws.com",
    "karpenter.sh",
    "sigs.k8s.io",
];
/// Keys without a domain that mean something to scheduling.
const KNOWN_KEYS: [&str; 5] = ["pod-group-name", "applicationId", "spark-app-selector", crane::CPU, crane::MEMORY];
/// Domains of annotations that scheduling reads.
const ANNOTATION_DOMAINS: [&str; 9] = [
    "stowage.dev",
    "koordinator.sh",
    "volcano.sh",
    "kueue.x-k8s.io",
    "yunikorn.apache.org",
    "scheduling.k8s.io",
    "scheduling.sigs.k8s.io",
    "leaderworkerset.sigs.k8s.io",
    "jobset.sigs.k8s.io",
];
/// Ends of keys whose values are words of their system, not names.
const VERBATIM: [&str; 26] = [
    "/arch",
    "/os",
    "/instance-type",
    "gpu.product",
    "gpu.product-name",
    "gpu.family",
    "gpu.memory",
    "/gpu-model",
    "gke-accelerator",
    "/qosClass",
    "/priority-class",
    "/qos-level",
    "/mode",
    "/match-policy",
    "/waiting-time",
    "/gang-role",
    "/gang-startup",
    "/replica-type",
    "/job-role",
    "/replicatedjob-name",
    "/node-type",
    "/task-spec",
    "/usage-thresholds",
    "-high-watermark",
    crane::CPU,
    crane::MEMORY,
];

/// The trial's cluster and workload as one List. Workloads are written as the pods that their controllers make.
#[must_use]
pub fn anonymize(trial: &Trial) -> Value {
    let mut names = Names::default();
    let (cluster, workload) = (&trial.cluster, &trial.workload);
    let mut items = Vec::new();
    for node in &cluster.nodes {
        let node = serde_json::to_value(node).expect("nodes have string keys only");
        items.push(names.node(&node));
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
        items.push(names.pod(&pod.json()));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// What each text has been replaced by.
#[derive(Debug, Default)]
struct Names {
    known: HashMap<String, String>,
    /// How many of each kind there are.
    counts: HashMap<&'static str, usize>,
}

impl Names {
    /// The replacement of a text; `kind` is what a new one begins with.
    fn of(&mut self, kind: &'static str, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let replacement = format!("{kind}-{count}");
        self.known.insert(text.to_owned(), replacement.clone());
        replacement
    }

    /// Namespaces that every cluster has keep their names.
    fn namespace(&mut self, name: &str) -> String {
        if name == "default" || name.starts_with("kube-") { name.to_owned() } else { self.of("namespace", name) }
    }

    fn key(&mut self, key: &str) -> String {
        let known = match key.split_once('/') {
            Some((domain, _)) => in_domains(domain, &KNOWN_DOMAINS),
            None => KNOWN_KEYS.contains(&key),
        };
        if known { key.to_owned() } else { self.of("key", key) }
    }

    /// The value of a label, annotation or selector.
    fn value(&mut self, key: &str, value: &str) -> String {
        let says_nothing = value.is_empty() || ["true", "false"].contains(&value) || value.parse::<f64>().is_ok();
        if says_nothing || VERBATIM.iter().any(|end| key.ends_with(end)) {
            return value.to_owned();
        }
        match serde_json::from_str::<Value>(value) {
            Ok(mut document @ (Value::Array(_) | Value::Object(_))) => {
                self.document(&mut document);
                document.to_string()
            }
            // A slash stays: where it must not be, the value is as wrong as it was.
            _ => value.split('/').map(|part| self.of("name", part)).collect::<Vec<_>>().join("/"),
        }
    }

    /// JSON within an annotation: every text is a name, or two with a slash between them.
    fn document(&mut self, document: &mut Value) {
        match document {
            Value::String(text) => {
                *text = match text.split_once('/') {
                    Some((namespace, name)) => format!("{}/{}", self.namespace(namespace), self.of("name", name)),
                    None => self.of("name", text),
                };
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.document(item)),
            // Amounts within are texts too, and those of resources have the form of amounts.
            Value::Object(fields) => {
                fields.retain(|name, _| ["name", "minMember"].contains(&name.as_str()));
                fields.values_mut().for_each(|value| self.document(value));
            }
            _ => {}
        }
    }

    fn labels(&mut self, labels: Option<&Value>) -> Option<Value> {
        let labels = labels?.as_object()?.iter();
        let replaced =
            labels.map(|(key, value)| (self.key(key), self.value(key, value.as_str().unwrap_or_default()).into()));
        Some(Value::Object(replaced.collect()))
    }

    fn annotations(&mut self, annotations: Option<&Value>) -> Option<Value> {
        let mut kept = Map::new();
        for (key, value) in annotations?.as_object()? {
            let read = match key.split_once('/') {
                Some((domain, _)) => in_domains(domain, &ANNOTATION_DOMAINS),
                None => KNOWN_KEYS.contains(&key.as_str()),
            };
            // Node state names gangs, and is made anew wherever this is read.
            if read && key != node_state::ANNOTATION {
                kept.insert(key.clone(), self.value(key, value.as_str().unwrap_or_default()).into());
            }
        }
        Some(Value::Object(kept))
    }

    fn metadata(&mut self, kind: &'static str, object: &Value) -> Value {
        let meta = &object["metadata"];
        let text = |name: &str| meta[name].as_str();
        let owners = meta["ownerReferences"].as_array().into_iter().flatten().map(|owner| {
            json!({
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "controller": owner["controller"],
                "name": self.of("name", owner["name"].as_str().unwrap_or_default()),
                "uid": self.of("uid", owner["uid"].as_str().unwrap_or_default()),
            })
        });
        let owners: Vec<Value> = owners.collect();
        let fields = [
            ("name", text("name").map(|name| self.of(kind, name).into())),
            ("namespace", text("namespace").map(|name| self.namespace(name).into())),
            ("uid", text("uid").map(|uid| self.of("uid", uid).into())),
            ("creationTimestamp", meta.get("creationTimestamp").cloned()),
            ("deletionTimestamp", meta.get("deletionTimestamp").cloned()),
            ("labels", self.labels(meta.get("labels"))),
            ("annotations", self.annotations(meta.get("annotations"))),
            ("ownerReferences", Some(owners.into())),
        ];
        present(fields)
    }

    fn node(&mut self, node: &Value) -> Value {
        let taints = node["spec"]["taints"].as_array().into_iter().flatten().map(|taint| {
            let key = taint["key"].as_str().unwrap_or_default();
            let value = taint["value"].as_str().map(|value| self.value(key, value));
            json!({"key": self.key(key), "value": value, "effect": taint["effect"]})
        });
        let taints: Vec<Value> = taints.collect();
        let status = &node["status"];
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": self.metadata("node", node),
            "spec": present([("taints", Some(taints.into())), ("unschedulable", node["spec"].get("unschedulable").cloned())]),
            "status": present([("allocatable", status.get("allocatable").cloned()), ("capacity", status.get("capacity").cloned())]),
        })
    }

    fn pod(&mut self, pod: &Value) -> Value {
        let spec = &pod["spec"];
        let text = |name: &str| spec[name].as_str().filter(|text| !text.is_empty());
        let copied = |name: &'static str| (name, spec.get(name).cloned());
        let fields = [
            ("nodeName", text("nodeName").map(|name| self.of("node", name).into())),
            ("priorityClassName", text("priorityClassName").map(|name| self.priority_class(name).into())),
            ("containers", self.containers(&spec["containers"])),
            ("initContainers", self.containers(&spec["initContainers"])),
            ("nodeSelector", self.labels(spec.get("nodeSelector"))),
            ("affinity", spec.get("affinity").map(|rules| self.rules(rules))),
            ("tolerations", spec.get("tolerations").map(|rules| self.rules(rules))),
            ("topologySpreadConstraints", spec.get("topologySpreadConstraints").map(|rules| self.rules(rules))),
            ("schedulingGates", spec.get("schedulingGates").map(|gates| self.names_of(gates))),
            ("schedulingGroup", spec.get("schedulingGroup").map(|group| self.names_of(group))),
            ("workloadRef", spec.get("workloadRef").map(|group| self.names_of(group))),
            copied("schedulerName"),
            copied("priority"),
            copied("preemptionPolicy"),
            copied("overhead"),
            copied("resources"),
            copied("hostNetwork"),
            copied("terminationGracePeriodSeconds"),
        ];
        let status = &pod["status"];
        let statuses = |name: &'static str| (name, status.get(name).map(resize_statuses));
        let conditions = status["conditions"].as_array().map(|conditions| {
            conditions
                .iter()
                .map(|one| json!({"type": one["type"], "status": one["status"], "reason": one["reason"]}))
                .collect()
        });
        let nominated = status["nominatedNodeName"].as_str().map(|name| self.of("node", name).into());
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self.metadata("pod", pod),
            "spec": present(fields),
            "status": present([
                ("phase", status.get("phase").cloned()),
                ("qosClass", status.get("qosClass").cloned()),
                ("nominatedNodeName", nominated),
                ("conditions", conditions.map(Value::Array)),
                statuses("containerStatuses"),
                statuses("initContainerStatuses"),
            ]),
        })
    }

    fn priority_class(&mut self, name: &str) -> String {
        if name.starts_with("system-") { name.to_owned() } else { self.of("priority", name) }
    }

    fn containers(&mut self, containers: &Value) -> Option<Value> {
        let containers = containers.as_array()?.iter().enumerate().map(|(at, container)| {
            let ports = container["ports"].as_array().into_iter().flatten();
            let ports: Vec<Value> = ports
                .filter(|port| port.get("hostPort").is_some())
                .map(|port| json!({"containerPort": port["containerPort"], "hostPort": port["hostPort"], "protocol": port["protocol"]}))
                .collect();
            present([
                ("name", Some(format!("container-{at}").into())),
                ("image", container["image"].as_str().map(|image| self.of("image", image).into())),
                ("resources", container.get("resources").cloned()),
                ("restartPolicy", container.get("restartPolicy").cloned()),
                ("resizePolicy", container.get("resizePolicy").cloned()),
                ("ports", (!ports.is_empty()).then(|| ports.into())),
            ])
        });
        Some(Value::Array(containers.collect()))
    }

    /// Selectors, affinity, tolerations and spreading, wherever they stand within each other.
    fn rules(&mut self, rules: &Value) -> Value {
        match rules {
            Value::Array(list) => list.iter().map(|item| self.rules(item)).collect(),
            Value::Object(fields) => {
                let key = fields.get("key").and_then(Value::as_str);
                let field = |(name, value): (&String, &Value)| {
                    let text = value.as_str();
                    let replaced = match (name.as_str(), text) {
                        ("key", Some("metadata.name")) => value.clone(),
                        ("key" | "topologyKey", Some(text)) => self.key(text).into(),
                        ("value", Some(text)) => self.value(key.unwrap_or_default(), text).into(),
                        ("matchLabels", _) => self.labels(Some(value)).unwrap_or_default(),
                        ("values", _) => self.texts(value, |names, text| names.value(key.unwrap_or_default(), text)),
                        ("namespaces", _) => self.texts(value, |names, text| names.namespace(text)),
                        ("matchLabelKeys" | "mismatchLabelKeys", _) => self.texts(value, |names, text| names.key(text)),
                        _ => self.rules(value),
                    };
                    (name.clone(), replaced)
                };
                Value::Object(fields.iter().map(field).collect())
            }
            // Operators, effects, weights and so on.
            other => other.clone(),
        }
    }

    fn texts(&mut self, list: &Value, replace: impl Fn(&mut Self, &str) -> String) -> Value {
        list.as_array().into_iter().flatten().map(|text| replace(self, text.as_str().unwrap_or_default())).collect()
    }

    /// Every text within is a name.
    fn names_of(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.of("name", text).into(),
            Value::Array(list) => list.iter().map(|item| self.names_of(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(name, value)| (name.clone(), self.names_of(value))).collect())
            }
            other => other.clone(),
        }
    }
}

fn in_domains(domain: &str, domains: &[&str]) -> bool {
    domains
        .iter()
        .any(|known| domain.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('.')))
}

/// What a resize has made of containers; their names are those that [`Names::containers`] gives.
fn resize_statuses(statuses: &Value) -> Value {
    let statuses = statuses.as_array().into_iter().flatten().enumerate();
    statuses
        .map(|(at, status)| {
            present([
                ("name", Some(format!("container-{at}").into())),
                ("resources", status.get("resources").cloned()),
                ("allocatedResources", status.get("allocatedResources").cloned()),
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
    Value::Object(there.collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::load::{self, Source};
    use crate::simulation::Options;
    use crate::trial::load_module;

    const SECRET: &str = r#"
apiVersion: v1
kind: Node
metadata:
  name: acme-gpu-1
  labels: {kubernetes.io/hostname: acme-gpu-1, acme.com/team: apollo, nvidia.com/gpu.product: H100, topology.kubernetes.io/zone: acme-zone}
  annotations: {acme.com/note: apollo, stowage.dev/node-state: '{"v":1,"at":1,"gangs":{"apollo/bert":1}}'}
spec: {taints: [{key: acme.com/reserved, value: apollo, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "8"}}
---
apiVersion: v1
kind: Pod
metadata: {name: bert-worker-0, namespace: apollo, annotations: {stowage.dev/gang: bert, stowage.dev/gang-min: "2",
  gang.scheduling.koordinator.sh/groups: '["apollo/bert", "apollo/gpt"]', kubectl.kubernetes.io/last-applied-configuration: '{"apollo":1}'}}
spec:
  nodeSelector: {acme.com/team: apollo}
  tolerations: [{key: acme.com/reserved, operator: Equal, value: apollo, effect: NoSchedule}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions:
    [{key: kubernetes.io/hostname, operator: In, values: [acme-gpu-1]}], matchFields: [{key: metadata.name, operator: In, values: [acme-gpu-1]}]}]}}}
  containers:
  - {name: apollo, image: acme.com/apollo/bert:1, command: [apollo], env: [{name: APOLLO, value: apollo}], resources: {requests: {nvidia.com/gpu: "1"}}}
"#;

    #[test]
    fn nothing_of_a_name_is_left() {
        let cluster = load::cluster(&[Source::new("secret".to_owned(), SECRET.to_owned())]).unwrap();
        let module = load_module(None).unwrap();
        let trial = Trial { cluster: cluster.into(), workload: Default::default(), module, policy: String::new() };
        let text = anonymize(&trial).to_string();
        for secret in ["acme", "apollo", "bert", "gpt"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for kept in ["H100", "nvidia.com/gpu", "stowage.dev/gang-min", "32Gi", "topology.kubernetes.io/zone"] {
            assert!(text.contains(kept), "no {kept} in {text}");
        }
    }

    #[test]
    fn what_is_written_runs_like_the_original() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let mut folders: Vec<_> = std::fs::read_dir(scenarios).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        let mut compared = 0;
        for folder in folders {
            let (cluster, workload) = (folder.join("cluster.yaml"), folder.join("workload.yaml"));
            if !cluster.exists() || !workload.exists() {
                continue;
            }
            let module = load_module(None).unwrap();
            let original = Trial::read(&[cluster], &[workload], None, module.clone()).unwrap();
            let text = anonymize(&original).to_string();
            let cluster = load::cluster(&[Source::new("anonymous".to_owned(), text)]).unwrap();
            let anonymous =
                Trial { cluster: cluster.into(), workload: Default::default(), module, policy: String::new() };
            let outcome = |trial: &Trial| {
                let mut simulation = trial.simulation(Options::default()).unwrap();
                simulation.run_until_idle().unwrap();
                (simulation.placements().len(), simulation.pending().len())
            };
            assert_eq!(outcome(&original), outcome(&anonymous), "{}", folder.display());
            compared += 1;
        }
        assert!(compared > 3, "{compared} scenarios compared");
    }
}
