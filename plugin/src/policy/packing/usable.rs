//! How much of a node's devices pods of one shape could use.

use super::node::{Free, Room};
use super::workload::Typical;

/// Millionths of a GPU: thousandths of a device times the GPU-milli it is worth.
pub(super) type Micro = i32;

/// A typical shape, made ready for the question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lens {
    pub typical: Typical,
    /// Thousandths of a device that a milli-CPU, and that a byte of memory, suffices for.
    per_cpu: f64,
    per_memory: f64,
}

impl Lens {
    pub fn new(typical: Typical) -> Self {
        let volume = as_f64(typical.shape.volume());
        // A pod that asks for none: any amount suffices for everything.
        let per = |each: i64| if each > 0 { volume / as_f64(each) } else { f64::INFINITY };
        Self { per_cpu: per(typical.shape.cpu), per_memory: per(typical.shape.memory), typical }
    }

    /// Room for as many pods as fit: what the devices have, or what cpu and memory suffice for if that is less, fractions
    /// of a pod included. Nothing if not even one fits.
    pub fn usable(&self, free: Free, room: &Room) -> Micro {
        let shape = &self.typical.shape;
        if free.cpu < shape.cpu || free.memory < shape.memory {
            return 0;
        }
        let value = if shape.devices > 1 {
            // A pod that needs several is served by unused devices only, and what is left after the last whole pod is of no
            // use to its like: taking one of eight devices costs pods of four as much as taking one of four, a pod.
            let pods = room.unused.checked_div(shape.devices).unwrap_or(0);
            f64::from(pods.saturating_mul(shape.devices)) * 1000.0
        } else if room.largest < shape.milli {
            0.0
        } else {
            as_f64(room.value)
        };
        // An amount of 0 that nobody asks for gives "not a number", which `min` passes over.
        let value = value.min(as_f64(free.cpu) * self.per_cpu).min(as_f64(free.memory) * self.per_memory);
        // Casts between numbers saturate.
        (value * f64::from(room.worth)) as Micro
    }
}

/// Exact below 2^53; beyond, good enough for a ratio.
fn as_f64(amount: i64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::packing::holes::Holes;
    use crate::policy::packing::{Kind, Models, PodShape, Pool};

    fn usable(devices: u32, milli: u32, cpu: i64, free: Free, pool: &Pool) -> Micro {
        let shape = PodShape { kind: Kind(0), models: Models::ANY, devices, milli, cpu, memory: 0 };
        let holes = Holes::new(&[(250, 10), (500, 10)]);
        Lens::new(Typical { shape, weight: 1.0 }).usable(free, &Room::of(pool, &holes))
    }

    const PLENTY: Free = Free { cpu: 1_000_000, memory: 0 };

    #[test]
    fn devices_limit_where_cpu_suffices() {
        let pool = Pool::by_device(Kind(0), 1000, [1000, 1000, 500, 100]);
        assert_eq!(
            usable(1, 1000, 1000, PLENTY, &pool),
            2_485_000,
            "unused devices and the hole that is good for shares"
        );
        assert_eq!(usable(2, 1000, 1000, PLENTY, &pool), 2_000_000, "unused devices only");
        let seven = Pool::by_device(Kind(0), 1000, [1000; 7]);
        assert_eq!(usable(4, 1000, 1000, PLENTY, &seven), 4_000_000, "whole pods only");
        assert_eq!(usable(3, 1000, 1000, PLENTY, &pool), 0, "not even one fits");
        assert_eq!(usable(1, 250, 0, Free { cpu: 0, memory: 0 }, &pool), 2_485_000, "nothing else is asked for");
    }

    #[test]
    fn cpu_limits_by_the_fraction_of_a_pod() {
        let pool = Pool::by_device(Kind(0), 1000, [1000; 8]);
        let cpu = |cpu| Free { cpu, memory: 0 };
        assert_eq!(usable(2, 1000, 4000, cpu(10_000), &pool), 5_000_000, "two pods and a half");
        assert_eq!(usable(2, 1000, 4000, cpu(3999), &pool), 0, "not even one");
        assert_eq!(usable(1, 1000, 0, cpu(-1), &pool), 0, "overcommitted");
    }

    #[test]
    fn slices_are_worth_less_than_devices() {
        let pool = Pool::by_device(Kind(0), 143, [1000; 7]);
        assert_eq!(usable(1, 1000, 0, PLENTY, &pool), 1_001_000);
    }
}
