//! The shapes of pods that the cluster must keep room for, learned from the pods that arrive.

use alloc::vec::Vec;

use super::holes::{Holes, STEP};
use super::shape::{DEVICE, Models, PodShape};
use crate::gather::Gather;
use crate::reckon::Reckon;
use crate::sort::sort_by;

/// Cpu is told apart in steps of this many milli-CPU.
const CPU_STEP: i64 = 4000;
/// Most different shapes that are counted; a new one then displaces the rarest.
const COUNTED: usize = 512;
/// Typical shapes make up this share of the volume, ...
const VOLUME: f64 = 0.99;
/// ... and are this many at most.
const TYPICAL: usize = 32;
/// What one pod adds to a count. More than 1, so that halving does not lose rare shapes at once.
const ONE: u32 = 16;

/// A shape that stands for a share of the workload.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Typical {
    pub shape: PodShape,
    /// Share of the pods, 0 to 1.
    pub weight: f64,
}

/// Pods that ask for nearly the same.
#[derive(Clone, Debug)]
struct Count {
    /// Shares and cpu rounded up to a step, memory left out. Of pods restricted to some models, which are too many to be
    /// told apart, only how they use devices.
    shape: PodShape,
    pods: u32,
    /// Sums over these pods.
    milli: i64,
    cpu: i64,
    memory: i64,
}

/// Counts the GPU pods seen, by shape.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    /// Sorted by shape.
    counts: Vec<Count>,
    /// Thousandths of a device, in steps, and the number of pods that share one with so many.
    sizes: Vec<(u32, u32)>,
    /// Sum of all `pods`.
    total: u32,
    seen: u64,
    /// How many must be seen before learning again.
    due: u64,
    horizon: u32,
}

impl Workload {
    /// Nothing seen yet. `horizon` is the number of pods after which earlier ones count half.
    pub fn new(horizon: u32) -> Self {
        Self {
            counts: Vec::new(),
            sizes: (1..=DEVICE / STEP).map(|step| (step.saturating_mul(STEP), 0)).gather(),
            total: 0,
            seen: 0,
            due: 1,
            horizon: horizon.max(1),
        }
    }

    /// Counts `pods` pods of this shape, of which so many are `together` one and count as one. Pods without GPUs are not
    /// counted: no room need be kept for them.
    pub fn observe(&mut self, pod: &PodShape, pods: u32, together: u32) {
        if pod.volume() == 0 || pods == 0 {
            return;
        }
        let added = pods.saturating_mul(ONE).checked_div(together).unwrap_or(0).max(1);
        let mut milli = DEVICE;
        if pod.is_shared() {
            milli = pod.milli.div_ceil(STEP).saturating_mul(STEP);
            if let Some((_, pods)) = self.sizes.iter_mut().find(|(size, _)| *size == milli) {
                *pods = pods.saturating_add(added);
            }
        }
        let cpu = pod.cpu.max(0).plus(CPU_STEP - 1).checked_div(CPU_STEP).unwrap_or(0);
        let mut shape = PodShape { milli, cpu: cpu.times(CPU_STEP), memory: 0, ..*pod };
        if shape.models != Models::ANY {
            shape.cpu = 0;
            shape.milli = if pod.is_shared() { STEP } else { DEVICE };
        }
        let find = |counts: &[Count]| counts.binary_search_by(|count| count.shape.cmp(&shape));
        if find(&self.counts).is_err() {
            self.make_room();
        }
        let at = find(&self.counts).unwrap_or_else(|at| {
            self.counts.insert(at, Count { shape, pods: 0, milli: 0, cpu: 0, memory: 0 });
            at
        });
        let times = |amount: i64| amount.max(0).times(i64::from(added));
        if let Some(count) = self.counts.get_mut(at) {
            count.pods = count.pods.saturating_add(added);
            count.milli = count.milli.plus(times(milli.into()));
            count.cpu = count.cpu.plus(times(pod.cpu));
            count.memory = count.memory.plus(times(pod.memory));
        }
        self.total = self.total.saturating_add(added);
        self.seen = self.seen.saturating_add(u64::from(pods));
        if self.total >= self.horizon.saturating_mul(2).saturating_mul(ONE) {
            self.age();
        }
    }

    /// How many GPU pods have been seen.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether there is enough news since [`Workload::learn`]: 30 % more pods.
    pub fn is_due(&self) -> bool {
        self.seen >= self.due
    }

    /// The typical shapes, and the values of holes to the shared pods.
    pub fn learn(&mut self) -> (Vec<Typical>, Holes) {
        let step = self.seen.min(u64::from(self.horizon)).saturating_mul(3).checked_div(10).unwrap_or(0);
        self.due = self.seen.saturating_add(step.max(1));
        let mut typical: Vec<Typical> = self.counts.iter().map(mean).gather();
        let volume = |typical: &Typical| typical.weight * as_f64(typical.shape.volume());
        sort_by(&mut typical, |a, b| volume(a) > volume(b) || (volume(a) == volume(b) && a.shape < b.shape));
        let mut missing = typical.iter().map(volume).sum::<f64>() * VOLUME;
        typical.truncate(TYPICAL);
        typical.retain(|shape| {
            let keep = missing > 0.0;
            missing -= volume(shape);
            keep
        });
        let pods: f64 = typical.iter().map(|shape| shape.weight).sum();
        typical.iter_mut().for_each(|shape| shape.weight /= pods);
        (typical, Holes::new(&self.sizes))
    }

    fn make_room(&mut self) {
        if self.counts.len() < COUNTED {
            return;
        }
        let rarest = self.counts.iter().enumerate().least(|(_, count)| count.pods);
        if let Some(at) = rarest.map(|(at, _)| at) {
            self.total = self.total.saturating_sub(self.counts.remove(at).pods);
        }
    }

    fn age(&mut self) {
        for count in &mut self.counts {
            count.pods /= 2;
            count.milli /= 2;
            count.cpu /= 2;
            count.memory /= 2;
        }
        self.counts.retain(|count| count.pods > 0);
        self.sizes.iter_mut().for_each(|(_, pods)| *pods /= 2);
        self.total = self.counts.iter().fold(0, |sum, count| sum.saturating_add(count.pods));
    }
}

/// The shape that stands for these pods.
fn mean(count: &Count) -> Typical {
    let pods = f64::from(count.pods);
    let mean = |sum: i64| (as_f64(sum) / pods) as i64;
    let milli = u32::try_from(mean(count.milli)).unwrap_or(DEVICE).clamp(1, DEVICE);
    let shape = PodShape { milli, cpu: mean(count.cpu), memory: mean(count.memory), ..count.shape };
    Typical { shape, weight: pods }
}

/// Exact below 2^53; beyond, good enough for a mean.
fn as_f64(amount: i64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::packing::{Kind, Model};

    fn shape(devices: u32, milli: u32, cpu: i64) -> PodShape {
        PodShape { kind: Kind(0), models: Models::ANY, devices, milli, cpu, memory: 0 }
    }

    fn learned(pods: &[(PodShape, u32)]) -> Vec<(PodShape, f64)> {
        let mut workload = Workload::new(10_000);
        pods.iter().for_each(|(pod, count)| workload.observe(pod, *count, 1));
        workload.learn().0.into_iter().map(|typical| (typical.shape, typical.weight)).collect()
    }

    #[test]
    fn pods_that_ask_for_nearly_the_same_are_one_shape_with_their_mean() {
        let found = learned(&[(shape(1, 1000, 5000), 3), (shape(1, 1000, 7000), 1), (shape(0, 0, 1000), 50)]);
        assert_eq!(found, [(shape(1, 1000, 5500), 1.0)]);
    }

    #[test]
    fn rare_shapes_of_little_volume_are_left_out() {
        let found = learned(&[(shape(8, 1000, 0), 100), (shape(1, 100, 0), 50)]);
        assert_eq!(found, [(shape(8, 1000, 0), 1.0)]);
    }

    #[test]
    fn restricted_shapes_are_merged_by_model_and_use() {
        let t4 = Models::ANY.only(Model::new(3));
        let on_t4 = |milli, cpu| PodShape { models: t4, ..shape(1, milli, cpu) };
        let found = learned(&[(on_t4(500, 0), 2), (on_t4(300, 8000), 2), (on_t4(1000, 4000), 4)]);
        assert_eq!(found, [(on_t4(1000, 4000), 0.5), (on_t4(400, 4000), 0.5)]);
    }

    #[test]
    fn learning_is_due_when_the_pods_seen_have_grown_by_a_third() {
        let mut workload = Workload::new(100);
        let mut learned_at = Vec::new();
        for seen in 1..=200 {
            workload.observe(&shape(1, 1000, 0), 1, 1);
            if workload.is_due() {
                workload.learn();
                learned_at.push(seen);
            }
        }
        assert_eq!(learned_at, [1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 18, 23, 29, 37, 48, 62, 80, 104, 134, 164, 194]);
    }

    #[test]
    fn an_earlier_workload_is_forgotten() {
        let mut workload = Workload::new(100);
        workload.observe(&shape(8, 1000, 0), 100, 1);
        (0..1000).for_each(|_| workload.observe(&shape(1, 500, 0), 1, 1));
        let (typical, holes) = workload.learn();
        assert_eq!(typical.first().map(|typical| typical.shape.milli), Some(500));
        assert!(typical.iter().all(|typical| typical.shape.devices == 1 || typical.weight < 0.01), "{typical:?}");
        assert_eq!(holes.value(500), 485);
    }

    #[test]
    fn memory_is_bounded_and_common_shapes_survive_a_flood_of_rare_ones() {
        let mut workload = Workload::new(1_000_000);
        workload.observe(&shape(8, 1000, 0), 10, 1);
        (0..5000).for_each(|cpu| workload.observe(&shape(1, 1000, cpu * CPU_STEP), 1, 1));
        assert_eq!(workload.counts.len(), COUNTED);
        let (typical, _) = workload.learn();
        assert_eq!(typical.len(), TYPICAL);
        assert_eq!(typical.first().map(|typical| typical.shape), Some(shape(8, 1000, 0)));
    }
}
