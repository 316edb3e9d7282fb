//! The pods of a trace and the order in which a replay lets them arrive.

use super::go_rand::GoRand;
use super::read::{Model, Models};

/// A pod of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Name in the pod list.
    pub name: String,
    /// Requested cpu in milli-CPU.
    pub cpu: i64,
    /// Requested memory in MiB.
    pub memory: i64,
    /// Number of GPUs; 0 for a CPU-only pod.
    pub gpus: u32,
    /// Share of each GPU in milli: 1000 takes whole devices, less shares one.
    pub milli: u32,
    /// The GPU models it may run on; `None` means any.
    pub models: Option<Models>,
    /// The same as the list has it: some lists name a model twice.
    pub gpu_spec: String,
    /// The same number for pods that ask for the same, so that results can be kept per number.
    pub shape: usize,
}

impl Pod {
    /// GPU-milli requested.
    #[must_use]
    pub fn gpu_milli(&self) -> i64 {
        i64::from(self.gpus) * i64::from(self.milli)
    }

    /// Whether it shares a device with others.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.gpus == 1 && self.milli < 1000
    }

    /// Whether the model restriction, if any, admits a node with this model.
    #[must_use]
    pub fn accepts(&self, model: Option<Model>) -> bool {
        self.models.is_none_or(|models| model.is_some_and(|model| models.contains(model)))
    }

    fn request(&self) -> (i64, i64, u32, u32, Option<Models>) {
        (self.cpu, self.memory, self.gpus, self.milli, self.models)
    }
}

/// Gives pods that ask for the same the same [`Pod::shape`].
pub(super) fn number_shapes(pods: &mut [Pod]) {
    let mut shapes: Vec<_> = pods.iter().map(Pod::request).collect();
    shapes.sort_unstable();
    shapes.dedup();
    for pod in pods {
        pod.shape = shapes.partition_point(|shape| *shape < pod.request());
    }
}

/// Numbers that the published experiment draws between the pods and the nodes: a time-out for each kind of object that its
/// scheduler watches.
const WATCHES: usize = 10;

/// What the seed decides, as in the published experiment.
pub(super) struct Draw {
    /// The pods in the order of their arrival, as indices into the list.
    pub arrivals: Vec<usize>,
    /// Per node its place among equally good ones.
    pub ranks: Vec<usize>,
}

impl Draw {
    /// The list is shuffled and then brought to a demand of `arrive` times `capacity` GPU-milli: uniform draws from the
    /// list are appended until the next one would exceed it, or pods are removed at random while it is exceeded.
    pub(super) fn new(pods: &[Pod], nodes: usize, capacity: i64, arrive: f64, seed: u64) -> Self {
        let mut rand = GoRand::new(seed);
        // Printed there.
        rand.int63();
        let mut arrivals: Vec<usize> = (0..pods.len()).collect();
        rand.shuffle(&mut arrivals);
        let mut demand: i64 = pods.iter().map(Pod::gpu_milli).sum();
        let target = (arrive * capacity as f64) as i64;
        if demand < target {
            append(pods, &mut arrivals, target - demand, &mut rand);
        }
        while demand > target {
            let removed = arrivals.remove(rand.intn(arrivals.len()));
            demand -= pods[removed].gpu_milli();
        }
        for _ in 0..WATCHES {
            rand.int63();
        }
        Self { arrivals, ranks: rand.perm(nodes) }
    }
}

/// Appends pods that ask for at most `room` GPU-milli in all, if any pod asks for some.
fn append(pods: &[Pod], arrivals: &mut Vec<usize>, mut room: i64, rand: &mut GoRand) {
    if pods.iter().all(|pod| pod.gpus == 0) {
        return;
    }
    loop {
        let drawn = rand.intn(pods.len());
        // Of a pod with several GPUs the experiment compares one.
        if i64::from(pods[drawn].milli) > room {
            return;
        }
        room -= pods[drawn].gpu_milli();
        arrivals.push(drawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(count: usize, gpus: u32) -> Vec<Pod> {
        let pod = |i| Pod { name: format!("p{i}"), cpu: 1, memory: 1, gpus, milli: 1000, ..Pod::default() };
        (0..count).map(pod).collect()
    }

    #[test]
    fn demand_meets_the_arrive_factor_from_either_side() {
        for (count, capacity) in [(100, 50_000), (100, 500_000)] {
            let list = pods(count, 1);
            let draw = Draw::new(&list, 0, capacity, 1.3, 42);
            let demand: i64 = draw.arrivals.iter().map(|&i| list[i].gpu_milli()).sum();
            assert_eq!(demand, capacity * 13 / 10);
        }
    }

    #[test]
    fn order_depends_on_the_seed_only() {
        let arrivals = |seed| Draw::new(&pods(100, 1), 0, 150_000, 1.0, seed).arrivals;
        assert_eq!(arrivals(42), arrivals(42));
        assert_ne!(arrivals(42), arrivals(43));
    }

    #[test]
    fn a_list_without_gpus_arrives_once() {
        assert_eq!(Draw::new(&pods(10, 0), 0, 1_000, 1.3, 42).arrivals.len(), 10);
    }
}
