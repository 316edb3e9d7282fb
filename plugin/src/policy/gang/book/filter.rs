//! Which nodes the pod of this cycle may go to: slots are kept, plans stay possible.

use alloc::string::String;
use alloc::vec::Vec;

use super::gang::Place;
use super::planning::{Planned, Question, Told};
use super::{Book, Facts, Rejection, Slot, reasons};
use crate::gather::Gather;
use crate::object::{ResourceId, Resources};
use crate::policy::gang::planner::{NodeRow, Topology};
use crate::reckon::Reckon;

impl Book {
    /// May the pod of this cycle go to the node?
    ///
    /// `freed` is what preemption, which is trying what would happen without some pods there, has freed on it so far.
    ///
    /// # Errors
    /// Why not: the place is held, or the gang would not fit.
    pub fn filter(&mut self, node: NodeRow, freed: Option<&Resources>, facts: &impl Facts) -> Result<(), String> {
        if let Some(freed) = freed {
            return self.filter_emptied(node, freed, facts);
        }
        let own = self.current.member;
        if let Some(plan) = &self.current.plan
            && !self.keeps_the_plan(node, plan, facts)
        {
            let gang = own.and_then(|(at, _)| self.gang(at)).map_or("", |gang| &*gang.key);
            return Err(reasons::needed_by_siblings(facts.node_name(node), gang));
        }
        let request = core::mem::take(&mut self.current.request);
        let room = self.room_beside_slots(node, &request, None, facts);
        self.current.request = request;
        match room {
            Ok(()) => {
                self.current.passed.push(node);
                if self.is_worth_its_nomination(node, facts) {
                    return Ok(());
                }
                self.current.passed.pop();
                let gang = own.and_then(|(at, _)| self.gang(at)).map_or("", |gang| &*gang.key);
                Err(reasons::not_enough_for_all(gang))
            }
            Err((holder, resource)) => {
                self.note_turned_away(node);
                let gang = self.gang(holder).map_or("", |gang| &*gang.key);
                Err(reasons::held_for(facts.node_name(node), resource, gang, facts))
            }
        }
    }

    /// Whether a member that is nominated would be let through here. If Reserve turned it away it would lose its nomination,
    /// which wakes all pods of its priority: those that wait for the same victims would do so in turns, without a pause.
    fn is_worth_its_nomination(&self, node: NodeRow, facts: &impl Facts) -> bool {
        let (Some(nominated), Some(plan)) = (self.current.nominated, &self.current.plan) else { return true };
        nominated == node && self.settle_plan(plan.clone(), node, facts).is_ok()
    }

    /// The scheduler counts a pod in that is nominated to the node. If it then refuses the node to the member whose place
    /// is there, that is because the victims are still on their way out, and its place is kept.
    pub fn note_nominated(&mut self, node: NodeRow) {
        let member = self.current.member.and_then(|(at, name)| self.gang_mut(at)?.find_mut(name));
        if let Some(member) = member.filter(|member| member.place == Place::Slot(node)) {
            member.directed = false;
        }
    }

    /// Preemption asks about a node. For a member of a gang that does not run yet it must make room for the whole gang:
    /// victims that bring only one member closer would have died for nothing.
    fn filter_emptied(&self, node: NodeRow, freed: &Resources, facts: &impl Facts) -> Result<(), String> {
        let beside = self.room_beside_slots(node, &self.current.request, Some(freed), facts);
        if let Err((holder, resource)) = beside {
            let gang = self.gang(holder).map_or("", |gang| &*gang.key);
            return Err(reasons::held_for(facts.node_name(node), resource, gang, facts));
        }
        let Some((at, name)) = self.current.member else { return Ok(()) };
        let Some(gang) = self.gang(at) else { return Ok(()) };
        let counts = gang.counts(facts);
        if gang.has_started(counts) || matches!(gang.find(name).map(|member| member.place), Some(Place::Slot(_))) {
            return Ok(());
        }
        if !self.is_complete(at, facts) {
            return Err(Rejection::incomplete(&gang.key, counts.have(), gang.min()).reason);
        }
        let question = Question {
            gang: at,
            member: Some(name),
            fixed: Some(node),
            freed: Some((node, freed)),
            told: Some(Told { accepted: &[], all_seen: false }),
            ..Question::default()
        };
        self.plan(&question, facts).map(drop).map_err(|_| reasons::not_enough_for_all(&gang.key))
    }

    /// Whether the member at hand can go to the node with the others staying where they are planned.
    fn keeps_the_plan(&self, node: NodeRow, plan: &[Planned], facts: &impl Facts) -> bool {
        let Some((at, name)) = self.current.member else { return true };
        let Some(kind) = self.gang(at).and_then(|gang| gang.find(name)).map(|member| member.kind) else { return true };
        // Its own place, or that of one like it, which then takes its own.
        if plan.iter().any(|planned| planned.node == node && planned.gang == at && planned.kind == kind) {
            return true;
        }
        let domain = |node| facts.domain(node);
        if self.options.topology == Topology::Required
            && plan.first().is_some_and(|first| domain(first.node) != domain(node))
        {
            return false;
        }
        // Where nothing is known the plan is a guess; it is made again with the nodes that pass.
        if !facts.is_known(node) {
            return true;
        }
        let here = || plan.iter().filter(|planned| planned.node == node);
        let request =
            |planned: &Planned, id| self.kind(planned.gang, planned.kind).map_or(0, |kind| kind.request.get(id));
        here().next().is_none()
            || self.current.request.iter().all(|(id, amount)| {
                let planned = here().map(|planned| request(planned, id)).fold(0, i64::plus);
                let used = planned.plus(self.held_of(node, id, |_| false)).plus(amount);
                amount <= 0 || facts.free(node, id) >= used
            })
    }

    /// What slots hold of a resource on a node, but for those left out.
    pub(super) fn held_of(&self, node: NodeRow, id: ResourceId, leave_out: impl Fn(&Slot) -> bool) -> i64 {
        let slots = self.held.on(node).iter().filter(|slot| !leave_out(slot));
        let kinds = slots.filter_map(|slot| self.kind(slot.gang, slot.kind));
        kinds.map(|kind| kind.request.get(id)).fold(0, i64::plus)
    }

    /// Whether the member at hand has its slot on the node.
    fn is_own_slot(&self, node: NodeRow) -> bool {
        let member = self.current.member.and_then(|(at, name)| self.gang(at)?.find(name));
        member.is_some_and(|member| member.place == Place::Slot(node))
    }

    /// Whether the request fits beside the slots that others have on the node. A slot is for its member whatever others
    /// hold: whether there is room for it, the scheduler has seen.
    ///
    /// # Errors
    /// Whose slot is in the way, and how much of which resource it holds.
    pub(super) fn room_beside_slots(
        &self,
        node: NodeRow,
        request: &Resources,
        freed: Option<&Resources>,
        facts: &impl Facts,
    ) -> Result<(), (usize, Option<(ResourceId, i64)>)> {
        let slots = self.held.on(node);
        if slots.is_empty() || self.is_own_slot(node) {
            return Ok(());
        }
        let gives_way = match self.current.member {
            Some((at, _)) if self.current.plan.is_some() => self.gives_way_to(at, facts),
            _ => Vec::new(),
        };
        let gives_way = |slot: &Slot| gives_way.get(slot.gang).copied().unwrap_or(false);
        let Some(holder) = slots.iter().find(|slot| !gives_way(slot)).map(|slot| slot.gang) else { return Ok(()) };
        if !facts.is_known(node) {
            return Err((holder, None));
        }
        for (id, amount) in request.iter().filter(|(_, amount)| *amount > 0) {
            let held = self.held_of(node, id, gives_way);
            let freed = freed.map_or(0, |freed| freed.get(id));
            if held > 0 && facts.free(node, id).plus(freed).minus(held) < amount {
                return Err((holder, Some((id, held))));
            }
        }
        Ok(())
    }

    fn note_turned_away(&mut self, node: NodeRow) {
        let (uid, now) = (self.current.uid, self.now);
        let holders: Vec<usize> = self.held.on(node).iter().map(|slot| slot.gang).gather();
        for at in holders {
            let Some(gang) = self.gang_mut(at) else { continue };
            let pods = &mut gang.progress.turned_away;
            match pods.iter().position(|(pod, ..)| *pod == uid) {
                None if pods.len() < 8 => pods.push((uid, 1, now)),
                None => {}
                Some(found) => {
                    if let Some((_, times, cycle)) = pods.get_mut(found).filter(|(.., cycle)| *cycle != now) {
                        (*times, *cycle) = (times.saturating_add(1), now);
                    }
                }
            }
        }
    }
}
