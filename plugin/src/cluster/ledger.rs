//! The ledger: pods that the module let go to a node, until node state counts them.

use super::node::Ledger;
use super::{Cluster, Entry, Footprint, NodeIndex, Noted, beyond, node_mut, node_state};
use crate::object::PodInfo;

/// Most ledger entries; beyond it the oldest is forgotten. Reached only if no publisher runs.
pub(super) const MAX_PLACED: usize = 20_000;

impl Cluster {
    /// Whether the module let the pod go to a node and node state does not count it yet.
    #[must_use]
    pub fn is_placed(&self, uid: u64) -> bool {
        self.placed.contains_key(&uid)
    }

    /// Notes that the module lets a pod go to a node. A pod is in the ledger once at most.
    pub fn place(&mut self, pod: &PodInfo, footprint: Option<Footprint>, at: NodeIndex) {
        let uid = node_state::uid_hash(&pod.uid);
        self.unplace(uid);
        if let Some(oldest) = beyond(&self.placed, MAX_PLACED) {
            self.unplace(oldest);
        }
        let placed_ms = self.now_ms().unwrap_or(0);
        let published_ms = self.clock_ms;
        let Some(node) = node_mut(&mut self.nodes, at) else { return };
        node.place(Entry {
            uid,
            placed_ms,
            published_ms,
            since_ms: None,
            requests: pod.requests.clone(),
            scored: pod.placed.clone(),
            footprint,
        });
        self.notes = self.notes.saturating_add(1);
        self.placed.insert(uid, Noted { at, number: self.notes });
        self.changed();
    }

    /// Takes a pod out of the ledger: it was not bound, or is back in the queue. Answers where it was.
    pub fn unplace(&mut self, uid: u64) -> Option<NodeIndex> {
        let at = self.placed.remove(&uid)?.at;
        self.changed();
        node_mut(&mut self.nodes, at)?.unplace(uid);
        Some(at)
    }

    /// Pods in the ledger.
    #[must_use]
    pub fn placed(&self) -> usize {
        self.placed.len()
    }

    /// Ends entries of the ledger that the node's state has made superfluous, by what time it is now.
    pub(super) fn settle(&mut self, at: NodeIndex) {
        let ledger = Ledger {
            published_ms: self.clock_ms,
            latest_ms: self.clock_ms.max(self.created_ms),
            patience_ms: self.ledger_ms,
        };
        let Some(node) = node_mut(&mut self.nodes, at) else { return };
        let (settled, any_counted) = node.settle(ledger, self.now_ms);
        for uid in &settled {
            self.placed.remove(uid);
        }
        if any_counted {
            self.believe(true);
        } else if !settled.is_empty() {
            self.changed();
        }
    }
}
