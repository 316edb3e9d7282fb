//! Files as people and kubectl write them, and files that are wrong.

use super::*;

const NODE: &str = "kind: Node\napiVersion: v1\nmetadata: {name: a}\nstatus: {capacity: {cpu: 4, memory: 8Gi}}\n";

fn read(text: &str) -> Result<Cluster, Fault> {
    cluster(&[Source::new("c.yaml", text)])
}

fn fault(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn submitted(text: &str) -> Result<Vec<String>, Fault> {
    let pods = workload(&[Source::new("w.yaml", text)], &Priorities::default())?.pods;
    Ok(pods.iter().map(|pod| crate::scheduler::pod::key_of(&pod.pod)).collect())
}

fn pod(name: &str, node: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: ml}}\nspec:\n  nodeName: \"{node}\"\n  \
         containers:\n  - name: c\n    resources:\n      requests: {{cpu: 1}}\n"
    )
}

#[test]
fn documents_lists_and_json_are_the_same_to_us() {
    let yaml = format!("# a comment only\n---\n{NODE}---\n{}--- # another\n{}", pod("x", "a"), pod("y", ""));
    let indented = |text: String| text.replace('\n', "\n  ").trim_end().to_owned();
    let list =
        format!("apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n", indented(NODE.to_owned()), indented(pod("x", "a")));
    let typed = r#"{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"},"status":{}}]}
        {"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},
        "spec":{"nodeName":"a","containers":[{"name":"c"}]}}]}"#;
    for (text, pods) in [(yaml.as_str(), 2), (list.as_str(), 1), (typed, 1)] {
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let cluster = read(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            assert_eq!((cluster.nodes.len(), cluster.pods.len()), (1, pods), "{text}");
        }
    }
}

#[test]
fn nodes_get_what_the_api_server_fills_in() {
    let node = &read(NODE).unwrap().nodes[0];
    let allocatable = node.status.as_ref().unwrap().allocatable.as_ref().unwrap();
    assert_eq!((allocatable["memory"].0.as_str(), allocatable["pods"].0.as_str()), ("8Gi", "110"));
}

#[test]
fn faults_say_where() {
    let broken =
        format!("{NODE}---\n{}", pod("x", "a").replace("containers:\n  - name: c", "containers:\n  - name: [c]"));
    assert_eq!(fault(&broken), "c.yaml: document 2 (Pod ml/x), line 12, column 11: expected string scalar");
    let bad_yaml = format!("{NODE}---\nkind: Node\nmetadata:\n  name: \"b\n");
    let message = fault(&bad_yaml);
    assert!(message.starts_with("c.yaml: document 2, line ") && message.contains("column"), "{message}");
    let bad_json = "{\"kind\": \"Node\",\n \"metadata\": {\"name\": 3}}";
    assert_eq!(fault(bad_json), "c.yaml: document 1, line 2, column 23: invalid type: integer `3`, expected a string");
}

#[test]
fn faults_in_lists_say_where() {
    let yaml = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n\
                - apiVersion: v1\n  kind: Pod\n  metadata: {name: x}\n  spec:\n    priority: high\n";
    let message = fault(yaml);
    assert!(message.starts_with("c.yaml: document 1, item 2 (Pod x), line 9, column 15: "), "{message}");
    let json = "{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}},\n  {\"kind\":\"Pod\",\n\
                \"metadata\":{\"name\":\"x\"},\"spec\":{\"priority\":\"high\"}}]}";
    let message = fault(json);
    assert!(message.starts_with("c.yaml: document 1, item 2 (Pod x), line 4, column 49: invalid type"), "{message}");
}

#[test]
fn what_an_api_server_refuses_is_refused() {
    let without = "kind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n";
    assert_eq!(fault(without), "c.yaml: document 1 (Pod x), line 1, column 1: spec.containers is empty");
    let bad = pod("x", "").replace("cpu: 1", "cpu: 1 core");
    assert!(fault(&bad).contains("spec.containers[0].resources.requests[cpu] is \"1 core\", not a quantity"));
    let negative = pod("x", "").replace("cpu: 1", "cpu: -1");
    assert!(fault(&negative).ends_with("requests[cpu] is -1, which is negative"));
    let twice = format!("{NODE}---\n{NODE}");
    assert_eq!(
        fault(&twice),
        "c.yaml: document 2 (Node a), line 6, column 1: was there before, in c.yaml: document 1, line 1, column 1"
    );
    let class = pod("x", "").replace("  nodeName: \"\"", "  priorityClassName: vip");
    assert!(fault(&class).contains("no PriorityClass with name vip was found"));
    let with_class = format!("{class}---\nkind: PriorityClass\nmetadata: {{name: vip}}\nvalue: 9\n");
    assert_eq!(read(&with_class).unwrap().pods[0].pod.spec.as_ref().unwrap().priority, Some(9));
}

#[test]
fn names_and_resources_are_what_an_api_server_takes() {
    for (bad, why) in [
        (NODE.replace("{name: a}", "{name: A}"), "metadata.name is \"A\", allowed are"),
        (NODE.replace("{name: a}", "{name: \"a\\nb\"}"), "metadata.name is \"a\\nb\", allowed are"),
        (pod("x..y", ""), "metadata.name is \"x..y\""),
        (pod("x", "").replace("cpu: 1", "gpu: 1"), "requests[gpu] is no resource of Kubernetes"),
        (
            pod("x", "").replace("cpu: 1", "nvidia.com/gpu: 0.5"),
            "requests[nvidia.com/gpu] is 0.5, which must be a whole",
        ),
    ] {
        assert!(fault(&bad).contains(why), "{}", fault(&bad));
    }
    for good in ["hugepages-2Mi: 4Mi", "nvidia.com/gpu: 2e0", "kubernetes.io/batch-cpu: 500m"] {
        read(&pod("x", "").replace("cpu: 1", good)).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

#[test]
fn an_object_is_there_once() {
    let anywhere = pod("x", "").replace(", namespace: ml", "");
    let in_default = pod("x", "").replace("namespace: ml", "namespace: default");
    let twice = format!("{anywhere}---\n{in_default}");
    let expected = "document 2 (Pod default/x), line 11, column 1: was there before, in ";
    assert!(fault(&twice).contains(expected), "{}", fault(&twice));
    let again = submitted(&twice).unwrap_err().to_string();
    assert!(again.ends_with("was there before, in w.yaml: document 1, line 1, column 1"), "{again}");
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: j-}\nspec: {template: {spec: {containers: [{name: c}]}}}\n";
    submitted(&format!("{job}---\n{job}")).expect("their names will differ");
}

#[test]
fn files_hold_objects() {
    for text in ["", "\n \n", "# nothing\n", "null", "---\n---\n"] {
        assert_eq!(fault(text), "c.yaml: document 1, line 1, column 1: holds no object", "{text:?}");
    }
    read("{\"kind\":\"List\",\"items\":[]}").expect("says itself that there are none");
    let faulty = "{\"kind\":\"List\",\n\"items\":5}";
    assert_eq!(fault(faulty), "c.yaml: document 1, line 2, column 9: items is no list");
    let cut = "{\"kind\":\"List\",\"items\":[{\"kind\":\"Node\"\n";
    assert_eq!(fault(cut), "c.yaml: document 1, line 2, column 1: EOF while parsing an object");
}

#[test]
fn absurd_numbers_of_pods_are_refused() {
    let template = "template: {spec: {containers: [{name: c}]}}";
    let object = |kind: &str, spec: &str| {
        let (group, kind) = kind.split_once(' ').unwrap();
        let text = format!("apiVersion: {group}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{{spec}}}\n");
        submitted(&text.replace("TEMPLATE", template)).unwrap_err().to_string()
    };
    let jobs =
        "replicatedJobs: [{name: a, replicas: 2000000000, template: {spec: {parallelism: 2000000000, TEMPLATE}}}]";
    for (kind, spec) in [
        ("apps/v1 Deployment", "replicas: 2000000000, selector: {}, TEMPLATE"),
        ("batch/v1 Job", "parallelism: 2000000000, TEMPLATE"),
        ("kubeflow.org/v1 TFJob", "tfReplicaSpecs: {Worker: {replicas: 2000000000, TEMPLATE}}"),
        ("jobset.x-k8s.io/v1alpha2 JobSet", jobs),
    ] {
        let message = object(kind, spec);
        assert!(message.ends_with("makes more than 10000 pods, which are too many to try"), "{kind}: {message}");
    }
    let message = object("jobset.x-k8s.io/v1alpha2 JobSet", &jobs.replace("replicas: 2000000000", "replicas: -1"));
    assert!(message.ends_with("spec.replicatedJobs[0].replicas is -1, which is negative"), "{message}");
    let nameless = submitted("apiVersion: batch/v1\nkind: Job\nmetadata: {}\nspec: {}\n").unwrap_err().to_string();
    assert!(nameless.contains("metadata.name is missing"), "{nameless}");
}

#[test]
fn foreign_objects_are_named() {
    assert_eq!(
        fault("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"),
        "c.yaml: document 1, item 1 (ConfigMap x), line 4, column 3: a cluster file holds Node, Pod, PodGroup, \
         NodeMetrics, NodeMetric, PriorityClass, not ConfigMap"
    );
    assert!(fault("apiVersion: v1\nkind: node\nmetadata: {name: x}\n").ends_with("not node; did you mean Node?"));
    assert!(fault("just: text\n").contains("has no kind; is this a Kubernetes object?"));
    let template = fault("kind: Node\nmetadata:\n  name: {{ .Values.name }}\n");
    assert!(template.ends_with("(this looks like a template: render it first)"), "{template}");
    let cron = submitted("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: x}\n").unwrap_err().to_string();
    assert!(cron.contains("no pods are known to come of batch/v1 CronJob; a workload file holds Pod, Job,"), "{cron}");
    let kai = "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: x}, spec: {minMember: 2}}";
    let not_read = "a PodGroup of scheduling.run.ai/v2alpha2 is not read, only those of scheduling.x-k8s.io, \
                    scheduling.sigs.k8s.io, scheduling.volcano.sh and scheduling.k8s.io";
    for fault in [fault(&format!("---\n{kai}")), submitted(&format!("---\n{kai}")).unwrap_err().to_string()] {
        assert!(fault.ends_with(not_read), "{fault}");
    }
    assert_eq!(submitted("kind: Service\nmetadata: {name: x}\n").unwrap(), Vec::<String>::new());
}

#[test]
fn pods_of_unknown_nodes_are_left_out() {
    let cluster = read(&format!("{NODE}---\n{}", pod("x", "gone"))).unwrap();
    assert!(cluster.pods.is_empty());
    assert_eq!(cluster.notes, ["pod ml/x is left out: it is bound to node gone, which is not there"]);
}

#[test]
fn metrics_and_pod_groups_are_kept() {
    let text = "
apiVersion: metrics.k8s.io/v1beta1
kind: NodeMetrics
metadata: {name: a}
timestamp: 2026-01-01T10:00:00Z
window: 30s
usage: {cpu: 1500m, memory: 2Gi}
---
apiVersion: slo.koordinator.sh/v1alpha1
kind: NodeMetric
metadata: {name: b}
status:
  updateTime: 2026-01-01T10:00:05Z
  nodeMetric:
    nodeUsage:
      resources: {cpu: 250m, memory: 1Gi}
---
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: ml}, spec: {minMember: 3}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: v}, spec: {minMember: 2, queue: q}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: n}, spec: {schedulingPolicy: {gang: {minCount: 4}}}}
---
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: zero}, spec: {minMember: 0}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: less}, spec: {minMember: -1}}
";
    let cluster = read(text).unwrap();
    let measured: Vec<_> = cluster.measured.iter().map(|it| (it.node.as_str(), it.cpu, it.memory >> 30)).collect();
    assert_eq!(measured, [("a", 1500, 2), ("b", 250, 1)]);
    assert_eq!(cluster.measured[1].at.unwrap() - cluster.measured[0].at.unwrap(), 5000);
    let groups =
        cluster.pod_groups.iter().map(|group| (group.namespace.as_str(), group.name.as_str(), group.min_member));
    let expected =
        [("ml", "g", Some(3)), ("default", "v", Some(2)), ("default", "zero", None), ("default", "less", None)];
    assert!(groups.eq(expected));
}

/// By its uid a pod is known: two of one would count once.
#[test]
fn a_uid_is_of_one_pod() {
    let with_uid = |name: &str| pod(name, "a").replace("metadata: {", "metadata: {uid: u1, ");
    let first = with_uid("x");
    assert!(first.contains("uid: u1"), "{first}");
    let fault = read(&format!("{NODE}---\n{first}---\n{}", with_uid("y"))).unwrap_err();
    assert_eq!(fault.message, "has the uid of pod ml/x, u1");
}

/// A dump of nodes and pods has no measurements of its own, but what the publisher wrote of them.
#[test]
fn usage_in_node_state_is_a_measurement() {
    let node = |name: &str, state: &str| {
        format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, annotations: {{stowage.dev/node-state: '{state}'}}}}, \
             status: {{allocatable: {{cpu: '64', pods: '110'}}}}}}\n---\n"
        )
    };
    let state = r#"{"v":1,"at":9000,"pods":0,"requested":{},"nonzero":{},"usage":{"at":8000,"cpu":63000,"memory":1}}"#;
    let metrics =
        "{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: b}, usage: {cpu: 1, memory: 2}}";
    let text = ["---\n", &node("a", state), &node("b", state), &node("c", "broken"), metrics].concat();
    let cluster = read(&text).unwrap();
    let measured: Vec<_> = cluster.measured.iter().map(|it| (it.node.as_str(), it.at, it.cpu)).collect();
    assert_eq!(measured, [("b", None, 1000), ("a", Some(8000), 63_000)]);
}

/// What is said of a workload that is taken.
fn notes(text: &str) -> Vec<String> {
    workload(&[Source::new("w.yaml", text)], &Priorities::default()).unwrap_or_else(|fault| panic!("{fault}")).notes
}

#[test]
fn fields_that_nobody_reads_are_named() {
    let typed = pod("x", "").replace("requests: {cpu: 1}", "limit: {nvidia.com/gpu: 1}");
    assert_eq!(
        notes(&typed),
        ["w.yaml: document 1 (Pod ml/x), line 1, column 1: \
          spec.containers[0].resources.limit is no field of a pod and is left out; did you mean limits?"]
    );
    let template = "template: {metadata: {label: {a: b}}, spec: {nodeselector: {a: b}, containers: [{name: c}]}}";
    let job = format!(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: j}}\nspec: {{tasks: [{{{template}}}]}}\n"
    );
    let said = notes(&job).concat();
    for (field, meant) in [("metadata.label", "labels"), ("spec.nodeselector", "nodeSelector")] {
        let expected =
            format!("spec.tasks[0].template.{field} is no field of a pod and is left out; did you mean {meant}?");
        assert!(said.contains(&expected), "{said}");
    }
    assert_eq!(notes(&pod("x", "")), Vec::<String>::new());
}

#[test]
fn objects_without_pods_say_why() {
    let template = "template: {spec: {containers: [{name: c}]}}";
    for (object, why) in [
        (
            format!("apiVersion: batch/v1\nkind: Job\nmetadata: {{name: x}}\nspec: {{suspend: true, {template}}}\n"),
            "spec.suspend is true",
        ),
        (
            format!(
                "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: x}}\nspec: {{replicas: 0, selector: {{}}, {template}}}\n"
            ),
            "spec.replicas is 0",
        ),
        (
            format!(
                "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: x}}\nspec: {{runPolicy: {{suspend: true}}, \
                 pytorchReplicaSpecs: {{Worker: {{{template}}}}}}}\n"
            ),
            "spec.runPolicy.suspend is true",
        ),
    ] {
        let said = notes(&object).concat();
        assert!(said.ends_with(&format!("makes no pods: {why}")), "{said}");
    }
}

#[test]
fn pods_get_the_rest_of_their_names() {
    let text = pod("x", "").replace("name: x", "generateName: x-");
    let names = submitted(&format!("{text}---\n{text}")).unwrap();
    let generated = |name: &String| name.strip_prefix("ml/x-").is_some_and(|rest| rest.len() == 5);
    assert!(names.len() == 2 && names.iter().all(generated) && names[0] != names[1], "{names:?}");
    assert_eq!(names, submitted(&format!("{text}---\n{text}")).unwrap(), "the same in every run");
    assert!(fault(&pod("x", "").replace("name: x", "labels: {}")).contains("metadata.name is missing"));
}

#[test]
fn replicas_under_a_mistyped_name_are_found() {
    let job = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: x}\nspec: {pytorchReplicaSpec: {}}\n";
    let message = submitted(job).unwrap_err().to_string();
    assert!(
        message.ends_with("spec.pytorchReplicaSpec is no field of a PyTorchJob; did you mean pytorchReplicaSpecs?"),
        "{message}"
    );
    let none = submitted(&job.replace("pytorchReplicaSpec: {}", "")).unwrap_err().to_string();
    assert!(none.ends_with("spec.pytorchReplicaSpecs is missing"), "{none}");
}

#[test]
fn workloads_of_this_repository_are_read_to_the_last_field() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut read = 0;
    for parent in ["scenarios", "../examples"] {
        for folder in std::fs::read_dir(root.join(parent)).unwrap() {
            let Ok(text) = std::fs::read_to_string(folder.unwrap().path().join("workload.yaml")) else { continue };
            // Priority classes stand in their clusters.
            let Ok(workload) = workload(&[Source::new("w.yaml", text)], &Priorities::default()) else { continue };
            assert!(!workload.notes.concat().contains("is no field"), "{:?}", workload.notes);
            read += 1;
        }
    }
    assert!(read > 5, "{read} workloads");
}
