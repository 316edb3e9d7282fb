//! Planning for a gang, with the gangs it starts together with, on what is free for it.

use alloc::vec;
use alloc::vec::Vec;

use super::gang::{Gang, Kind, Place};
use super::{Book, Facts};
use crate::gather::Gather;
use crate::object::{ResourceId, Resources};
use crate::policy::gang::planner::{self, NodeRow, Nodes, Shortage};
use crate::reckon::Reckon;
use crate::sort::sort_by_key;

/// A place found for a member, not held yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub gang: usize,
    /// [`super::gang::Member::name`].
    pub member: u64,
    pub kind: u16,
    pub node: NodeRow,
}

/// What to plan, and under which assumptions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Question<'a> {
    /// The gang and the member at hand, which must get a place.
    pub gang: usize,
    pub member: Option<u64>,
    /// The member at hand goes here; the scheduler has said that it fits.
    pub fixed: Option<NodeRow>,
    /// What the scheduler has told in this cycle, once it has.
    pub told: Option<Told<'a>>,
    /// Amounts that preemption would free on a node.
    pub freed: Option<(NodeRow, &'a Resources)>,
    /// Places of gangs that have precedence.
    pub taken: &'a [Planned],
    /// On empty nodes: could it ever fit?
    pub empty_nodes: bool,
}

/// Nodes that the scheduler accepts for the member at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    /// Ascending.
    pub accepted: &'a [NodeRow],
    /// Whether it has looked at every node.
    pub all_seen: bool,
}

/// No plan: what is missing, for which kind of which gang.
#[derive(Debug)]
pub(super) struct NoPlan {
    pub gang: usize,
    pub kind: u16,
    pub shortage: Shortage,
}

/// Members of one kind that need places.
struct Demand {
    gang: usize,
    kind: u16,
    members: Vec<u64>,
}

/// The cluster as it is for the gang that is planned.
struct View<'a, F> {
    facts: &'a F,
    book: &'a Book,
    question: &'a Question<'a>,
    gang: &'a Gang,
    demands: &'a [Demand],
    kinds: &'a [&'a Kind],
    /// By gang index: whether its slots are for the taking.
    gives_way: Vec<bool>,
    /// What the member with a fixed place takes there.
    fixed: Option<(NodeRow, &'a Kind)>,
}

impl Book {
    /// Places for all members that wait; if there is no room for all, for as many as the minimum needs.
    pub(super) fn plan(&self, question: &Question<'_>, facts: &impl Facts) -> Result<Vec<Planned>, NoPlan> {
        let unit = self.unit(question.gang);
        let all = self.demands(question, &unit, facts, false);
        let fewest = self.demands(question, &unit, facts, true);
        let members = |demands: &[Demand]| demands.iter().map(|demand| demand.members.len()).sum::<usize>();
        if members(&all) > members(&fewest)
            && let Ok(plan) = self.plan_members(&all, question, facts)
        {
            return Ok(plan);
        }
        self.plan_members(&fewest, question, facts)
    }

    /// What the node keeps for nominated pods that are not of the gang, nor of those that start together with it. Until
    /// they are placed, the scheduler counts them in as if they were there.
    pub(super) fn nominated(&self, gang: usize, node: NodeRow, resource: ResourceId, facts: &impl Facts) -> i64 {
        let own = |uid| {
            let gangs = self.unit(gang).into_iter().filter_map(|at| self.gang(at));
            gangs.flat_map(|gang| &gang.members).any(|member| member.uid == uid)
        };
        facts.nominated(node, resource, &own)
    }

    /// A gang and those that start together with it: those that it names, and those that these name.
    pub(super) fn unit(&self, gang: usize) -> Vec<usize> {
        let mut unit = vec![gang];
        let mut looked_at = 0;
        while let Some(gang) = unit.get(looked_at).and_then(|at| self.gang(*at)) {
            for key in &gang.said.together_with {
                match self.by_key.get(key) {
                    Some(partner) if !unit.contains(partner) => unit.push(*partner),
                    _ => {}
                }
            }
            looked_at = looked_at.saturating_add(1);
        }
        unit
    }

    fn demands(&self, question: &Question<'_>, unit: &[usize], facts: &impl Facts, fewest: bool) -> Vec<Demand> {
        let mut demands: Vec<Demand> = Vec::new();
        for at in unit {
            let Some(gang) = self.gang(*at) else { continue };
            let counts = gang.counts(facts);
            let own = question.member.filter(|_| *at == question.gang);
            let need =
                gang.min().saturating_sub(counts.running).saturating_sub(counts.slots).max(u32::from(own.is_some()));
            let most = if fewest { usize::try_from(need).unwrap_or(usize::MAX) } else { usize::MAX };
            for member in gang.waiting(own).into_iter().take(most) {
                match demands.iter_mut().find(|demand| demand.gang == *at && demand.kind == member.kind) {
                    Some(demand) => demand.members.push(member.name),
                    None => demands.push(Demand { gang: *at, kind: member.kind, members: vec![member.name] }),
                }
            }
        }
        demands
    }

    fn plan_members(
        &self,
        demands: &[Demand],
        question: &Question<'_>,
        facts: &impl Facts,
    ) -> Result<Vec<Planned>, NoPlan> {
        let Some(gang) = self.gang(question.gang) else { return Ok(Vec::new()) };
        let nothing = Kind { per_node: u32::MAX, ..Kind::default() };
        let kind_of = |demand: &Demand| self.kind(demand.gang, demand.kind).unwrap_or(&nothing);
        let kinds: Vec<&Kind> = demands.iter().map(kind_of).gather();
        let fixed = question.fixed.zip(question.member).and_then(|(node, member)| {
            let at = demands.iter().position(|demand| is_of(demand, question.gang, member))?;
            Some((at, node, *kinds.get(at)?))
        });
        let rows: Vec<planner::Kind<'_>> = demands
            .iter()
            .zip(&kinds)
            .enumerate()
            .map(|(at, (demand, kind))| {
                let count = u32::try_from(demand.members.len()).unwrap_or(u32::MAX);
                let fixed = u32::from(fixed.is_some_and(|(fixed, ..)| fixed == at));
                planner::Kind { request: &kind.request, count: count.saturating_sub(fixed), per_node: kind.per_node }
            })
            .gather();
        let view = View {
            facts,
            book: self,
            question,
            gang,
            demands,
            kinds: &kinds,
            gives_way: self.gives_way_to(question.gang, facts),
            fixed: fixed.map(|(_, node, kind)| (node, kind)),
        };
        match planner::plan(&rows, &view, self.options.topology) {
            Ok(placements) => Ok(assign(demands, &placements, question)),
            Err(shortage) => {
                let (gang, kind) =
                    demands.get(shortage.kind).map_or((question.gang, 0), |demand| (demand.gang, demand.kind));
                Err(NoPlan { gang, kind, shortage })
            }
        }
    }
}

fn is_of(demand: &Demand, gang: usize, member: u64) -> bool {
    demand.gang == gang && demand.members.contains(&member)
}

/// Gives members the places that were found for their kind; the member at hand, first in its list, the one where most go.
fn assign(demands: &[Demand], placements: &[planner::Placement], question: &Question<'_>) -> Vec<Planned> {
    let mut plan = Vec::new();
    for (at, demand) in demands.iter().enumerate() {
        let mut members = demand.members.iter().copied();
        let own = question.member.is_some_and(|member| is_of(demand, question.gang, member));
        let planned = |member, node| Planned { gang: demand.gang, member, kind: demand.kind, node };
        if let (true, Some(node)) = (own, question.fixed) {
            plan.extend(members.next().map(|member| planned(member, node)));
        }
        let mut here: Vec<_> = placements.iter().filter(|placement| placement.kind == at).gather();
        sort_by_key(&mut here, |placement| (core::cmp::Reverse(placement.count), placement.node));
        for placement in here {
            let count = usize::try_from(placement.count).unwrap_or(usize::MAX);
            plan.extend(members.by_ref().take(count).map(|member| planned(member, placement.node)));
        }
    }
    plan
}

impl<F: Facts> View<'_, F> {
    /// What has a place on the node: slots that stay out of reach, gangs with precedence, the member with a fixed place.
    #[inline(never)]
    fn places(&self, node: NodeRow) -> Vec<&Kind> {
        let slots = self.book.held.on(node).iter();
        let slots = slots
            .filter(|slot| !self.gives_way.get(slot.gang).copied().unwrap_or(false))
            .map(|slot| (slot.gang, slot.kind));
        let taken = self.question.taken.iter().filter(move |planned| planned.node == node);
        let taken = taken.map(|planned| (planned.gang, planned.kind));
        slots.chain(taken).filter_map(|(gang, kind)| self.book.kind(gang, kind)).chain(self.fixed_here(node)).collect()
    }

    /// Whether what the scheduler told of the member at hand leaves the node open to this kind.
    ///
    /// Members like the one at hand go where it could go. Of nodes of unknown allocation nothing else is sure but that
    /// there is room for that member, and so for one that asks for no more.
    fn is_shown_to_fit(&self, node: NodeRow, demand: &Demand, kind: &Kind, told: Told<'_>) -> bool {
        let accepted = told.accepted.binary_search(&node).is_ok();
        let own = self.question.member.is_some_and(|member| is_of(demand, self.question.gang, member));
        if self.facts.is_known(node) {
            return accepted || !(own && told.all_seen);
        }
        let asks_no_more =
            || self.fixed.is_some_and(|(_, own)| kind.request.iter().all(|(id, amount)| amount <= own.request.get(id)));
        accepted && (own || asks_no_more())
    }

    fn fixed_here(&self, node: NodeRow) -> Option<&Kind> {
        self.fixed.filter(|(fixed, _)| *fixed == node).map(|(_, kind)| kind)
    }
}

impl<F: Facts> Nodes for View<'_, F> {
    fn rows(&self) -> NodeRow {
        self.facts.rows()
    }

    fn free(&self, node: NodeRow, resource: ResourceId) -> i64 {
        if self.question.empty_nodes {
            return self.facts.allocatable(node, resource);
        }
        let freed = self.question.freed.filter(|(at, _)| *at == node).map_or(0, |(_, freed)| freed.get(resource));
        let used = self.places(node).iter().map(|kind| kind.request.get(resource)).fold(0, i64::plus);
        let nominated = self.book.nominated(self.question.gang, node, resource, self.facts);
        self.facts.free(node, resource).plus(freed).minus(used).minus(nominated)
    }

    fn limit(&self, node: NodeRow) -> u32 {
        if !self.facts.exists(node) {
            return 0;
        }
        if self.question.empty_nodes || self.facts.is_known(node) {
            return u32::MAX;
        }
        // The scheduler has shown room for one pod, no more; nor is it known how much a slot leaves.
        u32::from(
            self.places(node).is_empty() && !self.gang.members.iter().any(|member| member.place == Place::Placed(node)),
        )
    }

    fn allows(&self, node: NodeRow, kind: usize) -> bool {
        let (Some(demand), Some(kind)) = (self.demands.get(kind), self.kinds.get(kind)) else { return false };
        let Some(gang) = self.book.gang(demand.gang) else { return false };
        if self.question.empty_nodes {
            return self.facts.allows(node, kind.rules);
        }
        if let Some(told) = self.question.told
            && !self.is_shown_to_fit(node, demand, kind, told)
        {
            return false;
        }
        // One per node, and one may be there already.
        let alone = kind.per_node == u32::MAX || !(self.has_sibling(node) || self.fixed_here(node) == Some(*kind));
        alone
            && self.facts.allows(node, kind.rules)
            && !gang.is_refused(demand.kind, node, self.book.clock_ms, self.facts)
    }

    fn domain(&self, node: NodeRow) -> Option<u32> {
        self.facts.domain(node)
    }

    fn has_sibling(&self, node: NodeRow) -> bool {
        self.fixed.is_some_and(|(fixed, _)| fixed == node)
            || self.book.has_siblings(self.question.gang, node, self.facts)
    }
}
