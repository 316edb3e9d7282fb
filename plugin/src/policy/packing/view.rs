//! The cluster as the typical shapes see it: how much each could use of every node, and how scarce its room is.

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
    shapes: Vec<Shape>,
    pub holes: Holes,
    /// What is usable of a node now, a run of one number per shape for each.
    usable: Vec<Micro>,
}

/// A typical shape in the whole cluster.
#[derive(Clone, Debug)]
struct Shape {
    lens: Lens,
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
        let shape = |typical| Shape { lens: Lens::new(typical), usable: 0, empty: 0, weighed: None, weight: 0.0 };
        Self { shapes: typical.into_iter().map(shape).gather(), holes, usable: Vec::new() }
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
        let from = at.saturating_mul(self.shapes.len());
        let end = from.saturating_add(self.shapes.len());
        if self.usable.len() < end {
            self.usable.resize(end, 0);
        }
        let rooms = node.rooms(&self.holes);
        let seen = self.usable.iter_mut().skip(from);
        for (Shape { lens, usable, empty, .. }, seen) in self.shapes.iter_mut().zip(seen) {
            let shape = &lens.typical.shape;
            let mut pools = node.pools.iter().zip(&rooms).filter(|_| shape.models.admit(node.models));
            let Some((pool, room)) = pools.find(|(_, room)| room.kind == shape.kind) else { continue };
            let of_empty = lens.usable(node.allocatable, &Room::empty(pool, &self.holes));
            *empty = empty.plus(i64::from(of_empty).times(sign));
            if sign > 0 {
                *seen = lens.usable(node.free, room);
            }
            *usable = usable.plus(i64::from(*seen).times(sign));
            if sign < 0 {
                *seen = 0;
            }
        }
    }

    /// Weighs the shapes, by their share of the pods and by how little of the room for them is left. False if nothing has
    /// changed enough since the last time.
    pub fn weigh(&mut self) -> bool {
        let moved = |shape: &Shape| {
            let Some(weighed) = shape.weighed else { return true };
            as_f64(shape.usable.abs_diff(weighed)) > DRIFT * as_f64(weighed.unsigned_abs())
        };
        if !self.shapes.iter().any(moved) {
            return false;
        }
        let mut sum = 0.0;
        for shape in &mut self.shapes {
            shape.weighed = Some(shape.usable);
            shape.weight = 0.0;
            // Nobody can lose room that there is none of.
            if shape.usable > 0 {
                let left = (shape.usable as f64 / shape.empty as f64).max(SCARCEST);
                shape.weight = shape.lens.typical.weight / (left * left);
            }
            sum += shape.weight;
        }
        if sum > 0.0 {
            self.shapes.iter_mut().for_each(|shape| shape.weight /= sum);
        }
        true
    }

    /// Whether there is room that could be lost.
    pub fn has_room(&self) -> bool {
        self.shapes.iter().any(|shape| shape.weight > 0.0)
    }

    /// The lenses that can use something of the node in row `at`, each with what that is and how much its losses count.
    pub fn users(&self, at: usize) -> impl Iterator<Item = (&Lens, Micro, f64)> {
        let seen = self.usable.iter().skip(at.saturating_mul(self.shapes.len()));
        let users = self.shapes.iter().zip(seen).filter(|(_, usable)| **usable > 0);
        users.map(|(shape, usable)| (&shape.lens, *usable, shape.weight))
    }
}

/// Exact below 2^53, which is far above any sum here.
fn as_f64(amount: u64) -> f64 {
    amount as f64
}
