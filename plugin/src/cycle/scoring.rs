//! PreScore and Score: all nodes are scored in one pass, from memory; then the winners are read again until they are
//! fresh.

use alloc::vec;
use alloc::vec::Vec;

use super::gang::Gangs;
use super::packing::Packer;
use super::qos::Qos;
use crate::cluster::{Cluster, Known, Node, NodeIndex};
use crate::config::{Policy, ScoringStrategyType, Weights};
use crate::gather::Gather;
use crate::host::{Code, Host, Severity};
use crate::json::Json;
use crate::object::{GpuNames, PodInfo};
use crate::policy::binpack::{self, Counted, Formula, Shape, Term, Weighing};
use crate::policy::packing::PodShape;
use crate::reckon::Reckon;
use crate::text::join;

/// Weight of a GPU resource in the default strategy. With cpu and memory at 1, one of at most eight GPUs outweighs
/// both: 20/22 x 12.5 points against 2/22 x 100.
const GPU_WEIGHT: i64 = 20;

/// The scoring part of the policy, and the scores of this cycle.
#[derive(Debug)]
pub struct Scoring {
    formula: Formula,
    weighing: Weighing,
    gpu: GpuNames,
    /// By node index: the score and the cycle that it belongs to.
    table: Vec<(u64, u8)>,
    cycle: u64,
    /// The least score of this cycle: 1 once a node is known to be refused, which gets 0 and must win no tie.
    least: u8,
}

/// The parts of one node's score, `None` where a part does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parts {
    binpack: Option<i64>,
    packing: Option<i64>,
    gpu_node_avoidance: Option<i64>,
    locality: Option<i64>,
    qos: Option<i64>,
}

impl Parts {
    fn named(&self, weights: &Weights) -> [(&'static str, Option<i64>, u32); 5] {
        [
            ("binpack", self.binpack, weights.binpack),
            ("packing", self.packing, weights.packing),
            ("gpuNodeAvoidance", self.gpu_node_avoidance, weights.gpu_node_avoidance),
            ("locality", self.locality, weights.locality),
            ("qos", self.qos, weights.qos),
        ]
    }

    /// The weighted mean of the parts that apply, rounded half up.
    fn mix(&self, weights: &Weights) -> u8 {
        let (mut sum, mut total) = (0_i64, 0_i64);
        for (_, part, weight) in self.named(weights) {
            if let Some(part) = part {
                // At most 100 x 100.
                sum = sum.plus(part.wrapping_mul(weight.into()));
                total = total.plus(weight.into());
            }
        }
        let doubled = sum.plus(sum).plus(total);
        let mean = doubled.checked_div(total.plus(total)).unwrap_or(0);
        u8::try_from(mean.clamp(0, binpack::MAX_SCORE)).unwrap_or(0)
    }
}

/// What of the pod and the candidates decides a score; the same for all nodes of a cycle.
struct Question<'a> {
    terms: Vec<Term>,
    avoid_gpu_nodes: bool,
    /// Knows what this pod means to each node.
    qos: Option<&'a Qos>,
    score_qos: bool,
    /// Knows where the pod's siblings are; `None` if that does not count.
    gangs: Option<&'a Gangs>,
    /// Knows what the pods that will come lose.
    packing: Option<(&'a mut Packer, &'a PodShape)>,
}

/// The parts of the policy that have an opinion of their own on nodes.
#[derive(Clone, Copy, Debug)]
pub struct Others<'a> {
    pub qos: Option<&'a Qos>,
    pub gangs: Option<&'a Gangs>,
}

impl Scoring {
    #[inline(never)]
    pub fn new(policy: &Policy) -> Self {
        let (formula, weighing) = match &policy.binpack.scoring_strategy {
            None => {
                let named = |name: &str| Counted::Named(name.into());
                let resources = vec![(Counted::AnyGpu, GPU_WEIGHT), (named("cpu"), 1), (named("memory"), 1)];
                (Formula::MostAllocated, Weighing::new(resources))
            }
            Some(strategy) => {
                let formula = match strategy.kind {
                    ScoringStrategyType::LeastAllocated => Formula::LeastAllocated,
                    ScoringStrategyType::MostAllocated => Formula::MostAllocated,
                    ScoringStrategyType::RequestedToCapacityRatio => {
                        let points = strategy.requested_to_capacity_ratio.iter().flat_map(|ratio| &ratio.shape);
                        Formula::RequestedToCapacityRatio(Shape::new(
                            points.map(|point| (point.utilization, point.score)),
                        ))
                    }
                };
                let resources = strategy.resources.iter();
                let resources =
                    resources.map(|resource| (Counted::Named(resource.name.as_str().into()), resource.weight));
                (formula, Weighing::new(resources.gather()))
            }
        };
        Self { formula, weighing, gpu: policy.gpu.names(), table: Vec::new(), cycle: 0, least: 0 }
    }

    /// Scores every node that passed the filters. Skip if there is nothing to say about any of them.
    pub fn score_all(
        &mut self,
        pod: &PodInfo,
        others: Others<'_>,
        packing: Option<(&mut Packer, &PodShape)>,
        cluster: &mut Cluster,
        policy: &Policy,
        host: &mut impl Host,
    ) -> Code {
        let qos = others.qos;
        let gangs = others.gangs.filter(|gangs| policy.weights.locality > 0 && gangs.scores());
        self.gpu.learn(&cluster.names);
        self.weighing.learn(&cluster.names, &self.gpu);
        let terms = if policy.weights.binpack > 0 { self.weighing.terms(&pod.scoring) } else { Vec::new() };
        let avoidance = policy.weights.gpu_node_avoidance > 0 && !self.gpu.any(&pod.requests);
        let score_qos = policy.weights.qos > 0 && qos.is_some_and(Qos::scores);
        let packing = packing.filter(|(packer, _)| packer.seen() > 0);
        if terms.is_empty() && !avoidance && !score_qos && gangs.is_none() && packing.is_none() {
            return Code::Skip;
        }

        let candidates = candidates(cluster, host);
        cluster.refresh(host, policy.cluster.refresh_per_cycle);
        self.gpu.learn(&cluster.names);
        let gpu_nodes = candidates.iter().filter(|at| self.has_gpu(cluster, **at)).count();
        // If the candidates are all alike, avoidance says nothing and would only blur the rest.
        let avoid_gpu_nodes = avoidance && (1..candidates.len()).contains(&gpu_nodes);
        let packing =
            packing.and_then(|(packer, pod)| packer.begin(pod, &candidates, cluster).then_some((packer, pod)));
        if terms.is_empty() && !avoid_gpu_nodes && !score_qos && gangs.is_none() && packing.is_none() {
            return Code::Skip;
        }
        let mut question = Question { terms, avoid_gpu_nodes, qos, score_qos, gangs, packing };

        self.cycle = cluster.cycle();
        self.least = 0;
        self.table.resize(cluster.capacity(), (0, 0));
        let mut scored: Vec<(u8, NodeIndex)> = Vec::with_capacity(candidates.len());
        for at in candidates {
            if let Some(score) = self.score_node(&question, at, cluster, policy) {
                scored.push((score, at));
            }
        }
        if scored.is_empty() {
            return Code::Skip;
        }
        self.verify(&mut question, scored, cluster, policy, host);
        if policy.explain {
            self.explain(pod, &question, cluster, policy, host);
        }
        Code::Success
    }

    /// The score found for a node in this cycle; 0 for a node without one.
    pub fn score_of(&self, at: Option<NodeIndex>) -> i32 {
        match at.and_then(|at| self.table.get(at.index())) {
            Some((cycle, score)) if *cycle == self.cycle => i32::from(self.least.max(*score)),
            _ => 0,
        }
    }

    /// Reads the best nodes again until the best of all is fresh: what was remembered of it may be out of date.
    fn verify(
        &mut self,
        question: &mut Question<'_>,
        mut scored: Vec<(u8, NodeIndex)>,
        cluster: &mut Cluster,
        policy: &Policy,
        host: &mut impl Host,
    ) {
        let mut best_fresh = None;
        scored.retain(|(score, at)| {
            let fresh = cluster.is_fresh(*at);
            if fresh {
                best_fresh = best_fresh.max(Some(*score));
            }
            !fresh
        });
        for _ in 0..policy.cluster.verify_per_cycle {
            let Some(best) = (0..scored.len()).greatest(|at| scored.get(*at).map(|(score, _)| *score)) else { break };
            let (score, at) = scored.swap_remove(best);
            if best_fresh.is_some_and(|fresh| fresh > score) {
                break;
            }
            let Some(name) = cluster.node(at).map(|node| node.name.clone()) else { continue };
            let read = cluster.read(host, &name);
            if let (Some(at), Some((packer, pod))) = (read, &mut question.packing) {
                packer.look_again(pod, at, cluster);
            }
            let fresh = read.and_then(|at| self.score_node(question, at, cluster, policy));
            if fresh.is_none()
                && let Some(entry) = self.table.get_mut(at.index())
            {
                *entry = (0, 0);
            }
            best_fresh = best_fresh.max(fresh);
        }
    }

    /// Scores a node and notes it in the table; `None` if there is nothing to say about the node.
    fn score_node(&mut self, question: &Question<'_>, at: NodeIndex, cluster: &Cluster, policy: &Policy) -> Option<u8> {
        let node = cluster.node(at)?;
        // Filter accepted the node from memory; if it has been read since, that may have been a mistake.
        if question.qos.is_some_and(|qos| qos.refuses(node, cluster)) {
            self.least = 1;
            return None;
        }
        let parts = self.parts(question, node, cluster)?;
        let score = parts.mix(&policy.weights);
        *self.table.get_mut(at.index())? = (self.cycle, score);
        Some(score)
    }

    /// The parts of a node's score; `None` if nothing is known of it that they hang on.
    fn parts(&self, question: &Question<'_>, node: &Node, cluster: &Cluster) -> Option<Parts> {
        let known = node.known();
        let qos = question.qos.filter(|_| question.score_qos).and_then(|qos| qos.score(node, cluster));
        let locality = question.gangs.and_then(|gangs| gangs.locality(node.at.row(), cluster));
        if known.is_none() && qos.is_none() && locality.is_none() {
            return None;
        }
        let binpack =
            |known: &Known| binpack::score(&self.formula, &question.terms, &node.allocatable, &known.scoring_requested);
        Some(Parts {
            binpack: (!question.terms.is_empty()).then(|| known.map_or(0, binpack)),
            packing: question
                .packing
                .as_ref()
                .filter(|_| known.is_some())
                .map(|(packer, _)| packer.score(node.at, cluster)),
            gpu_node_avoidance: question
                .avoid_gpu_nodes
                .then(|| if self.gpu.any(&node.allocatable) { 0 } else { binpack::MAX_SCORE }),
            locality,
            qos,
        })
    }

    fn has_gpu(&self, cluster: &Cluster, at: NodeIndex) -> bool {
        cluster.node(at).is_some_and(|node| self.gpu.any(&node.allocatable))
    }

    /// One log line per scored node: `explain {"pod":…,"node":…,"parts":{…},"final":…}`. Names of objects hold nothing
    /// that JSON would escape.
    fn explain(
        &self,
        pod: &PodInfo,
        question: &Question<'_>,
        cluster: &Cluster,
        policy: &Policy,
        host: &mut impl Host,
    ) {
        for (at, node) in cluster.iter() {
            if self.table.get(at.index()).is_none_or(|(cycle, _)| *cycle != self.cycle) {
                continue;
            }
            let mut parts = Vec::new();
            let found = self.parts(question, node, cluster).unwrap_or_default();
            for (name, part, _) in &found.named(&policy.weights) {
                if let Some(part) = part {
                    parts.push(say!("\"", name, "\":", part));
                }
            }
            if let Some((packer, pod)) = &question.packing {
                packer.explain(pod, at, &mut parts);
            }
            let mut line = say!("explain {\"pod\":\"", pod.namespace, "/", pod.name, "\",\"node\":\"", node.name);
            say_to!(&mut line, "\",\"parts\":{", join(&parts, ","), "},\"final\":", self.score_of(Some(at)), "}");
            host.log(Severity::Info, &line);
        }
    }
}

/// The nodes that passed the filters; those never seen are read.
fn candidates(cluster: &mut Cluster, host: &mut impl Host) -> Vec<NodeIndex> {
    let list = host.filtered_node_list().to_vec();
    let names = core::str::from_utf8(&list).ok().and_then(|list| Json::parse(list).ok());
    let Some(Json::List(names)) = names else { return Vec::new() };
    let names = names.iter().filter_map(Json::text);
    names.filter_map(|name| cluster.find(name).or_else(|| cluster.read(host, name))).gather()
}
