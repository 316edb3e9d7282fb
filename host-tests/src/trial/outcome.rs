//! What came of a trial: the JSON that `stowage run` prints, and what its tables and pictures are made of.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stowage::object::{ResourceId, ResourceNames, Resources};

use super::facts::{PodFacts, PodOnNode};
use crate::simulation::{Rest, Simulation, StoredPod};

/// The outcome of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Always `v1`.
    pub schema_version: Cow<'static, str>,
    /// Submitted pods that are bound, in the order of their creation.
    pub placements: Vec<Placement>,
    /// Submitted pods that are not.
    pub pending: Vec<Pending>,
    /// Pods of the cluster that had to leave their node, with the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<Placement>,
    /// All nodes at the end.
    pub nodes: Vec<NodeOutcome>,
    /// Scheduling cycles.
    pub cycles: u64,
    /// Simulated time until the cluster came to rest.
    pub simulated_seconds: f64,
}

/// Where a pod went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// `namespace/name`.
    pub pod: String,
    /// The node.
    pub node: String,
}

/// Why a pod waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// `namespace/name`.
    pub pod: String,
    /// The message of its condition.
    pub reason: String,
    /// What else is known of it, if that was asked for.
    #[serde(flatten)]
    pub facts: PodFacts,
}

/// A node's resources: cpu in milli-CPU, memory in bytes, everything else in its own unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeOutcome {
    /// The node.
    pub name: String,
    /// What its pods request.
    pub allocated: BTreeMap<String, i64>,
    /// What it has.
    pub allocatable: BTreeMap<String, i64>,
    /// Its GPU devices.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gpus: usize,
    /// Whether it takes no new pods.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unschedulable: bool,
    /// Why else new pods do not go there without being made for it: `not ready`, or `tainted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// The pods that were on it before the run or are on it after, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<Vec<PodOnNode>>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
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
            NodeOutcome {
                name: node.name.to_string(),
                allocated,
                allocatable: amounts(&node.allocatable, &names),
                gpus: 0,
                unschedulable: false,
                closed: None,
                pods: None,
            }
        });
        Self {
            schema_version: Cow::Borrowed("v1"),
            placements: placements.collect(),
            pending: pending.map(pending_pod).collect(),
            evicted: Vec::new(),
            nodes: nodes.collect(),
            cycles: rest.cycles,
            simulated_seconds: (rest.time.as_secs_f64() * 1e6).round() / 1e6,
        }
    }
}

fn pending_pod(pod: &StoredPod) -> Pending {
    Pending { pod: pod.info.key.to_string(), reason: reason(pod), facts: PodFacts::default() }
}

/// Why a pod is not bound, in the scheduler's words.
#[must_use]
pub fn reason(pod: &StoredPod) -> String {
    match pod.attempts.last().map(|attempt| &attempt.result) {
        Some(Err(message)) => message.to_string(),
        _ if pod.info.pod().metadata.deletion_timestamp.is_some() => {
            "it is being deleted (metadata.deletionTimestamp is set), and so is not scheduled".to_owned()
        }
        _ => {
            let gates = pod.info.pod().spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
            let gates: Vec<&str> = gates.into_iter().flatten().map(|gate| gate.name.as_str()).collect();
            format!("held back by scheduling gates: {}", gates.join(", "))
        }
    }
}

pub(super) fn amounts(resources: &Resources, names: &ResourceNames) -> BTreeMap<String, i64> {
    let given = resources.iter().filter(|(id, amount)| *amount != 0 || *id <= ResourceId::MEMORY);
    given.map(|(id, amount)| (names.name(id).to_owned(), amount)).collect()
}

/// An amount in the unit that people think in.
#[must_use]
pub fn amount(resource: &str, value: i64) -> String {
    match resource {
        "cpu" if value % 1000 == 0 => (value / 1000).to_string(),
        "cpu" => format!("{:.1}", value as f64 / 1000.0),
        "memory" => {
            let gibibytes = value as f64 / f64::from(1 << 30);
            let rounded = (gibibytes * 10.0).round() / 10.0;
            format!("{rounded}Gi")
        }
        _ => value.to_string(),
    }
}
