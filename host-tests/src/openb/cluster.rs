//! What is free on each node during a replay, down to the single device.

use super::read::{Model, NodeRow};
use super::workload::Pod;

/// GPU-milli of one device.
pub(super) const DEVICE: u32 = 1000;

/// A node with what is free on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Allocatable cpu in milli-CPU.
    pub cpu: i64,
    /// Free cpu in milli-CPU.
    pub cpu_free: i64,
    /// Allocatable memory in MiB.
    pub memory: i64,
    /// Free memory in MiB.
    pub memory_free: i64,
    /// Free milli of each device.
    pub devices: Vec<u32>,
    /// GPU model.
    pub model: Option<Model>,
    /// Kinds of GPU pods that run here: 0 for shared pods, else the number of whole GPUs. Sorted.
    pub kinds: Vec<u32>,
    /// Counts placements, so that results can be kept until the node changes.
    pub version: u32,
}

impl Node {
    /// An empty node.
    #[must_use]
    pub fn new(row: &NodeRow) -> Self {
        Self {
            cpu: row.cpu,
            cpu_free: row.cpu,
            memory: row.memory,
            memory_free: row.memory,
            devices: vec![DEVICE; row.gpus as usize],
            model: row.model,
            kinds: Vec::new(),
            version: 0,
        }
    }

    /// Whether `pod` can run here now.
    #[must_use]
    pub fn fits(&self, pod: &Pod) -> bool {
        self.cpu_free >= pod.cpu
            && self.memory_free >= pod.memory
            && pod.accepts(self.model)
            && self.devices.iter().filter(|free| **free >= pod.milli).count() >= pod.gpus as usize
    }

    /// GPU-milli free on all devices together.
    #[must_use]
    pub fn gpu_free(&self) -> i64 {
        self.devices.iter().map(|free| i64::from(*free)).sum()
    }

    /// Number of devices that nobody uses.
    #[must_use]
    pub fn whole_devices(&self) -> usize {
        self.devices.iter().filter(|free| **free == DEVICE).count()
    }

    /// The device on which a shared pod leaves the least free.
    #[must_use]
    pub fn tightest_device(&self, milli: u32) -> Option<usize> {
        let fitting = self.devices.iter().enumerate().filter(|(_, free)| **free >= milli);
        fitting.min_by_key(|(_, free)| **free).map(|(device, _)| device)
    }

    /// Takes what `pod` requests: `device` for a shared pod, else the first devices that are large enough.
    pub fn take(&mut self, pod: &Pod, device: Option<usize>) {
        self.cpu_free -= pod.cpu;
        self.memory_free -= pod.memory;
        match device {
            Some(device) => self.devices[device] -= pod.milli,
            None => {
                let fitting = self.devices.iter_mut().filter(|free| **free >= pod.milli);
                fitting.take(pod.gpus as usize).for_each(|free| *free -= pod.milli);
            }
        }
        if pod.gpus > 0 {
            let kind = if pod.is_shared() { 0 } else { pod.gpus };
            if let Err(at) = self.kinds.binary_search(&kind) {
                self.kinds.insert(at, kind);
            }
        }
        self.version += 1;
    }
}

/// The nodes of a replay, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl Cluster {
    /// An empty cluster.
    #[must_use]
    pub fn new(rows: &[NodeRow]) -> Self {
        Self { nodes: rows.iter().map(Node::new).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(devices: &[u32]) -> Node {
        let row = NodeRow { name: "n".into(), cpu: 8000, memory: 100, gpus: 0, model: Some(Model(1)) };
        Node { devices: devices.to_vec(), ..Node::new(&row) }
    }

    fn pod(gpus: u32, milli: u32) -> Pod {
        Pod { name: "p".into(), cpu: 1000, memory: 10, gpus, milli, ..Pod::default() }
    }

    #[test]
    fn shared_pods_take_one_device_and_whole_pods_free_ones() {
        let mut node = node(&[200, 1000, 1000, 500]);
        assert!(node.fits(&pod(1, 500)) && node.fits(&pod(2, 1000)) && !node.fits(&pod(3, 1000)));
        let device = node.tightest_device(300);
        node.take(&pod(1, 300), device);
        assert_eq!(node.devices, [200, 1000, 1000, 200]);
        node.take(&pod(2, 1000), None);
        assert_eq!((node.devices.as_slice(), node.kinds.as_slice()), ([200, 0, 0, 200].as_slice(), [0, 2].as_slice()));
        assert_eq!((node.cpu_free, node.memory_free, node.version), (6000, 80, 2));
    }

    #[test]
    fn cpu_memory_and_model_count() {
        let node = node(&[1000]);
        assert!(!node.fits(&Pod { cpu: 8001, ..pod(0, 0) }));
        assert!(!node.fits(&Pod { memory: 101, ..pod(0, 0) }));
        assert!(!node.fits(&Pod { models: Some(super::super::Models(1)), ..pod(1, 1000) }));
        assert!(node.fits(&Pod { models: Some(super::super::Models(2)), ..pod(1, 1000) }));
    }
}
