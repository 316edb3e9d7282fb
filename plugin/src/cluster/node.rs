//! What is known of one node.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::NodeIndex;
use super::node_load::{Footprint, NodeLoad, Reading};
use super::node_state::{self, NodeState, Unknown};
use crate::gather::Gather;
use crate::object::{self, Metadata, ResourceNames, Resources, Taint};
use crate::policy::qos::load::Load;
use crate::reckon::Reckon;

/// A pod that the module let go to a node and that node state does not count yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// [`node_state::uid_hash`] of the pod.
    pub uid: u64,
    /// The cluster's clock at that time, milliseconds since 1970.
    pub placed_ms: i64,
    /// When the latest node state then known had been written.
    pub published_ms: i64,
    /// When the next one was. Before it, nobody can have counted the pod, however long ago the last was written.
    pub since_ms: Option<i64>,
    /// Its requests.
    pub requests: Resources,
    /// What scores count for it on a node.
    pub scored: Resources,
    /// What QoS counts for it; `None` if QoS is off.
    pub footprint: Option<Footprint>,
}

/// By what an entry of the ledger ends that nobody counts: times in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    /// When the latest node state was written.
    pub published_ms: i64,
    /// The latest time known: that, or when a pod was created.
    pub latest_ms: i64,
    /// How long node states may be written without counting a pod.
    pub patience_ms: i64,
}

/// A node's readable state, with interned amounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The document itself, without what is interned below.
    pub document: NodeState,
    /// Requests of all pods: node state plus ledger.
    pub requested: Resources,
    /// The same as scores count them: defaults for absent cpu and memory.
    pub scoring_requested: Resources,
}

/// A node, as last read, with the ledger's entries for it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place in the cluster.
    pub at: NodeIndex,
    /// `metadata.name`.
    pub name: Box<str>,
    /// What its pods may ask for in all.
    pub allocatable: Resources,
    /// Cordoned (`spec.unschedulable`).
    pub unschedulable: bool,
    /// The taints that keep pods away.
    pub taints: Vec<Taint>,
    /// Values of the labels that rules of pods look at, in the order of [`super::Cluster::label_keys`].
    pub labels: Vec<Option<Box<str>>>,
    /// Values of the tracked labels, in the order of their keys.
    pub tracked: Vec<Option<Box<str>>>,
    /// What decides about its load.
    pub load: NodeLoad,
    pub(super) digest: u64,
    pub(super) read_in: u64,
    known: Result<Known, Unknown>,
    entries: Vec<Entry>,
    /// Sum of the UID hashes of the entries.
    ledger: u64,
}

impl Node {
    /// Reads a protobuf `v1.Node` by the name under which the scheduler gave it.
    pub(super) fn read(
        at: NodeIndex,
        name: &str,
        bytes: &[u8],
        names: &mut ResourceNames,
        (tracked, label_keys): (&[Box<str>], &[Box<str>]),
        reading: Reading,
    ) -> Result<Self, object::Error> {
        let node = object::Node::parse(bytes)?;
        let known = match node.meta.annotation(node_state::ANNOTATION) {
            None => Err(Unknown::Missing),
            Some(text) => NodeState::parse(text).and_then(|document| Known::new(document, names)),
        };
        let allocatable = node.allocatable(names)?;
        Ok(Self {
            at,
            name: name.into(),
            load: NodeLoad::read(&node.meta, &allocatable, known.as_ref().ok().map(|known| &known.document), reading),
            allocatable,
            unschedulable: node.unschedulable,
            taints: node.taints()?,
            labels: labels(&node.meta, label_keys),
            tracked: labels(&node.meta, tracked),
            digest: 0,
            read_in: 0,
            known,
            entries: Vec::new(),
            ledger: 0,
        })
    }

    /// What the node has allocated; `None` if that is unknown.
    #[must_use]
    pub fn known(&self) -> Option<&Known> {
        self.known.as_ref().ok()
    }

    /// The node-state document, if there is a readable one.
    #[must_use]
    pub fn state(&self) -> Option<&NodeState> {
        self.known().map(|known| &known.document)
    }

    /// Pods that the module placed here and node state does not count yet.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Differs when anything about the node does: its object, or what the ledger has for it.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.digest.wrapping_add(self.ledger)
    }

    /// Whether it brings usage thresholds of its own.
    pub(super) fn has_own_thresholds(&self) -> bool {
        self.load.thresholds.usage.is_some_and(|usage| !usage.is_none())
    }

    /// Why the state is unknown, if that has changed since `before`.
    pub(super) fn news(&self, before: Option<&Self>) -> Option<&Unknown> {
        let why = self.known.as_ref().err()?;
        (before.and_then(|before| before.known.as_ref().err()) != Some(why)).then_some(why)
    }

    /// Takes out the entries, and answers the pods, that node state has made superfluous: those it tells of, and those that
    /// it should have counted by now, whose pods must be gone. Answers, too, whether it tells of any.
    pub(super) fn settle(&mut self, ledger: Ledger, now: Option<i64>) -> (Vec<u64>, bool) {
        self.settle_estimates(now);
        let Ledger { published_ms, latest_ms, patience_ms } = ledger;
        for entry in self.entries.iter_mut().filter(|entry| entry.published_ms != published_ms) {
            entry.since_ms.get_or_insert(published_ms);
        }
        let Ok(known) = &self.known else { return (Vec::new(), false) };
        let overdue = |entry: &Entry| entry.since_ms.is_some_and(|since| latest_ms.minus(since) > patience_ms);
        let mut any_counted = false;
        let mut counted = |entry: &Entry| {
            let counted = known.tells_of(entry.uid);
            any_counted |= counted;
            counted
        };
        let settled = self.entries.iter().filter(|entry| counted(entry) || overdue(entry));
        let settled: Vec<u64> = settled.map(|entry| entry.uid).gather();
        for uid in &settled {
            self.unplace(*uid);
        }
        (settled, any_counted)
    }

    /// Estimates end when a measurement contains the pod, also of pods that node state never counts: where nobody
    /// publishes any, they would add up for ever.
    fn settle_estimates(&mut self, now: Option<i64>) {
        let contained = self.load.contained(now);
        let mut changed = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.placed_ms <= contained) {
            if let Some(footprint) = &mut entry.footprint {
                changed |= footprint.estimate != Load::default();
                footprint.estimate = Load::default();
            }
        }
        if changed {
            self.count_load();
        }
    }

    /// Sums are made anew where something falls away: what has been cut off at the largest number is not taken off again.
    fn count_load(&mut self) {
        self.load.count(self.entries.iter().filter_map(|entry| entry.footprint.as_ref()));
    }

    pub(super) fn place(&mut self, entry: Entry) {
        if let Ok(known) = &mut self.known {
            known.requested.add_all(&entry.requests);
            known.scoring_requested.add_all(&entry.scored);
        }
        if let Some(footprint) = &entry.footprint {
            self.load.place(footprint);
        }
        self.ledger = self.ledger.wrapping_add(entry.uid);
        self.entries.push(entry);
    }

    pub(super) fn unplace(&mut self, uid: u64) {
        let Some(at) = self.entries.iter().position(|entry| entry.uid == uid) else { return };
        let entry = self.entries.swap_remove(at);
        self.ledger = self.ledger.wrapping_sub(uid);
        if let Ok(known) = &mut self.known {
            known.requested.sub_all(&entry.requests);
            known.scoring_requested.sub_all(&entry.scored);
        }
        if entry.footprint.is_some() {
            self.count_load();
        }
    }

    pub(super) fn take_entries(&mut self) -> Vec<Entry> {
        core::mem::take(&mut self.entries)
    }
}

/// The values of the labels with these keys. One pass for all of them: a node has dozens of labels.
fn labels(meta: &Metadata<'_>, keys: &[Box<str>]) -> Vec<Option<Box<str>>> {
    let mut found = vec![None; keys.len()];
    if keys.is_empty() {
        return found;
    }
    for (label, value) in meta.labels() {
        let places = keys.iter().zip(&mut found).filter(|(key, _)| ***key == *label);
        places.for_each(|(_, place)| *place = Some(value.into()));
    }
    found
}

impl Known {
    fn new(mut document: NodeState, names: &mut ResourceNames) -> Result<Self, Unknown> {
        let mut requested = Resources::new();
        node_state::intern(&core::mem::take(&mut document.requested), names, &mut requested)?;
        let mut scoring_requested = requested.clone();
        node_state::intern(&core::mem::take(&mut document.nonzero), names, &mut scoring_requested)?;
        Ok(Self { document, requested, scoring_requested })
    }

    /// Whether node state has the pod, or has had it.
    fn tells_of(&self, uid: u64) -> bool {
        let uid = node_state::short(uid);
        self.document.uids.contains(&uid) || self.document.left.contains(&uid)
    }
}
