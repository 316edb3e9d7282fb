//! What came of a trial: the JSON that `stowage run` prints, and what its tables are made of.

use std::collections::BTreeMap;

use serde::Serialize;
use stowage::object::{ResourceId, ResourceNames, Resources};

use crate::simulation::{Rest, Simulation, StoredPod};

/// The outcome of a trial.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Always `v1`.
    pub schema_version: &'static str,
    /// Submitted pods that are bound, in the order of their creation.
    pub placements: Vec<Placement>,
    /// Submitted pods that are not.
    pub pending: Vec<Pending>,
    /// All nodes at the end.
    pub nodes: Vec<NodeOutcome>,
    /// Scheduling cycles.
    pub cycles: u64,
    /// Simulated time until the cluster came to rest.
    pub simulated_seconds: f64,
}

/// Where a pod went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// `namespace/name`.
    pub pod: String,
    /// The node.
    pub node: String,
}

/// Why a pod waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// `namespace/name`.
    pub pod: String,
    /// The message of its condition.
    pub reason: String,
}

/// A node's resources: cpu in milli-CPU, memory in bytes, everything else in its own unit.
#[derive(Clone, Debug, Serialize)]
pub struct NodeOutcome {
    /// The node.
    pub name: String,
    /// What its pods request.
    pub allocated: BTreeMap<String, i64>,
    /// What it has.
    pub allocatable: BTreeMap<String, i64>,
}

impl Outcome {
    /// Reads the outcome off a simulation that has come to rest.
    #[must_use]
    pub fn of(simulation: &Simulation, rest: Rest) -> Self {
        let placements = simulation.placements().into_iter().map(|(pod, node)| Placement { pod, node });
        let pending = simulation.pending().into_iter();
        let names = simulation.resource_names();
        let cluster = simulation.cluster();
        let nodes = cluster.nodes().iter().map(|node| {
            let mut allocated = amounts(&node.requested, &names);
            allocated.insert("pods".to_owned(), i64::try_from(node.pods.len()).unwrap_or(i64::MAX));
            NodeOutcome { name: node.name.to_string(), allocated, allocatable: amounts(&node.allocatable, &names) }
        });
        Self {
            schema_version: "v1",
            placements: placements.collect(),
            pending: pending.map(|pod| Pending { pod: pod.info.key.to_string(), reason: reason(pod) }).collect(),
            nodes: nodes.collect(),
            cycles: rest.cycles,
            simulated_seconds: (rest.time.as_secs_f64() * 1e6).round() / 1e6,
        }
    }
}

/// Why a pod is not bound, in the scheduler's words.
#[must_use]
pub fn reason(pod: &StoredPod) -> String {
    match pod.attempts.last().map(|attempt| &attempt.result) {
        Some(Err(message)) => message.to_string(),
        _ => {
            let gates = pod.info.pod().spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
            let gates: Vec<&str> = gates.into_iter().flatten().map(|gate| gate.name.as_str()).collect();
            format!("held back by scheduling gates: {}", gates.join(", "))
        }
    }
}

fn amounts(resources: &Resources, names: &ResourceNames) -> BTreeMap<String, i64> {
    let given = resources.iter().filter(|(id, amount)| *amount != 0 || *id <= ResourceId::MEMORY);
    given.map(|(id, amount)| (names.name(id).to_owned(), amount)).collect()
}
