//! Which of several gangs goes first, and whose slots give way.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::gang::Turn;
use super::planning::Question;
use super::{Book, Facts, Gang, Place, Rejection};
use crate::policy::gang::planner::NodeRow;
use crate::reckon::Reckon;
use crate::sort::sort_by_key;

/// Gangs that are planned at most to find out whether they go before the one at hand.
const MOST_AHEAD: usize = 4;
/// Gangs below their minimum that are remembered at most, the latest.
const MOST_SHORT: usize = 32;

/// The greatest goes first: priority, then gangs that run below their minimum (or one that starts with them does), then age.
type Rank = (i32, bool, Reverse<i64>, Reverse<u64>);

impl Book {
    pub(super) fn rank(&self, gang: &Gang, facts: &impl Facts) -> Rank {
        let (_, runs_below_min) = self.is_under_way(gang, facts);
        (gang.said.priority, runs_below_min, Reverse(gang.created), Reverse(gang.order))
    }

    /// Of the gang and those that start together with it: whether members run, and whether they only can because all were
    /// complete once while one is still below its minimum.
    pub(super) fn is_under_way(&self, gang: &Gang, facts: &impl Facts) -> (bool, bool) {
        let (mut runs, mut started, mut below_min) = (false, false, false);
        let mut count = |gang: &Gang| {
            let counts = gang.counts(facts);
            runs |= counts.running > 0;
            started |= gang.has_started(counts);
            below_min |= counts.running < gang.min();
        };
        count(gang);
        let mut bound = false;
        for key in &gang.said.together_with {
            match self.by_key.get(key).and_then(|at| self.gang(*at)) {
                Some(partner) => count(partner),
                // It runs and has nobody waiting, so it is not below its minimum as far as anybody knows.
                None => bound |= facts.bound(key) > 0,
            }
        }
        (runs || bound, (started || bound) && below_min)
    }

    /// By gang index: whether its slots give way to this gang.
    ///
    /// Those of a gang that runs members already do not, whatever its priority, nor those of a gang that started together
    /// with one that does: the rest would be left without, and what runs would wait for nothing.
    pub(super) fn gives_way_to(&self, at: usize, facts: &impl Facts) -> Vec<bool> {
        let mut gives_way = vec![false; self.gangs.len()];
        let Some(gang) = self.gang(at) else { return gives_way };
        let rank = self.rank(gang, facts);
        let unit = self.unit(at);
        for holder in self.held.holders().into_iter().filter(|holder| !unit.contains(holder)) {
            let Some(other) = self.gang(holder) else { continue };
            let gives = !self.is_under_way(other, facts).0 && rank > self.rank(other, facts);
            if let Some(place) = gives_way.get_mut(holder) {
                *place = gives;
            }
        }
        gives_way
    }

    /// Of the gangs that go before this one and would fit now, the one beside which, and beside those before it, this one
    /// would not.
    ///
    /// Nobody is let ahead of a member at its first attempt: the event that brings a member back is what wakes the other.
    /// If the other has not come by the time that a member comes again that waited for it, its pods are gone; if it came
    /// and other plugins were in its way, waiting for it would be in vain. In neither case is it let ahead again. What
    /// tells is remembered of the other, so that several whose pods are gone are not waited for in turns.
    pub(super) fn goes_first(&self, question: &Question<'_>, facts: &impl Facts) -> Option<usize> {
        let came = self.current.came?;
        let gang = self.gang(question.gang)?;
        let rank = self.rank(gang, facts);
        let unit = self.unit(question.gang);
        let state = self.state_of_the_world(facts);
        let mut ahead: Vec<(Rank, usize)> = Vec::new();
        for at in self.by_key.values().copied().filter(|at| !unit.contains(at)) {
            let Some(other) = self.gang(at) else { continue };
            let known_to_fail =
                other.shortage.as_ref().is_some_and(|(found_in, ..)| *found_in == (state, other.composition));
            let missed_its_turn = other.awaited > other.last_cycle && came >= other.awaited && other.excused == 0;
            if known_to_fail || missed_its_turn || other.turn != Turn::Open || other.said.priority < gang.said.priority
            {
                continue;
            }
            let waits = other.members.iter().any(|member| member.place == Place::Nowhere);
            if waits && self.is_complete(at, facts) {
                let other = self.rank(other, facts);
                if other > rank {
                    ahead.push((other, at));
                }
            }
        }
        sort_by_key(&mut ahead, |ahead| Reverse(*ahead));
        let mut taken = Vec::new();
        for (_, at) in ahead.into_iter().take(MOST_AHEAD) {
            let first = Question { gang: at, taken: &taken, ..Question::default() };
            let Ok(plan) = self.plan(&first, facts) else { continue };
            taken.extend(plan);
            if self.plan(&Question { taken: &taken, ..*question }, facts).is_err() {
                return Some(at);
            }
        }
        None
    }

    /// A member of a gang that runs below its minimum has found no room.
    pub(super) fn note_short(&mut self, at: usize) {
        if !self.short.contains(&at) {
            if self.short.len() >= MOST_SHORT {
                self.short.remove(0);
            }
            self.short.push(at);
        }
    }

    /// A pod by itself is about to take room that a gang of no lower priority needs to get back to its minimum.
    ///
    /// What woke the pod has woken the gang's member, too, so that the pod steps back once for every time that the member has
    /// come, and no more: the member may be gone, or other plugins refuse it the node.
    pub(super) fn give_way_to_the_short(&mut self, node: NodeRow, facts: &impl Facts) -> Result<(), Rejection> {
        let found = self.short.iter().copied().find(|at| self.is_kept_short(*at, node, facts));
        let now = self.now;
        let Some(gang) = found.and_then(|at| self.gang_mut(at)) else { return Ok(()) };
        gang.awaited = now;
        Err(Rejection::before_singles(facts.node_name(node), &gang.key))
    }

    /// Whether a member of the gang would have room on the node now, but not beside the pod of this cycle.
    fn is_kept_short(&self, at: usize, node: NodeRow, facts: &impl Facts) -> bool {
        let Some(gang) = self.gang(at) else { return false };
        if gang.said.priority < self.current.priority
            || gang.awaited > gang.last_cycle
            || !self.is_under_way(gang, facts).1
        {
            return false;
        }
        gang.members.iter().filter(|member| member.place == Place::Nowhere).any(|member| {
            let Some(kind) = self.kind(at, member.kind) else { return false };
            let left = |id| facts.free(node, id).minus(self.held_of(node, id, |_| false));
            let asks = || kind.request.iter().filter(|(_, amount)| *amount > 0);
            facts.allows(node, kind.rules)
                && !gang.is_refused(member.kind, node, self.clock_ms, facts)
                && asks().all(|(id, amount)| left(id) >= amount)
                && asks().any(|(id, amount)| left(id).minus(self.current.request.get(id)) < amount)
        })
    }

    /// Changes whenever a plan could come out differently.
    pub(super) fn state_of_the_world(&self, facts: &impl Facts) -> u64 {
        facts.generation().wrapping_add(self.held.changes)
    }

    /// Whether a gang, and those that start together with it, have all the members they need.
    pub(super) fn is_complete(&self, at: usize, facts: &impl Facts) -> bool {
        self.gang(at).is_some_and(|gang| {
            let counts = gang.counts(facts);
            gang.min() > 0 && gang.has_quorum(counts) && self.incomplete_partner(at, counts, facts).is_none()
        })
    }
}
