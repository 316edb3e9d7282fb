//! The scheduling cycle of a member: turned away, planned, let through.

use alloc::vec::Vec;

use super::gang::{Counts, Place, Turn};
use super::planning::{NoPlan, Planned, Question};
use super::{Book, Facts, Pod, Rejection, Verdict, hash};
use crate::gather::Gather;
use crate::object::Resources;
use crate::policy::gang::membership::{Mode, Startup};
use crate::policy::gang::planner::{NodeRow, Topology};
use crate::reckon::Reckon;

/// Cycles after which what is known of the nodes may be out of date.
const OLD_NEWS: u64 = 64;

/// Rounds in which a gang is turned away on old node state before it is believed, if nothing is written meanwhile. Pods that
/// leave bring as many in no time; of themselves members come again every five minutes.
const ROUNDS_OF_DOUBT: u32 = 12;

/// How often others let a gang go first that does not come, while it is sure to come of itself.
const EXCUSED: u8 = 3;

/// However far the clock goes at once: nothing had moved it, and that was no time in which members could have come.
const MOST_AT_ONCE_MS: i64 = 5_000;

/// Which facts a decision may rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// None: no node has ever been read.
    Nothing,
    /// How many members run: what is out of date about that is too high rather than too low, but for those from before a
    /// restart.
    Counts,
    /// All.
    All,
}

/// What is known of the pod whose cycle it is.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    /// Hash of its UID.
    pub uid: u64,
    pub request: Resources,
    /// Of a pod that is in no gang.
    pub priority: i32,
    /// Its gang and its name there.
    pub member: Option<(usize, u64)>,
    /// The cycle of its attempt before this one.
    pub came: Option<u64>,
    /// Places for it and its siblings, held as soon as it is reserved.
    pub plan: Option<Vec<Planned>>,
    pub nominated: Option<NodeRow>,
    /// Nodes that passed, in the order they were asked about.
    pub passed: Vec<NodeRow>,
}

impl Book {
    /// The cycle of a pod that is in no gang begins. `clock_ms` is the latest time known, 0 without a clock.
    pub fn begin_single(&mut self, uid: u64, request: &Resources, priority: i32, facts: &impl Facts, clock_ms: i64) {
        self.begin(uid, request, facts, clock_ms);
        self.current.priority = priority;
    }

    /// The cycle of a member begins. `None`: everything known of the nodes has to be read again first, then
    /// [`Book::decide_surveyed`] tells.
    pub fn begin_member(&mut self, pod: &Pod<'_>, facts: &impl Facts, clock_ms: i64) -> Option<Verdict> {
        self.begin(pod.uid, pod.request, facts, clock_ms);
        let name = hash(pod.name);
        let last =
            self.by_key.get(&pod.membership.gang).and_then(|at| self.gang(*at)?.find(name)).map(|member| member.last);
        let at = self.see(pod, facts);
        self.current.member = Some((at, name));
        self.current.came = last;
        self.current.nominated = pod.nominated;
        // The event that brought the pod back is news; so is everything after a while.
        let old_news =
            last.is_some_and(|last| last >= self.surveyed) || self.now.saturating_sub(self.surveyed) > OLD_NEWS;
        let trust = if self.surveyed == 0 {
            Trust::Nothing
        } else if old_news {
            Trust::Counts
        } else {
            Trust::All
        };
        let verdict = self.decide(at, name, pod, facts, trust);
        // Memory is good enough for a place, which is looked at again, but not for turning a whole gang away: where nothing
        // has moved lately, nobody has read that a job has ended or a node has come. Nor is it for what an incomplete gang
        // lacks: members that were let through before a restart count as soon as node state tells of them.
        let turned_away = matches!(verdict, Some(Verdict::Rejected(_)));
        if turned_away && (old_news || self.is_complete(at, facts)) { None } else { verdict }
    }

    /// All nodes have been read in this cycle: what becomes of the member.
    pub fn decide_surveyed(&mut self, pod: &Pod<'_>, facts: &impl Facts) -> Verdict {
        self.surveyed = self.now;
        let Some((at, name)) = self.current.member else { return Verdict::Free };
        // The nodes may have told who is gone.
        self.settle_unit(at, Some(name), facts);
        self.decide(at, name, pod, facts, Trust::All).unwrap_or(Verdict::Free)
    }

    /// The member at hand was turned away, on node state that may be old, when this was the time. Whether that has gone on for
    /// so many rounds with the clock standing still that nothing is to be expected.
    pub fn doubts_in_vain(&mut self, clock_ms: i64) -> bool {
        let Some(gang) = self.current.member.and_then(|(at, _)| self.gang_mut(at)) else { return false };
        if gang.doubted.0 != clock_ms {
            gang.doubted = (clock_ms, gang.round);
        }
        gang.round.saturating_sub(gang.doubted.1) >= ROUNDS_OF_DOUBT
    }

    /// The places found for the member at hand and its siblings are not to be used: it is sent back with an error, and comes
    /// again of itself, not with the events that bring others.
    pub fn drop_plan(&mut self) {
        self.current.plan = None;
        if let Some(gang) = self.current.member.and_then(|(at, _)| self.gang_mut(at)) {
            gang.turn = Turn::Open;
            gang.excused = EXCUSED;
        }
    }

    /// The member at hand is sent straight to its slot.
    pub fn send(&mut self) {
        let member = self.current.member.and_then(|(at, name)| self.gang_mut(at)?.find_mut(name));
        if let Some(member) = member {
            member.directed = true;
        }
    }

    /// The nodes that a decision to let the member at hand through rests on: where it and its siblings are planned, where
    /// they have slots if none has started, and where others of its group run.
    pub fn nodes_to_look_at(&self, facts: &impl Facts) -> Vec<NodeRow> {
        let mut nodes: Vec<NodeRow> = self.current.plan.iter().flatten().map(|planned| planned.node).gather();
        let Some((at, name)) = self.current.member else { return nodes };
        let Some(own) = self.gang(at) else { return nodes };
        let started = own.has_started(own.counts(facts));
        if started && own.find(name).is_some_and(|member| matches!(member.place, Place::Slot(_))) {
            return nodes;
        }
        for gang in self.unit(at).into_iter().filter_map(|at| self.gang(at)) {
            for member in &gang.members {
                if let Place::Slot(node) | Place::Placed(node) = member.place {
                    nodes.push(node);
                }
            }
        }
        for key in own.said.together_with.iter().chain([&own.key]) {
            if facts.bound(key) > 0 {
                nodes.extend((0..facts.rows()).filter(|node| facts.bound_on(*node, key) > 0));
            }
        }
        nodes
    }

    /// Some of those nodes have changed: what becomes of the member. `None` as for [`Book::begin_member`].
    pub fn decide_again(&mut self, pod: &Pod<'_>, facts: &impl Facts) -> Option<Verdict> {
        let (at, name) = self.current.member?;
        self.settle_unit(at, Some(name), facts);
        self.decide(at, name, pod, facts, Trust::All).filter(|verdict| !matches!(verdict, Verdict::Rejected(_)))
    }

    fn begin(&mut self, uid: u64, request: &Resources, facts: &impl Facts, clock_ms: i64) {
        self.now = self.now.saturating_add(1);
        self.passed_ms = self.passed_ms.plus(clock_ms.minus(self.clock_ms).clamp(0, MOST_AT_ONCE_MS));
        self.clock_ms = clock_ms;
        self.current = Cycle { uid, request: request.clone(), ..Cycle::default() };
        self.expire(uid, facts);
        self.sweep(facts);
    }

    /// `None` if the decision hangs on facts that are not to be trusted.
    fn decide(&mut self, at: usize, name: u64, pod: &Pod<'_>, facts: &impl Facts, trust: Trust) -> Option<Verdict> {
        self.current.plan = None;
        if let Some(node) = self.slot_of(at, name, facts) {
            if !self.lacks_places(at, facts) {
                return Some(Verdict::Direct(node));
            }
            self.put(at, name, Place::Nowhere);
        }
        let Some(gang) = self.gang(at) else { return Some(Verdict::Free) };
        if pod.membership.is_leader && gang.said.startup == Startup::LeaderFirst {
            return Some(Verdict::Free);
        }
        if trust == Trust::Nothing {
            return None;
        }
        let counts = gang.counts(facts);
        let min = gang.min();
        if min == 0 {
            return Some(match self.options.reject_unknown_size {
                true => Verdict::Rejected(Rejection::unknown_size(&gang.key, counts.have())),
                false => Verdict::Free,
            });
        }
        if !gang.has_quorum(counts) {
            let rejection = Rejection::incomplete(&gang.key, counts.too_few(min), min);
            if !gang.has_started(counts) {
                // Members of a complete gang were deleted before any was bound.
                self.drop_slots(at, facts);
            }
            return Some(Verdict::Rejected(rejection));
        }
        if let Some((partner, has)) = self.incomplete_partner(at, counts, facts) {
            let rejection = Rejection::partner_incomplete(&gang.key, counts.have(), min, partner, has);
            return Some(Verdict::Rejected(rejection));
        }
        // Running as a whole: late and replaced members come one by one.
        if counts.running.saturating_add(counts.slots) >= min && gang.has_started(counts) {
            return Some(Verdict::Free);
        }
        (trust == Trust::All).then(|| self.find_places(at, name, pod, counts, facts))
    }

    /// Whether the gang, or one that starts together with it, has not started and does not hold as many places any more as
    /// it needs: a node was lost, or other plugins refuse one.
    fn lacks_places(&self, at: usize, facts: &impl Facts) -> bool {
        self.unit(at).into_iter().filter_map(|at| self.gang(at)).any(|gang| {
            let counts = gang.counts(facts);
            counts.running.saturating_add(counts.slots) < gang.min() && !gang.has_started(counts)
        })
    }

    /// The node where a place is held for the member, if it is still good.
    fn slot_of(&mut self, at: usize, name: u64, facts: &impl Facts) -> Option<NodeRow> {
        let gang = self.gang(at)?;
        let member = gang.find(name)?;
        let Place::Slot(node) = member.place else { return None };
        let kind = member.kind;
        if member.directed {
            // It was sent there and did not arrive: other plugins refuse the node.
            let started = gang.has_started(gang.counts(facts));
            let strict = gang.said.mode == Mode::Strict;
            self.put(at, name, Place::Nowhere);
            if strict && !started {
                self.drop_slots(at, facts);
            }
            let clock_ms = self.clock_ms;
            if let Some(gang) = self.gang_mut(at) {
                gang.refuse(kind, node, clock_ms, facts);
            }
            return None;
        }
        // Even if there seems to be no room for it any more: a pod that came and went unseen counts for a while.
        Some(node)
    }

    /// A gang that has to start together with this one and lacks members; with how many it has, and its minimum if that is
    /// known. Once this one has started, the others have, too: whether they run to this day is no matter.
    pub(super) fn incomplete_partner(
        &self,
        at: usize,
        counts: Counts,
        facts: &impl Facts,
    ) -> Option<(&str, (u32, u32))> {
        if self.gang(at)?.has_started(counts) {
            return None;
        }
        for other in self.unit(at) {
            let gang = self.gang(other)?;
            let counts = gang.counts(facts);
            if other != at && (gang.min() == 0 || !gang.has_quorum(counts)) {
                return Some((&gang.key, (counts.too_few(gang.min()), gang.min())));
            }
            // A partner that runs and has nobody waiting has nobody to be seen.
            let unseen = |key: &str| !self.by_key.contains_key(key) && facts.bound(key) == 0;
            let mut named = gang.said.together_with.iter().map(|key| &**key).filter(|_| !gang.has_started(counts));
            if let Some(key) = named.find(|key| unseen(key)) {
                return Some((key, (0, 0)));
            }
        }
        None
    }

    fn find_places(&mut self, at: usize, name: u64, pod: &Pod<'_>, counts: Counts, facts: &impl Facts) -> Verdict {
        let Some(gang) = self.gang(at) else { return Verdict::Free };
        let started = gang.has_started(counts);
        let state = (self.state_of_the_world(facts), gang.composition);
        let kind = gang.find(name).map_or(0, |member| member.kind);
        if let Some((found_in, of, rejection)) = &gang.shortage
            && (*found_in, *of) == (state, kind)
            && pod.nominated.is_none()
        {
            return Verdict::Rejected(rejection.clone());
        }
        let question = Question { gang: at, member: Some(name), fixed: pod.nominated, ..Question::default() };
        let plan = match self.plan(&question, facts) {
            Ok(plan) => plan,
            Err(_) if started && self.has_room_for(&question, facts) => {
                // It runs below its minimum already: every member that finds a place brings it on.
                return Verdict::Free;
            }
            Err(no_plan) => {
                let rejection = self.no_room(at, counts, &no_plan, facts);
                if gang.said.mode == Mode::Strict && self.lacks_places(at, facts) {
                    // What it still holds is of no use to it.
                    self.drop_slots(at, facts);
                }
                if started {
                    self.note_short(at);
                }
                if let (Some(gang), None) = (self.gang_mut(at), pod.nominated) {
                    gang.shortage = Some((state, kind, rejection.clone()));
                }
                return Verdict::Rejected(rejection);
            }
        };
        if let Some(first) = self.goes_first(&question, facts) {
            let key = self.gang(first).map_or("", |first| &first.key);
            let rejection = self.gang(at).map(|gang| Rejection::after(&gang.key, counts.have(), gang.min(), key));
            let now = self.now;
            let came = self.current.came;
            if let Some(first) = self.gang_mut(first) {
                if first.awaited <= first.last_cycle {
                    first.awaited = now;
                } else if came.is_some_and(|came| came >= first.awaited) {
                    first.excused = first.excused.saturating_sub(1);
                    first.awaited = now;
                }
            }
            if let Some(rejection) = rejection {
                return Verdict::Rejected(rejection);
            }
        }
        self.current.plan = Some(plan);
        if let Some(gang) = self.gang_mut(at) {
            gang.turn = Turn::Begun;
        }
        Verdict::Planned
    }

    /// Whether the member at hand finds a place, if by itself.
    fn has_room_for(&self, question: &Question<'_>, facts: &impl Facts) -> bool {
        let request = &self.current.request;
        (0..facts.rows()).any(|node| {
            facts.exists(node)
                && self.room_beside_slots(node, request, None, facts).is_ok()
                && request.iter().all(|(id, amount)| amount <= 0 || facts.free(node, id) >= amount)
                && question.fixed.is_none_or(|fixed| fixed == node)
        })
    }

    pub(super) fn no_room(&self, at: usize, counts: Counts, no_plan: &NoPlan, facts: &impl Facts) -> Rejection {
        let (Some(gang), Some(short)) = (self.gang(at), self.gang(no_plan.gang)) else {
            return Rejection::incomplete("", 0, 0);
        };
        // Preemption for one member is worth a try only if the whole gang fits on emptier nodes.
        let empty = Question { gang: at, empty_nodes: true, ..Question::default() };
        let may_help = self.plan(&empty, facts).is_ok();
        let in_one_domain = self.options.topology == Topology::Required;
        Rejection::no_room(gang, counts, short, no_plan, in_one_domain, may_help, facts)
    }

    /// Whether the pod of this cycle is a member of a gang.
    #[must_use]
    pub fn has_member(&self) -> bool {
        self.current.member.is_some()
    }

    /// How near the node is to the siblings of the pod at hand, 0 to 100: its planned place or a node with siblings,
    /// a node in the same domain, any other. `None` if there are no siblings to be near to.
    #[must_use]
    pub fn locality(&self, node: NodeRow, facts: &impl Facts) -> Option<i64> {
        let (at, name) = self.current.member?;
        let gang = self.gang(at)?;
        let domain = facts.domain(node);
        let (here, near) = if let Some(plan) = &self.current.plan {
            let kind = gang.find(name)?.kind;
            let of_kind = plan.iter().any(|planned| planned.node == node && (planned.gang, planned.kind) == (at, kind));
            (of_kind, plan.iter().any(|planned| facts.domain(planned.node) == domain))
        } else {
            let siblings = || (0..facts.rows()).filter(|other| self.has_siblings(at, *other, facts));
            siblings().next()?;
            (self.has_siblings(at, node, facts), siblings().any(|other| facts.domain(other) == domain))
        };
        Some(match (here, domain.is_some() && near) {
            (true, _) => 100,
            (false, true) => 50,
            (false, false) => 0,
        })
    }
}
