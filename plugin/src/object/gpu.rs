//! Which resources are GPUs, and how many devices a pod wants.
//!
//! Vendors count GPUs in different units under dozens of names. [`GPU_NAMES`] is data, so that a policy can bring its own
//! list; names are matched once, when they are first seen, not once per pod.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::reckon::Reckon;
use crate::text::is_like;

use super::resources::{ResourceId, ResourceNames, Resources};
use crate::gather::Gather;

/// What one unit of a GPU resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "camelCase"))]
pub enum GpuUnit {
    /// A whole device.
    Device,
    /// A hundredth of a device.
    Percent,
    /// A thousandth of a device.
    Milli,
    /// How many devices the percent or milli beside it are spread over.
    Spread,
    /// A slice, a memory size or the like, which tells nothing of whole devices.
    Part,
}

/// Names of GPUs and other accelerators with their units. `*` stands for any text, the first match counts.
pub const GPU_NAMES: &[(&str, GpuUnit)] = &[
    ("nvidia.com/gpu", GpuUnit::Device),
    ("nvidia.com/gpu*", GpuUnit::Part),
    ("nvidia.com/mig-*", GpuUnit::Part),
    ("amd.com/gpu", GpuUnit::Device),
    ("gpu.intel.com/i915", GpuUnit::Device),
    ("gpu.intel.com/xe", GpuUnit::Device),
    ("gpu.intel.com/*", GpuUnit::Part),
    ("habana.ai/gaudi*", GpuUnit::Device),
    ("huawei.com/Ascend*-memory", GpuUnit::Part),
    ("huawei.com/Ascend*-core", GpuUnit::Part),
    // Static slices of an NPU: Ascend310P-4c.3cpu.
    ("huawei.com/Ascend*-*c*", GpuUnit::Part),
    ("huawei.com/Ascend*", GpuUnit::Device),
    ("cambricon.com/*.*", GpuUnit::Part),
    ("cambricon.com/*mlu*", GpuUnit::Device),
    ("hygon.com/dcu", GpuUnit::Device),
    ("hygon.com/dcunum", GpuUnit::Device),
    ("hygon.com/dcu*", GpuUnit::Part),
    ("metax-tech.com/gpu", GpuUnit::Device),
    ("metax-tech.com/*", GpuUnit::Part),
    ("koordinator.sh/gpu", GpuUnit::Percent),
    ("koordinator.sh/gpu-core", GpuUnit::Percent),
    ("koordinator.sh/gpu-memory-ratio", GpuUnit::Percent),
    ("koordinator.sh/gpu.shared", GpuUnit::Spread),
    ("koordinator.sh/gpu*", GpuUnit::Part),
    ("aliyun.com/gpu-core.percentage", GpuUnit::Percent),
    ("aliyun.com/gpu*", GpuUnit::Part),
    ("stowage.dev/gpu-milli", GpuUnit::Milli),
];

/// Tells GPUs from other resources.
#[derive(Clone, Debug)]
pub struct GpuNames {
    patterns: Vec<(Box<str>, GpuUnit)>,
    /// By [`ResourceId::index`], as far as names have been learned.
    units: Vec<Option<GpuUnit>>,
}

impl Default for GpuNames {
    fn default() -> Self {
        Self::new(GPU_NAMES.iter().map(|(pattern, unit)| (Box::from(*pattern), *unit)).gather())
    }
}

impl GpuNames {
    /// GPUs are what `patterns` match; see [`GPU_NAMES`].
    #[must_use]
    pub const fn new(patterns: Vec<(Box<str>, GpuUnit)>) -> Self {
        Self { patterns, units: Vec::new() }
    }

    /// Matches the names that are new since the last time. To be called after objects were read; costs nothing if none is.
    pub fn learn(&mut self, names: &ResourceNames) {
        for (_, name) in names.iter().skip(self.units.len()) {
            let matched = self.patterns.iter().find(|(pattern, _)| is_like(name, pattern));
            self.units.push(matched.map(|(_, unit)| *unit));
        }
    }

    /// The unit of a GPU resource; `None` for anything else.
    #[must_use]
    pub fn unit(&self, id: ResourceId) -> Option<GpuUnit> {
        self.units.get(id.index()).copied().flatten()
    }

    /// Whether any GPU, or part of one, is among `resources`.
    #[must_use]
    pub fn any(&self, resources: &Resources) -> bool {
        resources.iter().any(|(id, amount)| amount > 0 && self.unit(id).is_some())
    }

    /// The devices that `resources` ask for, or that a node with these allocatable resources has.
    ///
    /// `None` if there are none, or only parts of which nobody knows how much of a device they are. Whole devices count
    /// before shares; names for the same share (`gpu-core` and `gpu-memory-ratio`) are not added up. A share of more than
    /// one device is rounded up to whole ones, since no device plugin gives one and a half.
    #[must_use]
    pub fn request(&self, resources: &Resources) -> Option<GpuRequest> {
        let (mut devices, mut share, mut spread) = (0_i64, 0_i64, 0_i64);
        for (id, amount) in resources.iter() {
            match self.unit(id) {
                Some(GpuUnit::Device) => devices = devices.plus(amount.max(0)),
                Some(GpuUnit::Percent) => share = share.max(amount.times(10)),
                Some(GpuUnit::Milli) => share = share.max(amount),
                Some(GpuUnit::Spread) => spread = spread.max(amount),
                Some(GpuUnit::Part) | None => {}
            }
        }
        if devices > 0 {
            return Some(GpuRequest { count: devices, milli: GpuRequest::WHOLE });
        }
        if share <= 0 {
            return None;
        }
        let count = if spread > 0 { spread } else { div_ceil(share, GpuRequest::WHOLE) };
        let milli = if spread <= 0 && count > 1 { GpuRequest::WHOLE } else { div_ceil(share, count) };
        Some(GpuRequest { count, milli: milli.min(GpuRequest::WHOLE) })
    }
}

/// So many devices, and how much of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuRequest {
    /// Devices, at least 1.
    pub count: i64,
    /// Thousandths of each of them, 1 to 1000.
    pub milli: i64,
}

impl GpuRequest {
    /// All of a device.
    pub const WHOLE: i64 = 1000;
}

/// `amount / divisor` rounded up, for positive numbers.
fn div_ceil(amount: i64, divisor: i64) -> i64 {
    let whole = amount.checked_div(divisor).unwrap_or(amount);
    whole.plus(i64::from(whole.times(divisor) < amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(amounts: &[(&str, i64)]) -> Option<(i64, i64)> {
        let mut names = ResourceNames::default();
        let resources = amounts.iter().map(|(name, amount)| (names.intern(name).unwrap(), *amount)).collect();
        let mut gpus = GpuNames::default();
        gpus.learn(&names);
        assert_eq!(gpus.any(&resources), amounts.iter().any(|(name, amount)| name.contains('/') && *amount > 0));
        gpus.request(&resources).map(|request| (request.count, request.milli))
    }

    #[test]
    fn whole_devices() {
        assert_eq!(request(&[("cpu", 1000), ("nvidia.com/gpu", 8)]), Some((8, 1000)));
        assert_eq!(request(&[("amd.com/gpu", 1)]), Some((1, 1000)));
        assert_eq!(request(&[("huawei.com/Ascend910B", 2), ("huawei.com/Ascend910B-memory", 4096)]), Some((2, 1000)));
        assert_eq!(request(&[("cambricon.com/mlu370", 2)]), Some((2, 1000)));
        assert_eq!(request(&[("nvidia.com/gpu", 0)]), None);
        assert_eq!(request(&[("cpu", 64_000)]), None);
    }

    #[test]
    fn shares_of_devices() {
        assert_eq!(
            request(&[("koordinator.sh/gpu-core", 50), ("koordinator.sh/gpu-memory-ratio", 25)]),
            Some((1, 500))
        );
        assert_eq!(request(&[("koordinator.sh/gpu", 400)]), Some((4, 1000)));
        assert_eq!(request(&[("koordinator.sh/gpu-core", 150)]), Some((2, 1000)));
        assert_eq!(request(&[("koordinator.sh/gpu.shared", 2), ("koordinator.sh/gpu-core", 100)]), Some((2, 500)));
        assert_eq!(request(&[("koordinator.sh/gpu.shared", 2), ("koordinator.sh/gpu-core", 101)]), Some((2, 505)));
        assert_eq!(request(&[("stowage.dev/gpu-milli", 540)]), Some((1, 540)));
        assert_eq!(request(&[("stowage.dev/gpu-milli", 8000)]), Some((8, 1000)));
    }

    #[test]
    fn parts_have_no_device_shape() {
        for name in ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "gpu.intel.com/millicores", "aliyun.com/gpu-mem"]
        {
            assert_eq!(request(&[(name, 3)]), None, "{name}");
        }
    }

    #[test]
    fn absurd_amounts() {
        assert_eq!(request(&[("nvidia.com/gpu", i64::MAX), ("amd.com/gpu", i64::MAX)]), Some((i64::MAX, 1000)));
        assert_eq!(request(&[("koordinator.sh/gpu-core", i64::MAX)]), Some((i64::MAX / 1000 + 1, 1000)));
        assert_eq!(
            request(&[("koordinator.sh/gpu.shared", i64::MAX), ("koordinator.sh/gpu-core", 1)]),
            Some((i64::MAX, 1))
        );
        assert_eq!(request(&[("nvidia.com/gpu", -1), ("koordinator.sh/gpu", i64::MIN)]), None);
    }
}
