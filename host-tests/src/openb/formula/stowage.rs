//! The module's packing, native.

use anyhow::Result;
use stowage::policy::packing::{DEVICE, Free, Kind, Model, Models, NodeCapacity, Packing, PodShape, Pool, score};

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
        Self { packing: Packing::new(stowage::config::Packing::default().horizon_pods), known: Vec::new() }
    }
}

impl Policy for Stowage {
    fn arrives(&mut self, pod: &Pod) -> Result<()> {
        self.packing.observe(&shape(pod), 1);
        Ok(())
    }

    fn score(&mut self, cluster: &Cluster, pod: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()> {
        self.known.resize(cluster.nodes.len(), None);
        for (at, (node, known)) in cluster.nodes.iter().zip(&mut self.known).enumerate() {
            if *known != Some(node.version) {
                *known = Some(node.version);
                self.packing.update_node(at, capacity(node));
            }
        }
        let mut regrets = vec![f64::INFINITY; cluster.nodes.len()];
        self.packing.regrets(&shape(pod), candidates.iter().copied(), |at, regret| regrets[at] = regret);
        let least = regrets.iter().copied().fold(f64::MAX, f64::min);
        scores.extend(candidates.iter().map(|at| i64::from(score(regrets[*at], least))));
        Ok(())
    }
}

fn shape(pod: &Pod) -> PodShape {
    let numbers = |set: crate::openb::Models| (0..64).filter(move |number| set.contains(crate::openb::Model(*number)));
    let models = |set| Models::ANY.only(numbers(set).filter_map(|number| Model::new(number.into())));
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
        models: node.model.and_then(|model| Model::new(model.0.into())).into_iter().collect(),
        pools: vec![Pool::by_device(Kind(0), DEVICE, node.devices.iter().map(|free| i64::from(*free)))],
    }
}
