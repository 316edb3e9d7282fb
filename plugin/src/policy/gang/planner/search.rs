//! The last resort: a depth-first search with a fixed budget.
//!
//! Kind after kind and node after node it decides how many members go there, most first, and takes decisions back where
//! they lead nowhere. An explicit stack takes the place of recursion.

use alloc::vec::Vec;

use super::packing::Packing;
use super::problem::{Node, Problem, fits, room, take};
use super::{Budget, Placement};
use crate::gather::Gather;

/// How many members of the current kind went to a node, and the node as it was before.
struct Decision {
    kind: usize,
    at: usize,
    count: u32,
    before: Node,
}

/// Places for all members, if some are found within the budget.
pub(super) fn search(
    problem: &Problem,
    fresh: &Packing<'_>,
    order: &[usize],
    budget: &mut Budget,
) -> Option<Vec<Placement>> {
    let mut nodes = fresh.nodes.clone();
    let mut remaining = fresh.remaining.clone();
    let mut stack: Vec<Decision> = Vec::new();
    // The next decision: position in `order`, node, and the most members that may go there.
    let (mut position, mut at, mut most) = (0_usize, 0_usize, u32::MAX);
    while budget.spend(nodes.len()) {
        let Some(kind) = order.get(position).copied() else {
            return Some(placements(&stack, &nodes));
        };
        let row = problem.kinds.get(kind)?;
        let left = remaining.get(kind).copied()?;
        if left == 0 {
            if enough_for_the_rest(problem, &nodes, order.get(position.saturating_add(1)..)?) {
                (position, at, most) = (position.saturating_add(1), 0, u32::MAX);
                continue;
            }
        } else if let Some(node) = nodes.get(at) {
            let mut count = fits(node, kind, row).min(left).min(most);
            // Of nodes that are alike, the first takes most: the other ways round lead to the same plans.
            if let Some(last) = stack.last().filter(|last| last.kind == kind && last.at.checked_add(1) == Some(at))
                && alike(&last.before, node)
            {
                count = count.min(last.count);
            }
            let rest = nodes.get(at.saturating_add(1)..).unwrap_or_default();
            if count.saturating_add(room(rest, kind, row)) >= left {
                stack.push(Decision { kind, at, count, before: node.clone() });
                take(nodes.get_mut(at)?, row, count);
                *remaining.get_mut(kind)? = left.saturating_sub(count);
                (at, most) = (at.saturating_add(1), u32::MAX);
                continue;
            }
        }
        // Nothing works from here: take back the last decision that leaves a choice.
        loop {
            let last = stack.pop()?;
            *remaining.get_mut(last.kind)? = remaining.get(last.kind)?.saturating_add(last.count);
            *nodes.get_mut(last.at)? = last.before;
            if let Some(fewer) = last.count.checked_sub(1) {
                position = order.iter().position(|kind| *kind == last.kind)?;
                (at, most) = (last.at, fewer);
                break;
            }
        }
    }
    None
}

fn alike(one: &Node, other: &Node) -> bool {
    one.free == other.free && one.limit == other.limit && one.allowed == other.allowed
}

/// Whether each of the kinds still to come has room, if the others stayed away.
fn enough_for_the_rest(problem: &Problem, nodes: &[Node], kinds: &[usize]) -> bool {
    kinds.iter().all(|at| problem.kinds.get(*at).is_some_and(|kind| room(nodes, *at, kind) >= kind.count))
}

fn placements(stack: &[Decision], nodes: &[Node]) -> Vec<Placement> {
    let used = stack.iter().filter(|decision| decision.count > 0);
    used.filter_map(|decision| {
        Some(Placement { kind: decision.kind, node: nodes.get(decision.at)?.row, count: decision.count })
    })
    .gather()
}
