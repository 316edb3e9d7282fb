//! The planning problem with everything looked up once: only the resources that matter, only the nodes that can help.

use alloc::vec;
use alloc::vec::Vec;

use super::{Kind, NodeRow, Nodes, Placement, Shortage};
use crate::gather::Gather;
use crate::object::ResourceId;
use crate::reckon::Reckon;
use crate::sort::{sort, sort_by_key};

/// Sizes are in parts of the largest free amount of a resource on one node.
pub(super) const WHOLE: i64 = 1 << 16;

/// One kind of member, amounts in the order of [`Problem::resources`].
#[derive(Debug)]
pub(super) struct KindRow {
    pub request: Vec<i64>,
    pub count: u32,
    pub per_node: u32,
    /// Largest share of a node that the member takes, see [`WHOLE`].
    pub size: i64,
}

/// A node that can take at least one member of some kind.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub row: NodeRow,
    pub free: Vec<i64>,
    pub limit: u32,
    /// Bit k: kind k may run here.
    pub allowed: u64,
    pub domain: Option<u32>,
    pub has_sibling: bool,
}

#[derive(Debug)]
pub(super) struct Problem {
    pub resources: Vec<ResourceId>,
    pub kinds: Vec<KindRow>,
    /// In the order of their rows.
    pub nodes: Vec<Node>,
    /// Nodes that can take no member, with why not to be found in them: for messages.
    useless: Vec<Node>,
    /// Per resource, the most that one node has free; at least 1.
    largest: Vec<i64>,
}

/// How many members of a kind the node can take now.
pub(super) fn fits(node: &Node, at: usize, kind: &KindRow) -> u32 {
    if !is_allowed(node, at) {
        return 0;
    }
    let mut most = node.limit.min(kind.per_node);
    for (free, request) in node.free.iter().zip(&kind.request) {
        most = most.min(times(*free, *request));
    }
    most
}

/// How many members of a kind the nodes can take now, if the other kinds stay away.
pub(super) fn room(nodes: &[Node], at: usize, kind: &KindRow) -> u32 {
    nodes.iter().map(|node| fits(node, at, kind)).fold(0, u32::saturating_add)
}

fn is_allowed(node: &Node, kind: usize) -> bool {
    u32::try_from(kind).is_ok_and(|kind| node.allowed.checked_shr(kind).unwrap_or(0) & 1 == 1)
}

/// How often `request` goes into `free`.
fn times(free: i64, request: i64) -> u32 {
    if request <= 0 {
        return u32::MAX;
    }
    let times = free.max(0).checked_div(request).unwrap_or(0);
    u32::try_from(times).unwrap_or(u32::MAX)
}

/// Takes `count` members of a kind out of the node's free amounts.
pub(super) fn take(node: &mut Node, kind: &KindRow, count: u32) {
    node.limit = node.limit.saturating_sub(count);
    for (free, request) in node.free.iter_mut().zip(&kind.request) {
        *free = free.minus(request.times(count.into()));
    }
}

impl Problem {
    pub fn new(kinds: &[Kind<'_>], nodes: &impl Nodes) -> Self {
        let mut resources: Vec<ResourceId> = Vec::new();
        for kind in kinds {
            for (id, _) in kind.request.iter().filter(|(_, amount)| *amount > 0) {
                if let Err(place) = resources.binary_search(&id) {
                    resources.insert(place, id);
                }
            }
        }
        let mut problem = Self {
            kinds: kinds
                .iter()
                .map(|kind| KindRow {
                    request: resources.iter().map(|id| kind.request.get(*id)).gather(),
                    count: kind.count,
                    per_node: kind.per_node,
                    size: 0,
                })
                .gather(),
            largest: resources.iter().map(|_| 1).gather(),
            nodes: Vec::new(),
            useless: Vec::new(),
            resources,
        };
        for row in 0..nodes.rows() {
            problem.add(row, nodes);
        }
        for kind in &mut problem.kinds {
            let shares = kind.request.iter().zip(&problem.largest).map(|(request, largest)| share(*request, *largest));
            kind.size = shares.fold(1, i64::max);
        }
        problem
    }

    fn add(&mut self, row: NodeRow, nodes: &impl Nodes) {
        let limit = nodes.limit(row);
        if limit == 0 {
            return;
        }
        let allowed = (0..self.kinds.len()).filter(|kind| nodes.allows(row, *kind));
        let allowed =
            allowed.filter_map(|kind| 1_u64.checked_shl(u32::try_from(kind).ok()?)).fold(0, |mask, bit| mask | bit);
        if allowed == 0 {
            return;
        }
        let node = Node {
            row,
            free: self.resources.iter().map(|id| nodes.free(row, *id)).gather(),
            limit,
            allowed,
            domain: nodes.domain(row),
            has_sibling: nodes.has_sibling(row),
        };
        if self.kinds.iter().enumerate().all(|(at, kind)| fits(&node, at, kind) == 0) {
            self.useless.push(node);
            return;
        }
        for (largest, free) in self.largest.iter_mut().zip(&node.free) {
            *largest = (*largest).max(*free);
        }
        self.nodes.push(node);
    }

    /// Orders in which to place the kinds: largest first, by the largest share and then by each resource.
    pub fn orders(&self) -> Vec<Vec<usize>> {
        let sorted = |size: &dyn Fn(&KindRow) -> i64| {
            let mut order: Vec<usize> = (0..self.kinds.len()).gather();
            sort_by_key(&mut order, |at| (core::cmp::Reverse(self.kinds.get(*at).map_or(0, size)), *at));
            order
        };
        let mut orders = vec![sorted(&|kind| kind.size)];
        if self.kinds.len() > 1 {
            for resource in 0..self.resources.len() {
                let order = sorted(&|kind| kind.request.get(resource).copied().unwrap_or(0));
                if !orders.contains(&order) {
                    orders.push(order);
                }
            }
        }
        orders
    }

    /// What is left of a node, summed over resources as parts of the largest.
    pub fn leftover(&self, free: &[i64]) -> i64 {
        free.iter().zip(&self.largest).map(|(free, largest)| share((*free).max(0), *largest)).fold(0, i64::plus)
    }

    /// How many nodes a plan adds to those that run members already.
    pub fn added_nodes(&self, plan: &[Placement]) -> usize {
        let mut rows: Vec<NodeRow> = plan.iter().map(|placement| placement.node).gather();
        sort(&mut rows);
        let node = |row| self.nodes.get(self.nodes.binary_search_by_key(row, |node| node.row).ok()?);
        let alike = rows.chunk_by(|one, other| one == other).filter_map(|alike| node(alike.first()?));
        alike.filter(|node| !node.has_sibling).count()
    }

    /// Domains in which each kind has room for itself, tightest first. If members run already, only where they run.
    pub fn domains_with_room(&self) -> Vec<u32> {
        let mut domains: Vec<(i64, u32)> = self
            .rooms()
            .into_iter()
            .filter(|(_, rooms)| rooms.iter().zip(&self.kinds).all(|(room, kind)| *room >= kind.count))
            .filter_map(|(domain, rooms)| Some((rooms.iter().map(|room| i64::from(*room)).sum(), domain?)))
            .gather();
        sort(&mut domains);
        domains.into_iter().map(|(_, domain)| domain).gather()
    }

    /// The domain that comes closest to taking all kinds.
    pub fn roomiest_domain(&self) -> Option<u32> {
        let missing = |rooms: &[u32]| -> i64 {
            rooms.iter().zip(&self.kinds).map(|(room, kind)| i64::from(kind.count.saturating_sub(*room))).sum()
        };
        let rooms = self.rooms();
        rooms.iter().filter(|(domain, _)| domain.is_some()).least(|(_, rooms)| missing(rooms))?.0
    }

    /// Per domain that may be used, how many members of each kind would fit if it were the only kind.
    fn rooms(&self) -> Vec<(Option<u32>, Vec<u32>)> {
        let mut nodes: Vec<&Node> = self.nodes.iter().gather();
        sort_by_key(&mut nodes, |node| (node.domain, node.row));
        let domains = nodes.chunk_by(|one, other| one.domain == other.domain);
        let sibling_domains: Vec<Option<u32>> =
            self.nodes.iter().chain(&self.useless).filter(|node| node.has_sibling).map(|node| node.domain).gather();
        domains
            .filter_map(|nodes| {
                let domain = nodes.first()?.domain;
                if !sibling_domains.is_empty() && !sibling_domains.contains(&domain) {
                    return None;
                }
                let room = |(at, kind)| nodes.iter().map(|node| fits(node, at, kind)).fold(0, u32::saturating_add);
                Some((domain, self.kinds.iter().enumerate().map(room).gather()))
            })
            .gather()
    }

    /// Names what is missing. `placed` is as far as a first attempt got, for kinds that only fit one without the other.
    pub fn shortage(&self, domain: Option<u32>, placed: &[Placement]) -> Shortage {
        let within = |node: &&Node| domain.is_none() || node.domain == domain;
        let mut nodes: Vec<Node> = self.nodes.iter().filter(within).cloned().gather();
        let orders = self.orders();
        let order = orders.first().map(Vec::as_slice).unwrap_or_default();
        let kinds = || order.iter().filter_map(|at| Some((*at, self.kinds.get(*at)?)));
        let mut rooms = kinds().map(|(at, kind)| (at, kind, room(&nodes, at, kind), kind.count));
        let short = |(_, kind, room, _): &(usize, &KindRow, u32, u32)| *room < kind.count;
        let found = rooms.find(short);
        let found = found.or_else(|| {
            // Each has room by itself: what is missing is missing in what the attempt left.
            for Placement { kind, node, count } in placed {
                if let (Some(kind), Ok(at)) = (self.kinds.get(*kind), nodes.binary_search_by_key(node, |node| node.row))
                    && let Some(node) = nodes.get_mut(at)
                {
                    take(node, kind, *count);
                }
            }
            let mut rest = kinds().map(|(at, kind)| {
                let placed = placed.iter().filter(|placement| placement.kind == at).map(|placement| placement.count);
                let placed = placed.fold(0, u32::saturating_add);
                (at, kind, placed, kind.count.saturating_sub(placed))
            });
            rest.find(short)
        });
        let Some((at, kind, room, missing)) = found else {
            return Shortage { kind: 0, need: 0, room: 0, resource: None, nearest: None, domain };
        };
        for node in self.useless.iter().filter(within) {
            nodes.push(node.clone());
        }
        let blocker = self.blocker(at, kind, missing, &nodes);
        let nearest = blocker.and_then(|resource| {
            let nodes = nodes.iter().filter(|node| is_allowed(node, at) && node.limit > 0 && fits(node, at, kind) == 0);
            nodes
                .filter_map(|node| Some((node.row, *node.free.get(resource)?)))
                .greatest(|(row, free)| (*free, core::cmp::Reverse(*row)))
        });
        Shortage {
            kind: at,
            need: kind.count,
            room,
            resource: blocker.and_then(|resource| self.resources.get(resource)).copied(),
            nearest,
            domain,
        }
    }

    /// The resource, by position, of which these nodes have too little for so many of the kind whatever the others are; the
    /// scarcest of several, and of equals the one that is not on every node.
    fn blocker(&self, at: usize, kind: &KindRow, missing: u32, nodes: &[Node]) -> Option<usize> {
        let room = |resource: usize| {
            let request = kind.request.get(resource).copied().unwrap_or(0);
            let only = |node: &Node| match is_allowed(node, at) {
                true => times(node.free.get(resource).copied().unwrap_or(0), request),
                false => 0,
            };
            (request > 0).then(|| nodes.iter().map(only).fold(0, u32::saturating_add))
        };
        (0..self.resources.len())
            .filter_map(|at| {
                let id = *self.resources.get(at)?;
                Some(((room(at)?, id == ResourceId::PODS, core::cmp::Reverse(id)), at))
            })
            .filter(|((room, ..), _)| *room < missing)
            .least(|(order, _)| *order)
            .map(|(_, at)| at)
    }
}

/// In floating point, since amounts of bytes times [`WHOLE`] pass 64 bits; only orders hang on it.
fn share(amount: i64, largest: i64) -> i64 {
    (amount as f64 * WHOLE as f64 / largest as f64) as i64
}
