//! What is remembered of one gang.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Facts;
use super::words::Words;
use crate::gather::Gather;
use crate::object::{ResourceId, Resources};
use crate::policy::gang::membership::{MatchPolicy, Startup};
use crate::policy::gang::planner::NodeRow;
use crate::reckon::Reckon;
use crate::sort::sort_by_key;

/// After so many rounds in which others came again and again, a pending member is taken for deleted.
const ROUNDS_MISSED: u32 = 4;
/// ... and after so many seconds, if there is a clock: longer than the scheduler's longest backoff.
const SECONDS_MISSED: i64 = 20;

/// Members that are alike for planning.
#[derive(Clone, Debug, Default)]
pub(super) struct Kind {
    pub request: Resources,
    pub rules: u64,
    pub per_node: u32,
    /// One of them, for reasons to name: [`Member::name`], and in letters.
    pub example: (u64, Box<str>),
}

impl PartialEq for Kind {
    /// Whichever member stands for it.
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules && self.per_node == other.per_node && self.request == other.request
    }
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Pending, nothing is held for it.
    Nowhere,
    /// Pending, with a place held on a node.
    Slot(NodeRow),
    /// On its way to a node, not yet counted by node state.
    Placed(NodeRow),
}

/// A member that has been seen and is not yet counted by node state.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Hash of its name, which is unique in its namespace: a new pod of that name means that the old one is gone.
    pub name: u64,
    pub uid: u64,
    pub kind: u16,
    pub words: u16,
    /// The minimum that it states, 0 for none.
    pub min: u32,
    pub place: Place,
    /// Was sent straight to its slot and has not arrived.
    pub directed: bool,
    /// Its binding failed, and it has not come back since.
    pub failed: bool,
    /// Order of first appearance.
    pub order: u64,
    /// The round of its last attempt; see [`Gang::round`].
    pub round: u32,
    /// How many seconds had passed at its last attempt; see [`super::Book::passed_ms`].
    pub seen: i64,
    /// The cycle of its last attempt.
    pub last: u64,
}

impl Member {
    /// One that comes for the first time.
    pub fn new(name: u64, order: u64) -> Self {
        Self {
            name,
            uid: 0,
            kind: 0,
            words: 0,
            min: 0,
            place: Place::Nowhere,
            directed: false,
            failed: false,
            order,
            round: 0,
            seen: 0,
            last: 0,
        }
    }
}

/// Most refusals of a gang that are remembered.
const MAX_REFUSALS: usize = 64;
/// For so long is a refusal believed, as long as the scheduler leaves a pod alone that no event concerns.
const REFUSAL_MS: i64 = 300_000;

/// A node that other plugins refused to members of a kind although there seemed to be room.
///
/// Some refuse it for good, such as for a volume in another zone. Others do so for a pod that is leaving or was nominated,
/// and would take the member a moment later.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub kind: u16,
    pub node: NodeRow,
    /// What the node had left of each resource that the kind asks for.
    free: Vec<i64>,
    at_ms: i64,
}

/// How a gang that found places for all fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has not found places lately, or all went well.
    #[default]
    Open,
    /// A member's cycle is on its way, or ended before Reserve.
    Begun,
    /// Other plugins were in the way: others need not wait for it.
    Missed,
}

/// When something last happened in a gang that holds slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The cycle.
    pub cycle: u64,
    /// What the clock shows. Old at first, if nothing had been published for a while; so time runs from the first change.
    pub clock_ms: i64,
    /// The first change of the clock.
    pub running_since_ms: Option<i64>,
    /// Pods that the slots turned away since the clock last changed, how often, and in which cycle last.
    pub turned_away: Vec<(u64, u32, u64)>,
}

/// How many members there are, by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Seen and waiting.
    pub pending: u32,
    /// Waiting with a slot; part of `pending`.
    pub slots: u32,
    /// Let through, and perhaps running.
    pub running: u32,
}

impl Counts {
    /// All of them.
    pub fn have(self) -> u32 {
        self.pending.saturating_add(self.running)
    }

    /// How many there are of those that are too few: all, unless the match policy counts waiting ones only.
    pub fn too_few(self, min: u32) -> u32 {
        if self.have() < min { self.have() } else { self.pending }
    }
}

#[derive(Debug)]
pub(super) struct Gang {
    /// `namespace/name`.
    pub key: Box<str>,
    /// What all its members say of it.
    pub said: Words,
    /// What single members say.
    words: Vec<Words>,
    /// Creation of the oldest member, seconds since 1970.
    pub created: i64,
    /// Order of first appearance among gangs.
    pub order: u64,
    pub kinds: Vec<Kind>,
    /// Sorted by name.
    pub members: Vec<Member>,
    /// Counts how often some member came again that had already come: each time everyone should have.
    pub round: u32,
    /// The cycle of the last attempt.
    pub last_cycle: u64,
    /// The newest last.
    refused: Vec<Refusal>,
    pub progress: Progress,
    /// Changes with the members, for what is remembered about them.
    pub composition: u64,
    /// The last rejection for want of room, with the state of the world it was found in and the kind of the member: one of
    /// another kind may find room.
    pub shortage: Option<((u64, u64), u16, super::Rejection)>,
    /// The clock when a member was last turned away on old node state, and the round in which that began.
    pub doubted: (i64, u32),
    /// How often others still let it go first although it did not come: it comes of itself, after an error.
    pub excused: u8,
    /// Whether it made use of the places found for it.
    pub turn: Turn,
    /// The first cycle after its last attempt in which another gang was turned away to let this one go first; else not
    /// later than that attempt.
    pub awaited: u64,
}

impl Gang {
    /// A gang without members, `namespace/name`.
    pub fn new(key: Box<str>, order: u64) -> Self {
        Self {
            key,
            said: Words::default(),
            words: Vec::new(),
            created: i64::MAX,
            order,
            kinds: Vec::new(),
            members: Vec::new(),
            round: 0,
            last_cycle: 0,
            refused: Vec::new(),
            progress: Progress::default(),
            composition: 0,
            shortage: None,
            doubted: (0, 0),
            excused: 0,
            turn: Turn::default(),
            awaited: 0,
        }
    }

    /// The number of what a member says of its gang, a new one if it is new.
    pub fn words(&mut self, words: Words) -> u16 {
        let (number, _) = number_of(&self.words, &words, &self.members, |member| member.words);
        put_at(&mut self.words, number, words);
        number
    }

    /// Adds up what the members say.
    pub fn add_up(&mut self) {
        let mut said = self.members.iter().filter_map(|member| self.words.get(usize::from(member.words)));
        let Some(mut sum) = said.next().cloned() else { return };
        said.for_each(|words| sum.add(words));
        self.said = sum;
    }

    pub fn find(&self, name: u64) -> Option<&Member> {
        self.members.binary_search_by_key(&name, |member| member.name).ok().and_then(|at| self.members.get(at))
    }

    pub fn find_mut(&mut self, name: u64) -> Option<&mut Member> {
        self.members.binary_search_by_key(&name, |member| member.name).ok().and_then(|at| self.members.get_mut(at))
    }

    /// The number of a kind, a new one if it is new. The member that comes with it stands for it if no other does.
    pub fn kind(&mut self, kind: Kind) -> u16 {
        let (number, known) = number_of(&self.kinds, &kind, &self.members, |member| member.kind);
        if !known {
            self.refused.retain(|refusal| refusal.kind != number);
        } else if self.example(number).is_some() {
            return number;
        }
        put_at(&mut self.kinds, number, kind);
        self.composition = self.composition.saturating_add(1);
        number
    }

    /// The pending member that stands for its kind in reasons: the same one until it is gone or finds a place.
    pub fn example(&self, kind: u16) -> Option<&str> {
        let (name, letters) = &self.kinds.get(usize::from(kind))?.example;
        self.find(*name).filter(|member| member.kind == kind && member.place == Place::Nowhere).map(|_| &**letters)
    }

    /// What the node has left of each resource that the kind asks for.
    fn free_for(&self, kind: u16, node: NodeRow, facts: &impl Facts) -> Vec<i64> {
        let request = self.kinds.get(usize::from(kind)).map(|kind| kind.request.iter());
        let asked = request.into_iter().flatten().filter(|(_, amount)| *amount > 0);
        asked.map(|(id, _)| facts.free(node, id)).gather()
    }

    /// Other plugins refuse the node to members of the kind.
    pub fn refuse(&mut self, kind: u16, node: NodeRow, clock_ms: i64, facts: &impl Facts) {
        let refusal = Refusal { kind, node, free: self.free_for(kind, node, facts), at_ms: clock_ms };
        self.refused.retain(|old| (old.kind, old.node) != (kind, node));
        if self.refused.len() >= MAX_REFUSALS {
            self.refused.remove(0);
        }
        self.refused.push(refusal);
        self.composition = self.composition.saturating_add(1);
    }

    /// Whether the node is still taken for one that other plugins refuse to members of the kind: nothing was freed on it
    /// since, and not long ago.
    pub fn is_refused(&self, kind: u16, node: NodeRow, clock_ms: i64, facts: &impl Facts) -> bool {
        let refusal = self.refused.iter().find(|refusal| (refusal.kind, refusal.node) == (kind, node));
        refusal.is_some_and(|refusal| {
            let free = self.free_for(kind, node, facts);
            clock_ms.minus(refusal.at_ms) < REFUSAL_MS && refusal.free.iter().zip(&free).all(|(then, now)| now <= then)
        })
    }

    /// The largest minimum that a member states, 0 if none does.
    pub fn min(&self) -> u32 {
        self.members.iter().map(|member| member.min).max().unwrap_or(0)
    }

    pub fn counts(&self, facts: &impl Facts) -> Counts {
        let mut counts = Counts { running: facts.bound(&self.key), ..Counts::default() };
        for member in &self.members {
            match member.place {
                Place::Nowhere => counts.pending = counts.pending.saturating_add(1),
                Place::Slot(_) => {
                    counts.pending = counts.pending.saturating_add(1);
                    counts.slots = counts.slots.saturating_add(1);
                }
                // Whoever has left the ledger is counted by node state, or gone.
                Place::Placed(_) => {
                    counts.running = counts.running.saturating_add(facts.in_ledger(member.uid).into());
                }
            }
        }
        counts
    }

    /// Whether members run already that can only run because the gang was complete once.
    pub fn has_started(&self, counts: Counts) -> bool {
        let leader = u32::from(self.said.startup == Startup::LeaderFirst);
        counts.running > leader
    }

    /// Whether enough members are there to start, or go on.
    pub fn has_quorum(&self, counts: Counts) -> bool {
        let min = self.min();
        match self.said.match_policy {
            MatchPolicy::OnlyWaiting => {
                let on_their_way = self.members.iter().filter(|member| matches!(member.place, Place::Placed(_)));
                let on_their_way = u32::try_from(on_their_way.count()).unwrap_or(u32::MAX);
                counts.pending.saturating_add(on_their_way) >= min
            }
            MatchPolicy::WaitingAndRunning => counts.have() >= min,
            MatchPolicy::OnceSatisfied => counts.have() >= min || self.has_started(counts),
        }
    }

    /// Members that node state counts by now (or that are gone), and pending ones that were deleted, or must have been: the
    /// others came several times meanwhile. `passed` are the seconds that have passed, if there is a clock.
    pub fn settled(&self, facts: &impl Facts, passed: Option<i64>, except: Option<u64>) -> Vec<u64> {
        let settled = |member: &&Member| {
            if let Place::Placed(_) = member.place {
                return !facts.in_ledger(member.uid);
            }
            let missed = self.round.saturating_sub(member.round) >= ROUNDS_MISSED
                && passed.is_none_or(|passed| passed.minus(member.seen) >= SECONDS_MISSED);
            Some(member.name) != except && (missed || facts.is_gone(member.uid))
        };
        self.members.iter().filter(settled).map(|member| member.name).gather()
    }

    /// Pending members without a slot: `first` before all, then those that ask for least, which leave most room for the
    /// minimum. Of those, the ones that missed a round come last, since they may be gone.
    pub fn waiting(&self, first: Option<u64>) -> Vec<&Member> {
        let size = |member: &Member| {
            let request = self.kinds.get(usize::from(member.kind)).map(|kind| &kind.request);
            let scarce = request.map_or(0, |request| {
                let scalars = request.iter().filter(|(id, _)| id.is_scalar());
                scalars.map(|(_, amount)| amount).fold(0, i64::saturating_add)
            });
            (scarce, request.map_or(0, |request| request.get(ResourceId::CPU)))
        };
        let missed = |member: &Member| member.round.saturating_add(1) < self.round;
        let mut waiting: Vec<(bool, (i64, i64), &Member)> = self
            .members
            .iter()
            .filter(|member| member.place == Place::Nowhere)
            .map(|member| (Some(member.name) != first, size(member), member))
            .gather();
        sort_by_key(&mut waiting, |(others, size, member)| (*others, *size, missed(member), member.order, member.name));
        waiting.into_iter().map(|(.., member)| member).gather()
    }

    pub fn holds_slots(&self) -> bool {
        self.members.iter().any(|member| matches!(member.place, Place::Slot(_)))
    }
}

/// The number of an item, and whether it had one already. Numbers that no member has any more are given again, so that there are
/// never more than members.
fn number_of<T: PartialEq>(items: &[T], item: &T, members: &[Member], of: impl Fn(&Member) -> u16) -> (u16, bool) {
    let known = items.iter().position(|known| known == item);
    let at = known.unwrap_or_else(|| {
        let unused = |at: &usize| !members.iter().any(|member| usize::from(of(member)) == *at);
        (0..items.len()).find(unused).unwrap_or(items.len())
    });
    (u16::try_from(at).unwrap_or(u16::MAX), known.is_some())
}

/// Gives the item that number.
fn put_at<T>(items: &mut Vec<T>, number: u16, item: T) {
    match items.get_mut(usize::from(number)) {
        Some(place) => *place = item,
        None => items.push(item),
    }
}
