//! Where the members of a gang could go, all at once.
//!
//! Feasibility is judged node by node, never by a sum over nodes: four free GPUs on four nodes are no place for a member
//! that needs two. Members of one kind are planned as a number, so a gang of 512 costs no more than one of 8.
//!
//! The exact problem is vector bin packing. Real gangs have one or two kinds of members, for which filling the node that
//! takes the most (see [`packing`]) is as good as it gets; where that fails, other orders and at last a search with a
//! fixed budget are tried, so that work stays bounded whatever the cluster looks like.

use alloc::vec::Vec;

mod packing;
mod problem;
mod search;
#[cfg(test)]
mod tests;

use crate::gather::Gather;
use crate::object::{ResourceId, Resources};

use packing::Packing;
use problem::{Node, Problem};

/// A node's row in the caller's table.
pub type NodeRow = u32;

/// Most kinds of members that are planned together; real gangs have one to four.
pub const MAX_KINDS: usize = 32;

/// Most topology domains that are packed in earnest, after those without enough room are left out.
const MAX_DOMAINS_TRIED: usize = 8;

/// Members that are alike: the same requests, the same rules about nodes.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    /// What one member asks for, [`ResourceId::PODS`] included.
    pub request: &'a Resources,
    /// How many need a place.
    pub count: u32,
    /// Most of them that one node may take whatever its resources, such as 1 for members that want a port of the node.
    pub per_node: u32,
}

/// What planning needs to know of the cluster.
pub trait Nodes {
    /// One more than the largest row in use.
    fn rows(&self) -> NodeRow;
    /// What the node has left of a resource; may be negative.
    fn free(&self, node: NodeRow, resource: ResourceId) -> i64;
    /// Most members that the node may take, whatever their kind: 1 if what it has allocated is unknown, 0 for a row
    /// without a node.
    fn limit(&self, node: NodeRow) -> u32;
    /// Whether members of that kind may run there at all: selectors, taints, refusals.
    fn allows(&self, node: NodeRow, kind: usize) -> bool;
    /// The node's topology domain, if it has one.
    fn domain(&self, node: NodeRow) -> Option<u32>;
    /// Whether the node runs members of the gang already.
    fn has_sibling(&self, node: NodeRow) -> bool;
}

/// How much topology domains matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// Not at all.
    #[default]
    Ignored,
    /// Of plans with equally few nodes, the one in one domain.
    Preferred,
    /// All members in one domain.
    Required,
}

/// Places for members of one kind on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Position in the list of kinds.
    pub kind: usize,
    /// The node.
    pub node: NodeRow,
    /// How many go there.
    pub count: u32,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The kind that does not fit; a position in the list of kinds.
    pub kind: usize,
    /// Members of that kind that need a place.
    pub need: u32,
    /// Members of that kind that would find one.
    pub room: u32,
    /// The resource that is short by itself, if one is.
    pub resource: Option<ResourceId>,
    /// The node that comes closest among those that take no member, with what it has left of that resource.
    pub nearest: Option<(NodeRow, i64)>,
    /// With [`Topology::Required`], the domain that comes closest.
    pub domain: Option<u32>,
}

/// Finds places for all members, on few nodes and then in one topology domain if it can.
///
/// # Errors
/// What is missing, if no plan was found within the budget.
pub fn plan(kinds: &[Kind<'_>], nodes: &impl Nodes, topology: Topology) -> Result<Vec<Placement>, Shortage> {
    if let Some(kind) = kinds.get(MAX_KINDS) {
        return Err(Shortage {
            kind: MAX_KINDS,
            need: kind.count,
            room: 0,
            resource: None,
            nearest: None,
            domain: None,
        });
    }
    let problem = Problem::new(kinds, nodes);
    let mut budget = Budget::default();
    match topology {
        Topology::Ignored => solve(&problem, &|_| true, &mut budget).map_err(|placed| problem.shortage(None, &placed)),
        Topology::Preferred => {
            let together = in_one_domain(&problem, &mut budget);
            match (solve(&problem, &|_| true, &mut budget), together) {
                (Ok(anywhere), Some(together)) if problem.added_nodes(&anywhere) < problem.added_nodes(&together) => {
                    Ok(anywhere)
                }
                (_, Some(together)) => Ok(together),
                (anywhere, None) => anywhere.map_err(|placed| problem.shortage(None, &placed)),
            }
        }
        Topology::Required => in_one_domain(&problem, &mut budget).ok_or_else(|| {
            let domain = problem.roomiest_domain();
            let placed = solve(&problem, &|node| node.domain == domain, &mut budget).err().unwrap_or_default();
            problem.shortage(domain, &placed)
        }),
    }
}

/// The plan within one domain that adds the fewest nodes. If members run already, only where they run.
fn in_one_domain(problem: &Problem, budget: &mut Budget) -> Option<Vec<Placement>> {
    let mut domains = problem.domains_with_room();
    // The roomiest is always tried: where several kinds compete, enough room for each alone is not enough.
    if let Some(roomiest) = domains.pop() {
        domains.truncate(MAX_DOMAINS_TRIED.saturating_sub(1));
        domains.push(roomiest);
    }
    domains
        .into_iter()
        .filter_map(|domain| solve(problem, &|node| node.domain == Some(domain), budget).ok())
        .least(|plan| problem.added_nodes(plan))
}

/// Tries one way after another. What the first way could place if all fail.
fn solve(
    problem: &Problem,
    use_node: &dyn Fn(&Node) -> bool,
    budget: &mut Budget,
) -> Result<Vec<Placement>, Vec<Placement>> {
    let fresh = Packing::new(problem, use_node);
    if !fresh.has_room_for_each() {
        return Err(Vec::new());
    }
    let orders = problem.orders();
    let mut first: Option<Vec<Placement>> = None;
    for order in &orders {
        let mut packing = fresh.clone();
        if packing.fill_nodes(order) {
            return Ok(packing.placed);
        }
        first.get_or_insert(packing.placed);
    }
    if problem.kinds.len() > 1 {
        for order in &orders {
            let mut packing = fresh.clone();
            if packing.best_fit(order) {
                return Ok(packing.placed);
            }
        }
        if let Some(plan) = orders.first().and_then(|order| search::search(problem, &fresh, order, budget)) {
            return Ok(plan);
        }
    }
    Err(first.unwrap_or_default())
}

/// How often [`problem::fits`] may still be asked by the search, over all searches of one plan.
struct Budget(u32);

impl Default for Budget {
    /// A few milliseconds' worth.
    fn default() -> Self {
        Self(300_000)
    }
}

impl Budget {
    /// Pays for looking at `nodes` nodes.
    fn spend(&mut self, nodes: usize) -> bool {
        let left = u32::try_from(nodes).ok().and_then(|nodes| self.0.checked_sub(nodes.saturating_add(1)));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}
