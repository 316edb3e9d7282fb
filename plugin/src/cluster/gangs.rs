//! What is known of gangs and of where their members may run: how many run, and the labels that their rules look at.

use super::{Cluster, Node};
use crate::object::{NodeLabels, ResourceId, Taint};
use crate::reckon::Reckon;

/// Most label keys whose values are kept; rules that name others are not known to hold anywhere.
const MAX_LABEL_KEYS: usize = 64;

impl Cluster {
    /// Members of gangs that node state counts, with the key that [`super::pod_gang::count_key`] gave them, of which the
    /// gang is a prefix.
    pub fn gang_members<'a>(&'a self, gang: &'a str) -> impl Iterator<Item = (&'a str, u32)> {
        let from = self.gang_members.iter_from(gang);
        from.map(|(key, count)| (&**key, *count)).take_while(move |(key, _)| key.starts_with(gang))
    }

    /// Keeps the values of a label from now on. True if nodes have to be read again for it.
    pub fn keep_label(&mut self, key: &str) -> bool {
        if self.label_keys.iter().any(|known| **known == *key) || self.label_keys.len() >= MAX_LABEL_KEYS {
            return false;
        }
        self.label_keys.push(key.into());
        for node in self.nodes.iter_mut().flatten() {
            node.digest = 0;
        }
        true
    }

    /// The value of a label that is kept.
    #[must_use]
    pub fn label<'a>(&self, node: &'a Node, key: &str) -> Option<&'a str> {
        let at = self.label_keys.iter().position(|known| **known == *key)?;
        node.labels.get(at)?.as_deref()
    }

    /// What a node has left of a resource: allocatable, less what node state and ledger count. If that is unknown, all.
    #[must_use]
    pub fn free(&self, node: &Node, resource: ResourceId) -> i64 {
        let allocatable = node.allocatable.get(resource);
        let Some(known) = node.known() else { return allocatable };
        let used = if resource == ResourceId::PODS {
            let placed = i64::try_from(node.entries().len()).unwrap_or(i64::MAX);
            i64::from(known.document.pods).plus(placed)
        } else {
            known.requested.get(resource)
        };
        allocatable.minus(used)
    }

    pub(super) fn count_gangs(&mut self, before: Option<&Node>, after: Option<&Node>) {
        if let Some(before) = before.and_then(Node::state) {
            for (key, count) in before.gangs.iter() {
                if let Some(members) = self.gang_members.get_mut(key) {
                    *members = members.saturating_sub(*count);
                    if *members == 0 {
                        self.gang_members.remove(key);
                    }
                }
            }
        }
        if let Some(after) = after.and_then(Node::state) {
            for (key, count) in after.gangs.iter() {
                self.gang_members.update(key.clone(), |members| *members = members.saturating_add(*count));
            }
        }
    }
}

/// A node with the labels that are kept of it.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// Knows which labels are kept.
    pub cluster: &'a Cluster,
    /// The node.
    pub node: &'a Node,
}

impl NodeLabels for Labelled<'_> {
    fn name(&self) -> &str {
        &self.node.name
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.cluster.label(self.node, key)
    }

    fn taints(&self) -> &[Taint] {
        &self.node.taints
    }

    fn unschedulable(&self) -> bool {
        self.node.unschedulable
    }
}
