//! The state of all gangs: who has been seen, who is on the way, which places are held; and the decisions.
//!
//! A gang is let through in Reserve, not held in Permit: the stock host cannot release waiting pods. So members are
//! turned away until all have been seen; the one that completes the gang brings the plan, and its binding is the event
//! that makes the scheduler try the others, which go straight to the places held for them. While a gang is incomplete
//! nothing is held, and two gangs cannot block each other.
//!
//! The scheduler does not tell when a pending pod is deleted; a publisher does. Where none runs, whoever misses several
//! rounds that the others came to is forgotten, and slots end when nothing happens for a while.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod cycle;
mod filter;
mod gang;
mod held;
mod members;
mod order;
mod planning;
mod reasons;
mod reserve;
mod slots;
#[cfg(test)]
mod tests;
mod words;

use crate::object::{ResourceId, Resources};
use crate::policy::gang::membership::{MatchPolicy, Membership};
use crate::policy::gang::planner::{NodeRow, Topology};
use crate::sorted_map::SortedMap;

use cycle::Cycle;
use gang::{Gang, Kind, Member, Place};
use held::{Held, Slot};

/// What is free of a resource that nothing limits: more than any pods ask for, and small enough to reckon with.
pub const PLENTY: i64 = 1 << 50;

/// What decisions need to know of the cluster.
pub trait Facts {
    /// One more than the largest row in use.
    fn rows(&self) -> NodeRow;
    /// Whether there is such a node, and it takes pods.
    fn exists(&self, node: NodeRow) -> bool;
    /// Whether it is known what the node has allocated.
    fn is_known(&self, node: NodeRow) -> bool;
    /// Whether that is known of no node since what is said of them may be from before the module started.
    fn is_late(&self) -> bool;
    /// What is left of a resource: allocatable, less what node state counts and what was placed since. If that is
    /// unknown, all of it.
    fn free(&self, node: NodeRow, resource: ResourceId) -> i64;
    /// All there is of a resource.
    fn allocatable(&self, node: NodeRow, resource: ResourceId) -> i64;
    /// What pods that are nominated to the node ask for, as far as this cycle has shown them, but for those left out.
    fn nominated(&self, node: NodeRow, resource: ResourceId, leave_out: &dyn Fn(u64) -> bool) -> i64;
    /// The node's topology domain.
    fn domain(&self, node: NodeRow) -> Option<u32>;
    /// Whether pods with these rules (see [`Pod::rules`]) may run on the node.
    fn allows(&self, node: NodeRow, rules: u64) -> bool;
    /// Members of the gang that node state counts, over all nodes.
    fn bound(&self, gang: &str) -> u32;
    /// Members of the gang that node state counts on this node.
    fn bound_on(&self, node: NodeRow, gang: &str) -> u32;
    /// Whether the pod was let through and node state does not count it yet.
    fn in_ledger(&self, uid: u64) -> bool;
    /// Whether the pod is known to be gone.
    fn is_gone(&self, uid: u64) -> bool;
    /// Changes whenever anything above does.
    fn generation(&self) -> u64;
    /// The node's name, for reasons.
    fn node_name(&self, node: NodeRow) -> &str;
    /// The resource's name, for reasons.
    fn resource_name(&self, resource: ResourceId) -> &str;
    /// The domain's name, for reasons.
    fn domain_name(&self, domain: u32) -> &str;
}

/// What the policy document says about decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether members share a topology domain.
    pub topology: Topology,
    /// How long slots are held without progress, for gangs that do not tell.
    pub slot_seconds: u32,
    /// Which members count, for gangs that do not tell.
    pub match_policy: MatchPolicy,
    /// Whether members of gangs of unknown size are turned away.
    pub reject_unknown_size: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            topology: Topology::Ignored,
            slot_seconds: 60,
            match_policy: MatchPolicy::OnceSatisfied,
            reject_unknown_size: true,
        }
    }
}

/// The member whose cycle it is.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// What it says about its gang.
    pub membership: &'a Membership,
    /// Its name, unique in its namespace.
    pub name: &'a str,
    /// Hash of its UID.
    pub uid: u64,
    /// Its requests, one of [`ResourceId::PODS`] included.
    pub request: &'a Resources,
    /// A number for everything else that decides where it may run; alike for pods that are alike.
    pub rules: u64,
    /// Most pods like it that one node takes, whatever it has free.
    pub per_node: u32,
    /// `spec.priority`.
    pub priority: i32,
    /// Creation, seconds since 1970.
    pub created: i64,
    /// The node that preemption has made room on for it.
    pub nominated: Option<NodeRow>,
}

/// What becomes of a member at the start of its cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may go anywhere that is not held for others.
    Free,
    /// It may go where it leaves room for the others; see [`Book::filter`].
    Planned,
    /// Its place is on this node.
    Direct(NodeRow),
    /// Not now.
    Rejected(Rejection),
}

/// Why not, and whether to try preemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The whole gang would fit on emptier nodes; [`Book::filter`] is asked about each node that could be made emptier.
    pub preemption_may_help: bool,
    /// In words: which gang, how many of how many, and what is missing.
    pub reason: String,
}

/// The state of all gangs.
#[derive(Debug, Default)]
pub struct Book {
    options: Options,
    gangs: Vec<Option<Gang>>,
    by_key: SortedMap<Box<str>, usize>,
    held: Held,
    /// Members remembered, over all gangs.
    members: usize,
    /// The number of this cycle: logical time.
    now: u64,
    clock_ms: i64,
    /// The time that has passed while something moved the clock: a quiet time counts for some seconds.
    passed_ms: i64,
    /// The cycle in which all nodes were last read; 0 before.
    surveyed: u64,
    /// Gangs that run below their minimum, a member of which has found no room; some may have found it since.
    short: Vec<usize>,
    /// The gang last looked at by [`Book::sweep`].
    swept: usize,
    current: Cycle,
}

impl Book {
    /// A book without gangs.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Whether any place is held: then every pod has to be filtered.
    #[must_use]
    pub fn holds_slots(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gangs remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether no gang is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Whether the pod has come before.
    #[must_use]
    pub fn knows(&self, gang: &str, name: &str, uid: u64) -> bool {
        let gang = self.by_key.get(gang).and_then(|at| self.gang(*at));
        gang.and_then(|gang| gang.find(hash(name))).is_some_and(|member| member.uid == uid)
    }

    /// Places held, as node and gang; for tests and explanations.
    pub fn slots(&self) -> impl Iterator<Item = (NodeRow, &str)> {
        let members =
            self.gangs.iter().flatten().flat_map(|gang| gang.members.iter().map(move |member| (gang, member)));
        members.filter_map(|(gang, member)| match member.place {
            Place::Slot(node) => Some((node, &*gang.key)),
            _ => None,
        })
    }

    #[inline(never)]
    fn gang(&self, at: usize) -> Option<&Gang> {
        self.gangs.get(at).and_then(Option::as_ref)
    }

    /// A kind of the gang's members.
    fn kind(&self, gang: usize, kind: u16) -> Option<&Kind> {
        self.gang(gang)?.kinds.get(usize::from(kind))
    }

    #[inline(never)]
    fn gang_mut(&mut self, at: usize) -> Option<&mut Gang> {
        self.gangs.get_mut(at).and_then(Option::as_mut)
    }

    /// Whether members of the gang are, or will be, on the node.
    fn has_siblings(&self, gang: usize, node: NodeRow, facts: &impl Facts) -> bool {
        self.gang(gang).is_some_and(|gang| {
            let here = |member: &Member| matches!(member.place, Place::Slot(at) | Place::Placed(at) if at == node);
            gang.members.iter().any(here) || facts.bound_on(node, &gang.key) > 0
        })
    }
}

/// FNV-1a; names within a gang are told apart by it.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
