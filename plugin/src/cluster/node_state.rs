//! Node state: what a node has allocated, as a document in its annotation.
//!
//! The scheduler shows a module Node objects and nothing of the pods on them. The publisher counts those pods and writes
//! the sums here. This is the one definition that both sides use; docs/node-state.md describes it for people.
//!
//! Keys are short because the document is written for every bind and must stay under 4 KiB at 110 pods. Parts that are
//! empty are absent. A reader takes version 1 only, and ignores keys that it does not know: a later publisher may add
//! some without changing what the others mean.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod read;

use serde::{Serialize, Serializer};

use super::pod_class;
use crate::object::{PodInfo, ResourceId, ResourceNames, Resources};
use crate::policy::qos::estimate::Estimation;
use crate::say::Say;
use crate::sort::sort;
use crate::sorted_map::SortedMap;

/// The annotation that holds the document.
pub const ANNOTATION: &str = "stowage.dev/node-state";

/// The only version there is.
pub const VERSION: u32 = 1;

/// Amounts by resource name: milli-CPU, bytes, devices.
pub type Amounts = SortedMap<Box<str>, i64>;

/// What a node has allocated and uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeState {
    /// [`VERSION`].
    pub v: u32,
    /// When this was written: milliseconds since 1970 by the publisher's clock. Also the module's own.
    pub at: i64,
    /// Pods on the node that are not finished.
    pub pods: u32,
    /// Sum of their requests: what the scheduler's fit filter counts.
    pub requested: Amounts,
    /// The same for cpu and memory where a container that does not ask counts 100m and 200Mi: what scores count.
    pub nonzero: Amounts,
    /// Pods and their cpu and memory requests by QoS class (`LSE`, `LSR`, `LS`, `BE`, `SYSTEM`).
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub qos: SortedMap<Box<str>, QosClassState>,
    /// Measured usage of the whole node, if a metrics source exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What those pods are expected to use that no measurement contains yet: the ones placed after `usage` was measured
    /// or, where nothing is measured here, within the last five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<Expected>,
    /// Members of each gang on the node, by `namespace/name` or `namespace/name/role` (see
    /// [`super::pod_gang::count_key`]).
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub gangs: SortedMap<Box<str>, u32>,
    /// Free thousandths of each GPU, where the device plugin tells which pod has which device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu_free: Vec<u16>,
    /// [`short_uid`] of every pod counted, in ascending order. In JSON 8 hexadecimal digits each, without separators.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "hexadecimal")]
    pub uids: Vec<u32>,
    /// The same of pods that are gone and of which a scheduler may not know it: those that had been here for less than five
    /// minutes, since whoever placed them may have seen no document that counts them, and members of gangs that were
    /// deleted while they waited, whatever node mentions them.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "hexadecimal")]
    pub left: Vec<u32>,
}

/// What one QoS class has on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QosClassState {
    /// Pods.
    pub pods: u32,
    /// Requested milli-CPU (batch-cpu for classes that ask for it instead).
    pub cpu: i64,
    /// Requested bytes, likewise.
    pub memory: i64,
}

/// Measured usage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// When it was measured, milliseconds since 1970.
    pub at: i64,
    /// Milli-CPU.
    pub cpu: i64,
    /// Bytes.
    pub memory: i64,
}

/// Expected usage of pods, estimated as by default by the policy's `qos.estimation`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Expected {
    /// Milli-CPU.
    pub cpu: i64,
    /// Bytes.
    pub memory: i64,
}

/// Why a node's state is unknown. Never the same as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The node has no such annotation (no publisher, or not yet).
    Missing,
    /// Written by a publisher of another version.
    Version(u64),
    /// Not a document of this version, with what is wrong.
    Broken(String),
}

impl Say for Unknown {
    fn say(&self, text: &mut String) {
        match self {
            Self::Missing => say_to!(text, "no annotation ", ANNOTATION),
            Self::Version(version) => {
                say_to!(text, ANNOTATION, " has version ", version, ", this module reads ", VERSION)
            }
            Self::Broken(why) => say_to!(text, ANNOTATION, " is broken: ", why),
        }
    }
}

display!(Unknown);

impl NodeState {
    /// The state of a node without pods, written at `at` (milliseconds since 1970).
    #[must_use]
    pub fn empty(at: i64) -> Self {
        Self { v: VERSION, at, ..Self::default() }
    }

    /// Reads the annotation's value.
    ///
    /// # Errors
    /// [`Unknown`] if it is of another version, is not JSON of this shape, or holds impossible values.
    pub fn parse(text: &str) -> Result<Self, Unknown> {
        read::read(text)
    }

    /// The annotation's value: JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Maps with string keys, integers and strings: nothing here can fail to serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Counts a pod that is on the node. `class` is its QoS class, `gang` what
    /// [`super::pod_gang::count_key`] says.
    ///
    /// Call [`NodeState::seal`] after the last one.
    pub fn count(&mut self, pod: &PodInfo, names: &ResourceNames, class: Option<&str>, gang: Option<&str>) {
        self.pods = self.pods.saturating_add(1);
        for (id, amount) in pod.requests.iter().filter(|(_, amount)| *amount != 0) {
            self.requested.update(names.name(id).into(), |sum| *sum = sum.saturating_add(amount));
        }
        for id in [ResourceId::CPU, ResourceId::MEMORY] {
            let amount = pod.placed.get(id);
            self.nonzero.update(names.name(id).into(), |sum| *sum = sum.saturating_add(amount));
        }
        if let Some(class) = class {
            let load = pod_class::load(&pod.requests, names);
            self.qos.update(class.into(), |state| {
                state.pods = state.pods.saturating_add(1);
                state.cpu = state.cpu.saturating_add(load.cpu);
                state.memory = state.memory.saturating_add(load.memory);
            });
        }
        if let Some(gang) = gang {
            self.gangs.update(gang.into(), |members| *members = members.saturating_add(1));
        }
        self.uids.push(short_uid(&pod.uid));
    }

    /// Adds what a counted pod is expected to use, if no measurement contains it yet.
    pub fn add_unmeasured(&mut self, pod: &PodInfo, names: &ResourceNames) {
        let load = |amounts| pod_class::load(amounts, names);
        let estimate = Estimation::default().of(load(&pod.requests), load(&pod.limits));
        let expected = self.unmeasured.get_or_insert_default();
        expected.cpu = expected.cpu.saturating_add(estimate.cpu);
        expected.memory = expected.memory.saturating_add(estimate.memory);
    }

    /// Puts the counted pods in order, so that equal states are equal documents.
    pub fn seal(&mut self) {
        sort(&mut self.uids);
        sort(&mut self.left);
    }
}

fn hexadecimal<S: Serializer>(uids: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&uids.iter().map(|uid| alloc::format!("{uid:08x}")).collect::<String>())
}

/// 32 bits that stand for a pod: the lower half of [`uid_hash`].
///
/// Two of 110 pods on a node share them once in 700,000 nodes; the price is that one is counted a little late.
#[must_use]
pub fn short_uid(uid: &str) -> u32 {
    short(uid_hash(uid))
}

/// The [`short_uid`] of a pod whose [`uid_hash`] this is.
#[must_use]
pub fn short(uid_hash: u64) -> u32 {
    let [a, b, c, d, ..] = uid_hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// A pod's UID as a number: FNV-1a, 64 bits.
#[must_use]
pub fn uid_hash(uid: &str) -> u64 {
    uid.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Sets the amounts in `resources`, which knows names by their numbers.
///
/// # Errors
/// [`Unknown::Broken`] when there are more resource names than the module tells apart.
pub(super) fn intern(amounts: &Amounts, names: &mut ResourceNames, resources: &mut Resources) -> Result<(), Unknown> {
    for (name, amount) in amounts.iter() {
        let id = names.intern(name).ok_or_else(|| Unknown::Broken("too many resource names".into()))?;
        resources.set(id, *amount);
    }
    Ok(())
}
