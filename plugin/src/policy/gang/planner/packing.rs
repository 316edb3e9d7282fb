//! The quick ways to pack: node by node, and kind by kind.

use alloc::vec::Vec;

use super::Placement;
use super::problem::{Node, Problem, fits, room, take};
use crate::gather::Gather;
use crate::reckon::Reckon;
use crate::sort::{Queue, sort};

/// Nodes being filled.
#[derive(Clone, Debug)]
pub(super) struct Packing<'p> {
    problem: &'p Problem,
    pub nodes: Vec<Node>,
    pub remaining: Vec<u32>,
    pub placed: Vec<Placement>,
}

/// What a node is worth for the members still without a place; the greatest is filled first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    has_sibling: bool,
    /// Sizes of the members it takes.
    taken: i64,
    /// Of nodes that take as much, the tightest.
    tightness: i64,
    /// Of equals, the first: plans do not depend on chance.
    at: core::cmp::Reverse<usize>,
}

impl<'p> Packing<'p> {
    pub fn new(problem: &'p Problem, use_node: &dyn Fn(&Node) -> bool) -> Self {
        Self {
            nodes: problem.nodes.iter().filter(|node| use_node(node)).cloned().gather(),
            remaining: problem.kinds.iter().map(|kind| kind.count).gather(),
            placed: Vec::new(),
            problem,
        }
    }

    /// Whether each kind has room if the others stay away.
    pub fn has_room_for_each(&self) -> bool {
        self.problem.kinds.iter().enumerate().all(|(at, kind)| room(&self.nodes, at, kind) >= kind.count)
    }

    /// Fills the node that takes most, again and again. Uses few nodes.
    ///
    /// A node's worth is looked up again only when its turn comes: while plenty of members remain it does not change.
    pub fn fill_nodes(&mut self, order: &[usize]) -> bool {
        let mut kinds_left = usize::MAX;
        let mut queue = Queue::new(Vec::new());
        for _ in 0..self.nodes.len().saturating_mul(4) {
            let left = self.remaining.iter().filter(|count| **count > 0).count();
            if left == 0 {
                return true;
            }
            if left != kinds_left {
                // Without the larger members a node may take more of the smaller ones.
                kinds_left = left;
                queue = Queue::new((0..self.nodes.len()).filter_map(|at| self.worth(at, order)).gather());
            }
            let Some(Worth { at: core::cmp::Reverse(at), .. }) = queue.first().copied() else { return false };
            let worth = self.worth(at, order);
            queue.replace_first(worth);
            if worth.is_some() && queue.first() == worth.as_ref() {
                queue.replace_first(None);
                self.fill(at, order);
            }
        }
        self.is_done()
    }

    /// Places the largest kind first, each on the nodes where it leaves least.
    pub fn best_fit(&mut self, order: &[usize]) -> bool {
        for kind in order {
            let Some(row) = self.problem.kinds.get(*kind) else { continue };
            let mut nodes: Vec<(i64, usize, u32)> = Vec::new();
            for (at, node) in self.nodes.iter().enumerate() {
                let most = fits(node, *kind, row);
                if most > 0 {
                    let mut after = node.clone();
                    take(&mut after, row, most);
                    nodes.push((self.problem.leftover(&after.free), at, most));
                }
            }
            sort(&mut nodes);
            for (_, at, most) in nodes {
                self.place(*kind, at, most);
            }
        }
        self.is_done()
    }

    pub fn is_done(&self) -> bool {
        self.remaining.iter().all(|count| *count == 0)
    }

    /// Places up to `most` members of the kind that are still without a place.
    pub fn place(&mut self, kind: usize, at: usize, most: u32) {
        let (Some(node), Some(row), Some(remaining)) =
            (self.nodes.get_mut(at), self.problem.kinds.get(kind), self.remaining.get_mut(kind))
        else {
            return;
        };
        let count = most.min(*remaining);
        if count > 0 {
            take(node, row, count);
            *remaining = remaining.saturating_sub(count);
            self.placed.push(Placement { kind, node: node.row, count });
        }
    }

    fn fill(&mut self, at: usize, order: &[usize]) {
        for kind in order {
            let (Some(node), Some(row)) = (self.nodes.get(at), self.problem.kinds.get(*kind)) else { continue };
            let most = fits(node, *kind, row);
            self.place(*kind, at, most);
        }
        // Filled once: what is left of it fits none of the members, or none are left.
        if let Some(node) = self.nodes.get_mut(at) {
            node.limit = 0;
        }
    }

    /// `None` if the node takes nobody.
    fn worth(&self, at: usize, order: &[usize]) -> Option<Worth> {
        let mut node = self.nodes.get(at)?.clone();
        let mut taken = 0_i64;
        for kind in order {
            let row = self.problem.kinds.get(*kind)?;
            let count = fits(&node, *kind, row).min(self.remaining.get(*kind).copied().unwrap_or(0));
            if count > 0 {
                take(&mut node, row, count);
                taken = taken.plus(row.size.times(count.into()));
            }
        }
        (taken > 0).then(|| Worth {
            has_sibling: node.has_sibling,
            taken,
            tightness: self.problem.leftover(&node.free).saturating_neg(),
            at: core::cmp::Reverse(at),
        })
    }
}
