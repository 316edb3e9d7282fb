//! Places that are kept for members on their way.

use alloc::vec::Vec;

use crate::policy::gang::planner::NodeRow;
use crate::sorted_map::SortedMap;

/// A place for one member of a kind of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub gang: usize,
    pub kind: u16,
}

/// All slots, by node.
#[derive(Debug, Default)]
pub(super) struct Held {
    by_node: SortedMap<NodeRow, Vec<Slot>>,
    /// Grows with every change.
    pub changes: u64,
}

impl Held {
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    pub fn on(&self, node: NodeRow) -> &[Slot] {
        self.by_node.get(&node).map_or(&[], Vec::as_slice)
    }

    pub fn add(&mut self, node: NodeRow, slot: Slot) {
        self.by_node.update(node, |slots| slots.push(slot));
        self.changes = self.changes.saturating_add(1);
    }

    pub fn remove(&mut self, node: NodeRow, slot: Slot) {
        let Some(slots) = self.by_node.get_mut(&node) else { return };
        if let Some(at) = slots.iter().position(|held| *held == slot) {
            slots.swap_remove(at);
            self.changes = self.changes.saturating_add(1);
        }
        if slots.is_empty() {
            self.by_node.remove(&node);
        }
    }

    /// Gangs that hold slots, each once.
    pub fn holders(&self) -> Vec<usize> {
        let mut holders = Vec::new();
        for slot in self.by_node.values().flatten() {
            if !holders.contains(&slot.gang) {
                holders.push(slot.gang);
            }
        }
        holders
    }
}
