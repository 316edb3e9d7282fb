//! The module's packing, native.

use anyhow::Result;
use stowage::policy::packing::{
    DEVICE, Free, Kind, Model, Models, NodeCapacity, Packing, PackingOptions, PodShape, Pool, score,
};

use crate::openb::cluster::{Cluster, Node};
use crate::openb::replay::Policy;
use crate::openb::workload::Pod;

/// Packing as the module does it: learned shapes, integer scores.
pub(super) struct Stowage {
    packing: Packing,
    /// Version of each node that packing knows.
    known: Vec<Option<u32>>,
}

impl Stowage {
    pub(super) fn new() -> Self {
        Self { packing: Packing::new(&PackingOptions::default()), known: Vec::new() }
    }
}

impl Policy for Stowage {
    fn arrives(&mut self, pod: &Pod) {
        self.packing.observe(&shape(pod));
    }

    fn score(&mut self, cluster: &Cluster, pod: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()> {
        self.known.resize(cluster.nodes.len(), None);
        for (at, (node, known)) in cluster.nodes.iter().zip(&mut self.known).enumerate() {
            if *known != Some(node.version) {
                *known = Some(node.version);
                self.packing.update_node(at, capacity(node));
            }
        }
        let mut regrets = Vec::with_capacity(candidates.len());
        self.packing.regrets(&shape(pod), candidates.iter().copied(), |_, regret| regrets.push(regret));
        let least = regrets.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        scores.extend(regrets.iter().map(|regret| regret.map_or(0, |regret| i64::from(score(regret, least)))));
        scores.resize(candidates.len(), 0);
        Ok(())
    }
}

fn shape(pod: &Pod) -> PodShape {
    let models = |set: crate::openb::Models| {
        let numbers = (0..Model::LIMIT).filter(|number| set.contains(crate::openb::Model(*number)));
        numbers.filter_map(Model::new).fold(Models::NONE, Models::with)
    };
    PodShape {
        kind: Kind(0),
        models: pod.models.map_or(Models::ANY, models),
        devices: pod.gpus,
        milli: if pod.gpus == 0 { 0 } else { pod.milli },
        cpu: pod.cpu,
        memory: pod.memory,
    }
}

fn capacity(node: &Node) -> NodeCapacity {
    NodeCapacity {
        allocatable: Free { cpu: node.cpu, memory: node.memory },
        free: Free { cpu: node.cpu_free, memory: node.memory_free },
        model: node.model.and_then(|model| Model::new(model.0)),
        pools: vec![Pool::by_device(Kind(0), DEVICE, node.devices.iter().map(|free| i64::from(*free)))],
    }
}
