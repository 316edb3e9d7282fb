//! How much of each GPU is free, where Koordinator tells which pod has which.
//!
//! A Device object names the GPUs of a node, and whoever hands them out notes on a pod which of them it got. The device
//! plugins of the vendors tell that the kubelet only: without a Device object nothing is known of single GPUs. Nor is it
//! where a pod has shares of GPUs and does not say of which. Whole ones need no note: whichever a pod has, so many that
//! are free otherwise are not.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde::Deserialize;
use stowage::object::{GpuNames, GpuRequest, Pod, Quantity, Resources};

/// Where Koordinator's scheduler notes which devices a pod got.
const ALLOCATED: &str = "scheduling.koordinator.sh/device-allocated";
/// Percent of a GPU's cores and of its memory.
const CORE: &str = "koordinator.sh/gpu-core";
const MEMORY: &str = "koordinator.sh/gpu-memory-ratio";
const GPU: &str = "gpu";
/// A whole GPU in thousandths, and a hundredth of it.
const WHOLE: i64 = GpuRequest::WHOLE;
const PERCENT: i64 = WHOLE / 100;

/// The GPUs of every node, by their minor numbers.
#[derive(Debug, Default)]
pub(super) struct Devices {
    nodes: HashMap<Box<str>, Gpus>,
    list: u32,
}

#[derive(Debug)]
struct Gpus {
    /// Those that work, in ascending order.
    minors: Box<[i32]>,
    list: u32,
}

/// What a pod has of the GPUs of its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// So many whole ones, of which nobody says which they are.
    Whole(i64),
    Shares(Box<[Share]>),
    /// Something that cannot be assigned to single GPUs.
    Untold,
}

/// A part of one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    minor: i32,
    /// Thousandths of its cores and of its memory.
    used: [i64; 2],
}

#[derive(Deserialize)]
struct Device {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Meta {
    name: Box<str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    devices: Vec<Info>,
}

#[derive(Deserialize)]
struct Info {
    r#type: String,
    minor: Option<i32>,
    #[serde(default)]
    health: bool,
}

#[derive(Deserialize)]
struct Allocation {
    minor: i32,
    #[serde(default)]
    resources: BTreeMap<String, Text>,
}

impl Devices {
    pub fn listing(&mut self) {
        self.list = self.list.wrapping_add(1);
    }

    /// What is not in the list is gone; answers whose it was.
    pub fn listed(&mut self) -> Vec<Box<str>> {
        let list = self.list;
        let lost = self.nodes.iter().filter(|(_, gpus)| gpus.list != list).map(|(node, _)| node.clone());
        let lost: Vec<Box<str>> = lost.collect();
        self.nodes.retain(|_, gpus| gpus.list == list);
        lost
    }

    /// Answers whose devices have changed, if they have.
    pub fn applied(&mut self, bytes: &[u8]) -> Result<Option<Box<str>>> {
        let device: Device = serde_json::from_slice(bytes).context("a Device that cannot be read")?;
        let gpus = device.spec.devices.iter().filter(|device| device.r#type == GPU && device.health);
        let mut minors: Vec<i32> = gpus.filter_map(|gpu| gpu.minor).collect();
        minors.sort_unstable();
        minors.dedup();
        let gpus = Gpus { minors: minors.into(), list: self.list };
        let node = device.metadata.name;
        let same = self.nodes.get(&node).is_some_and(|before| before.minors == gpus.minors);
        self.nodes.insert(node.clone(), gpus);
        Ok((!same).then_some(node))
    }

    /// Answers whose devices they were.
    pub fn deleted(&mut self, bytes: &[u8]) -> Result<Box<str>> {
        let device: Device = serde_json::from_slice(bytes).context("a deleted Device that cannot be read")?;
        self.nodes.remove(&device.metadata.name);
        Ok(device.metadata.name)
    }

    /// Free thousandths of each GPU of a node with these pods; empty where that cannot be told.
    pub fn free<'a>(&self, node: &str, pods: impl Iterator<Item = &'a Held>) -> Vec<u16> {
        self.nodes.get(node).and_then(|gpus| free(&gpus.minors, pods)).unwrap_or_default()
    }
}

fn free<'a>(minors: &[i32], pods: impl Iterator<Item = &'a Held>) -> Option<Vec<u16>> {
    let mut used: Vec<[i64; 2]> = vec![[0; 2]; minors.len()];
    let mut whole = 0_i64;
    for held in pods {
        match held {
            Held::Nothing => {}
            Held::Untold => return None,
            Held::Whole(count) => whole = whole.saturating_add(*count),
            Held::Shares(shares) => {
                for share in shares {
                    // A GPU that has failed since is no GPU of the node any more.
                    let Ok(at) = minors.binary_search(&share.minor) else { continue };
                    for (sum, part) in used[at].iter_mut().zip(share.used) {
                        *sum = sum.saturating_add(part);
                    }
                }
            }
        }
    }
    let mut free: Vec<i64> = used.into_iter().map(|[core, memory]| (WHOLE - core.max(memory)).max(0)).collect();
    for _ in 0..whole.min(i64::try_from(minors.len()).ok()?.saturating_add(1)) {
        *free.iter_mut().find(|free| **free == WHOLE)? = 0;
    }
    free.into_iter().map(|free| u16::try_from(free).ok()).collect()
}

impl Held {
    /// Reads what `pod` got, or else what it asks for.
    ///
    /// # Errors
    /// The note on the pod cannot be read.
    pub fn read(pod: &Pod<'_>, requests: &Resources, gpus: &GpuNames) -> Result<Self> {
        if let Some(text) = pod.meta.annotation(ALLOCATED) {
            let allocated: BTreeMap<String, Vec<Allocation>> = serde_json::from_str(text).context(ALLOCATED)?;
            if let Some(allocations) = allocated.get(GPU) {
                let shares = allocations.iter().map(Allocation::share).collect::<Result<Option<Box<[Share]>>>>()?;
                return Ok(shares.map_or(Self::Untold, Self::Shares));
            }
        }
        Ok(match gpus.request(requests) {
            Some(GpuRequest { count, milli: GpuRequest::WHOLE }) => Self::Whole(count),
            None if !gpus.any(requests) => Self::Nothing,
            _ => Self::Untold,
        })
    }
}

impl Allocation {
    /// `None` if it is in units that are no part of a whole, such as bytes.
    fn share(&self) -> Result<Option<Share>> {
        let amount = |name: &str| -> Result<Option<i64>> {
            let Some(text) = self.resources.get(name) else { return Ok(None) };
            let percent =
                Quantity::parse(&text.0).map_err(|error| anyhow::anyhow!("{name} is {:?}, {error}", text.0))?;
            Ok(Some(percent.value().clamp(0, 100) * PERCENT))
        };
        let (core, memory) = (amount(CORE)?, amount(MEMORY)?);
        let told = core.is_some() || memory.is_some();
        Ok(told.then(|| Share { minor: self.minor, used: [core, memory].map(Option::unwrap_or_default) }))
    }
}
