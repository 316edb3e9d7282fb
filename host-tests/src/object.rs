//! Pods and nodes, typed for the scheduling loop and as the protobuf bytes that a module gets.

use std::cell::OnceCell;
use std::rc::Rc;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Map, Value};

use crate::protobuf;

/// Fields of a pod's spec that Kubernetes 1.33 does not have but modules for newer schedulers read.
const NEWER_SPEC_FIELDS: [&str; 2] = ["workloadRef", "schedulingGroup"];

/// A pod with its protobuf form, which is made when first asked for.
#[derive(Debug)]
pub struct PodObject {
    /// The pod.
    pub pod: Pod,
    /// What the typed pod cannot hold, by field of the spec.
    newer_spec: Map<String, Value>,
    protobuf: OnceCell<Rc<[u8]>>,
}

impl PodObject {
    /// A pod that is not changed any more. Its managedFields are dropped, as the scheduler drops them.
    #[must_use]
    pub fn new(mut pod: Pod) -> Self {
        pod.metadata.managed_fields = None;
        Self { pod, newer_spec: Map::new(), protobuf: OnceCell::new() }
    }

    /// The pod of this JSON, including the group references of newer Kubernetes versions.
    ///
    /// # Errors
    /// When the JSON is not a pod; the message says where.
    pub fn from_json(json: &Value) -> anyhow::Result<Self> {
        let mut object = Self::new(serde_json::from_value(json.clone()).context("not a Pod")?);
        for name in NEWER_SPEC_FIELDS {
            if let Some(value) = json.get("spec").and_then(|spec| spec.get(name)) {
                object.newer_spec.insert(name.to_owned(), value.clone());
            }
        }
        Ok(object)
    }

    /// The same pod after a change.
    #[must_use]
    pub fn with_pod(&self, change: impl FnOnce(&mut Pod)) -> Self {
        let mut pod = self.pod.clone();
        change(&mut pod);
        Self { pod, newer_spec: self.newer_spec.clone(), protobuf: OnceCell::new() }
    }

    /// The pod's name, empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pod.metadata.name.as_deref().unwrap_or_default()
    }

    /// The pod's namespace, empty if it has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The pod's UID, empty if it has none.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether the pod names a node.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
    }

    /// The pod as JSON, with the fields that the typed pod cannot hold.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut json = serde_json::to_value(&self.pod).expect("typed objects have string keys only");
        if !self.newer_spec.is_empty() {
            let spec = json.as_object_mut().map(|pod| pod.entry("spec").or_insert_with(|| Map::new().into()));
            if let Some(Value::Object(spec)) = spec {
                spec.extend(self.newer_spec.clone());
            }
        }
        json
    }

    /// The pod as a v1.Pod message.
    #[must_use]
    pub fn protobuf(&self) -> &Rc<[u8]> {
        self.protobuf.get_or_init(|| protobuf::pod(&self.json()).into())
    }
}

/// A node with its protobuf form, which is made when first asked for.
#[derive(Debug)]
pub struct NodeObject {
    /// The node.
    pub node: Node,
    protobuf: OnceCell<Rc<[u8]>>,
}

impl NodeObject {
    /// A node that is not changed any more. Its managedFields are dropped, as the scheduler drops them.
    #[must_use]
    pub fn new(mut node: Node) -> Self {
        node.metadata.managed_fields = None;
        Self { node, protobuf: OnceCell::new() }
    }

    /// The node's name, empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.node.metadata.name.as_deref().unwrap_or_default()
    }

    /// The node as a v1.Node message.
    #[must_use]
    pub fn protobuf(&self) -> &Rc<[u8]> {
        self.protobuf.get_or_init(|| {
            let json = serde_json::to_value(&self.node).expect("typed objects have string keys only");
            protobuf::node(&json).into()
        })
    }
}

/// Nodes as a v1.NodeList message.
#[must_use]
pub fn node_list(nodes: &[Rc<NodeObject>]) -> Vec<u8> {
    protobuf::node_list(nodes.iter().map(|node| &**node.protobuf()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn group_references_of_newer_versions_survive() {
        let json = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"containers": [], "schedulingGroup": {"podGroupName": "pg"}}});
        let pod = PodObject::from_json(&json).expect("a pod");
        assert_eq!((pod.namespace(), pod.name(), pod.uid()), ("n", "p", "u"));
        let bound = pod.with_pod(|pod| pod.spec.get_or_insert_default().node_name = Some("gpu-1".to_owned()));
        assert_eq!(bound.json()["spec"]["schedulingGroup"], json["spec"]["schedulingGroup"]);
        assert!(bound.protobuf().windows(5).any(|bytes| bytes == b"gpu-1"));
        assert!(bound.protobuf().windows(5).any(|bytes| bytes == [0xda, 0x02, 4, 0x0a, 2]), "tag 43 is there");
    }

    #[test]
    fn what_is_not_a_pod_is_refused() {
        let error = PodObject::from_json(&json!({"spec": {"containers": 7}})).expect_err("not a pod");
        assert!(format!("{error:#}").starts_with("not a Pod: invalid type"), "{error:#}");
    }
}
