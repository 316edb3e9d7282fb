//! The state of all gangs: who has been seen, who is on the way, which places are held; and the decisions.
//!
//! A gang is let through in Reserve, not held in Permit: the stock host cannot release waiting pods. So members are
//! turned away until all have been seen; the one that completes the gang brings the plan, and its binding is the event
//! that makes the scheduler try the others, which go straight to the places held for them. While a gang is incomplete
//! nothing is held, and two gangs cannot block each other.
//!
//! The scheduler does not tell when a pending pod is deleted. So whoever misses several rounds that the others came to is
//! forgotten, and slots end when nothing happens for a while.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

mod cycle;
mod filter;
mod gang;
mod held;
mod order;
mod planning;
mod reasons;
mod reserve;
#[cfg(test)]
mod tests;

use crate::gather::Gather;
use crate::object::{ResourceId, Resources};
use crate::policy::gang::membership::{MatchPolicy, Membership};
use crate::policy::gang::planner::{NodeRow, Topology};
use crate::reckon::Reckon;
use crate::sorted_map::SortedMap;
use crate::text::cut;

use cycle::Cycle;
use gang::{Gang, Kind, Member, Place, Progress, Turn};
use held::{Held, Slot};

/// Most gangs that are remembered; with more, those that nothing was heard of for longest are forgotten until they come
/// again.
const MAX_GANGS: usize = 10_000;
/// Most members that are remembered, over all gangs; some 10 MiB.
const MAX_MEMBERS: usize = 120_000;
/// Most letters of a member's name that reasons tell.
const LONGEST_EXAMPLE: usize = 63;
/// Cycles after which slots end, should there be no clock.
const SLOT_CYCLES: u64 = 50_000;
/// How often slots may turn the same pod away before they end, as long as the clock stands still: events that wake that
/// pod wake the members that the slots are for.
const TURNED_AWAY: u32 = 5;
/// The same while a member waits after a failed bind, which no event shortens.
const TURNED_AWAY_AFTER_FAILURE: u32 = 20;

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
    /// The cycle in which all nodes were last read; 0 before.
    surveyed: u64,
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

    /// Notes that the member has come, and answers its gang.
    fn see(&mut self, pod: &Pod<'_>, facts: &impl Facts) -> usize {
        let at = self.by_key.get(&pod.membership.gang).copied().unwrap_or_else(|| self.add_gang(pod.membership));
        let name = hash(pod.name);
        let (now, clock_ms) = (self.now, self.clock_ms);
        let Some(gang) = self.gang_mut(at) else { return at };
        let known = gang.members.len();
        let example = (name, cut(pod.name, LONGEST_EXAMPLE).into());
        let kind = Kind { request: pod.request.clone(), rules: pod.rules, per_node: pod.per_node, example };
        let kind = gang.kind(kind);
        gang.last_cycle = now;
        if gang.priority != pod.priority.max(gang.priority) || pod.created < gang.created {
            gang.priority = pod.priority.max(gang.priority);
            gang.created = pod.created.min(gang.created);
        }
        if gang.find(name).is_some_and(|member| member.round == gang.round) {
            gang.round = gang.round.saturating_add(1);
        }
        if gang.turn == Turn::Begun {
            gang.turn = Turn::Missed;
        }
        let round = gang.round;
        let (mut freed, mut news) = (Vec::new(), false);
        match gang.members.binary_search_by_key(&name, |member| member.name) {
            Ok(found) => {
                if let Some(member) = gang.members.get_mut(found) {
                    // Another pod of that name, or the same pod changed: what was decided for it is void.
                    let same =
                        member.uid == pod.uid && member.kind == kind && !matches!(member.place, Place::Placed(_));
                    news = !same || member.min != pod.membership.min.unwrap_or(0);
                    if let (false, Place::Slot(node)) = (same, member.place) {
                        freed.push((member.kind, node));
                    }
                    let place = if same { member.place } else { Place::Nowhere };
                    *member = Member {
                        uid: pod.uid,
                        kind,
                        min: pod.membership.min.unwrap_or(0),
                        place,
                        directed: same && member.directed,
                        failed: false,
                        round,
                        seen: clock_ms.div_euclid(1000),
                        last: now,
                        ..*member
                    };
                }
            }
            Err(place) => {
                news = true;
                let member = Member {
                    name,
                    uid: pod.uid,
                    kind,
                    min: pod.membership.min.unwrap_or(0),
                    place: Place::Nowhere,
                    directed: false,
                    failed: false,
                    order: now,
                    round,
                    seen: clock_ms.div_euclid(1000),
                    last: now,
                };
                gang.members.insert(place, member);
            }
        }
        let before = gang.members.len();
        freed.extend(gang.settle(facts, clock_ms, Some(name)));
        if news || before != gang.members.len() {
            gang.composition = gang.composition.saturating_add(1);
            gang.turn = Turn::Open;
        }
        let after = gang.members.len();
        self.members = self.members.saturating_add(after).saturating_sub(known);
        for (kind, node) in freed {
            self.held.remove(node, Slot { gang: at, kind });
        }
        self.make_room(at);
        at
    }

    fn add_gang(&mut self, membership: &Membership) -> usize {
        let gang = Gang::new(membership, &self.options, self.now);
        let key = gang.key.clone();
        let at = match self.gangs.iter().position(Option::is_none) {
            Some(free) if self.gangs.len() > self.by_key.len() => free,
            _ => {
                self.gangs.push(None);
                self.gangs.len().saturating_sub(1)
            }
        };
        if let Some(place) = self.gangs.get_mut(at) {
            *place = Some(gang);
        }
        self.by_key.insert(key, at);
        at
    }

    /// Forgets gangs beyond the bounds, those that were heard of least recently first.
    fn make_room(&mut self, except: usize) {
        while self.by_key.len() > MAX_GANGS || self.members > MAX_MEMBERS {
            let others = self.by_key.values().copied().filter(|at| *at != except);
            let idle = others.filter(|at| self.gang(*at).is_some_and(|gang| !gang.holds_slots()));
            let Some(oldest) = idle.least(|at| self.gang(*at).map_or(0, |gang| gang.last_cycle)) else { return };
            self.forget(oldest);
        }
    }

    fn forget(&mut self, at: usize) {
        if let Some(gang) = self.gangs.get_mut(at).and_then(Option::take) {
            self.by_key.remove(&gang.key);
            self.members = self.members.saturating_sub(gang.members.len());
        }
    }

    /// Looks at one gang after another, one in each cycle: those that run, or are gone, are forgotten.
    fn sweep(&mut self, facts: &impl Facts) {
        self.swept = self.swept.checked_add(1).filter(|at| *at < self.gangs.len()).unwrap_or(0);
        let (at, clock_ms) = (self.swept, self.clock_ms);
        let Some(gang) = self.gang_mut(at) else { return };
        let before = gang.members.len();
        let freed = gang.settle(facts, clock_ms, None);
        let after = gang.members.len();
        if before != after {
            gang.composition = gang.composition.saturating_add(1);
        }
        self.members = self.members.saturating_add(after).saturating_sub(before);
        for (kind, node) in freed {
            self.held.remove(node, Slot { gang: at, kind });
        }
        if after == 0 {
            self.forget(at);
        }
    }

    /// Ends all slots of a gang; while none of its group runs, those of the whole group, which would start in part otherwise.
    fn drop_slots(&mut self, at: usize, facts: &impl Facts) {
        let under_way = self.gang(at).is_some_and(|gang| self.is_under_way(gang, facts).0);
        let mut freed = Vec::new();
        for at in if under_way { vec![at] } else { self.unit(at) } {
            for member in self.gang_mut(at).map(|gang| &mut gang.members).into_iter().flatten() {
                if let Place::Slot(node) = member.place {
                    freed.push((node, Slot { gang: at, kind: member.kind }));
                    member.place = Place::Nowhere;
                    member.directed = false;
                }
            }
        }
        for (node, slot) in freed {
            self.held.remove(node, slot);
        }
    }

    /// Moves a member, and keeps the slots in step.
    fn put(&mut self, at: usize, name: u64, place: Place) {
        let Some(member) = self.gang_mut(at).and_then(|gang| gang.find_mut(name)) else { return };
        let (before, kind) = (core::mem::replace(&mut member.place, place), member.kind);
        member.directed = false;
        if let Place::Slot(node) = before {
            self.held.remove(node, Slot { gang: at, kind });
        }
        if let Place::Slot(node) = place {
            self.held.add(node, Slot { gang: at, kind });
        }
    }

    /// Something happened in the gang: its slots live on.
    fn note_progress(&mut self, at: usize) {
        let progress = Progress { cycle: self.now, clock_ms: self.clock_ms, ..Progress::default() };
        if let Some(gang) = self.gang_mut(at) {
            gang.progress = progress;
        }
    }

    /// Ends slots of gangs in which nothing happens any more.
    fn expire(&mut self, uid: u64, facts: &impl Facts) {
        let (now, clock_ms) = (self.now, self.clock_ms);
        for at in self.held.holders() {
            let Some(gang) = self.gang_mut(at) else { continue };
            let wait_ms = i64::from(gang.wait_seconds).saturating_mul(1000);
            let progress = &mut gang.progress;
            if clock_ms != progress.clock_ms {
                progress.running_since_ms.get_or_insert(clock_ms);
                progress.clock_ms = clock_ms;
                progress.turned_away.clear();
            }
            let by_clock = progress.running_since_ms.is_some_and(|since| clock_ms.minus(since) >= wait_ms);
            let by_cycles = now.saturating_sub(progress.cycle) >= SLOT_CYCLES;
            let most =
                if gang.members.iter().any(|member| member.failed) { TURNED_AWAY_AFTER_FAILURE } else { TURNED_AWAY };
            let in_the_way = progress.turned_away.iter().any(|(pod, times, _)| *pod == uid && *times >= most);
            if by_clock || by_cycles || in_the_way {
                self.drop_slots(at, facts);
            }
        }
    }
}

/// FNV-1a; names within a gang are told apart by it.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
