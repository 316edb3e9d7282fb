//! A pod as the scheduling queue and the cache hold it: the object with what is worth computing once.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use stowage::object::{ResourceNames, Resources};

use super::gpu::GpuRequest;
use super::requests;
use crate::object::PodObject;

/// A pod's UID; what everything about a pod is filed under, since names are reused.
pub type Uid = Rc<str>;

/// A pod and its scheduling facts. Never changes: an update makes a new one.
#[derive(Debug)]
pub struct PodInfo {
    /// The object that plugins see.
    pub object: Rc<PodObject>,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `namespace/name`.
    pub key: Rc<str>,
    /// `spec.priority`, 0 if absent.
    pub priority: i32,
    /// What the pod asks of a node, without the scheduler's scoring defaults.
    pub requests: Resources,
    /// The part of `requests` that is GPU devices.
    pub gpu: Option<GpuRequest>,
}

impl PodInfo {
    /// Reads the facts of a pod.
    pub fn new(object: Rc<PodObject>, names: &mut ResourceNames) -> Self {
        let requests = requests::pod_requests(&object.pod, names);
        Self {
            uid: object.pod.metadata.uid.as_deref().unwrap_or_default().into(),
            key: key_of(&object.pod).into(),
            priority: object.pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0),
            gpu: GpuRequest::of(&requests, names),
            requests,
            object,
        }
    }

    /// The same pod after `change`, which must leave requests and identity alone.
    #[must_use]
    pub fn changed(&self, change: impl FnOnce(&mut Pod)) -> Self {
        Self {
            object: Rc::new(self.object.with_pod(change)),
            uid: self.uid.clone(),
            key: self.key.clone(),
            priority: self.priority,
            requests: self.requests.clone(),
            gpu: self.gpu,
        }
    }

    /// The pod as it is after being assigned to `node`.
    #[must_use]
    pub fn on_node(&self, node: &str) -> Self {
        self.changed(|pod| pod.spec.get_or_insert_with(PodSpec::default).node_name = Some(node.to_owned()))
    }

    /// The typed object.
    #[must_use]
    pub fn pod(&self) -> &Pod {
        &self.object.pod
    }

    /// `spec.nodeName`, if it is set.
    #[must_use]
    pub fn node_name(&self) -> Option<&str> {
        self.pod().spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
    }

    /// `status.nominatedNodeName`, if it is set.
    #[must_use]
    pub fn nominated_node_name(&self) -> Option<&str> {
        self.pod().status.as_ref()?.nominated_node_name.as_deref().filter(|name| !name.is_empty())
    }

    /// Whether the pod is being deleted.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.pod().metadata.deletion_timestamp.is_some()
    }

    /// Whether the pod has run to its end; such pods take nothing from their node.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let phase = self.pod().status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    }

    /// Whether scheduling gates hold the pod back.
    #[must_use]
    pub fn is_gated(&self) -> bool {
        let gates = self.pod().spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
        gates.is_some_and(|gates| !gates.is_empty())
    }
}

/// `namespace/name` of a pod.
#[must_use]
pub fn key_of(pod: &Pod) -> String {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    format!("{namespace}/{}", pod.metadata.name.as_deref().unwrap_or_default())
}
