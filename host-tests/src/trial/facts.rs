//! The pods behind an outcome, before and after the run: what `stowage run -o json` says beyond placements, and what
//! pictures are drawn from.
//!
//! It is read off the simulation separately, because golden outcomes and comparisons want the placements alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use k8s_openapi::api::core::v1::Taint;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stowage::cluster::pod_class::pod_class;
use stowage::cluster::pod_gang::Words;
use stowage::object::{self, RequestOptions, ResourceNames};
use stowage::policy::gang::recognise::{self, PodText as _};

use super::outcome::{NodeOutcome, Outcome, Placement, amounts};
use crate::scheduler::gpu::WHOLE;
use crate::scheduler::node::NodePod;
use crate::scheduler::pod::PodInfo;
use crate::simulation::Simulation;

/// What a pod is, in words of those who look after it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PodFacts {
    /// `Kind/name` of its controller, in the pod's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `namespace/name` of its gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<String>,
    /// The row of the QoS policy that applies; `DaemonSet` or `SYSTEM` where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What it requests, in the units of [`NodeOutcome`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, i64>,
    /// What its last cycle made of the nodes, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explained>,
}

/// A pod on a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodOnNode {
    /// `namespace/name`.
    pub pod: String,
    /// What the run had to do with it.
    #[serde(default, skip_serializing_if = "Change::is_stayed")]
    pub change: Change,
    /// Indices of the GPU devices that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<usize>,
    /// How many thousandths of each, if it shares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<i64>,
    /// What else is known of it.
    #[serde(flatten)]
    pub facts: PodFacts,
}

/// How a pod came to be on its node, or no longer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It was there before the run and is there still.
    #[default]
    Stayed,
    /// The run placed it.
    Placed,
    /// It was there before the run and had to go.
    Left,
}

impl Change {
    fn is_stayed(&self) -> bool {
        *self == Self::Stayed
    }
}

/// A pod's last scheduling cycle: the node that was taken with the best others, and who refused the rest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Explained {
    /// Attempts so far.
    pub attempts: u32,
    /// Nodes that fitted.
    pub fits: usize,
    /// The node that was taken, if one was, then the best others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Candidate>,
    /// Who refused nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusals>,
}

/// A node that fitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// The node.
    pub node: String,
    /// Its score, 0 to 100; none if it was the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// What the score is made of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Value>,
}

/// The nodes that one plugin refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refusals {
    /// The plugin.
    pub plugin: String,
    /// How many nodes.
    pub nodes: usize,
    /// What it said of the first.
    pub reason: String,
}

/// The pods on every node before a run.
#[derive(Debug)]
pub struct Before {
    pods: HashMap<Rc<str>, Vec<NodePod>>,
}

impl Before {
    /// Reads a simulation that has not run yet.
    #[must_use]
    pub fn of(simulation: &Simulation) -> Self {
        let cluster = simulation.cluster();
        Self { pods: cluster.nodes().iter().map(|node| (node.name.clone(), node.pods.clone())).collect() }
    }
}

impl Outcome {
    /// Adds what is known of the pods and of those that had to leave; `explained` by `namespace/name`.
    pub fn add_pods(&mut self, simulation: &Simulation, before: &Before, explained: &mut HashMap<String, Explained>) {
        let names = simulation.resource_names();
        let mut reader = Reader { names: &names, own: ResourceNames::default(), explained };
        let cluster = simulation.cluster();
        for (outcome, node) in self.nodes.iter_mut().zip(cluster.nodes()) {
            let before = before.pods.get(&node.name).map_or(&[][..], Vec::as_slice);
            let known: HashSet<&str> = before.iter().map(|pod| &*pod.info.uid).collect();
            let still: HashSet<&str> = node.pods.iter().map(|pod| &*pod.info.uid).collect();
            let change = |pod: &NodePod| if known.contains(&*pod.info.uid) { Change::Stayed } else { Change::Placed };
            let now = node.pods.iter().map(|pod| (pod, change(pod)));
            let left = before.iter().filter(|pod| !still.contains(&*pod.info.uid)).map(|pod| (pod, Change::Left));
            let evicted =
                left.clone().map(|(pod, _)| Placement { pod: pod.info.key.to_string(), node: outcome.name.clone() });
            self.evicted.extend(evicted);
            outcome.gpus = node.devices.free().len();
            outcome.unschedulable = node.spec().and_then(|spec| spec.unschedulable).unwrap_or(false);
            outcome.closed = node.spec().and_then(|spec| closed(spec.taints.as_deref()?, &outcome.allocatable));
            outcome.pods = Some(now.chain(left).map(|(pod, change)| reader.on_node(pod, change)).collect());
        }
        for pending in &mut self.pending {
            if let Some(pod) = simulation.pod(&pending.pod) {
                pending.facts = reader.facts(&pod.info);
            }
        }
    }
}

/// Why taints keep ordinary pods away. A taint that is named like a resource of the node keeps away only those that do not
/// ask for it: admission has the others tolerate it.
fn closed(taints: &[Taint], allocatable: &BTreeMap<String, i64>) -> Option<String> {
    let repels = |taint: &&Taint| {
        ["NoSchedule", "NoExecute"].contains(&&*taint.effect)
            && taint.key != "node.kubernetes.io/unschedulable"
            && !allocatable.contains_key(&taint.key)
    };
    let lost =
        |taint: &Taint| ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].contains(&&*taint.key);
    let mut repelling = taints.iter().filter(repels).peekable();
    repelling.peek()?;
    Some(if repelling.any(lost) { "not ready" } else { "tainted" }.to_owned())
}

impl NodeOutcome {
    /// What keeps new pods away, in a word; `None` if nothing does.
    #[must_use]
    pub fn closed(&self) -> Option<&str> {
        if self.unschedulable { Some("cordoned") } else { self.closed.as_deref() }
    }

    /// Its pods after the run, or before it.
    pub fn pods_at(&self, after: bool) -> impl Iterator<Item = &PodOnNode> {
        let other = if after { Change::Left } else { Change::Placed };
        self.pods.iter().flatten().filter(move |pod| pod.change != other)
    }
}

/// Whether a pod says that it belongs to a gang.
#[must_use]
pub fn is_in_gang(info: &PodInfo) -> bool {
    object::Pod::parse(info.object.protobuf()).is_ok_and(|view| gang(&view).is_some())
}

/// `namespace/name` of a pod's gang.
fn gang(pod: &object::Pod<'_>) -> Option<String> {
    let words = Words(pod);
    let native = || Some(format!("{}/{}", pod.meta.namespace, words.native_group()?));
    recognise::gang_and_role(&words).map(|(gang, _)| gang).or_else(native)
}

struct Reader<'a> {
    /// The scheduler's resource names.
    names: &'a ResourceNames,
    /// Those that the module's reading of pods uses.
    own: ResourceNames,
    explained: &'a mut HashMap<String, Explained>,
}

impl Reader<'_> {
    fn on_node(&mut self, pod: &NodePod, change: Change) -> PodOnNode {
        PodOnNode {
            pod: pod.info.key.to_string(),
            change,
            gpus: pod.devices.clone(),
            gpu_milli: pod.info.gpu.map(|gpu| gpu.milli).filter(|milli| *milli != WHOLE),
            facts: self.facts(&pod.info),
        }
    }

    fn facts(&mut self, info: &PodInfo) -> PodFacts {
        let owners = info.pod().metadata.owner_references.iter().flatten();
        let controller = owners.into_iter().find(|owner| owner.controller == Some(true));
        let mut facts = PodFacts {
            owner: controller.map(|owner| format!("{}/{}", owner.kind, owner.name)),
            requests: amounts(&info.requests, self.names),
            explain: self.explained.remove(&*info.key),
            ..PodFacts::default()
        };
        // What the module cannot read it has no opinion on: such a pod has neither class nor gang.
        if let Ok(view) = object::Pod::parse(info.object.protobuf()) {
            facts.gang = gang(&view);
            if let Ok(read) = object::PodInfo::of(&view, &mut self.own, &RequestOptions::default()) {
                let (class, _) = pod_class(&view, &read, &self.own);
                let platform = if class.daemon_set { "DaemonSet" } else { class.qos.name() };
                facts.class = Some(class.row().map_or(platform, |row| row.name()).to_owned());
            }
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_close_nodes_to_those_who_do_not_ask_for_them() {
        let of = |key: &str, effect: &str| {
            let taint = Taint { key: key.to_owned(), effect: effect.to_owned(), ..Taint::default() };
            closed(&[taint], &BTreeMap::from([("nvidia.com/gpu".to_owned(), 8)]))
        };
        assert_eq!(of("node.kubernetes.io/not-ready", "NoExecute").as_deref(), Some("not ready"));
        assert_eq!(of("acme.com/reserved", "NoSchedule").as_deref(), Some("tainted"));
        assert_eq!(of("acme.com/reserved", "PreferNoSchedule"), None);
        assert_eq!(of("nvidia.com/gpu", "NoSchedule"), None);
    }
}
