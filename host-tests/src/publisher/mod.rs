//! A publisher of node state, simulated: what the module learns about the pods on a node, and when.
//!
//! It writes the same document as the real publisher, through the same definition in the module's crate.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use stowage::cluster::counted_pod::CountedPod;
use stowage::cluster::left::Left;
use stowage::cluster::node_state::{self, NodeState, uid_hash};
use stowage::cluster::pod_gang::{POD_GROUP_KEYS, SIZE_LABEL, count_key};
use stowage::object::{self, ResourceNames};

pub use stowage::cluster::node_state::Usage;

use crate::load::PodGroup;
use crate::scheduler::Time;
use crate::scheduler::node::{NodeInfo, NodePod};
use crate::scheduler::pod::{PodInfo, Uid};
use crate::simulation::milliseconds;

/// The annotation that carries node state.
pub const ANNOTATION: &str = node_state::ANNOTATION;

/// When a change on a node shows in its annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeStateMode {
    /// At once.
    #[default]
    Exact,
    /// Never: no publisher is running.
    None,
    /// This much later.
    Lag(Duration),
}

impl std::str::FromStr for NodeStateMode {
    type Err = String;

    /// `exact`, `none` or `lag=DURATION`.
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("lag=")) {
            ("exact", _) => Ok(Self::Exact),
            ("none", _) => Ok(Self::None),
            (_, Some(lag)) => Ok(Self::Lag(crate::duration::parse(lag)?)),
            _ => Err("expected exact, none or lag=DURATION".to_owned()),
        }
    }
}

/// The publisher's view of the cluster: bound pods and measured usage. It does not see what the scheduler assumes.
#[derive(Debug, Default)]
pub struct Publisher {
    /// When changes show.
    pub mode: NodeStateMode,
    usage: BTreeMap<String, Metered>,
    names: RefCell<ResourceNames>,
    pod_groups: Vec<PodGroup>,
    /// Pods do not change in what counts here, so each is read once.
    read: RefCell<HashMap<Uid, Option<Counted>>>,
    /// What each node's last document said.
    written: RefCell<BTreeMap<Rc<str>, Written>>,
}

/// What a metrics source measures on a node, over and over until it is told otherwise.
#[derive(Debug)]
struct Metered {
    usage: Usage,
    since: Time,
}

impl Metered {
    /// The latest measurement. Its age is what it was at first: a source that was late then stays late.
    fn at(&self, now: Time) -> Usage {
        let passed = i64::try_from(now.saturating_sub(self.since).as_millis()).unwrap_or(i64::MAX);
        Usage { at: self.usage.at.saturating_add(passed), ..self.usage.clone() }
    }
}

/// A pod, as the publisher counts it.
#[derive(Debug)]
struct Counted {
    pod: CountedPod,
    first: Time,
}

/// A node's last document.
#[derive(Debug)]
struct Written {
    /// When it was made.
    at: Time,
    /// The pods it counts, and when they were first counted.
    pods: Vec<(Uid, Time)>,
    left: Left,
}

/// How often the publisher writes the measured usage of a node on which nothing else happens.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// Without a measurement of its own, how long the publisher takes others to be blind to a new pod.
const BLIND: Duration = Duration::from_secs(5 * 60);

impl Publisher {
    /// A publisher that has measured nothing yet.
    #[must_use]
    pub fn new(mode: NodeStateMode, pod_groups: Vec<PodGroup>) -> Self {
        Self { mode, pod_groups, ..Self::default() }
    }

    /// A metrics source measured a node, or does not any more.
    pub fn set_usage(&mut self, node: &str, usage: Option<Usage>, now: Time) {
        match usage {
            Some(usage) => drop(self.usage.insert(node.to_owned(), Metered { usage, since: now })),
            None => drop(self.usage.remove(node)),
        }
    }

    /// How long a change takes to show; `None` if it never does.
    #[must_use]
    pub fn lag(&self) -> Option<Duration> {
        match self.mode {
            NodeStateMode::Exact => Some(Duration::ZERO),
            NodeStateMode::Lag(lag) => Some(lag),
            NodeStateMode::None => None,
        }
    }

    /// The document about `node` as it is at `now`.
    #[must_use]
    pub fn document(&self, node: &NodeInfo, now: Time) -> String {
        let mut state = NodeState::empty(milliseconds(now));
        let mut read = self.read.borrow_mut();
        let mut names = self.names.borrow_mut();
        let metered = self.usage.get(&*node.name);
        let mut pods = Vec::new();
        for pod in node.pods.iter().filter(|pod| pod.bound) {
            let counted = read.entry(pod.info.uid.clone()).or_insert_with(|| Counted::read(pod, &mut names, now));
            let Some(Counted { pod: counted, first }) = counted else { continue };
            let leaving = pod.info.pod().metadata.deletion_timestamp.is_some();
            // What ran at the start is part of every measurement.
            let measured =
                metered.map_or(first.is_zero() || now.saturating_sub(*first) >= BLIND, |it| *first <= it.since);
            counted.count(&mut state, &names, leaving, measured);
            pods.push((pod.info.uid.clone(), *first));
        }
        state.left = self.write_down(node, pods, now);
        state.seal();
        state.usage = metered.map(|metered| metered.at(now));
        state.gpu_free = gpu_free(node);
        state.to_json()
    }

    /// Remembers which pods the node's document counts now; answers which of those before have left.
    fn write_down(&self, node: &NodeInfo, pods: Vec<(Uid, Time)>, now: Time) -> Vec<u32> {
        let mut written = self.written.borrow_mut();
        let before = written.remove(&node.name);
        let (before, mut left) = before.map_or_else(Default::default, |written| (written.pods, written.left));
        for (uid, first) in before.iter().filter(|(uid, _)| pods.iter().all(|(here, _)| here != uid)) {
            // What ran at the start was placed long ago.
            let placed = if first.is_zero() { 0 } else { milliseconds(*first) };
            left.note(uid_hash(uid), placed);
        }
        let mentioned = left.at(milliseconds(now));
        written.insert(node.name.clone(), Written { at: now, pods, left });
        mentioned
    }

    /// A pod was deleted while it waited. If it was in a gang, answers the node whose document has to say so.
    pub fn deleted_waiting(&self, pod: &PodInfo) -> Option<Rc<str>> {
        let view = object::Pod::parse(pod.object.protobuf()).ok()?;
        count_key(&view)?;
        let mut written = self.written.borrow_mut();
        // The first that has room: they are sorted, and `false` comes before `true`.
        let (node, last) = written.iter_mut().min_by_key(|(_, written)| !written.left.has_room())?;
        last.left.note_waiting(uid_hash(&pod.uid));
        Some(node.clone())
    }

    /// The node is gone, and all that was written about it.
    pub fn forget(&self, node: &str) {
        self.written.borrow_mut().remove(node);
    }

    /// Measured nodes whose document is due for nothing but the passing of time.
    #[must_use]
    pub fn due(&self, now: Time) -> Vec<Rc<str>> {
        let old = |written: &Written| now.saturating_sub(written.at) >= HEARTBEAT;
        let written = self.written.borrow();
        written
            .iter()
            .filter(|(node, written)| old(written) && self.usage.contains_key(&***node))
            .map(|(node, _)| node.clone())
            .collect()
    }

    /// Labels a new pod with the size of its PodGroup. A real publisher does so right after the pod is created.
    pub fn tell_gang_size(&self, pod: &mut Pod) {
        if self.mode == NodeStateMode::None || self.pod_groups.is_empty() {
            return;
        }
        let meta = &mut pod.metadata;
        let named = |map: &Option<BTreeMap<String, String>>| {
            POD_GROUP_KEYS.iter().find_map(|key| map.as_ref()?.get(*key)).cloned()
        };
        let Some(name) = named(&meta.labels).or_else(|| named(&meta.annotations)) else { return };
        let same = |group: &&PodGroup| Some(&group.namespace) == meta.namespace.as_ref() && group.name == name;
        if let Some(min) = self.pod_groups.iter().find(same).and_then(|group| group.min_member) {
            meta.labels.get_or_insert_default().entry(SIZE_LABEL.to_owned()).or_insert_with(|| min.to_string());
        }
    }

    /// A node's update by somebody who does not know of the annotation leaves it as it is.
    #[must_use]
    pub fn carry_over(&self, old: &Node, new: &Node) -> Option<Node> {
        let document = old.metadata.annotations.as_ref()?.get(ANNOTATION)?;
        let mut node = new.clone();
        node.metadata.annotations.get_or_insert_default().insert(ANNOTATION.to_owned(), document.clone());
        Some(node)
    }
}

impl Counted {
    fn read(pod: &NodePod, names: &mut ResourceNames, now: Time) -> Option<Self> {
        let view = object::Pod::parse(pod.info.object.protobuf()).ok()?;
        Some(Self { pod: CountedPod::read(&view, names).ok()?, first: now })
    }
}

/// Free thousandths per device, where something on the node tells which pod has which device: only sharing does.
fn gpu_free(node: &NodeInfo) -> Vec<u16> {
    if !node.devices.shared() {
        return Vec::new();
    }
    let mut devices = node.devices.clone();
    for pod in node.pods.iter().filter(|pod| !pod.bound) {
        if let Some(gpu) = pod.info.gpu {
            devices.give_back(gpu, &pod.devices);
        }
    }
    devices.free().iter().map(|free| u16::try_from(*free).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_by_name() {
        assert_eq!("exact".parse(), Ok(NodeStateMode::Exact));
        assert_eq!("lag=200ms".parse(), Ok(NodeStateMode::Lag(Duration::from_millis(200))));
        assert_eq!("lag=1.5s".parse(), Ok(NodeStateMode::Lag(Duration::from_millis(1500))));
        for wrong in ["lag", "lag=", "lag=5", "lag=-1s", "lag=5d", "some"] {
            assert!(wrong.parse::<NodeStateMode>().is_err(), "{wrong}");
        }
    }
}
