//! A publisher of node state, simulated: what the module learns about the pods on a node, and when.
//!
//! It writes the same document as the real publisher, through the same definition in the module's crate.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use stowage::cluster::node_state::{self, NodeState};
use stowage::object::{self, RequestOptions, ResourceNames};

pub use stowage::cluster::node_state::Usage;

use crate::scheduler::Time;
use crate::scheduler::node::{NodeInfo, NodePod};
use crate::scheduler::pod::Uid;
use crate::simulation::milliseconds;

/// The annotation that carries node state.
pub const ANNOTATION: &str = node_state::ANNOTATION;

/// When a change on a node shows in its annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeStateMode {
    /// At once.
    #[default]
    Exact,
    /// Never: no publisher is running.
    None,
    /// This much later.
    Lag(Duration),
}

/// The publisher's view of the cluster: bound pods and measured usage. It does not see what the scheduler assumes.
#[derive(Debug, Default)]
pub struct Publisher {
    /// When changes show.
    pub mode: NodeStateMode,
    usage: BTreeMap<String, Usage>,
    names: RefCell<ResourceNames>,
    /// Pods do not change in what counts here, so each is read once.
    read: RefCell<HashMap<Uid, Option<object::PodInfo>>>,
}

impl Publisher {
    /// A publisher that has measured nothing yet.
    #[must_use]
    pub fn new(mode: NodeStateMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// A metrics source measured a node, or does not any more.
    pub fn set_usage(&mut self, node: &str, usage: Option<Usage>) {
        match usage {
            Some(usage) => drop(self.usage.insert(node.to_owned(), usage)),
            None => drop(self.usage.remove(node)),
        }
    }

    /// How long a change takes to show; `None` if it never does.
    #[must_use]
    pub fn lag(&self) -> Option<Duration> {
        match self.mode {
            NodeStateMode::Exact => Some(Duration::ZERO),
            NodeStateMode::Lag(lag) => Some(lag),
            NodeStateMode::None => None,
        }
    }

    /// The document about `node` as it is at `now`.
    #[must_use]
    pub fn document(&self, node: &NodeInfo, now: Time) -> String {
        let mut state = NodeState::empty(milliseconds(now));
        let mut read = self.read.borrow_mut();
        let mut names = self.names.borrow_mut();
        for pod in node.pods.iter().filter(|pod| pod.bound) {
            let facts = read.entry(pod.info.uid.clone()).or_insert_with(|| read_pod(pod, &mut names));
            if let Some(facts) = facts {
                state.count(facts, &names, None, None);
            }
        }
        state.seal();
        state.usage = self.usage.get(&*node.name).cloned();
        state.gpu_free = gpu_free(node);
        state.to_json()
    }

    /// A node's update by somebody who does not know of the annotation leaves it as it is.
    #[must_use]
    pub fn carry_over(&self, old: &Node, new: &Node) -> Option<Node> {
        let document = old.metadata.annotations.as_ref()?.get(ANNOTATION)?;
        let mut node = new.clone();
        node.metadata.annotations.get_or_insert_default().insert(ANNOTATION.to_owned(), document.clone());
        Some(node)
    }
}

fn read_pod(pod: &NodePod, names: &mut ResourceNames) -> Option<object::PodInfo> {
    object::PodInfo::read(pod.info.object.protobuf(), names, &RequestOptions::default()).ok()
}

/// Free thousandths per device, where something on the node tells which pod has which device: only sharing does.
fn gpu_free(node: &NodeInfo) -> Vec<u16> {
    if !node.devices.shared() {
        return Vec::new();
    }
    let mut devices = node.devices.clone();
    for pod in node.pods.iter().filter(|pod| !pod.bound) {
        if let Some(gpu) = pod.info.gpu {
            devices.give_back(gpu, &pod.devices);
        }
    }
    devices.free().iter().map(|free| u16::try_from(*free).unwrap_or(0)).collect()
}
