//! What is free on a node, and what a pod would leave of it.

use alloc::vec;
use alloc::vec::Vec;

use super::holes::Holes;
use super::shape::{DEVICE, Kind, NodeModels, PodShape};
use crate::gather::Gather;
use crate::reckon::Reckon;
use crate::sort::sort;

/// What a node has, and what of it is free. Free amounts may be negative, where more was given out than there now is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCapacity {
    /// What it has beside devices.
    pub allocatable: Free,
    /// What of it is free.
    pub free: Free,
    /// GPU models.
    pub models: NodeModels,
    /// Devices, one pool per kind.
    pub pools: Vec<Pool>,
}

/// Amounts of everything but devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Cpu in milli-CPU.
    pub cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
}

/// The devices of one kind on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    kind: Kind,
    /// GPU-milli that one device of this kind is worth.
    worth: u32,
    devices: u32,
    /// How many of them nobody uses.
    unused: u32,
    /// Free thousandths of each device in use that has any left, ascending.
    holes: Vec<u32>,
}

impl Pool {
    /// Devices of which only the sum in use is known, in thousandths of a device: taken to be filled one after another.
    ///
    /// `worth` is what one device is worth in GPU-milli: 1000 for a GPU, 143 for a MIG profile with one of seven slices.
    #[must_use]
    pub fn filled(kind: Kind, worth: u32, devices: u32, used_milli: i64) -> Self {
        let used = u32::try_from(used_milli.max(0)).unwrap_or(u32::MAX);
        let unused = devices.saturating_sub(used.div_ceil(DEVICE));
        let hole = devices.saturating_mul(DEVICE).saturating_sub(used) % DEVICE;
        Self { kind, worth, devices, unused, holes: if hole > 0 { vec![hole] } else { Vec::new() } }
    }

    /// Devices of which each one's free thousandths are known.
    #[must_use]
    pub fn by_device(kind: Kind, worth: u32, free_milli: impl IntoIterator<Item = i64>) -> Self {
        let mut pool = Self { kind, worth, devices: 0, unused: 0, holes: Vec::new() };
        for free in free_milli {
            pool.devices = pool.devices.saturating_add(1);
            match u32::try_from(free.max(0)).unwrap_or(DEVICE) {
                0 => {}
                hole @ 1..DEVICE => pool.holes.push(hole),
                _ => pool.unused = pool.unused.saturating_add(1),
            }
        }
        sort(&mut pool.holes);
        pool
    }

    /// Takes whole devices, or a share of one. A share takes the tightest hole, else an unused device. False, and nothing
    /// taken, if it does not fit.
    pub fn take(&mut self, devices: u32, milli: u32) -> bool {
        let is_share = devices == 1 && milli < DEVICE;
        let mut rest = DEVICE.saturating_sub(milli);
        let tightest = self.holes.iter().position(|hole| is_share && *hole >= milli);
        if let Some(at) = tightest {
            rest = self.holes.remove(at).saturating_sub(milli);
        } else if let Some(unused) = self.unused.checked_sub(devices) {
            self.unused = unused;
        } else {
            return false;
        }
        if is_share && rest > 0 {
            self.holes.insert(self.holes.partition_point(|hole| *hole < rest), rest);
        }
        true
    }

    /// Kind of the devices.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many there are.
    pub(super) fn devices(&self) -> u32 {
        self.devices
    }

    /// GPU-milli that `pod` uses here.
    pub(super) fn used_by(&self, pod: &PodShape) -> f64 {
        pod.volume() as f64 * f64::from(self.worth) / 1000.0
    }
}

impl NodeCapacity {
    /// What decides how much pods can use, per pool.
    pub(super) fn rooms(&self, holes: &Holes) -> Vec<Room> {
        self.pools.iter().map(|pool| Room::of(pool, holes)).gather()
    }
}

/// What decides how much of a pool pods can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub kind: Kind,
    /// GPU-milli that a device is worth.
    pub worth: u32,
    /// Devices that nobody uses.
    pub unused: u32,
    /// Free thousandths of the emptiest device.
    pub largest: u32,
    /// Value of all devices together, in thousandths of a device.
    pub value: i64,
}

impl Room {
    /// The pool as it is.
    pub fn of(pool: &Pool, holes: &Holes) -> Self {
        let value = |sum: i64, milli: &u32| sum.plus(holes.value(*milli));
        let largest = if pool.unused > 0 { DEVICE } else { pool.holes.last().copied().unwrap_or(0) };
        let unused = i64::from(pool.unused).times(i64::from(DEVICE));
        let value = pool.holes.iter().fold(unused, value);
        Self { kind: pool.kind, worth: pool.worth, unused: pool.unused, largest, value }
    }

    /// The pool without any pod.
    pub fn empty(pool: &Pool, holes: &Holes) -> Self {
        Self::of(&Pool { unused: pool.devices, holes: Vec::new(), ..*pool }, holes)
    }

    /// The pool once `pod` has taken its devices; `None` if it does not fit.
    pub fn after(pool: &Pool, pod: &PodShape, holes: &Holes) -> Option<Self> {
        let mut left = pool.clone();
        left.take(pod.devices, pod.milli).then(|| Self::of(&left, holes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::packing::Models;

    fn after(free: &[i64], devices: u32, milli: u32) -> Option<(u32, u32, i64)> {
        let holes = Holes::new(&[(500, 1)]);
        let pod = PodShape { kind: Kind(0), models: Models::ANY, devices, milli, cpu: 0, memory: 0 };
        let room = Room::after(&Pool::by_device(Kind(0), 1000, free.iter().copied()), &pod, &holes)?;
        Some((room.unused, room.largest, room.value))
    }

    #[test]
    fn a_share_takes_the_tightest_hole_before_an_unused_device() {
        assert_eq!(after(&[1000, 600, 500, 700], 1, 500), Some((1, 1000, 1970)));
        assert_eq!(after(&[1000, 400], 1, 500), Some((0, 500, 485)));
        assert_eq!(after(&[400], 1, 500), None);
    }

    #[test]
    fn whole_devices_are_unused_ones() {
        assert_eq!(after(&[1000, 1000, 999], 2, 1000), Some((0, 999, 485)));
        assert_eq!(after(&[1000, 999], 2, 1000), None);
    }

    #[test]
    fn without_state_per_device_a_pool_is_filled_one_by_one() {
        let pool = |used| Pool::filled(Kind(0), 1000, 4, used);
        assert_eq!(pool(2300), Pool::by_device(Kind(0), 1000, [0, 0, 700, 1000]));
        assert_eq!(pool(2000), Pool::by_device(Kind(0), 1000, [0, 0, 1000, 1000]));
        assert_eq!(pool(-5), Pool::by_device(Kind(0), 1000, [1000; 4]));
        assert_eq!(pool(9999), Pool::by_device(Kind(0), 1000, [0; 4]));
    }
}
