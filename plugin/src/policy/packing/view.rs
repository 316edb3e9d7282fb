//! The cluster as the typical shapes see it: how much each could use of every node, and how scarce its room is.

use alloc::vec;
use alloc::vec::Vec;

use super::holes::Holes;
use super::node::{NodeCapacity, Room};
use super::usable::{Lens, Micro};
use super::workload::Typical;
use crate::gather::Gather;
use crate::reckon::Reckon;

/// A shape of which less than this share of its room is left counts as if this much were.
const SCARCEST: f64 = 0.001;
/// Typical shapes are weighed again once the room for one of them has changed by this share.
const DRIFT: f64 = 0.1;

/// What was learned of the workload at one time, and what follows from it for the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub lenses: Vec<Lens>,
    pub holes: Holes,
    /// Per lens.
    totals: Vec<Total>,
    /// What is usable of a node now, a run of one number per lens for each.
    usable: Vec<Micro>,
}

/// A typical shape in the whole cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    /// Usable now, and if all nodes were empty.
    usable: i64,
    empty: i64,
    /// `usable` when the weight was found; `None` if it never was.
    weighed: Option<i64>,
    /// How much its losses count; all weights sum to 1.
    weight: f64,
}

impl View {
    /// A view of no nodes.
    pub fn new(typical: Vec<Typical>, holes: Holes) -> Self {
        let lenses: Vec<Lens> = typical.into_iter().map(Lens::new).gather();
        Self { totals: vec![Total::default(); lenses.len()], lenses, holes, usable: Vec::new() }
    }

    /// Looks at the node in row `at`, which it has not seen yet.
    pub fn add(&mut self, at: usize, node: &NodeCapacity) {
        self.count(at, node, 1);
    }

    /// Takes out a node as it was seen.
    pub fn remove(&mut self, at: usize, node: &NodeCapacity) {
        self.count(at, node, -1);
    }

    fn count(&mut self, at: usize, node: &NodeCapacity, sign: i64) {
        let from = at.saturating_mul(self.lenses.len());
        let end = from.saturating_add(self.lenses.len());
        if self.usable.len() < end {
            self.usable.resize(end, 0);
        }
        let rooms = node.rooms(&self.holes);
        let seen = self.usable.iter_mut().skip(from);
        for ((lens, total), seen) in self.lenses.iter().zip(&mut self.totals).zip(seen) {
            let shape = &lens.typical.shape;
            let mut pools = node.pools.iter().zip(&rooms).filter(|_| shape.models.admit(node.models));
            let Some((pool, room)) = pools.find(|(_, room)| room.kind == shape.kind) else { continue };
            let empty = lens.usable(node.allocatable, &Room::empty(pool, &self.holes));
            total.empty = total.empty.plus(i64::from(empty).times(sign));
            if sign > 0 {
                *seen = lens.usable(node.free, room);
            }
            total.usable = total.usable.plus(i64::from(*seen).times(sign));
            if sign < 0 {
                *seen = 0;
            }
        }
    }

    /// Weighs the shapes, by their share of the pods and by how little of the room for them is left. False if nothing has
    /// changed enough since the last time.
    pub fn weigh(&mut self) -> bool {
        let moved = |total: &Total| {
            let Some(weighed) = total.weighed else { return true };
            as_f64(total.usable.abs_diff(weighed)) > DRIFT * as_f64(weighed.unsigned_abs())
        };
        if !self.totals.iter().any(moved) {
            return false;
        }
        let mut sum = 0.0;
        for (total, lens) in self.totals.iter_mut().zip(&self.lenses) {
            total.weighed = Some(total.usable);
            total.weight = 0.0;
            // Nobody can lose room that there is none of.
            if total.usable > 0 {
                let left = (total.usable as f64 / total.empty as f64).max(SCARCEST);
                total.weight = lens.typical.weight / (left * left);
            }
            sum += total.weight;
        }
        if sum > 0.0 {
            self.totals.iter_mut().for_each(|total| total.weight /= sum);
        }
        true
    }

    /// Whether there is room that could be lost.
    pub fn has_room(&self) -> bool {
        self.totals.iter().any(|total| total.weight > 0.0)
    }

    /// The lenses that can use something of the node in row `at`, each with what that is and how much its losses count.
    pub fn users(&self, at: usize) -> impl Iterator<Item = (&Lens, Micro, f64)> {
        let seen = self.usable.iter().skip(at.saturating_mul(self.lenses.len()));
        let users = self.lenses.iter().zip(&self.totals).zip(seen);
        users.filter(|(_, usable)| **usable > 0).map(|((lens, total), usable)| (lens, *usable, total.weight))
    }
}

/// Exact below 2^53, which is far above any sum here.
fn as_f64(amount: u64) -> f64 {
    amount as f64
}
