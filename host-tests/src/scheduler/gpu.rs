//! GPU devices of a node: which pod has which, and whether another fits.
//!
//! NodeResourcesFit counts GPUs; it cannot see that two half-used devices are not one free device. Clusters that share
//! devices have a device plugin or scheduler extension that can, and this module stands in for it.

use stowage::object::{ResourceNames, Resources};

/// A whole device, in thousandths.
pub const WHOLE: i64 = 1000;

/// Resources counted in thousandths of a device.
const MILLI_NAMES: [&str; 1] = ["stowage.dev/gpu-milli"];
/// Resources counted in hundredths of a device.
const PERCENT_NAMES: [&str; 2] = ["koordinator.sh/gpu-core", "koordinator.sh/gpu"];
/// Resources counted in whole devices.
const DEVICE_NAMES: [&str; 4] = ["nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "huawei.com/npu"];

/// The devices that a pod asks for: `count` devices, `milli` thousandths of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuRequest {
    /// Number of devices.
    pub count: usize,
    /// Thousandths of each device, at most [`WHOLE`].
    pub milli: i64,
}

impl GpuRequest {
    /// Reads the request from a pod's resources.
    pub fn of(requests: &Resources, names: &ResourceNames) -> Option<Self> {
        let milli = device_milli(requests, names);
        if milli <= 0 {
            None
        } else if milli < WHOLE {
            Some(Self { count: 1, milli })
        } else {
            Some(Self { count: usize::try_from(milli / WHOLE).ok()?, milli: WHOLE })
        }
    }
}

/// GPUs in `amounts`, in thousandths of a device. A node or pod that names its devices in several units means the same
/// devices, hence the largest.
fn device_milli(amounts: &Resources, names: &ResourceNames) -> i64 {
    let units = [(&MILLI_NAMES[..], 1), (&PERCENT_NAMES[..], WHOLE / 100), (&DEVICE_NAMES[..], WHOLE)];
    let given = units.iter().flat_map(|(known, factor)| known.iter().map(move |name| (name, factor)));
    given.filter_map(|(name, factor)| Some(amounts.get(names.get(name)?).saturating_mul(*factor))).max().unwrap_or(0)
}

/// The devices of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// Free thousandths per device.
    free: Vec<i64>,
    /// Whether several pods can share one device.
    shared: bool,
}

impl Devices {
    /// More devices than any node has; what a hostile allocatable is cut to.
    const LIMIT: i64 = 1024;

    /// The devices that a node's allocatable speaks of, all free.
    pub fn of(allocatable: &Resources, names: &ResourceNames) -> Self {
        let count = (device_milli(allocatable, names) / WHOLE).clamp(0, Self::LIMIT);
        let shared = MILLI_NAMES
            .iter()
            .chain(&PERCENT_NAMES)
            .any(|name| names.get(name).is_some_and(|id| allocatable.contains(id)));
        Self { free: vec![WHOLE; usize::try_from(count).unwrap_or(0)], shared }
    }

    /// Whether several pods can share one device.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.shared
    }

    /// Free thousandths per device.
    #[must_use]
    pub fn free(&self) -> &[i64] {
        &self.free
    }

    /// Whether `request` fits. A node without devices has no say: its pods are counted by resources alone.
    #[must_use]
    pub fn fits(&self, request: GpuRequest) -> bool {
        self.free.is_empty() || self.free.iter().filter(|free| **free >= request.milli).count() >= request.count
    }

    /// Gives `request` the devices that it leaves the least free on; the indices go to [`Devices::give_back`]. Takes
    /// what there is if there is not enough (a cluster can be over-committed).
    pub fn take(&mut self, request: GpuRequest) -> Vec<usize> {
        let mut fitting: Vec<usize> = (0..self.free.len()).filter(|at| self.free[*at] >= request.milli).collect();
        fitting.sort_by_key(|at| self.free[*at]);
        fitting.truncate(request.count);
        for at in &fitting {
            self.free[*at] -= request.milli;
        }
        fitting
    }

    /// Undoes a [`Devices::take`].
    pub fn give_back(&mut self, request: GpuRequest, taken: &[usize]) {
        for at in taken {
            self.free[*at] += request.milli;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_pod_takes_the_tightest_device() {
        let mut devices = Devices { free: vec![1000, 400, 700], shared: true };
        let third = GpuRequest { count: 1, milli: 300 };
        let taken = devices.take(third);
        assert_eq!((taken.as_slice(), devices.free()), (&[1][..], &[1000, 100, 700][..]));
        devices.give_back(third, &taken);
        assert_eq!(devices.free(), [1000, 400, 700]);
    }

    #[test]
    fn two_half_devices_are_not_one() {
        let devices = Devices { free: vec![500, 500], shared: true };
        assert!(!devices.fits(GpuRequest { count: 1, milli: WHOLE }));
        assert!(devices.fits(GpuRequest { count: 2, milli: 500 }));
    }
}
