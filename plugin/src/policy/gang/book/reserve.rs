//! The end of a member's cycle: its siblings get their slots, or it gives its own back.

use alloc::vec::Vec;

use super::gang::{Place, Turn};
use super::planning::{Planned, Question, Told};
use super::{Book, Facts, Rejection, Slot, hash, reasons};
use crate::object::ResourceId;
use crate::policy::gang::planner::NodeRow;
use crate::reckon::Reckon;
use crate::sort::sort;

/// With fewer feasible nodes than this the scheduler has looked at every node.
const ALL_WERE_LOOKED_AT: usize = 100;

impl Book {
    /// The pod of this cycle is about to go to the node. Its siblings get their slots now.
    ///
    /// # Errors
    /// Why it must not: the scheduler accepts too few nodes for the gang; or, for a pod by itself, a gang that runs below its
    /// minimum goes first. That one may try again at once.
    pub fn reserve(&mut self, node: NodeRow, facts: &impl Facts) -> Result<(), Rejection> {
        let Some((at, name)) = self.current.member else { return self.give_way_to_the_short(node, facts) };
        if let Some(plan) = self.current.plan.take() {
            let plan = self.settle_plan(plan, node, facts)?;
            self.make_way(at, &plan, facts);
            for planned in &plan {
                if (planned.gang, planned.member) != (at, name) {
                    self.put(planned.gang, planned.member, Place::Slot(planned.node));
                    self.note_progress(planned.gang);
                }
            }
        }
        self.put(at, name, Place::Placed(node));
        self.note_progress(at);
        if let Some(gang) = self.gang_mut(at) {
            gang.turn = Turn::Open;
        }
        Ok(())
    }

    /// The plan with the member at hand on the node that the scheduler chose, and its kind on nodes that it accepts.
    pub(super) fn settle_plan(
        &self,
        mut plan: Vec<Planned>,
        node: NodeRow,
        facts: &impl Facts,
    ) -> Result<Vec<Planned>, Rejection> {
        let Some((at, name)) = self.current.member else { return Ok(plan) };
        let Some(gang) = self.gang(at) else { return Ok(plan) };
        let Some(own) = plan.iter().position(|planned| (planned.gang, planned.member) == (at, name)) else {
            return Ok(plan);
        };
        let Some(Planned { kind, node: planned_node, .. }) = plan.get(own).copied() else { return Ok(plan) };
        // One like it was to go there: they change places.
        let like_it = plan.iter().position(|other| (other.gang, other.kind, other.node) == (at, kind, node));
        if let Some(other) = like_it.and_then(|other| plan.get_mut(other)) {
            other.node = planned_node;
        }
        if let Some(own) = plan.get_mut(own) {
            own.node = node;
        }
        let mut passed = self.current.passed.clone();
        sort(&mut passed);
        let all_seen = passed.len() < ALL_WERE_LOOKED_AT && self.current.nominated.is_none();
        let accepted = |planned: &Planned| {
            let like_it = (planned.gang, planned.kind) == (at, kind);
            let passed = || like_it && passed.binary_search(&planned.node).is_ok();
            (like_it && planned.node == node) || passed() || (facts.is_known(planned.node) && !(like_it && all_seen))
        };
        let nominated = |planned: &Planned| self.nominated(at, planned.node, ResourceId::PODS, facts) > 0;
        if plan.iter().all(|planned| accepted(planned) && !nominated(planned)) {
            return Ok(plan);
        }
        // Other plugins refuse some of the nodes, nothing is known of them, or others are nominated there: plan again.
        let guessed = plan.iter().any(|planned| !facts.is_known(planned.node));
        let question = Question {
            gang: at,
            member: Some(name),
            fixed: Some(node),
            told: Some(Told { accepted: &passed, all_seen }),
            ..Question::default()
        };
        let counts = gang.counts(facts);
        self.plan(&question, facts).map_err(|no_plan| {
            let mut rejection = self.no_room(at, counts, &no_plan, facts);
            rejection.reason.push_str(match guessed {
                true => reasons::ONLY_WHERE_IT_FITS,
                false => "; other plugins refuse nodes with room",
            });
            rejection
        })
    }

    /// Ends the slots of lower gangs that the plan runs into; all of a gang's, since nothing is held for an incomplete one.
    fn make_way(&mut self, at: usize, plan: &[Planned], facts: &impl Facts) {
        let gives_way = self.gives_way_to(at, facts);
        for node in plan.iter().map(|planned| planned.node) {
            let in_the_way: Vec<Slot> = self.held.on(node).to_vec();
            for slot in in_the_way.into_iter().filter(|slot| gives_way.get(slot.gang).copied().unwrap_or(false)) {
                let request = |id| {
                    let here = plan.iter().filter(|planned| planned.node == node);
                    let kinds = here.filter_map(|planned| self.kind(planned.gang, planned.kind));
                    kinds.map(|kind| kind.request.get(id)).fold(0, i64::plus)
                };
                let kind = self.kind(slot.gang, slot.kind);
                let collides = !facts.is_known(node)
                    || kind.is_some_and(|kind| {
                        kind.request.iter().any(|(id, amount)| {
                            amount > 0 && facts.free(node, id) < self.held_of(node, id, |_| false).plus(request(id))
                        })
                    });
                if !collides {
                    continue;
                }
                self.drop_slots(slot.gang, facts);
            }
        }
    }

    /// The pod did not go there after all: the place is held for it.
    pub fn unreserve(&mut self, gang: &str, name: &str) {
        let Some(at) = self.by_key.get(gang).copied() else { return };
        let name = hash(name);
        if let Some(Place::Placed(node)) = self.gang(at).and_then(|gang| gang.find(name)).map(|member| member.place) {
            self.put(at, name, Place::Slot(node));
            self.note_progress(at);
            if let Some(member) = self.gang_mut(at).and_then(|gang| gang.find_mut(name)) {
                member.failed = true;
            }
        }
    }
}
