//! Regret and score of placements, kept until something changes.

use crate::gather::Gather;
use alloc::vec::Vec;

use super::holes::Holes;
use super::node::{Free, NodeCapacity, Room};
use super::shape::{Kind, PodShape};
use super::view::View;
use super::workload::Workload;

/// Regret above the best node's, in GPU-milli, at which the score is half of the best's.
const HALF: f64 = 100.0;
/// Most pod shapes whose regrets are kept, 8 bytes a node each.
const KEPT: usize = 64;
/// Nodes that are looked at with new eyes in one cycle, after the workload was learned again.
const LOOKS: usize = 256;

/// What the policy knows: the workload, the cluster, and what follows from both.
#[derive(Clone, Debug)]
pub struct Packing {
    workload: Workload,
    view: View,
    /// What was learned last, until all nodes have been looked at; and how many rows have been.
    next: Option<(View, usize)>,
    nodes: Vec<Row>,
    /// Most devices of a kind that were ever seen on one node.
    largest: Vec<(Kind, u32)>,
    version: u32,
    /// Changes with the view and its weights.
    epoch: u32,
    kept: Vec<Kept>,
    /// Counts the pods scored, to tell which kept shape was not used for longest.
    clock: u64,
}

/// A row of the caller's table of nodes.
#[derive(Clone, Debug, Default)]
struct Row {
    /// `None` if nothing is known of the node, or there is none.
    capacity: Option<NodeCapacity>,
    /// The state of the node, by a number that no other state has; 0 without one.
    version: u32,
}

/// Regrets of one pod shape, by row.
#[derive(Clone, Debug)]
struct Kept {
    shape: PodShape,
    used: u64,
    epoch: u32,
    regrets: Vec<Regret>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Regret {
    version: u32,
    /// In GPU-milli; not a number where the pod does not fit.
    milli: f32,
}

/// Why a node has its regret.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Room that typical pods lose beyond what the pod uses, in GPU-milli; negative if it takes what others cannot use.
    pub regret: f64,
    /// The typical shape that loses most, by weight, and what it loses in GPU-milli.
    pub loser: Option<(PodShape, f64)>,
    /// Value of the devices before and after, in thousandths of a device.
    pub value: Option<(i64, i64)>,
}

impl Packing {
    /// Nothing seen yet. `horizon` is the number of pods after which an earlier pod counts half.
    #[must_use]
    pub fn new(horizon: u32) -> Self {
        Self {
            workload: Workload::new(horizon),
            view: View::default(),
            next: None,
            nodes: Vec::new(),
            largest: Vec::new(),
            version: 0,
            epoch: 0,
            kept: Vec::new(),
            clock: 0,
        }
    }

    /// A shape is known before any pod is seen, and counts for so many pods.
    pub fn expect(&mut self, shape: &PodShape, pods: u32) {
        self.workload.observe(shape, pods, 1);
    }

    /// A pod has arrived. To be called once a pod, not once an attempt to place it.
    ///
    /// `together` is how many like it start as one, itself included. A gang wants few nodes, so what room must be kept for
    /// is as many members as the largest node takes; each member counts as its part of that.
    pub fn observe(&mut self, pod: &PodShape, together: u32) {
        let largest = self.largest.iter().find(|(kind, _)| *kind == pod.kind).map_or(0, |(_, devices)| *devices);
        let members = if pod.is_shared() { 1 } else { largest.checked_div(pod.devices).unwrap_or(1) };
        let members = members.min(together).max(1);
        self.workload.observe(&pod.times(members), 1, members);
    }

    /// How many GPU pods have been seen, those expected among them.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.workload.seen()
    }

    /// A node is new or may have changed. `at` is its row in the caller's table; rows are small and used again.
    pub fn update_node(&mut self, at: usize, capacity: NodeCapacity) {
        if self.node(at).is_some_and(|known| *known == capacity) {
            return;
        }
        self.remove_node(at);
        if self.nodes.len() <= at {
            self.nodes.resize_with(at.saturating_add(1), Row::default);
        }
        for pool in &capacity.pools {
            match self.largest.iter_mut().find(|(kind, _)| *kind == pool.kind()) {
                Some((_, devices)) => *devices = pool.devices().max(*devices),
                None => self.largest.push((pool.kind(), pool.devices())),
            }
        }
        self.view.add(at, &capacity);
        if let Some((next, _)) = self.next.as_mut().filter(|(_, rows)| at < *rows) {
            next.add(at, &capacity);
        }
        self.version = self.version.wrapping_add(1).max(1);
        if let Some(row) = self.nodes.get_mut(at) {
            *row = Row { capacity: Some(capacity), version: self.version };
        }
    }

    /// A node is gone, or nothing is known of it any more.
    pub fn remove_node(&mut self, at: usize) {
        let Some(Row { capacity: Some(capacity), .. }) = self.nodes.get_mut(at).map(core::mem::take) else { return };
        self.view.remove(at, &capacity);
        if let Some((next, _)) = self.next.as_mut().filter(|(_, rows)| at < *rows) {
            next.remove(at, &capacity);
        }
    }

    /// Finds the regret of placing `pod` on each of `nodes`, in GPU-milli: what typical pods lose of their room beyond
    /// what it uses. Nothing is found for a node of which nothing is known, or that has no room as far as is known.
    ///
    /// False, and nothing found, as long as no room needs to be kept: no GPU pod was ever seen, or no node could run one.
    pub fn regrets(
        &mut self,
        pod: &PodShape,
        nodes: impl Iterator<Item = usize>,
        mut found: impl FnMut(usize, f64),
    ) -> bool {
        self.learn();
        if self.view.weigh() {
            self.epoch = self.epoch.wrapping_add(1);
        }
        if !self.view.has_room() {
            return false;
        }
        let mut kept = self.take_kept(pod);
        for at in nodes {
            let (Some(row), Some(known)) = (self.nodes.get(at), kept.regrets.get_mut(at)) else { continue };
            let version = row.version;
            if version == 0 {
                continue;
            }
            if known.version != version {
                *known = Regret { version, milli: self.regret(pod, at).unwrap_or(f64::NAN) as f32 };
            }
            if !known.milli.is_nan() {
                found(at, known.milli.into());
            }
        }
        self.kept.push(kept);
        true
    }

    /// The parts of a regret.
    #[must_use]
    pub fn explain(&self, pod: &PodShape, at: usize) -> Option<Explanation> {
        let node = self.node(at).filter(|_| self.view.has_room())?;
        let placement = Placement::new(pod, node, &self.view.holes)?;
        let mut loser: Option<(PodShape, f64)> = None;
        let mut most = 0.0;
        for (shape, loss, weight) in self.losses(&placement, at) {
            if loss * weight > most {
                most = loss * weight;
                loser = Some((*shape, loss));
            }
        }
        let value = |rooms: &[Room]| rooms.iter().find(|room| room.kind == pod.kind).map(|room| room.value);
        let value = value(&node.rooms(&self.view.holes)).zip(value(&placement.rooms)).filter(|_| pod.devices > 0);
        Some(Explanation { regret: self.regret(pod, at)?, loser, value })
    }

    fn node(&self, at: usize) -> Option<&NodeCapacity> {
        self.nodes.get(at)?.capacity.as_ref()
    }

    /// Learns the workload again if there is news. What was learned holds from the cycle on in which the last of the
    /// nodes has been looked at.
    fn learn(&mut self) {
        if self.next.is_none() && self.workload.is_due() {
            let (typical, holes) = self.workload.learn();
            self.next = Some((View::new(typical, holes), 0));
        }
        let Some((mut view, looked)) = self.next.take() else { return };
        let rows = looked.saturating_add(LOOKS);
        for (at, row) in self.nodes.iter().enumerate().take(rows).skip(looked) {
            if let Some(node) = &row.capacity {
                view.add(at, node);
            }
        }
        if rows < self.nodes.len() {
            self.next = Some((view, rows));
        } else {
            self.view = view;
        }
    }

    /// Takes the kept regrets of a pod shape out of the table; if it is full, in place of those not used for longest.
    fn take_kept(&mut self, pod: &PodShape) -> Kept {
        self.clock = self.clock.saturating_add(1);
        let mut place = self.kept.iter().position(|kept| kept.shape == *pod);
        if place.is_none() && self.kept.len() >= KEPT {
            place = self.kept.iter().enumerate().least(|(_, kept)| kept.used).map(|(at, _)| at);
        }
        let mut kept = match place {
            Some(at) => self.kept.swap_remove(at),
            None => Kept { shape: *pod, used: 0, epoch: 0, regrets: Vec::new() },
        };
        if (kept.shape, kept.epoch) != (*pod, self.epoch) {
            (kept.shape, kept.epoch) = (*pod, self.epoch);
            kept.regrets.clear();
        }
        kept.used = self.clock;
        kept.regrets.resize(self.nodes.len(), Regret::default());
        kept
    }

    fn regret(&self, pod: &PodShape, at: usize) -> Option<f64> {
        let placement = Placement::new(pod, self.node(at)?, &self.view.holes)?;
        let losses = self.losses(&placement, at).map(|(_, loss, weight)| loss * weight);
        Some(losses.sum::<f64>() - placement.used)
    }

    /// What each typical shape loses, in GPU-milli, and its weight.
    fn losses<'a>(&'a self, placement: &'a Placement, at: usize) -> impl Iterator<Item = (&'a PodShape, f64, f64)> {
        self.view.users(at).filter_map(|(lens, now, weight)| {
            let shape = &lens.typical.shape;
            let room = placement.rooms.iter().find(|room| room.kind == shape.kind)?;
            let then = lens.usable(placement.free, room);
            Some((shape, f64::from(now.saturating_sub(then)) / 1000.0, weight))
        })
    }
}

/// Scores a placement by its regret and the least regret there is, both in GPU-milli: 100 for the best, half of that for
/// [`HALF`] more.
///
/// Relative to the best, because what matters is whether one node is better than another by a few GPU-milli, and a fixed
/// scale of 100 steps has room for that in one place only: a pod of eight GPUs destroys some room wherever it goes, and a
/// share that fits a hole of no use to others has negative regret.
#[must_use]
pub fn score(regret: f64, least: f64) -> u8 {
    // Casts between numbers saturate.
    (100.0 * HALF / (HALF + (regret - least).max(0.0))) as u8
}

/// What a pod would leave of a node.
struct Placement {
    free: Free,
    /// Per pool.
    rooms: Vec<Room>,
    /// GPU-milli that it takes.
    used: f64,
}

impl Placement {
    /// `None` if the node has not the devices.
    fn new(pod: &PodShape, node: &NodeCapacity, holes: &Holes) -> Option<Self> {
        let Free { cpu, memory } = node.free;
        let free = Free { cpu: cpu.saturating_sub(pod.cpu), memory: memory.saturating_sub(pod.memory) };
        let mut rooms = node.rooms(holes);
        let mut used = 0.0;
        if pod.devices > 0 {
            let (pool, room) = node.pools.iter().zip(&mut rooms).find(|(pool, _)| pool.kind() == pod.kind)?;
            *room = Room::after(pool, pod, holes)?;
            used = pool.used_by(pod);
        }
        Some(Self { free, rooms, used })
    }
}
