use proptest::prelude::*;

use super::{Kind, NodeRow, Nodes, Placement, Topology, plan};
use crate::object::{ResourceId, Resources};

const UNLIMITED: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct TestNode {
    free: Vec<i64>,
    limit: u32,
    allowed: Vec<bool>,
    domain: Option<u32>,
    sibling: bool,
}

impl TestNode {
    fn new(free: &[i64]) -> Self {
        Self { free: free.to_vec(), limit: UNLIMITED, allowed: vec![true; 8], domain: None, sibling: false }
    }

    fn domain(mut self, domain: u32) -> Self {
        self.domain = Some(domain);
        self
    }
}

struct Cluster(Vec<TestNode>);

impl Nodes for Cluster {
    fn rows(&self) -> NodeRow {
        self.0.len() as NodeRow
    }

    fn free(&self, node: NodeRow, resource: ResourceId) -> i64 {
        self.0[node as usize].free.get(resource.index()).copied().unwrap_or(0)
    }

    fn limit(&self, node: NodeRow) -> u32 {
        self.0[node as usize].limit
    }

    fn allows(&self, node: NodeRow, kind: usize) -> bool {
        self.0[node as usize].allowed[kind]
    }

    fn domain(&self, node: NodeRow) -> Option<u32> {
        self.0[node as usize].domain
    }

    fn has_sibling(&self, node: NodeRow) -> bool {
        self.0[node as usize].sibling
    }
}

/// Requests of cpu and memory, in the order of their ids.
fn request(amounts: &[i64]) -> Resources {
    [ResourceId::CPU, ResourceId::MEMORY].into_iter().zip(amounts.iter().copied()).collect()
}

fn kinds(requests: &[(Resources, u32)]) -> Vec<Kind<'_>> {
    requests.iter().map(|(request, count)| Kind { request, count: *count, per_node: UNLIMITED }).collect()
}

fn nodes_of(plan: &[Placement]) -> Vec<NodeRow> {
    let mut nodes: Vec<NodeRow> = plan.iter().map(|placement| placement.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[test]
fn a_sum_over_nodes_is_no_room() {
    let cluster = Cluster(vec![TestNode::new(&[1]); 4]);
    let requests = [(request(&[2]), 2)];
    let shortage = plan(&kinds(&requests), &cluster, Topology::Ignored).unwrap_err();
    assert_eq!((shortage.need, shortage.room), (2, 0));
    assert_eq!(shortage.resource, Some(ResourceId::CPU));
    assert_eq!(shortage.nearest, Some((0, 1)));
}

#[test]
fn the_shortage_counts_members_not_resources() {
    let cluster = Cluster([3, 2, 2, 1].map(|free| TestNode::new(&[free])).to_vec());
    let requests = [(request(&[2]), 4)];
    let shortage = plan(&kinds(&requests), &cluster, Topology::Ignored).unwrap_err();
    assert_eq!((shortage.kind, shortage.need, shortage.room), (0, 4, 3));
    assert_eq!(shortage.nearest, Some((3, 1)));
}

#[test]
fn few_nodes_and_the_tightest_of_them() {
    // Two members fit on node 1, 2 and 3; node 2 is left with nothing.
    let cluster = Cluster([1, 3, 2, 8].map(|free| TestNode::new(&[free])).to_vec());
    let requests = [(request(&[1]), 2)];
    assert_eq!(
        plan(&kinds(&requests), &cluster, Topology::Ignored).unwrap(),
        [Placement { kind: 0, node: 2, count: 2 }]
    );
}

#[test]
fn nodes_with_siblings_come_first() {
    let mut cluster = Cluster([8, 2].map(|free| TestNode::new(&[free])).to_vec());
    cluster.0[1].sibling = true;
    let requests = [(request(&[1]), 3)];
    let plan = plan(&kinds(&requests), &cluster, Topology::Ignored).unwrap();
    assert_eq!(plan, [Placement { kind: 0, node: 1, count: 2 }, Placement { kind: 0, node: 0, count: 1 }]);
}

#[test]
fn the_parameter_server_goes_beside_its_workers() {
    // cpu, gpu: a worker 1 + 1, the server 1 + 0.
    let cluster = Cluster(vec![TestNode::new(&[8, 4]), TestNode::new(&[8, 0]), TestNode::new(&[8, 4])]);
    let requests = [(request(&[1, 0]), 1), (request(&[1, 1]), 4)];
    let plan = plan(&kinds(&requests), &cluster, Topology::Ignored).unwrap();
    assert_eq!(nodes_of(&plan).len(), 1, "{plan:?}");
}

#[test]
fn limits_of_nodes_and_kinds_hold() {
    let mut cluster = Cluster(vec![TestNode::new(&[8]); 3]);
    cluster.0[0].limit = 1;
    cluster.0[1].allowed[0] = false;
    let member = request(&[1]);
    let kind = |count, per_node| Kind { request: &member, count, per_node };
    let shortage = plan(&[kind(4, 2)], &cluster, Topology::Ignored).unwrap_err();
    assert_eq!((shortage.room, shortage.resource), (3, None));
    assert!(plan(&[kind(3, 2)], &cluster, Topology::Ignored).is_ok());
}

#[test]
fn a_domain_that_takes_all_is_preferred_if_it_costs_no_node() {
    let node = |free: i64, domain| TestNode::new(&[free]).domain(domain);
    let requests = [(request(&[1]), 4)];
    let in_one = Cluster(vec![node(3, 0), node(1, 1), node(2, 2), node(2, 2)]);
    assert_eq!(nodes_of(&plan(&kinds(&requests), &in_one, Topology::Preferred).unwrap()), [2, 3]);
    let fewer_nodes = Cluster(vec![node(3, 0), node(1, 1), node(2, 2), node(1, 2), node(1, 2)]);
    assert_eq!(nodes_of(&plan(&kinds(&requests), &fewer_nodes, Topology::Preferred).unwrap()).len(), 2);
    assert_eq!(nodes_of(&plan(&kinds(&requests), &fewer_nodes, Topology::Required).unwrap()), [2, 3, 4]);
}

#[test]
fn the_tightest_domain_is_used() {
    let node = |domain| TestNode::new(&[4]).domain(domain);
    let cluster = Cluster(vec![node(0), node(0), node(0), node(1), node(1), node(2)]);
    let requests = [(request(&[4]), 2)];
    assert_eq!(nodes_of(&plan(&kinds(&requests), &cluster, Topology::Required).unwrap()), [3, 4]);
}

#[test]
fn a_required_domain_that_is_too_small_is_named() {
    let node = |free: i64, domain| TestNode::new(&[free]).domain(domain);
    let cluster = Cluster(vec![node(3, 0), node(5, 1), node(1, 2), TestNode::new(&[9])]);
    let requests = [(request(&[1]), 6)];
    let shortage = plan(&kinds(&requests), &cluster, Topology::Required).unwrap_err();
    assert_eq!((shortage.domain, shortage.need, shortage.room), (Some(1), 6, 5));
    assert!(plan(&kinds(&requests), &cluster, Topology::Preferred).is_ok());
}

#[test]
fn a_required_domain_stays_the_one_in_use() {
    let node = |free: i64, domain| TestNode::new(&[free]).domain(domain);
    let mut cluster = Cluster(vec![node(0, 0), node(1, 0), node(8, 1)]);
    cluster.0[0].sibling = true;
    assert_eq!(nodes_of(&plan(&kinds(&[(request(&[1]), 1)]), &cluster, Topology::Required).unwrap()), [1]);
    let shortage = plan(&kinds(&[(request(&[1]), 2)]), &cluster, Topology::Required).unwrap_err();
    assert_eq!((shortage.domain, shortage.room), (Some(0), 1));
}

#[test]
fn kinds_that_fit_one_without_the_other_are_short_together() {
    let cluster = Cluster(vec![TestNode::new(&[4, 9])]);
    let requests = [(request(&[2, 1]), 2), (request(&[1, 1]), 1)];
    let shortage = plan(&kinds(&requests), &cluster, Topology::Ignored).unwrap_err();
    assert_eq!((shortage.kind, shortage.need, shortage.room), (1, 1, 0));
    assert_eq!((shortage.resource, shortage.nearest), (Some(ResourceId::CPU), Some((0, 0))), "what the others leave");
}

#[test]
fn absurd_amounts_are_harmless() {
    let cluster = Cluster(vec![TestNode::new(&[i64::MAX, i64::MIN]), TestNode::new(&[-5, 0])]);
    for amounts in [[i64::MAX, 0], [0, i64::MAX], [-1, -1], [i64::MIN, 1], [1, 1]] {
        let requests = [(request(&amounts), UNLIMITED), (request(&[0, 0]), 3)];
        drop(plan(&kinds(&requests), &cluster, Topology::Preferred));
    }
    assert_eq!(plan(&[], &cluster, Topology::Required).unwrap_or_default(), []);
    assert_eq!(plan(&[], &Cluster(Vec::new()), Topology::Ignored), Ok(Vec::new()));
}

/// Whether any assignment works, by trying all.
fn brute_force(kinds: &[Kind<'_>], cluster: &Cluster, domain: Option<u32>) -> bool {
    let members: Vec<usize> =
        kinds.iter().enumerate().flat_map(|(at, kind)| std::iter::repeat_n(at, kind.count as usize)).collect();
    let mut free: Vec<Vec<i64>> = cluster.0.iter().map(|node| node.free.clone()).collect();
    let mut taken = vec![vec![0_u32; kinds.len()]; cluster.0.len()];
    fn place(
        members: &[usize],
        least: usize,
        kinds: &[Kind<'_>],
        cluster: &Cluster,
        domain: Option<u32>,
        free: &mut [Vec<i64>],
        taken: &mut [Vec<u32>],
    ) -> bool {
        let Some((kind, rest)) = members.split_first() else { return true };
        for at in least..cluster.0.len() {
            let node = &cluster.0[at];
            let fits = kinds[*kind].request.iter().all(|(id, amount)| amount <= 0 || free[at][id.index()] >= amount);
            let in_use: u32 = taken[at].iter().sum();
            if !fits
                || !node.allowed[*kind]
                || in_use >= node.limit
                || taken[at][*kind] >= kinds[*kind].per_node
                || (domain.is_some() && node.domain != domain)
            {
                continue;
            }
            for (id, amount) in kinds[*kind].request.iter() {
                free[at][id.index()] -= amount;
            }
            taken[at][*kind] += 1;
            // Members of a kind are interchangeable: the next one of it goes no further left.
            let least = if rest.first() == Some(kind) { at } else { 0 };
            let found = place(rest, least, kinds, cluster, domain, free, taken);
            for (id, amount) in kinds[*kind].request.iter() {
                free[at][id.index()] += amount;
            }
            taken[at][*kind] -= 1;
            if found {
                return true;
            }
        }
        false
    }
    place(&members, 0, kinds, cluster, domain, &mut free, &mut taken)
}

/// Fails if the plan puts anything where it does not fit, or forgets anyone.
fn check(plan: &[Placement], kinds: &[Kind<'_>], cluster: &Cluster) {
    for (at, kind) in kinds.iter().enumerate() {
        let placed: u32 = plan.iter().filter(|placement| placement.kind == at).map(|placement| placement.count).sum();
        assert_eq!(placed, kind.count, "members of kind {at}");
    }
    for (row, node) in cluster.0.iter().enumerate() {
        let here = || plan.iter().filter(|placement| placement.node as usize == row);
        assert!(here().map(|placement| placement.count).sum::<u32>() <= node.limit);
        for (id, free) in node.free.iter().enumerate() {
            let used: i64 = here()
                .flat_map(|placement| {
                    let kind = &kinds[placement.kind];
                    kind.request
                        .iter()
                        .filter(|(used, _)| used.index() == id)
                        .map(|(_, amount)| amount * i64::from(placement.count))
                })
                .sum();
            assert!(used == 0 || used <= *free, "node {row}");
        }
        for placement in here() {
            let of_kind: u32 = here().filter(|other| other.kind == placement.kind).map(|other| other.count).sum();
            assert!(node.allowed[placement.kind] && of_kind <= kinds[placement.kind].per_node);
        }
    }
}

fn node() -> impl Strategy<Value = TestNode> {
    let limit = prop_oneof![4 => Just(UNLIMITED), 1 => 1..3_u32];
    (
        prop::collection::vec(0..9_i64, 2),
        limit,
        prop::collection::vec(prop::bool::weighted(0.9), 8),
        0..3_u32,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(free, limit, allowed, domain, sibling)| TestNode {
            free,
            limit,
            allowed,
            domain: Some(domain),
            sibling,
        })
}

fn members() -> impl Strategy<Value = Vec<(Resources, u32, u32)>> {
    let kind = (0..5_i64, 0..5_i64, 1..4_u32, prop_oneof![5 => Just(UNLIMITED), 1 => 1..3_u32]);
    prop::collection::vec(kind, 1..4).prop_map(|kinds| {
        kinds.into_iter().map(|(cpu, memory, count, per_node)| (request(&[cpu, memory]), count, per_node)).collect()
    })
}

#[test]
fn plans_are_sound_and_found_where_brute_force_finds_one() {
    use std::cell::Cell;
    let (feasible, found) = (Cell::new(0_u32), Cell::new(0_u32));
    let cases = std::env::var("STOWAGE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4_000);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(nodes in prop::collection::vec(node(), 1..5), members in members())| {
        let cluster = Cluster(nodes);
        let kinds: Vec<Kind<'_>> =
            members.iter().map(|(request, count, per_node)| Kind { request, count: *count, per_node: *per_node }).collect();
        let possible = brute_force(&kinds, &cluster, None);
        for topology in [Topology::Ignored, Topology::Preferred] {
            match plan(&kinds, &cluster, topology) {
                Ok(plan) => check(&plan, &kinds, &cluster),
                Err(shortage) => prop_assert!(shortage.room < shortage.need, "{shortage:?}"),
            }
        }
        feasible.set(feasible.get() + u32::from(possible));
        found.set(found.get() + u32::from(plan(&kinds, &cluster, Topology::Ignored).is_ok()));
        if let Ok(plan) = plan(&kinds, &cluster, Topology::Required) {
            check(&plan, &kinds, &cluster);
            let domains: Vec<_> = plan.iter().map(|placement| cluster.0[placement.node as usize].domain).collect();
            prop_assert!(domains.iter().all(|domain| *domain == domains[0]));
        } else if cluster.0.iter().all(|node| !node.sibling) {
            prop_assert!((0..3).all(|domain| !brute_force(&kinds, &cluster, Some(domain))));
        }
    });
    let rate = 100.0 * f64::from(found.get()) / f64::from(feasible.get());
    println!("planner: {} of {} feasible cases planned, {rate:.2} %", found.get(), feasible.get());
    assert!(rate >= 99.0, "{rate:.2} % of the feasible cases planned");
}
