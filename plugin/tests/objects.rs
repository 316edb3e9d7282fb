//! The views of pods and nodes, against objects that a real API server wrote, each with its JSON twin.

mod encode;

use std::collections::BTreeMap;

use encode::{entry, field, quantity};
use serde_json::Value;
use stowage::object::{
    Error, NativeQos, Node, Pod, PodInfo, RequestOptions, ResourceId, ResourceList, ResourceNames, Resources,
    WorkloadRef,
};

const PODS: [&str; 4] = ["pod-plain", "pod-batch", "pod-besteffort", "pod-guaranteed"];

fn golden(name: &str) -> (Vec<u8>, Value) {
    let path = |extension| format!("{}/testdata/protobuf/{name}.{extension}", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read_to_string(path("json")).unwrap();
    (std::fs::read(path("raw")).unwrap(), serde_json::from_str(&json).unwrap())
}

fn map(json: &Value) -> BTreeMap<&str, &str> {
    json.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect()
}

fn list(list: ResourceList<'_>) -> BTreeMap<&str, &str> {
    list.iter().map(Result::unwrap).collect()
}

fn text(json: &Value) -> &str {
    json.as_str().unwrap_or("")
}

fn array(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn pods_read_as_their_twins_say() {
    for name in PODS {
        let (bytes, json) = golden(name);
        let pod = Pod::parse(&bytes).unwrap();
        let meta = &json["metadata"];
        assert_eq!(pod.meta.name, text(&meta["name"]));
        assert_eq!(pod.meta.namespace, text(&meta["namespace"]));
        assert_eq!(pod.meta.uid, text(&meta["uid"]));
        assert_eq!(pod.meta.resource_version, text(&meta["resourceVersion"]));
        assert!(!pod.meta.terminating);
        assert_eq!(pod.meta.labels().collect::<BTreeMap<_, _>>(), map(&meta["labels"]));
        assert_eq!(pod.meta.annotations().collect::<BTreeMap<_, _>>(), map(&meta["annotations"]));
        for (key, value) in map(&meta["labels"]) {
            assert_eq!(pod.meta.label(key), Some(value));
        }
        for (key, value) in map(&meta["annotations"]) {
            assert_eq!(pod.meta.annotation(key), Some(value));
            assert_eq!(pod.meta.label(key), None);
        }
        let owners: Vec<_> = pod.meta.owners().collect();
        assert_eq!(owners.len(), array(&meta["ownerReferences"]).len());
        for (owner, json) in owners.iter().zip(array(&meta["ownerReferences"])) {
            assert_eq!(owner.kind, text(&json["kind"]));
            assert_eq!(owner.api_version, text(&json["apiVersion"]));
            assert_eq!(owner.name, text(&json["name"]));
            assert_eq!(owner.uid, text(&json["uid"]));
            assert_eq!(owner.controller, json["controller"] == Value::Bool(true));
        }

        let spec = &json["spec"];
        assert_eq!(pod.node_name, text(&spec["nodeName"]));
        assert_eq!(pod.scheduler_name, text(&spec["schedulerName"]));
        assert_eq!(pod.priority.map(i64::from), spec["priority"].as_i64());
        assert_eq!(pod.priority_class_name, text(&spec["priorityClassName"]));
        assert_eq!(pod.scheduling_gates as usize, array(&spec["schedulingGates"]).len());
        assert_eq!(pod.node_selector().collect::<BTreeMap<_, _>>(), map(&spec["nodeSelector"]));
        assert_eq!(list(pod.overhead), map(&spec["overhead"]));
        assert!(pod.resources.is_none());
        assert_eq!(pod.scheduling_group(), Ok(None));
        assert_eq!(pod.workload_ref(), Ok(None));
        for (containers, json) in [
            (pod.containers().collect::<Result<Vec<_>, _>>().unwrap(), &spec["containers"]),
            (pod.init_containers().collect::<Result<Vec<_>, _>>().unwrap(), &spec["initContainers"]),
        ] {
            assert_eq!(containers.len(), array(json).len());
            for (container, json) in containers.iter().zip(array(json)) {
                assert_eq!(container.name, text(&json["name"]));
                assert_eq!(container.restartable, json["restartPolicy"] == "Always");
                assert_eq!(list(container.resources.requests()), map(&json["resources"]["requests"]));
                assert_eq!(list(container.resources.limits()), map(&json["resources"]["limits"]));
                let env: Vec<_> = container.env().collect();
                assert_eq!(env.len(), array(&json["env"]).len());
                for variable in array(&json["env"]) {
                    assert_eq!(container.env_value(text(&variable["name"])), variable["value"].as_str());
                }
            }
        }

        assert_eq!(pod.phase, text(&json["status"]["phase"]));
        assert!(!pod.is_terminal());
        assert_eq!(pod.qos_class, text(&json["status"]["qosClass"]));
        assert_eq!(pod.is_resize_infeasible(), Ok(false));
        assert_eq!(pod.container_statuses().count(), 0);
    }
}

#[test]
fn timestamps_are_seconds() {
    let (bytes, _) = golden("pod-guaranteed");
    // 2026-11-29T22:19:42Z
    assert_eq!(Pod::parse(&bytes).unwrap().meta.created, Some(1_795_990_782));
}

#[test]
fn nodes_read_as_their_twins_say() {
    let (bytes, json) = golden("node-gpu-rich");
    let node = Node::parse(&bytes).unwrap();
    let meta = &json["metadata"];
    assert_eq!(node.meta.name, "gpu-rich");
    assert_eq!(node.meta.namespace, "");
    assert_eq!(node.meta.uid, text(&meta["uid"]));
    assert_eq!(node.meta.created, Some(1_795_990_762));
    assert_eq!(node.meta.labels().collect::<BTreeMap<_, _>>(), map(&meta["labels"]));
    assert_eq!(node.meta.annotations().collect::<BTreeMap<_, _>>(), map(&meta["annotations"]));
    assert!(!node.unschedulable);
    assert_eq!(list(node.allocatable_list()), map(&json["status"]["allocatable"]));
    assert_eq!(list(node.capacity_list()), map(&json["status"]["capacity"]));
}

fn amounts(resources: &Resources, names: &ResourceNames) -> BTreeMap<String, i64> {
    resources.iter().map(|(id, amount)| (names.name(id).to_owned(), amount)).collect()
}

fn expected(amounts: &[(&str, i64)]) -> BTreeMap<String, i64> {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
}

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

#[test]
fn allocatable_is_in_the_schedulers_units() {
    let (bytes, _) = golden("node-gpu-rich");
    let mut names = ResourceNames::default();
    let node = Node::parse(&bytes).unwrap();
    let allocatable = node.allocatable(&mut names).unwrap();
    assert_eq!(
        amounts(&allocatable, &names),
        expected(&[
            ("cpu", 95_500),
            ("memory", 1_073_741_824_000),
            ("ephemeral-storage", 1_701_234_567_890),
            ("pods", 110),
            ("hugepages-2Mi", 0),
            ("kubernetes.io/batch-cpu", 42_000),
            ("kubernetes.io/batch-memory", 300 * GIB),
            ("nvidia.com/gpu", 8),
        ])
    );
    assert_eq!(node.capacity(&mut names).unwrap().get(ResourceId::CPU), 96_000);
}

#[test]
fn facts_of_pods() {
    let mut names = ResourceNames::default();
    let mut read = |name| {
        let info = PodInfo::read(&golden(name).0, &mut names, &RequestOptions::default()).unwrap();
        let [requests, scoring, limits] =
            [&info.requests, &info.scoring, &info.limits].map(|resources| amounts(resources, &names));
        assert_eq!(info.placed, info.scoring);
        (info, requests, scoring, limits)
    };

    let (plain, requests, scoring, limits) = read("pod-plain");
    // The first init container is the most cpu that is ever needed, the main containers with the sidecar the most memory.
    let gpu_and_storage = [("nvidia.com/gpu", 2), ("ephemeral-storage", 10 * GIB)];
    let with = |cpu, memory| expected(&[&[("cpu", cpu), ("memory", memory)], &gpu_and_storage[..]].concat());
    assert_eq!(requests, with(2000, 4 * GIB + 64 * MIB));
    assert_eq!(scoring, with(2000, 4 * GIB + 64 * MIB + 200 * MIB));
    assert_eq!(limits, expected(&[("nvidia.com/gpu", 2)]));
    assert_eq!((&*plain.namespace, &*plain.name), ("default", "plain"));
    assert_eq!(&*plain.uid, "d1c1ed2c-9143-47a1-9b71-bfa67d71c446");
    assert_eq!((plain.priority, plain.created, plain.gated), (0, 1_795_990_762, false));
    assert_eq!(plain.qos, NativeQos::Burstable);
    assert_eq!((&*plain.owner_kind, &*plain.node_name), ("", ""));
    assert!(!plain.is_daemon_set() && !plain.terminal && !plain.terminating);

    let (batch, requests, scoring, _) = read("pod-batch");
    let batch_amounts = [("kubernetes.io/batch-cpu", 2000), ("kubernetes.io/batch-memory", 2 * GIB)];
    assert_eq!(requests, expected(&batch_amounts));
    assert_eq!(scoring, expected(&[&batch_amounts[..], &[("cpu", 100), ("memory", 200 * MIB)]].concat()));
    assert_eq!(batch.qos, NativeQos::BestEffort);

    let (gated, requests, scoring, limits) = read("pod-besteffort");
    assert!(gated.gated && requests.is_empty() && limits.is_empty());
    assert_eq!(scoring, expected(&[("cpu", 100), ("memory", 200 * MIB)]));

    let (guaranteed, requests, scoring, limits) = read("pod-guaranteed");
    assert!(requests == expected(&[("cpu", 4000), ("memory", 8 * GIB)]) && scoring == requests && limits == requests);
    assert_eq!(guaranteed.qos, NativeQos::Guaranteed);
    assert!(guaranteed.is_daemon_set());
}

const METADATA: u32 = 1;
const SPEC: u32 = 2;
const STATUS: u32 = 3;

#[test]
fn the_last_of_two_map_entries_counts() {
    let meta = [entry(11, "a", "1"), entry(11, "b", "2"), entry(11, "a", "3"), entry(12, "a", "4"), field(11, "")];
    let spec = [entry(7, "zone", "z1"), entry(7, "zone", "z2")];
    let bytes = [field(METADATA, meta), field(SPEC, spec)].concat();
    let pod = Pod::parse(&bytes).unwrap();
    assert_eq!((pod.meta.label("a"), pod.meta.label("b"), pod.meta.annotation("a")), (Some("3"), Some("2"), Some("4")));
    // An entry without key and value stands for the empty key with the empty value.
    assert_eq!((pod.meta.label(""), pod.meta.label("c")), (Some(""), None));
    assert_eq!(pod.allowed_values("zone").unwrap().unwrap(), ["z2".into()]);
}

#[test]
fn metadata_of_a_pod_on_its_way_out() {
    let owners = [
        field(13, [field(1, "Job"), field(3, "j"), field(6, 0)]),
        field(13, [field(1, "DaemonSet"), field(3, "d"), field(6, 1)]),
    ];
    let meta = [field(8, [field(1, -5)]), field(9, [field(1, 7)]), owners.concat()];
    let status = [field(1, "Failed")];
    let bytes = [field(METADATA, meta), field(SPEC, [field(25, -10)]), field(STATUS, status)].concat();
    let pod = Pod::parse(&bytes).unwrap();
    assert_eq!((pod.meta.created, pod.meta.terminating, pod.priority), (Some(-5), true, Some(-10)));
    assert_eq!(pod.meta.controller().unwrap().name, "d");
    assert!(pod.is_terminal());
    let info = PodInfo::read(&bytes, &mut ResourceNames::default(), &RequestOptions::default()).unwrap();
    assert!(info.is_daemon_set() && info.terminal && info.terminating);
    assert_eq!((info.priority, info.created), (-10, -5));
    // The API server writes no time as an empty message.
    assert_eq!(Pod::parse(&field(METADATA, [field(8, "")])).unwrap().meta.created, None);
}

#[test]
fn native_groups_of_pods() {
    let bytes = field(SPEC, [field(43, [field(1, "team")]), field(42, [field(1, "w"), field(2, "g"), field(3, "0")])]);
    let pod = Pod::parse(&bytes).unwrap();
    assert_eq!(pod.scheduling_group(), Ok(Some("team")));
    assert_eq!(pod.workload_ref(), Ok(Some(WorkloadRef { name: "w", pod_group: "g", pod_group_replica_key: "0" })));
}

#[test]
fn environment_variables_with_values() {
    let env = [
        field(7, [field(1, "WORLD_SIZE"), field(2, "4")]),
        field(7, [field(1, "EMPTY")]),
        field(7, [field(1, "SECRET"), field(2, ""), field(3, "")]),
        field(7, [field(1, "WORLD_SIZE"), field(2, "8")]),
    ];
    let bytes = field(SPEC, [field(2, env)]);
    let container = Pod::parse(&bytes).unwrap().containers().next().unwrap().unwrap();
    assert_eq!(container.env_value("WORLD_SIZE"), Some("8"));
    assert_eq!(container.env_value("EMPTY"), Some(""));
    assert_eq!(container.env_value("SECRET"), None);
    assert_eq!(container.env().count(), 3);
}

/// A pod whose required node affinity has `terms`, each a list of expressions `(key, operator, values)`.
fn pod_with_affinity(selector: &[(&str, &str)], terms: &[&[(&str, &str, &[&str])]]) -> Vec<u8> {
    let expression = |(key, operator, values): &(&str, &str, &[&str])| {
        let values = values.iter().map(|value| field(3, *value)).collect::<Vec<_>>().concat();
        field(1, [field(1, *key), field(2, *operator), values])
    };
    let term = |expressions: &&[_]| field(1, expressions.iter().map(expression).collect::<Vec<_>>());
    let mut spec: Vec<_> = selector.iter().map(|(key, value)| entry(7, key, value)).collect();
    if !terms.is_empty() {
        spec.push(field(18, [field(1, [field(1, terms.iter().map(term).collect::<Vec<_>>())])]));
    }
    field(SPEC, spec)
}

#[test]
fn allowed_label_values() {
    let allowed = |selector: &[(&str, &str)], terms: &[&[(&str, &str, &[&str])]]| -> Option<Vec<String>> {
        let bytes = pod_with_affinity(selector, terms);
        let values = Pod::parse(&bytes).unwrap().allowed_values("zone").unwrap();
        values.map(|values| values.into_iter().map(String::from).collect())
    };
    let some = |values: &[&str]| Some(values.iter().map(|value| (*value).to_owned()).collect());
    assert_eq!(allowed(&[], &[]), None);
    assert_eq!(allowed(&[("disk", "ssd")], &[]), None);
    assert_eq!(allowed(&[("zone", "a")], &[]), some(&["a"]));
    assert_eq!(allowed(&[], &[&[("zone", "In", &["b", "a", "b"])]]), some(&["a", "b"]));
    // Expressions of a term must all hold, one of the terms is enough.
    assert_eq!(allowed(&[], &[&[("zone", "In", &["a", "b"]), ("zone", "In", &["c", "b"])]]), some(&["b"]));
    assert_eq!(allowed(&[], &[&[("zone", "In", &["b"])], &[("zone", "In", &["a"])]]), some(&["a", "b"]));
    assert_eq!(allowed(&[], &[&[("zone", "In", &["b"])], &[("disk", "In", &["ssd"])]]), None);
    // A term without expressions matches no node, so it widens nothing.
    assert_eq!(allowed(&[], &[&[("zone", "In", &["b"])], &[]]), some(&["b"]));
    assert_eq!(allowed(&[], &[&[("zone", "NotIn", &["b"]), ("zone", "Exists", &[])]]), None);
    // The selector and affinity must both hold.
    assert_eq!(allowed(&[("zone", "a")], &[&[("zone", "In", &["a", "b"])]]), some(&["a"]));
    assert_eq!(allowed(&[("zone", "c")], &[&[("zone", "In", &["a", "b"])]]), some(&[]));
    assert_eq!(allowed(&[("zone", "c")], &[&[("disk", "In", &["ssd"])]]), some(&["c"]));
}

#[test]
fn a_pod_without_containers_asks_for_nothing() {
    for bytes in [vec![], field(SPEC, ""), [field(METADATA, ""), field(SPEC, ""), field(STATUS, "")].concat()] {
        let info = PodInfo::read(&bytes, &mut ResourceNames::default(), &RequestOptions::default()).unwrap();
        assert!(info.requests.is_empty() && info.scoring.is_empty() && info.limits.is_empty());
        assert_eq!(info.qos, NativeQos::BestEffort);
    }
}

fn read(spec: Vec<Vec<u8>>, status: Vec<Vec<u8>>, pod_level: bool) -> Result<PodInfo, Error> {
    let bytes = [field(SPEC, spec), field(STATUS, status)].concat();
    PodInfo::read(&bytes, &mut ResourceNames::default(), &RequestOptions { pod_level })
}

#[test]
fn a_bad_quantity_is_named_with_its_field() {
    let container =
        |number, list| field(number, [field(1, "main"), field(8, [quantity(list, "nvidia.com/gpu", "two")])]);
    let status = |resources| field(8, [field(1, "main"), resources]);
    let good = field(2, [field(1, "main")]);
    let cases = [
        (read(vec![container(2, 2)], vec![], false), "spec.containers[main].resources.requests[nvidia.com/gpu]"),
        (read(vec![container(20, 1)], vec![], false), "spec.initContainers[main].resources.limits[nvidia.com/gpu]"),
        (read(vec![quantity(32, "cpu", "two")], vec![], false), "spec.overhead[cpu]"),
        (read(vec![field(40, [quantity(2, "cpu", "two")])], vec![], true), "spec.resources.requests[cpu]"),
        (
            read(vec![good.clone()], vec![status(field(11, [quantity(2, "cpu", "two")]))], false),
            "status.containerStatuses[main].resources.requests[cpu]",
        ),
        (
            read(vec![good], vec![status([quantity(10, "cpu", "two"), field(11, "")].concat())], false),
            "status.containerStatuses[main].allocatedResources[cpu]",
        ),
    ];
    for (result, field) in cases {
        let message = result.unwrap_err().to_string();
        assert_eq!(message, format!("{field} is \"two\", which is not a quantity such as 2, 500m, 1.5Gi or 1e3"));
    }
    let bytes = field(STATUS, [quantity(2, "memory", "")]);
    let error = Node::parse(&bytes).unwrap().allocatable(&mut ResourceNames::default()).unwrap_err();
    assert!(error.to_string().starts_with("status.allocatable[memory] is \"\""));
    // What the cluster does not use is not read.
    assert!(read(vec![field(40, [quantity(2, "cpu", "two")])], vec![], false).is_ok());
}

#[test]
fn resource_names_have_a_limit() {
    let requests = (0..2000).map(|at| quantity(2, &format!("example.com/{at}"), "1")).collect::<Vec<_>>();
    let error = read(vec![field(2, [field(1, "c"), field(8, requests)])], vec![], false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spec.containers[c].resources.requests[example.com/508] is a new resource name, but too many are in use already"
    );
    // Names that the scheduler ignores take no room, and neither do names that are too long to be any.
    let long = format!("example.com/{}", "x".repeat(400));
    let ignored = ["storage", "requests.example.com/gpu", &long].map(|name| quantity(2, name, "1")).concat();
    assert!(read(vec![field(2, [field(8, [ignored])])], vec![], false).unwrap().requests.is_empty());
}

#[test]
fn pods_cannot_take_the_place_of_what_nodes_have() {
    let mut names = ResourceNames::default();
    let pod = |name: &str| field(2, [field(2, [field(8, [quantity(2, name, "1")])])]);
    let mut read = |name: &str| PodInfo::read(&pod(name), &mut names, &RequestOptions::default()).map(drop);
    let refused = (0..2000).filter(|at| read(&format!("example.com/{at}")).is_err()).count();
    assert_eq!(refused, 2000 - (ResourceNames::LIMIT / 2 - 4), "four are known from the start");
    let node = field(3, [quantity(2, "nvidia.com/gpu", "8")]);
    let allocatable = Node::parse(&node).unwrap().allocatable(&mut names).unwrap();
    assert_eq!(allocatable.get(names.get("nvidia.com/gpu").unwrap()), 8);
    PodInfo::read(&pod("nvidia.com/gpu"), &mut names, &RequestOptions::default()).expect("a node has it");
}

#[test]
fn a_status_counts_for_one_container() {
    let container = || field(2, [field(1, "main"), field(8, [quantity(2, "cpu", "1")])]);
    let status = field(8, [field(1, "main"), field(11, [quantity(2, "cpu", "3")]), quantity(10, "cpu", "3")]);
    let bytes = [field(2, [container(), container()]), field(3, [status])].concat();
    let info = PodInfo::read(&bytes, &mut ResourceNames::default(), &RequestOptions::default()).unwrap();
    assert_eq!(info.requests.get(ResourceId::CPU), 4000);
}
