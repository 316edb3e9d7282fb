//! Cluster files: nodes, the pods on them, and what the publisher reads.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use stowage::cluster::node_state::{ANNOTATION, NodeState, Usage};

use super::document::{Document, Seen, Source};
use super::fault::Fault;
use super::metrics::{Measured, NodeMetric, NodeMetrics};
use super::pod_group::{PodGroup, pod_group};
use super::trim::trim;
use super::{other_policies, other_schedulers, validate};
use crate::hint::did_you_mean;
use crate::object::PodObject;
use crate::scheduler::pod::key_of;

/// The kinds of object that a cluster file can hold.
const KINDS: [&str; 6] = ["Node", "Pod", "PodGroup", "NodeMetrics", "NodeMetric", "PriorityClass"];

/// What a cluster file holds.
#[derive(Debug, Default)]
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The pods, bound and unbound.
    pub pods: Vec<Rc<PodObject>>,
    /// Sizes of gangs.
    pub pod_groups: Vec<PodGroup>,
    /// Usage of nodes, one per node.
    pub measured: Vec<Measured>,
    /// Priorities by class.
    pub priorities: Priorities,
    /// Oddities that do not keep the file from being used.
    pub notes: Vec<String>,
}

/// Values of PriorityClasses.
#[derive(Clone, Debug)]
pub struct Priorities(BTreeMap<String, i32>);

impl Default for Priorities {
    /// The classes that every cluster has.
    fn default() -> Self {
        let built_in = [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
        Self(built_in.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl Priorities {
    /// Sets the pod's priority from its class, as admission does.
    ///
    /// # Errors
    /// When the class does not exist.
    pub fn resolve(&self, pod: &mut Pod) -> Result<(), String> {
        let Some(spec) = &mut pod.spec else { return Ok(()) };
        if spec.priority.is_some() {
            return Ok(());
        }
        match spec.priority_class_name.as_deref().filter(|name| !name.is_empty()) {
            None => Ok(()),
            Some(name) => match self.0.get(name) {
                Some(value) => {
                    spec.priority = Some(*value);
                    Ok(())
                }
                None => Err(format!(
                    "no PriorityClass with name {name} was found; add it to the cluster file, or set spec.priority"
                )),
            },
        }
    }
}

/// Reads cluster files.
///
/// # Errors
/// The first fault.
pub fn cluster(sources: &[Source]) -> Result<Cluster, Fault> {
    let mut cluster = Cluster::default();
    let mut seen = Seen::default();
    let mut pods = Vec::new();
    for source in sources {
        for document in source.documents()? {
            match document.kind.as_str() {
                "Node" => cluster.nodes.push(node(&document)?),
                "Pod" => pods.push((pod(&document)?, document.fault(""))),
                "PodGroup" => cluster.pod_groups.extend(pod_group(&document)?),
                "NodeMetrics" => {
                    let metrics: NodeMetrics = document.decode()?;
                    cluster.measured.push(metrics.measured().map_err(|why| document.fault(why))?);
                }
                "NodeMetric" => {
                    let metric: NodeMetric = document.decode()?;
                    cluster.measured.extend(metric.measured().map_err(|why| document.fault(why))?);
                }
                "PriorityClass" => {
                    let class: PriorityClass = document.decode()?;
                    cluster.priorities.0.insert(class.metadata.name.unwrap_or_default(), class.value);
                }
                other => {
                    let hint = did_you_mean(other, KINDS);
                    return Err(document.fault(format!("a cluster file holds {}, not {other}{hint}", KINDS.join(", "))));
                }
            }
            seen.add(&document)?;
        }
    }
    let mut uids: BTreeMap<String, String> = BTreeMap::new();
    for (pod, place) in pods {
        if let Some(uid) = pod.pod.metadata.uid.clone().filter(|uid| !uid.is_empty())
            && let Some(other) = uids.insert(uid.clone(), key_of(&pod.pod))
        {
            return Err(Fault { message: format!("has the uid of pod {other}, {uid}"), ..place });
        }
        let mut resolved = Ok(());
        // A pod in a dump has its priority already.
        let pod = if pod.pod.spec.as_ref().is_some_and(|spec| spec.priority.is_none()) {
            pod.with_pod(|pod| resolved = cluster.priorities.resolve(pod))
        } else {
            pod
        };
        resolved.map_err(|message| Fault { message, ..place })?;
        cluster.pods.push(Rc::new(pod));
    }
    cluster.measured_by_the_publisher();
    let mut pods = std::mem::take(&mut cluster.pods);
    let notes = cluster.leave_out_strays(&mut pods);
    cluster.pods = pods;
    cluster.notes.extend(notes);
    let waiting = || cluster.pods.iter().filter(|pod| !pod.is_bound()).map(|pod| &**pod);
    let notes = [other_policies::notes(waiting()), other_schedulers::notes(waiting())].concat();
    cluster.notes.extend(notes);
    Ok(cluster)
}

impl Cluster {
    /// Takes usage from node state, in which a dump of nodes and pods has it, where there is no measurement beside it. The
    /// rest of node state is reckoned anew from the pods.
    fn measured_by_the_publisher(&mut self) {
        let named: BTreeSet<&str> = self.measured.iter().map(|measured| &*measured.node).collect();
        let published = self.nodes.iter().filter_map(|node| {
            let name = node.metadata.name.as_deref().filter(|name| !named.contains(name))?;
            let state = NodeState::parse(node.metadata.annotations.as_ref()?.get(ANNOTATION)?).ok()?;
            let Usage { at, cpu, memory } = state.usage?;
            Some(Measured { node: name.to_owned(), at: Some(at), cpu, memory })
        });
        let published: Vec<Measured> = published.collect();
        self.measured.extend(published);
    }

    /// Those of some pods that have the name of one that is here.
    pub fn pods_again<'a>(&self, pods: &'a [Rc<PodObject>]) -> impl Iterator<Item = String> + use<'a> {
        let here: BTreeSet<String> = self.pods.iter().map(|pod| key_of(&pod.pod)).collect();
        pods.iter().map(|pod| key_of(&pod.pod)).filter(move |key| here.contains(key))
    }

    /// Takes out pods on nodes that are not there, which cannot count anywhere; says so of each.
    pub fn leave_out_strays(&self, pods: &mut Vec<Rc<PodObject>>) -> Vec<String> {
        let nodes: BTreeSet<&str> = self.nodes.iter().filter_map(|node| node.metadata.name.as_deref()).collect();
        let mut notes = Vec::new();
        pods.retain(|pod| {
            let node = pod.pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
            let known = node.is_empty() || nodes.contains(node);
            if !known {
                notes.push(format!(
                    "pod {} is left out: it is bound to node {node}, which is not there",
                    key_of(&pod.pod)
                ));
            }
            known
        });
        notes
    }
}

fn node(document: &Document<'_>) -> Result<Node, Fault> {
    let mut node: Node = document.decode()?;
    validate::node(&mut node).map_err(|why| document.fault(why))?;
    Ok(node)
}

/// The pod of a document.
pub(super) fn pod(document: &Document<'_>) -> Result<PodObject, Fault> {
    let mut typed: Pod = document.decode()?;
    let metadata = &mut typed.metadata;
    if metadata.name.as_deref().unwrap_or_default().is_empty() {
        // What the API server does, but with the same name in every run.
        let prefix = metadata.generate_name.as_deref().filter(|prefix| !prefix.is_empty());
        let prefix = prefix.ok_or_else(|| document.fault("metadata.name is missing"))?;
        metadata.name = Some(format!("{prefix}{}", document.suffix()));
    }
    validate::pod(&typed).map_err(|why| document.fault(why))?;
    trim(&mut typed);
    // Fields of newer versions of Kubernetes that the typed pod cannot hold.
    if document.mentions("schedulingGroup") || document.mentions("workloadRef") {
        let whole = PodObject::from_json(&document.decode()?);
        let whole = whole.map_err(|error| document.fault(format!("{error:#}")))?;
        return Ok(whole.with_pod(|pod| pod.metadata.name = typed.metadata.name));
    }
    Ok(PodObject::new(typed))
}
