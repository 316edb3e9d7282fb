//! QoS at the extension points: what the policy needs, gathered from the pod of the cycle and from what is known of a
//! node.

use super::CyclePod;
use crate::cluster::{Cluster, Footprint, Node, NodeIndex, NodeState, pod_class};
use crate::config::Policy;
use crate::host::{Code, Host, Severity};
use crate::object::{ResourceId, ResourceNames};
use crate::policy::qos::class::QosClass;
use crate::policy::qos::filter::{self, NodeThresholds, Pod, Reclaimed, Rejection};
use crate::policy::qos::load::Load;
use crate::policy::qos::rules::{IllegalPairs, Rules};
use crate::policy::qos::score;
use crate::policy::qos::usage::{Measurement, Source, Timestamp, Usage};

/// The QoS part of the policy, and the question of this cycle.
#[derive(Debug)]
pub struct Qos {
    rules: Rules,
    node_thresholds: bool,
    expires_after: u32,
    /// `None` if crane's annotations are not read.
    crane_expires_after: Option<u32>,
    crane_offset_ms: i64,
    /// Numbers of the batch and mid resources.
    reclaimed: [Option<ResourceId>; pod_class::RECLAIMED.len()],
    /// What the pod of this cycle puts to every node; `None` if it cannot be read.
    question: Option<Question>,
    /// Nodes that may be read again in a cycle before they are refused.
    rereads_per_cycle: u32,
    /// How many are left in this one.
    rereads: u32,
}

/// What of the pod decides; the same for all nodes of a cycle.
#[derive(Clone, Copy, Debug)]
struct Question {
    pod: Pod,
    /// What it requests of the batch and mid resources, in their order.
    reclaimed: [i64; pod_class::RECLAIMED.len()],
    /// Whether some node may be refused to the pod.
    filters: bool,
}

impl Qos {
    /// `None` if the policy switches QoS off.
    pub fn new(policy: &Policy, names: &mut ResourceNames) -> Option<Self> {
        let sources = &policy.qos.usage;
        Some(Self {
            rules: policy.qos.rules()?,
            node_thresholds: policy.qos.node_thresholds,
            expires_after: sources.expiration_seconds,
            crane_expires_after: sources.crane.enabled.then_some(sources.crane.expiration_seconds),
            crane_offset_ms: i64::from(sources.crane.offset_seconds().unwrap_or(0)).saturating_mul(1000),
            reclaimed: pod_class::RECLAIMED.map(|name| names.intern(name)),
            question: None,
            rereads_per_cycle: policy.cluster.refresh_per_cycle,
            rereads: 0,
        })
    }

    /// Skip unless some node may be refused to the pod, which so costs no Filter call.
    pub fn pre_filter(&mut self, pod: Option<&CyclePod>, cluster: &Cluster, host: &mut impl Host) -> Code {
        self.rereads = self.rereads_per_cycle;
        self.question = pod.map(|pod| self.ask(pod, cluster));
        let Some((pod, question)) = pod.zip(self.question) else { return Code::Skip };
        if let Some(pair) = pod.illegal {
            match self.rules.illegal_pairs {
                IllegalPairs::Reject => {
                    host.status_reason(&pair.to_string());
                    return Code::UnschedulableAndUnresolvable;
                }
                IllegalPairs::Log => {
                    let message = format!("pod {}/{}: {pair}", pod.info.namespace, pod.info.name);
                    host.log(Severity::Info, &message);
                }
            }
        }
        if question.filters { Code::Success } else { Code::Skip }
    }

    /// Judges the current node.
    ///
    /// A node is accepted from memory: only the winner has to be right, and Reserve looks at that one again. A refusal
    /// is looked at again here, for so many nodes a cycle: a pod refused everywhere from memory would read nothing, and
    /// wait for a node that has long cooled down. The code asks for no preemption, which would lower no measurement.
    pub fn filter(&mut self, cluster: &mut Cluster, host: &mut impl Host) -> Code {
        let Some(question) = self.question.filter(|question| question.filters) else { return Code::Success };
        let found = cluster.find(host.current_node_name());
        if let Some((at, node)) = found.and_then(|at| Some((at, cluster.node(at)?))) {
            let verdict = self.judge(&question, node, cluster);
            if verdict.is_ok() {
                return Code::Success;
            }
            if self.rereads == 0 || cluster.is_fresh(at) {
                return answer(node, verdict, host);
            }
        }
        self.rereads = self.rereads.saturating_sub(1);
        let name = host.current_node_name().to_owned();
        match cluster.read(host, &name).and_then(|at| cluster.node(at)) {
            Some(node) => answer(node, self.judge(&question, node, cluster), host),
            None => Code::Success,
        }
    }

    /// Judges the node that the pod is about to go to by what is true now.
    pub fn reserve(&self, at: NodeIndex, cluster: &mut Cluster, host: &mut impl Host) -> Code {
        let Some(question) = self.question.filter(|question| question.filters) else { return Code::Success };
        let Some(name) = cluster.node(at).map(|node| node.name.clone()) else { return Code::Success };
        let at = if cluster.is_fresh(at) { Some(at) } else { cluster.read(host, &name) };
        match at.and_then(|at| cluster.node(at)) {
            Some(node) => answer(node, self.judge(&question, node, cluster), host),
            None => Code::Success,
        }
    }

    /// Whether the pod of this cycle may not join a node, as far as is known now.
    pub fn refuses(&self, node: &Node, cluster: &Cluster) -> bool {
        self.question
            .filter(|question| question.filters)
            .is_some_and(|question| self.judge(&question, node, cluster).is_err())
    }

    /// What the pod of this cycle counts for once it is placed.
    pub fn footprint(&self) -> Option<Footprint> {
        let pod = self.question?.pod;
        Some(Footprint { qos: pod.class.qos, estimate: pod.estimate, requests: pod.requests })
    }

    /// Whether there is an opinion on the nodes for the pod of this cycle.
    pub fn scores(&self) -> bool {
        self.question.is_some_and(|question| self.rules.row(question.pod.class).is_some())
    }

    /// Scores a node; `None` without an opinion.
    pub fn score(&self, node: &Node, cluster: &Cluster) -> Option<i64> {
        score::score(&self.rules, &self.question?.pod, &self.view(node, cluster, &[]))
    }

    fn ask(&self, pod: &CyclePod, cluster: &Cluster) -> Question {
        let requests = pod_class::load(&pod.info.requests, &cluster.names);
        let limits = pod_class::load(&pod.info.limits, &cluster.names);
        let reclaimed = self.reclaimed.map(|id| id.map_or(0, |id| pod.info.requests.get(id)));
        let requests_reclaimed = reclaimed.iter().any(|requested| *requested > 0);
        let own_thresholds = self.node_thresholds && cluster.any_own_thresholds();
        Question {
            pod: Pod { class: pod.class, estimate: self.rules.estimation.of(requests, limits), requests },
            reclaimed,
            filters: self.rules.concern(pod.class, requests_reclaimed, own_thresholds),
        }
    }

    fn judge(&self, question: &Question, node: &Node, cluster: &Cluster) -> Result<(), Rejection> {
        let reclaimed = self.reclaimed(question, node);
        filter::filter(&self.rules, &question.pod, &self.view(node, cluster, &reclaimed))
    }

    /// The batch and mid resources that a node has or has given out.
    fn reclaimed(&self, question: &Question, node: &Node) -> Vec<Reclaimed> {
        let resource = |((name, id), requested): ((&'static str, &Option<ResourceId>), &i64)| {
            let id = (*id)?;
            let allocatable = node.allocatable.get(id);
            let allocated = node.known().map(|known| known.requested.get(id));
            let concerns = allocatable > 0 || allocated.unwrap_or(0) > 0;
            concerns.then_some(Reclaimed { name, allocatable, allocated, requested: *requested })
        };
        pod_class::RECLAIMED.into_iter().zip(&self.reclaimed).zip(&question.reclaimed).filter_map(resource).collect()
    }

    fn view<'a>(&self, node: &Node, cluster: &Cluster, reclaimed: &'a [Reclaimed]) -> filter::Node<'a> {
        let state = node.state();
        let placed = || node.entries().iter().filter_map(|entry| entry.footprint);
        let unmeasured = state
            .and_then(|state| state.unmeasured.as_ref())
            .map_or_else(Load::default, |expected| Load { cpu: expected.cpu, memory: expected.memory });
        filter::Node {
            allocatable: Load {
                cpu: node.allocatable.get(ResourceId::CPU),
                memory: node.allocatable.get(ResourceId::MEMORY),
            },
            usage: Usage::judge(&self.sources(node), self.now(cluster)),
            placed_since: placed().fold(unmeasured, |sum, placed| sum.plus(placed.estimate)),
            protected: protected(state, placed()),
            best_effort: state.map(|state| best_effort(state, placed())),
            thresholds: if self.node_thresholds { node.load.thresholds } else { NodeThresholds::default() },
            reclaimed,
        }
    }

    fn sources(&self, node: &Node) -> [Source; 2] {
        let state = node.state().and_then(|state| state.usage.as_ref());
        let crane = node.load.crane.filter(|_| self.crane_expires_after.is_some());
        [
            Source {
                measured: state
                    .map(|usage| Measurement { at: usage.at, load: Load { cpu: usage.cpu, memory: usage.memory } }),
                expires_after: self.expires_after,
            },
            Source {
                measured: crane.map(|measured| Measurement { at: self.utc(measured.at), ..measured }),
                expires_after: self.crane_expires_after.unwrap_or(0),
            },
        ]
    }

    /// The cluster's time. Crane's own times stand in where nobody publishes node state: then a node is stale if it is
    /// measured later than others.
    fn now(&self, cluster: &Cluster) -> Option<Timestamp> {
        match cluster.clock_ms() {
            0 => cluster.crane_ms().map(|local| self.utc(local)),
            now => Some(now),
        }
    }

    fn utc(&self, crane_ms: Timestamp) -> Timestamp {
        crane_ms.saturating_sub(self.crane_offset_ms)
    }
}

/// Passes a verdict on to the scheduler.
fn answer(node: &Node, verdict: Result<(), Rejection>, host: &mut impl Host) -> Code {
    let Err(rejection) = verdict else { return Code::Success };
    host.status_reason(&format!("{}: {rejection}", node.name));
    Code::UnschedulableAndUnresolvable
}

/// LSE and LSR pods on a node. Without node state, those that the module placed itself; `None` if there are none of them
/// either.
fn protected(state: Option<&NodeState>, placed: impl Iterator<Item = Footprint>) -> Option<u32> {
    let placed = placed.filter(|placed| placed.qos.is_protected()).fold(0_u32, |sum, _| sum.saturating_add(1));
    let Some(state) = state else { return (placed > 0).then_some(placed) };
    let counted = [QosClass::Lse, QosClass::Lsr].map(|class| state.qos.get(class.name()).map_or(0, |class| class.pods));
    Some(counted.into_iter().fold(placed, u32::saturating_add))
}

fn best_effort(state: &NodeState, placed: impl Iterator<Item = Footprint>) -> Load {
    let counted = state
        .qos
        .get(QosClass::Be.name())
        .map_or_else(Load::default, |class| Load { cpu: class.cpu, memory: class.memory });
    placed.filter(|placed| placed.qos == QosClass::Be).fold(counted, |sum, placed| sum.plus(placed.requests))
}
