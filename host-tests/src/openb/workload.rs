//! The pods of a trace and the order in which a replay lets them arrive.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::read::{Model, Models};

/// A pod of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The pods in the order of their arrival, as indices into `pods`.
///
/// The list is shuffled and then brought to a demand of `arrive` times `capacity` GPU-milli: uniform draws from the list
/// are appended until the next one would exceed it, or pods are removed at random while it is exceeded.
#[must_use]
pub fn arrivals(pods: &[Pod], capacity: i64, arrive: f64, seed: u64) -> Vec<usize> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..pods.len()).collect();
    order.shuffle(&mut rng);
    let mut demand: i64 = pods.iter().map(Pod::gpu_milli).sum();
    let target = (arrive * capacity as f64) as i64;
    while demand > target && !order.is_empty() {
        let removed = order.remove(rng.random_range(0..order.len()));
        demand -= pods[removed].gpu_milli();
    }
    if pods.iter().all(|pod| pod.gpus == 0) {
        return order;
    }
    loop {
        let drawn = rng.random_range(0..pods.len());
        if demand + i64::from(pods[drawn].milli) > target {
            return order;
        }
        demand += pods[drawn].gpu_milli();
        order.push(drawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(count: usize, gpus: u32) -> Vec<Pod> {
        let pod = |i| Pod { name: format!("p{i}"), cpu: 1, memory: 1, gpus, milli: 1000, models: None, shape: 0 };
        (0..count).map(pod).collect()
    }

    #[test]
    fn demand_meets_the_arrive_factor_from_either_side() {
        for (count, capacity) in [(100, 50_000), (100, 500_000)] {
            let list = pods(count, 1);
            let order = arrivals(&list, capacity, 1.3, 42);
            let demand: i64 = order.iter().map(|&i| list[i].gpu_milli()).sum();
            assert_eq!(demand, capacity * 13 / 10);
        }
    }

    #[test]
    fn order_depends_on_the_seed_only() {
        let list = pods(100, 1);
        assert_eq!(arrivals(&list, 150_000, 1.0, 42), arrivals(&list, 150_000, 1.0, 42));
        assert_ne!(arrivals(&list, 150_000, 1.0, 42), arrivals(&list, 150_000, 1.0, 43));
    }

    #[test]
    fn a_list_without_gpus_arrives_once() {
        assert_eq!(arrivals(&pods(10, 0), 1_000, 1.3, 42).len(), 10);
    }
}
