//! The views of pods and nodes, against objects that a real API server wrote, each with its JSON twin.

use std::collections::BTreeMap;

use serde_json::Value;
use stowage::object::{
    NativeQos, Node, Pod, PodInfo, RequestOptions, ResourceId, ResourceList, ResourceNames, Resources,
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
        assert_eq!(list(pod.overhead()), map(&spec["overhead"]));
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
