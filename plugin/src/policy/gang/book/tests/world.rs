//! A scheduler of plain values around a book: enough of kube-scheduler to see what becomes of gangs.

use std::collections::VecDeque;

use crate::object::{ResourceId, Resources};
use crate::policy::gang::book::{Book, Facts, Options, Pod, Verdict};
use crate::policy::gang::membership::Membership;
use crate::policy::gang::planner::NodeRow;

pub const CPU: ResourceId = ResourceId::CPU;
pub const GPU: ResourceId = ResourceId::MEMORY;

#[derive(Clone, Debug)]
pub struct TestNode {
    pub name: String,
    pub capacity: Resources,
    pub domain: Option<u32>,
    pub known: bool,
    pub exists: bool,
}

#[derive(Clone, Debug)]
pub struct TestPod {
    pub name: String,
    pub membership: Option<Membership>,
    pub request: Resources,
    pub rules: u64,
    pub per_node: u32,
    pub priority: i32,
    pub created: i64,
    pub node: Option<NodeRow>,
    /// Node state counts it.
    pub counted: bool,
    pub reason: String,
    /// How often it has been attempted.
    pub attempts: u32,
    pub nominated: Option<NodeRow>,
}

impl TestPod {
    pub fn uid(&self) -> u64 {
        self.name.bytes().fold(self.created as u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
    }

    pub fn gang(&self) -> &str {
        self.membership.as_ref().map_or("", |membership| &membership.gang)
    }
}

/// The cluster, as it is and as the book sees it.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    pub nodes: Vec<TestNode>,
    pub pods: Vec<TestPod>,
    pub generation: u64,
    /// Other plugins keep pods with these rules off these nodes, and the module cannot know.
    pub refused: Vec<(u64, NodeRow)>,
}

impl Cluster {
    pub fn on(&self, node: NodeRow) -> impl Iterator<Item = &TestPod> {
        self.pods.iter().filter(move |pod| pod.node == Some(node))
    }

    /// The in-tree filters.
    pub fn accepts(&self, pod: &TestPod, node: NodeRow) -> bool {
        let alike = self.on(node).filter(|other| other.rules == pod.rules && other.gang() == pod.gang()).count();
        self.nodes[node as usize].exists
            && !self.refused.contains(&(pod.rules, node))
            && (alike as u64) < u64::from(pod.per_node)
            && pod.request.iter().all(|(id, amount)| amount <= 0 || self.really_free(node, id) >= amount)
    }

    pub fn really_free(&self, node: NodeRow, id: ResourceId) -> i64 {
        self.nodes[node as usize].capacity.get(id) - self.on(node).map(|pod| pod.request.get(id)).sum::<i64>()
    }
}

impl Facts for Cluster {
    fn rows(&self) -> NodeRow {
        self.nodes.len() as NodeRow
    }

    fn exists(&self, node: NodeRow) -> bool {
        self.nodes[node as usize].exists
    }

    fn is_known(&self, node: NodeRow) -> bool {
        self.nodes[node as usize].known
    }

    fn is_late(&self) -> bool {
        false
    }

    fn free(&self, node: NodeRow, resource: ResourceId) -> i64 {
        if self.is_known(node) { self.really_free(node, resource) } else { self.allocatable(node, resource) }
    }

    fn allocatable(&self, node: NodeRow, resource: ResourceId) -> i64 {
        self.nodes[node as usize].capacity.get(resource)
    }

    fn nominated(&self, node: NodeRow, resource: ResourceId, leave_out: &dyn Fn(u64) -> bool) -> i64 {
        let there = self.pods.iter().filter(|pod| pod.nominated == Some(node) && pod.node.is_none());
        there.filter(|pod| !leave_out(pod.uid())).map(|pod| pod.request.get(resource)).sum()
    }

    fn domain(&self, node: NodeRow) -> Option<u32> {
        self.nodes[node as usize].domain
    }

    fn allows(&self, _: NodeRow, _: u64) -> bool {
        true
    }

    fn bound(&self, gang: &str) -> u32 {
        self.pods.iter().filter(|pod| pod.counted && pod.gang() == gang).count() as u32
    }

    fn bound_on(&self, node: NodeRow, gang: &str) -> u32 {
        self.on(node).filter(|pod| pod.counted && pod.gang() == gang).count() as u32
    }

    fn in_ledger(&self, uid: u64) -> bool {
        self.pods.iter().any(|pod| pod.uid() == uid && pod.node.is_some() && !pod.counted)
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn node_name(&self, node: NodeRow) -> &str {
        &self.nodes[node as usize].name
    }

    fn resource_name(&self, resource: ResourceId) -> &str {
        if resource == GPU { "nvidia.com/gpu" } else { "cpu" }
    }

    fn domain_name(&self, domain: u32) -> &str {
        ["zone-a", "zone-b", "zone-c", "zone-d"][domain as usize % 4]
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Bound(NodeRow),
    /// Turned away by the book; with whether preemption is tried.
    Rejected(bool),
    /// In-tree filters and slots leave no node.
    NoNode,
}

#[derive(Debug)]
pub struct World {
    pub cluster: Cluster,
    pub book: Book,
    pub clock_ms: i64,
    /// Names of pods in the order in which they will be tried.
    pub queue: VecDeque<String>,
    /// Seed of node choice; 0 takes the nearest node.
    pub random: u64,
    pub cycles: u32,
}

impl World {
    pub fn new(options: Options) -> Self {
        Self {
            cluster: Cluster::default(),
            book: Book::new(options),
            clock_ms: 0,
            queue: VecDeque::new(),
            random: 0,
            cycles: 0,
        }
    }

    /// A world with nodes of so many GPUs.
    pub fn of(gpus: &[i64]) -> Self {
        let mut world = Self::new(Options::default());
        for gpus in gpus {
            world.node(*gpus);
        }
        world
    }

    pub fn node(&mut self, gpus: i64) -> &mut TestNode {
        self.cluster.generation += 1;
        let name = format!("gpu-{}", self.cluster.nodes.len() + 1);
        let capacity = [(CPU, 64_000), (GPU, gpus), (ResourceId::PODS, 110)].into_iter().collect();
        self.cluster.nodes.push(TestNode { name, capacity, domain: None, known: true, exists: true });
        self.cluster.nodes.last_mut().unwrap()
    }

    /// A pod that asks for a cpu and so many GPUs; it is queued.
    pub fn pod(&mut self, name: &str, gpus: i64) -> &mut TestPod {
        self.cluster.pods.push(TestPod {
            name: name.to_owned(),
            membership: None,
            request: [(CPU, 1000), (GPU, gpus), (ResourceId::PODS, 1)].into_iter().collect(),
            rules: gpus as u64,
            per_node: u32::MAX,
            priority: 0,
            created: self.cluster.pods.len() as i64,
            node: None,
            counted: false,
            reason: String::new(),
            attempts: 0,
            nominated: None,
        });
        self.queue.push_back(name.to_owned());
        self.cluster.pods.last_mut().unwrap()
    }

    /// A member of `ml/gang` called `gang-index`.
    pub fn member(&mut self, gang: &str, index: u32, min: u32, gpus: i64) -> &mut TestPod {
        let pod = self.pod(&format!("{gang}-{index}"), gpus);
        pod.membership =
            Some(Membership { gang: format!("ml/{gang}").into(), min: Some(min), ..Membership::default() });
        pod
    }

    pub fn gang(&mut self, gang: &str, members: u32, gpus: i64) {
        for index in 0..members {
            self.member(gang, index, members, gpus);
        }
    }

    pub fn find(&self, name: &str) -> &TestPod {
        self.cluster.pods.iter().find(|pod| pod.name == name).unwrap()
    }

    pub fn find_mut(&mut self, name: &str) -> &mut TestPod {
        self.cluster.pods.iter_mut().find(|pod| pod.name == name).unwrap()
    }

    pub fn reason(&self, name: &str) -> &str {
        &self.find(name).reason
    }

    /// Names of the members of a gang that are on a node.
    pub fn running(&self, gang: &str) -> usize {
        let gang = format!("ml/{gang}");
        self.cluster.pods.iter().filter(|pod| pod.gang() == gang && pod.node.is_some()).count()
    }

    pub fn delete(&mut self, name: &str) {
        self.cluster.pods.retain(|pod| pod.name != name);
        self.queue.retain(|queued| queued != name);
        self.cluster.generation += 1;
    }

    /// An event that the module registered for: all pending pods are tried again.
    pub fn event(&mut self) {
        let pending = self.cluster.pods.iter().filter(|pod| pod.node.is_none()).map(|pod| pod.name.clone());
        let pending: Vec<String> = pending.filter(|name| !self.queue.contains(name)).collect();
        self.queue.extend(pending);
    }

    /// One scheduling cycle up to Reserve.
    pub fn reserve(&mut self, name: &str) -> Outcome {
        self.cycles += 1;
        let at = self.cluster.pods.iter().position(|pod| pod.name == name).unwrap();
        self.cluster.pods[at].attempts += 1;
        let pod = self.cluster.pods[at].clone();
        let verdict = match &pod.membership {
            None => {
                self.book.begin_single(pod.uid(), &pod.request, pod.priority, &self.cluster, self.clock_ms);
                Verdict::Free
            }
            Some(membership) => {
                let pod = Pod {
                    membership,
                    name: &pod.name,
                    uid: pod.uid(),
                    request: &pod.request,
                    rules: pod.rules,
                    per_node: pod.per_node,
                    priority: pod.priority,
                    created: pod.created,
                    nominated: pod.nominated,
                };
                let verdict = self.book.begin_member(&pod, &self.cluster, self.clock_ms);
                verdict.unwrap_or_else(|| self.book.decide_surveyed(&pod, &self.cluster))
            }
        };
        let candidates: Vec<NodeRow> = match verdict {
            Verdict::Rejected(rejection) => {
                self.cluster.pods[at].reason = rejection.reason;
                return Outcome::Rejected(rejection.preemption_may_help);
            }
            Verdict::Direct(node) => {
                self.book.send();
                vec![node]
            }
            Verdict::Free | Verdict::Planned => (0..self.cluster.rows()).collect(),
        };
        let mut reasons = Vec::new();
        let mut passed: Vec<NodeRow> = Vec::new();
        for node in candidates.into_iter().filter(|node| self.cluster.accepts(&pod, *node)) {
            match self.book.filter(node, None, &self.cluster) {
                Ok(()) => passed.push(node),
                Err(reason) => reasons.push(reason),
            }
        }
        let Some(node) = self.choose(&passed) else {
            self.cluster.pods[at].reason = reasons.join("; ");
            return Outcome::NoNode;
        };
        if let Err(rejection) = self.book.reserve(node, &self.cluster) {
            self.cluster.pods[at].reason = rejection.reason;
            return Outcome::Rejected(rejection.preemption_may_help);
        }
        self.cluster.pods[at].node = Some(node);
        self.cluster.generation += 1;
        Outcome::Bound(node)
    }

    fn choose(&mut self, passed: &[NodeRow]) -> Option<NodeRow> {
        if self.random == 0 {
            return passed
                .iter()
                .copied()
                .max_by_key(|node| (self.book.locality(*node, &self.cluster).unwrap_or(0), std::cmp::Reverse(*node)));
        }
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (self.random >> 33) as usize % passed.len().max(1);
        passed.get(at).copied()
    }

    /// Binding worked: node state counts the pod, and the event wakes all others.
    pub fn bound(&mut self, name: &str) {
        self.find_mut(name).counted = true;
        self.cluster.generation += 1;
        self.event();
    }

    /// Binding failed.
    pub fn unbind(&mut self, name: &str) {
        let pod = self.find_mut(name);
        pod.node = None;
        let gang = pod.gang().to_owned();
        self.book.unreserve(&gang, name);
        self.cluster.generation += 1;
        self.event();
    }

    /// Tries the next pod and binds it.
    pub fn step(&mut self) -> Option<(String, Outcome)> {
        let name = self.queue.pop_front()?;
        let outcome = self.reserve(&name);
        if let Outcome::Bound(_) = outcome {
            self.bound(&name);
        }
        Some((name, outcome))
    }

    /// Until nothing can move any more.
    pub fn run(&mut self) {
        let limit = self.cycles + 100_000;
        while self.step().is_some() {
            assert!(self.cycles < limit, "the queue never empties");
        }
    }
}
