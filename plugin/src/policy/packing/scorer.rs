//! Regret and score of placements, kept until something changes.

use alloc::vec::Vec;

use super::PackingOptions;
use super::holes::Holes;
use super::node::{Free, NodeCapacity, Room};
use super::shape::{Kind, PodShape};
use super::usable::{Lens, Micro};
use super::workload::Workload;

/// Regret above the best node's, in GPU-milli, at which the score is half of the best's.
const HALF: f64 = 100.0;
/// A shape of which less than this share of its room is left counts as if this much were.
const SCARCEST: f64 = 0.001;
/// Typical shapes are weighed again once the room for one of them has changed by this share.
const DRIFT: f64 = 0.1;
/// Most pod shapes whose regrets are kept.
const KEPT: usize = 64;

/// What the policy knows: the workload, the cluster, and what follows from both.
#[derive(Clone, Debug)]
pub struct Packing {
    workload: Workload,
    lenses: Vec<Lens>,
    holes: Holes,
    nodes: Vec<Option<Entry>>,
    /// Per lens.
    totals: Vec<Total>,
    /// Numbers the states of nodes; no two are the same.
    version: u32,
    /// Changes with the weights.
    epoch: u32,
    kept: Vec<Kept>,
    /// Counts the pods scored, to tell which kept shape was not used for longest.
    clock: u64,
}

/// A typical shape in the whole cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    /// Usable now, and if all nodes were empty.
    usable: i64,
    empty: i64,
    /// `usable` when the weight was found.
    weighed: i64,
    /// How much its losses count; all weights sum to 1.
    weight: f64,
}

#[derive(Clone, Debug)]
struct Entry {
    capacity: NodeCapacity,
    version: u32,
    /// Per pool.
    rooms: Vec<Room>,
    /// Per lens: usable now, and on the empty node.
    usable: Vec<(Micro, Micro)>,
}

/// Regrets of one pod shape, by node.
#[derive(Clone, Debug)]
struct Kept {
    shape: PodShape,
    used: u64,
    regrets: Vec<Regret>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Regret {
    version: u32,
    epoch: u32,
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
    /// Nothing seen but what is expected.
    #[must_use]
    pub fn new(options: &PackingOptions) -> Self {
        let mut workload = Workload::new(options.horizon);
        options.expected.iter().for_each(|(shape, pods)| workload.observe(shape, *pods));
        Self {
            workload,
            lenses: Vec::new(),
            holes: Holes::new(&[]),
            nodes: Vec::new(),
            totals: Vec::new(),
            version: 0,
            epoch: 0,
            kept: Vec::new(),
            clock: 0,
        }
    }

    /// A pod has arrived. To be called once a pod, not once an attempt to place it.
    pub fn observe(&mut self, pod: &PodShape) {
        self.workload.observe(pod, 1);
    }

    /// A node is new or may have changed. `at` is its place in the caller's table; places are small and used again.
    pub fn update_node(&mut self, at: usize, capacity: NodeCapacity) {
        if self.node(at).is_some_and(|entry| entry.capacity == capacity) {
            return;
        }
        self.remove_node(at);
        if self.nodes.len() <= at {
            self.nodes.resize(at.saturating_add(1), None);
        }
        self.version = self.version.wrapping_add(1);
        let mut entry = Entry { capacity, version: self.version, rooms: Vec::new(), usable: Vec::new() };
        entry.look(&self.lenses, &self.holes);
        self.count(&entry, 1);
        if let Some(slot) = self.nodes.get_mut(at) {
            *slot = Some(entry);
        }
    }

    /// A node is gone, or nothing is known of it any more.
    pub fn remove_node(&mut self, at: usize) {
        if let Some(entry) = self.nodes.get_mut(at).and_then(Option::take) {
            self.count(&entry, -1);
        }
    }

    /// Finds the regret of placing `pod` on each of `nodes`, in GPU-milli: what typical pods lose of their room beyond
    /// what it uses. `None` for a node of which nothing is known, or that has no room as far as is known.
    ///
    /// False, and nothing found, as long as no room needs to be kept: no GPU pod was ever seen, or no node could run one.
    pub fn regrets(
        &mut self,
        pod: &PodShape,
        nodes: impl Iterator<Item = usize>,
        mut found: impl FnMut(usize, Option<f64>),
    ) -> bool {
        self.learn();
        self.weigh();
        if self.totals.iter().all(|total| total.weight == 0.0) {
            return false;
        }
        let mut kept = self.take_kept(pod);
        for at in nodes {
            found(at, self.regret(&mut kept, at));
        }
        self.kept.push(kept);
        true
    }

    /// The parts of a regret.
    #[must_use]
    pub fn explain(&self, pod: &PodShape, at: usize) -> Option<Explanation> {
        let entry = self.node(at)?;
        let placement = Placement::new(pod, entry, &self.holes)?;
        let mut loser: Option<(PodShape, f64)> = None;
        let mut most = 0.0;
        for (lens, loss, weight) in self.losses(&placement, entry) {
            if loss * weight > most {
                most = loss * weight;
                loser = Some((lens.typical.shape, loss));
            }
        }
        let value = placement.room.and_then(|after| Some((entry.room(after.kind)?.value, after.value)));
        Some(Explanation { regret: self.sum(&placement, entry), loser, value })
    }

    fn node(&self, at: usize) -> Option<&Entry> {
        self.nodes.get(at).and_then(Option::as_ref)
    }

    fn count(&mut self, entry: &Entry, sign: i64) {
        for (total, (usable, empty)) in self.totals.iter_mut().zip(&entry.usable) {
            total.usable = total.usable.saturating_add(i64::from(*usable).saturating_mul(sign));
            total.empty = total.empty.saturating_add(i64::from(*empty).saturating_mul(sign));
        }
    }

    /// Learns the workload again if there is news, and looks at all nodes with new eyes.
    fn learn(&mut self) {
        if !self.workload.is_due() {
            return;
        }
        let (typical, holes) = self.workload.learn();
        self.lenses = typical.into_iter().map(Lens::new).collect();
        self.holes = holes;
        self.totals.clear();
        self.totals.resize(self.lenses.len(), Total { weighed: i64::MAX, ..Total::default() });
        let mut nodes = core::mem::take(&mut self.nodes);
        for entry in nodes.iter_mut().flatten() {
            entry.look(&self.lenses, &self.holes);
            self.count(entry, 1);
        }
        self.nodes = nodes;
    }

    /// Weighs the typical shapes, by their share of the pods and by how little of the room for them is left.
    fn weigh(&mut self) {
        let moved =
            |total: &Total| as_f64(total.usable.abs_diff(total.weighed)) > DRIFT * as_f64(total.weighed.unsigned_abs());
        if !self.totals.iter().any(moved) {
            return;
        }
        let mut sum = 0.0;
        for (total, lens) in self.totals.iter_mut().zip(&self.lenses) {
            total.weighed = total.usable;
            total.weight = 0.0;
            // Nobody can lose room that there is none of.
            if total.usable > 0 {
                let left = total.usable as f64 / total.empty as f64;
                total.weight = lens.typical.weight / (left.max(SCARCEST) * left.max(SCARCEST));
            }
            sum += total.weight;
        }
        if sum > 0.0 {
            self.totals.iter_mut().for_each(|total| total.weight /= sum);
        }
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Takes the kept regrets of a pod shape out of the table; if it is full, in place of those not used for longest.
    fn take_kept(&mut self, pod: &PodShape) -> Kept {
        self.clock = self.clock.saturating_add(1);
        let mut place = self.kept.iter().position(|kept| kept.shape == *pod);
        if place.is_none() && self.kept.len() >= KEPT {
            place = self.kept.iter().enumerate().min_by_key(|(_, kept)| kept.used).map(|(at, _)| at);
        }
        let mut kept = match place {
            Some(at) => self.kept.swap_remove(at),
            None => Kept { shape: *pod, used: 0, regrets: Vec::new() },
        };
        if kept.shape != *pod {
            kept.shape = *pod;
            kept.regrets.clear();
        }
        kept.used = self.clock;
        kept.regrets.resize(self.nodes.len(), Regret::default());
        kept
    }

    fn regret(&self, kept: &mut Kept, at: usize) -> Option<f64> {
        let (entry, known) = (self.node(at)?, kept.regrets.get_mut(at)?);
        if (known.version, known.epoch) != (entry.version, self.epoch) {
            let regret = Placement::new(&kept.shape, entry, &self.holes).map(|placement| self.sum(&placement, entry));
            *known = Regret { version: entry.version, epoch: self.epoch, milli: regret.unwrap_or(f64::NAN) as f32 };
        }
        (!known.milli.is_nan()).then_some(f64::from(known.milli))
    }

    fn sum(&self, placement: &Placement, entry: &Entry) -> f64 {
        self.losses(placement, entry).map(|(_, loss, weight)| loss * weight).sum::<f64>() - placement.used
    }

    /// What each typical shape loses, in GPU-milli, and its weight.
    fn losses<'a>(&'a self, placement: &'a Placement, entry: &'a Entry) -> impl Iterator<Item = (&'a Lens, f64, f64)> {
        let lenses = self.lenses.iter().zip(&self.totals).zip(&entry.usable);
        lenses.filter(|(_, (now, _))| *now > 0).filter_map(move |((lens, total), (now, _))| {
            let kind = lens.typical.shape.kind;
            let taken_from = placement.room.as_ref().filter(|room| room.kind == kind);
            let then = lens.usable(placement.free, taken_from.or_else(|| entry.room(kind))?);
            Some((lens, f64::from(now.saturating_sub(then)) / 1000.0, total.weight))
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
    /// What is left of the pool it takes from, if it takes devices.
    room: Option<Room>,
    /// GPU-milli that it takes.
    used: f64,
}

impl Placement {
    fn new(pod: &PodShape, entry: &Entry, holes: &Holes) -> Option<Self> {
        let Free { cpu, memory } = entry.capacity.free;
        let free = Free { cpu: cpu.saturating_sub(pod.cpu), memory: memory.saturating_sub(pod.memory) };
        if pod.devices == 0 {
            return Some(Self { free, room: None, used: 0.0 });
        }
        let pool = entry.capacity.pools.iter().find(|pool| pool.kind() == pod.kind)?;
        Some(Self { free, room: Some(Room::after(pool, pod, holes)?), used: pool.used_by(pod) })
    }
}

impl Entry {
    fn room(&self, kind: Kind) -> Option<&Room> {
        self.rooms.iter().find(|room| room.kind == kind)
    }

    /// Finds what each lens can use.
    fn look(&mut self, lenses: &[Lens], holes: &Holes) {
        let NodeCapacity { allocatable, free, model, pools } = &self.capacity;
        self.rooms.clear();
        self.rooms.extend(pools.iter().map(|pool| Room::of(pool, holes)));
        let both = |lens: &Lens| {
            let shape = &lens.typical.shape;
            let admitted = pools.iter().zip(&self.rooms).filter(|_| shape.models.admit(*model));
            let found = admitted.into_iter().find(|(pool, _)| pool.kind() == shape.kind);
            found.map_or((0, 0), |(pool, room)| {
                (lens.usable(*free, room), lens.usable(*allocatable, &Room::empty(pool)))
            })
        };
        let usable = lenses.iter().map(both).collect();
        self.usable = usable;
    }
}

/// Exact below 2^53, which is far above any sum here.
fn as_f64(amount: u64) -> f64 {
    amount as f64
}
