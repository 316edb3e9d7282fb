//! What the scheduler knows of the cluster: nodes, and on them the pods that are bound or assumed to be.

use std::collections::HashMap;
use std::rc::Rc;

use stowage::object::ResourceNames;

use super::node::NodeInfo;
use super::pod::{PodInfo, Uid};
use crate::object::NodeObject;

/// The nodes in the order in which they were added.
///
/// kube-scheduler interleaves zones in this order; it decides only where a search that stops early looks first.
#[derive(Debug, Default)]
pub struct Cache {
    nodes: Vec<NodeInfo>,
    index: HashMap<Rc<str>, usize>,
    /// Where each pod is.
    pods: HashMap<Uid, Rc<str>>,
}

impl Cache {
    /// All nodes.
    #[must_use]
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    /// The named node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeInfo> {
        self.index_of(name).map(|at| &self.nodes[at])
    }

    /// Position of the named node in [`Cache::nodes`].
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Adds a node, or replaces the object of one that is there.
    pub fn set_node(&mut self, object: Rc<NodeObject>, names: &mut ResourceNames) {
        let name = object.node.metadata.name.as_deref().unwrap_or_default();
        match self.index_of(name) {
            Some(at) => self.nodes[at].set_object(object, names),
            None => {
                let info = NodeInfo::new(object, names);
                self.index.insert(info.name.clone(), self.nodes.len());
                self.nodes.push(info);
            }
        }
    }

    /// Removes a node with the pods on it.
    pub fn remove_node(&mut self, name: &str) -> Option<NodeInfo> {
        let at = self.index_of(name)?;
        let info = self.nodes.remove(at);
        self.index = self.nodes.iter().enumerate().map(|(at, node)| (node.name.clone(), at)).collect();
        for pod in &info.pods {
            self.pods.remove(&pod.info.uid);
        }
        Some(info)
    }

    /// Puts a pod on the node that it names, though it is not bound yet.
    pub fn assume_pod(&mut self, info: &Rc<PodInfo>) {
        self.set_pod(info, false);
    }

    /// Puts a bound pod on its node, replacing what is known of it; ignored if there is no such node.
    pub fn add_pod(&mut self, info: &Rc<PodInfo>) {
        self.set_pod(info, true);
    }

    fn set_pod(&mut self, info: &Rc<PodInfo>, bound: bool) {
        let Some(at) = info.node_name().and_then(|name| self.index_of(name)) else { return };
        let node = &mut self.nodes[at];
        if self.pods.get(&info.uid).is_some_and(|known| *known == node.name) {
            node.update_pod(info, bound);
        } else {
            self.pods.insert(info.uid.clone(), node.name.clone());
            node.add_pod(info.clone(), bound);
        }
    }

    /// Takes a pod off its node.
    pub fn remove_pod(&mut self, uid: &str) {
        let Some(name) = self.pods.remove(uid) else { return };
        if let Some(at) = self.index_of(&name) {
            self.nodes[at].remove_pod(uid);
        }
    }
}
