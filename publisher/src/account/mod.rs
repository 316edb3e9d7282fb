//! What is on every node, and what its annotation has to say: pure bookkeeping, without time or network of its own.
//!
//! Whole objects are dropped once read. Documents are added up from a node's pods whenever they are needed, a few
//! microseconds for a hundred pods, since sums that are carried along would drift with the first event missed.

mod devices;
mod groups;
mod node;
mod pending;
mod placed;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use stowage::cluster::counted_pod::CountedPod;
use stowage::cluster::node_state::{NodeState, uid_hash};
use stowage::cluster::pod_gang::{SIZE_LABEL, count_key};
use stowage::object::{GpuNames, Node, Pod, ResourceNames};
use tracing::warn;

pub use groups::{GroupSource, PodLabel};
pub use node::{Draft, NodeNews};

use crate::usage::{Measured, Meter};

use devices::{Devices, Held};
use groups::{Groups, Waiting};
use node::NodeRecord;
use pending::Pending;

/// A node's name, shared by everything that speaks of the node.
pub type NodeName = Arc<str>;
/// A pod: the hash of its UID.
pub type PodKey = u64;

/// Pods, nodes, devices and PodGroups as the API server has them.
#[derive(Debug, Default)]
pub struct Account {
    names: ResourceNames,
    gpus: GpuNames,
    pods: HashMap<PodKey, PodRecord>,
    nodes: HashMap<NodeName, NodeRecord>,
    groups: Groups,
    pending: Pending,
    devices: Devices,
    /// The list that pods were in last; see [`Account::pods_listing`].
    pod_list: u32,
    node_list: u32,
    dirty: Vec<NodeName>,
}

/// A pod that is counted on a node.
#[derive(Debug)]
struct PodRecord {
    pod: CountedPod,
    gpus: Held,
    node: NodeName,
    placed_ms: i64,
    list: u32,
}

/// Without a measurement of its own, how long the publisher takes others to be blind to a new pod.
const BLIND_MS: i64 = 5 * 60 * 1000;

impl Account {
    /// Pods are listed anew: those that do not come again before [`Account::pods_listed`] are gone.
    pub fn pods_listing(&mut self) {
        self.pod_list = self.pod_list.wrapping_add(1);
    }

    /// The list of pods is complete.
    pub fn pods_listed(&mut self) {
        let list = self.pod_list;
        let gone = |record: &PodRecord| record.list != list;
        let lost: Vec<PodKey> = self.pods.iter().filter(|(_, record)| gone(record)).map(|(key, _)| *key).collect();
        for key in lost {
            self.drop_pod(key);
        }
        self.groups.drop_waiting_not_in(list);
        for key in self.pending.take_all_not_in(list) {
            self.mention(key);
        }
    }

    /// A pod is, or has become, this.
    ///
    /// # Errors
    /// The pod cannot be read; it is not counted.
    pub fn pod_applied(&mut self, bytes: &[u8]) -> Result<()> {
        let pod = Pod::parse(bytes).context("a pod that cannot be read")?;
        let key = uid_hash(pod.meta.uid);
        if pod.is_terminal() {
            self.pod_gone(&pod, bytes);
            return Ok(());
        }
        if pod.node_name.is_empty() {
            self.drop_pod(key);
            self.groups.wait(key, Waiting::read(&pod, self.pod_list));
            if count_key(&pod).is_some() {
                self.pending.wait(key, self.pod_list);
            } else if self.pending.take(key) {
                self.mention(key);
            }
            return Ok(());
        }
        self.groups.wait(key, None);
        self.pending.take(key);
        let who = || format!("pod {}/{}", pod.meta.namespace, pod.meta.name);
        let counted = CountedPod::read(&pod, &mut self.names).inspect_err(|_| self.drop_pod(key)).with_context(who)?;
        self.gpus.learn(&self.names);
        let gpus = Held::read(&pod, &counted.facts.requests, &self.gpus).unwrap_or_else(|error| {
            warn!(pod = who(), error = format!("{error:#}"), "cannot tell its devices");
            Held::Untold
        });
        let node = self.node_name(pod.node_name);
        if self.pods.get(&key).is_some_and(|before| before.node != node) {
            self.drop_pod(key);
        }
        let placed_ms = placed::placed_ms(&pod, bytes);
        let record = PodRecord { pod: counted, gpus, node: node.clone(), placed_ms, list: self.pod_list };
        let before = self.pods.insert(key, record);
        let record = self.nodes.entry(node.clone()).or_default();
        if before.is_none() {
            record.pods.push(key);
        }
        self.dirty.push(node);
        Ok(())
    }

    /// A pod was deleted.
    ///
    /// # Errors
    /// It cannot be told which.
    pub fn pod_deleted(&mut self, bytes: &[u8]) -> Result<()> {
        let pod = Pod::parse(bytes).context("a deleted pod that cannot be read")?;
        self.pod_gone(&pod, bytes);
        Ok(())
    }

    fn pod_gone(&mut self, pod: &Pod<'_>, bytes: &[u8]) {
        let key = uid_hash(pod.meta.uid);
        if !self.pods.contains_key(&key)
            && let Some(record) = self.nodes.get_mut(pod.node_name)
            && record.left.note(key, placed::placed_ms(pod, bytes))
        {
            self.dirty.push(self.node_name(pod.node_name));
        }
        self.drop_pod(key);
        self.groups.wait(key, None);
        if self.pending.take(key) {
            self.mention(key);
        }
    }

    /// A member of a gang that waited is gone: some node has to say so. The first that has room, so that a job's end is
    /// written to few of them.
    fn mention(&mut self, key: PodKey) {
        let nodes = self.nodes.iter_mut().filter(|(_, record)| record.exists());
        if let Some((name, record)) = nodes.min_by_key(|(name, record)| (!record.left.has_room(), (*name).clone())) {
            record.left.note_waiting(key);
            self.dirty.push(name.clone());
        }
    }

    fn drop_pod(&mut self, key: PodKey) {
        let Some(record) = self.pods.remove(&key) else { return };
        if let Some(node) = self.nodes.get_mut(&record.node) {
            node.pods.retain(|pod| *pod != key);
            node.left.note(key, record.placed_ms);
            if node.is_nothing() {
                self.nodes.remove(&record.node);
            } else {
                self.dirty.push(record.node);
            }
        }
    }

    /// Nodes are listed anew.
    pub fn nodes_listing(&mut self) {
        self.node_list = self.node_list.wrapping_add(1);
    }

    /// The list of nodes is complete.
    pub fn nodes_listed(&mut self) {
        let list = self.node_list;
        let lost = |(_, record): &(&NodeName, &NodeRecord)| record.exists() && record.list != list;
        let lost: Vec<NodeName> = self.nodes.iter().filter(lost).map(|(name, _)| name.clone()).collect();
        for name in lost {
            self.node_gone(&name);
        }
    }

    /// A node is, or has become, this.
    ///
    /// # Errors
    /// The node cannot be read; nothing is written to it.
    pub fn node_applied(&mut self, bytes: &[u8], now_ms: i64) -> Result<NodeNews> {
        let node = Node::parse(bytes).context("a node that cannot be read")?;
        let name = self.node_name(node.meta.name);
        let record = self.nodes.entry(name.clone()).or_default();
        record.list = self.node_list;
        let news = record.observe(&node.meta, now_ms);
        if news != NodeNews::Same {
            self.dirty.push(name);
        }
        Ok(news)
    }

    /// A node was deleted.
    ///
    /// # Errors
    /// It cannot be told which.
    pub fn node_deleted(&mut self, bytes: &[u8]) -> Result<()> {
        let node = Node::parse(bytes).context("a deleted node that cannot be read")?;
        self.node_gone(node.meta.name);
        Ok(())
    }

    fn node_gone(&mut self, name: &str) {
        let Some(record) = self.nodes.get_mut(name) else { return };
        record.forget_object();
        if record.is_nothing() {
            self.nodes.remove(name);
        }
    }

    /// What was measured on a node. It reaches the annotation with the next change there, or by itself when the
    /// annotation is `heartbeat_ms` old.
    pub fn measured(&mut self, meter: Meter, measured: &Measured, now_ms: i64, heartbeat_ms: i64) {
        if let Some(record) = self.nodes.get_mut(&*measured.node)
            && record.measured(meter, &measured.usage, now_ms, heartbeat_ms)
        {
            self.dirty.push(self.node_name(&measured.node));
        }
    }

    /// That meter does not measure a node any more.
    pub fn unmeasured(&mut self, meter: Meter, node: &str) {
        if let Some(record) = self.nodes.get_mut(node)
            && record.unmeasured(meter)
        {
            self.dirty.push(self.node_name(node));
        }
    }

    /// Time has passed: pods that no measurement contained may have run long enough to be part of every one.
    pub fn passed(&mut self, now_ms: i64) {
        let due = |(_, record): &(&NodeName, &NodeRecord)| record.blind_until.is_some_and(|until| until <= now_ms);
        self.dirty.extend(self.nodes.iter().filter(due).map(|(name, _)| name.clone()));
    }

    /// Nodes whose annotation may have to change since this was last asked.
    pub fn take_dirty(&mut self) -> Vec<NodeName> {
        std::mem::take(&mut self.dirty)
    }

    /// What has to be written to a node: `None` if it is gone, or if its annotation says so already.
    pub fn draft(&mut self, name: &str, now_ms: i64) -> Option<Draft> {
        let record = self.nodes.get_mut(name).filter(|record| record.exists())?;
        let usage = record.usage().cloned();
        let mut state = NodeState { left: record.left.at(now_ms), ..NodeState::empty(now_ms) };
        let mut blind_until = None;
        let pods = || record.pods.iter().filter_map(|key| self.pods.get(key));
        for pod in pods() {
            let until = pod.placed_ms.saturating_add(BLIND_MS);
            let measured = match &usage {
                Some(usage) => pod.placed_ms <= usage.at,
                None => until <= now_ms,
            };
            if !measured && usage.is_none() {
                blind_until = Some(blind_until.unwrap_or(until).min(until));
            }
            pod.pod.count(&mut state, &self.names, false, measured);
        }
        state.seal();
        state.usage = usage;
        state.gpu_free = self.devices.free(name, pods().map(|pod| &pod.gpus));
        record.blind_until = blind_until;
        record.draft(state)
    }

    /// A draft is in the annotation now; `version` is the node's resource version since.
    pub fn written(&mut self, name: &str, draft: &Draft, version: &str) {
        if let Some(record) = self.nodes.get_mut(name) {
            record.written(draft, version);
        }
    }

    /// A PodGroup is, or has become, this.
    ///
    /// # Errors
    /// It cannot be read; its pods are told nothing.
    pub fn group_applied(&mut self, source: GroupSource, bytes: &[u8]) -> Result<()> {
        self.groups.applied(source, bytes)
    }

    /// A PodGroup was deleted.
    ///
    /// # Errors
    /// It cannot be told which.
    pub fn group_deleted(&mut self, source: GroupSource, bytes: &[u8]) -> Result<()> {
        self.groups.deleted(source, bytes)
    }

    /// PodGroups of a kind are listed anew.
    pub fn groups_listing(&mut self, source: GroupSource) {
        self.groups.listing(source);
    }

    /// The list of that kind is complete.
    pub fn groups_listed(&mut self, source: GroupSource) {
        self.groups.listed(source);
    }

    /// A Device object is, or has become, this.
    ///
    /// # Errors
    /// It cannot be read; what was known of its node's devices stays.
    pub fn devices_applied(&mut self, bytes: &[u8]) -> Result<()> {
        let changed = self.devices.applied(bytes)?;
        self.devices_changed(changed);
        Ok(())
    }

    /// A Device object was deleted.
    ///
    /// # Errors
    /// It cannot be told which.
    pub fn devices_deleted(&mut self, bytes: &[u8]) -> Result<()> {
        let changed = self.devices.deleted(bytes)?;
        self.devices_changed([changed]);
        Ok(())
    }

    /// Device objects are listed anew.
    pub fn devices_listing(&mut self) {
        self.devices.listing();
    }

    /// The list of Device objects is complete.
    pub fn devices_listed(&mut self) {
        let changed = self.devices.listed();
        self.devices_changed(changed);
    }

    fn devices_changed(&mut self, nodes: impl IntoIterator<Item = Box<str>>) {
        let known = nodes.into_iter().filter_map(|name| Some(self.nodes.get_key_value(&*name)?.0.clone()));
        self.dirty.extend(known);
    }

    /// Pending pods whose label [`SIZE_LABEL`] may have to change since this was last asked.
    pub fn take_unlabelled(&mut self) -> Vec<PodKey> {
        self.groups.take_unlabelled()
    }

    /// The label that a pending pod should get; `None` if it has it, or needs none.
    #[must_use]
    pub fn label(&self, key: PodKey) -> Option<PodLabel> {
        self.groups.label(key)
    }

    /// Nodes that the API server has, and pods counted.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.nodes.values().filter(|record| record.exists()).count(), self.pods.len())
    }

    /// The one copy of a node's name.
    fn node_name(&self, name: &str) -> NodeName {
        self.nodes.get_key_value(name).map_or_else(|| name.into(), |(known, _)| known.clone())
    }
}

/// The label that tells a pod its gang's size.
pub const LABEL: &str = SIZE_LABEL;
