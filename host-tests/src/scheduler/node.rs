//! A node with the pods on it, as the scheduler's cache keeps it (`framework.NodeInfo`).

use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, NodeSpec};
use stowage::object::{ResourceNames, Resources};

use super::gpu::Devices;
use super::pod::PodInfo;
use super::requests;
use crate::object::NodeObject;

/// A pod on a node.
#[derive(Clone, Debug)]
pub struct NodePod {
    /// The pod.
    pub info: Rc<PodInfo>,
    /// Indices of the GPU devices that it has.
    pub devices: Vec<usize>,
    /// Whether it is bound, as opposed to assumed to be soon.
    pub bound: bool,
}

/// A node and what its pods, bound or assumed, leave free.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// The object that plugins see.
    pub object: Rc<NodeObject>,
    /// `metadata.name`.
    pub name: Rc<str>,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// Sum of the pods' requests.
    pub requested: Resources,
    /// The pods, in the order they came.
    pub pods: Vec<NodePod>,
    /// GPU devices.
    pub devices: Devices,
}

impl NodeInfo {
    /// A node without pods.
    pub fn new(object: Rc<NodeObject>, names: &mut ResourceNames) -> Self {
        let allocatable = requests::allocatable(&object.node, names);
        Self {
            name: object.node.metadata.name.as_deref().unwrap_or_default().into(),
            devices: Devices::of(&allocatable, names),
            allocatable,
            requested: Resources::new(),
            pods: Vec::new(),
            object,
        }
    }

    /// Replaces the object; the pods stay.
    pub fn set_object(&mut self, object: Rc<NodeObject>, names: &mut ResourceNames) {
        let mut fresh = Self::new(object, names);
        if fresh.allocatable == self.allocatable {
            // By far the most frequent update is an annotation.
            self.object = fresh.object;
            return;
        }
        for pod in std::mem::take(&mut self.pods) {
            fresh.add_pod(pod.info, pod.bound);
        }
        *self = fresh;
    }

    /// Puts a pod on the node.
    pub fn add_pod(&mut self, info: Rc<PodInfo>, bound: bool) {
        self.requested.add_all(&info.requests);
        let devices = info.gpu.map_or_else(Vec::new, |gpu| self.devices.take(gpu));
        self.pods.push(NodePod { info, devices, bound });
    }

    /// Takes a pod off the node; false if it was not there.
    pub fn remove_pod(&mut self, uid: &str) -> bool {
        let Some(at) = self.pods.iter().position(|pod| &*pod.info.uid == uid) else { return false };
        let pod = self.pods.remove(at);
        self.requested.sub_all(&pod.info.requests);
        if let Some(gpu) = pod.info.gpu {
            self.devices.give_back(gpu, &pod.devices);
        }
        true
    }

    /// Replaces the object of a pod that is on the node already.
    pub fn update_pod(&mut self, info: &Rc<PodInfo>, bound: bool) {
        if let Some(pod) = self.pods.iter_mut().find(|pod| pod.info.uid == info.uid) {
            pod.info = info.clone();
            pod.bound = bound;
        }
    }

    /// The node's spec, if it has one.
    #[must_use]
    pub fn spec(&self) -> Option<&NodeSpec> {
        self.node().spec.as_ref()
    }

    /// The typed object.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.object.node
    }
}
