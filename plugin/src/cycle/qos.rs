//! QoS at the extension points: what the policy needs, gathered from the pod of the cycle and from what is known of a
//! node.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::cell::Cell;

use super::CyclePod;
use super::rereads::Rereads;
use crate::cluster::said::Said;
use crate::cluster::{Cluster, Footprint, Node, NodeIndex, pod_class};
use crate::config::Policy;
use crate::host::{Code, Host, Severity};
use crate::object::{ResourceId, ResourceNames, Resources};
use crate::policy::gang::book::PLENTY;
use crate::policy::qos::budget::{self, Budget};
use crate::policy::qos::class::{Class, PodClass};
use crate::policy::qos::filter::{self, NodeThresholds, Pod, Reclaimed, Rejection};
use crate::policy::qos::load::{Metric, Percents};
use crate::policy::qos::rules::{IllegalPairs, Rules};
use crate::policy::qos::score;
use crate::policy::qos::usage::{Source, Usage};

/// How many batch and mid resources there are.
const N: usize = pod_class::RECLAIMED.len();
/// Refusals in a cycle that name their node and its numbers. Beyond, reasons are the same for many nodes.
const MOST_NAMED: u32 = 16;

/// The QoS part of the policy, and the question of this cycle.
#[derive(Debug)]
pub struct Qos {
    rules: Rules,
    node_thresholds: bool,
    expires_after: u32,
    crane_expires_after: u32,
    /// Numbers of the batch and mid resources.
    reclaimed: [Option<ResourceId>; N],
    /// Stand-ins for what budgets limit, by class.
    allowances: Vec<(ResourceId, Allowance)>,
    /// What the pod of this cycle puts to every node; `None` if it cannot be read.
    question: Option<Question>,
    rereads: Rereads,
    /// Nodes refused by name in this cycle, and how many may be.
    named: Cell<u32>,
    most_named: u32,
    /// Of pods with contradictions: one that waits comes again and again.
    said: Said,
}

/// A part of a class's budget. It goes by the name of a resource that nodes have and pods ask for, so that gangs are
/// planned by it as by any other: members that fit one by one may not fit together.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    class: Class,
    metric: Metric,
    /// Expected usage, or requests.
    of_usage: bool,
}

/// What of the pod decides; the same for all nodes of a cycle.
#[derive(Clone, Copy, Debug)]
struct Question {
    pod: Pod,
    /// What it requests of the batch and mid resources, in their order.
    reclaimed: [i64; N],
    /// Whether some node may be refused to the pod.
    filters: bool,
    /// Whether the reserve of batch and mid resources concerns it, which no budget contains.
    reserve: bool,
}

impl Qos {
    /// `None` if the policy switches QoS off.
    #[inline(never)]
    pub fn new(policy: &Policy, cluster: &mut Cluster) -> Option<Self> {
        let sources = &policy.qos.usage;
        let rules = policy.qos.rules()?;
        if let Some(offset) = sources.crane.offset_seconds().filter(|_| sources.crane.enabled) {
            cluster.read_crane(offset);
        }
        let names = &mut cluster.names;
        Some(Self {
            node_thresholds: policy.qos.node_thresholds,
            expires_after: sources.expiration_seconds,
            crane_expires_after: sources.crane.expiration_seconds,
            reclaimed: pod_class::RECLAIMED.map(|name| names.intern(name)),
            allowances: allowances(&rules, policy.qos.node_thresholds, names),
            rules,
            question: None,
            rereads: Rereads::new(policy.cluster.refresh_per_cycle),
            named: Cell::new(0),
            most_named: if policy.explain { u32::MAX } else { MOST_NAMED },
            said: Said::default(),
        })
    }

    /// Skip unless some node may be refused to the pod, which so costs no Filter call.
    pub fn pre_filter(&mut self, pod: Option<&CyclePod>, cluster: &Cluster, host: &mut impl Host) -> Code {
        self.rereads.begin(cluster.cycle(), cluster.capacity());
        self.named.set(0);
        self.question = pod.map(|pod| self.ask(pod, cluster));
        let Some((pod, question)) = pod.zip(self.question) else { return Code::Skip };
        if let Some(pair) = pod.illegal {
            // Where no rule concerns the pod its place is decided already: to turn it away would leave a node without it.
            if self.rules.illegal_pairs == IllegalPairs::Reject && pod.class.row().is_some() {
                host.status_reason(&say!(pair));
                return Code::UnschedulableAndUnresolvable;
            }
            let line = say!("pod ", pod.info.namespace, "/", pod.info.name, ": ", pair);
            if self.said.is_news(&line) {
                host.log(Severity::Info, &line);
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
        let Some(question) = self.question.as_ref().filter(|question| question.filters) else { return Code::Success };
        let found = cluster.find(host.current_node_name());
        if let Some((at, node)) = found.and_then(|at| Some((at, cluster.node(at)?))) {
            if self.accepts(question, node, cluster) {
                return Code::Success;
            }
            if cluster.is_fresh(at) || !self.rereads.take(at) {
                return self.answer(question, node, cluster, host);
            }
        }
        let name = host.current_node_name().to_owned();
        let read = cluster.read(host, &name);
        match read.and_then(|at| cluster.node(at)) {
            Some(node) if !self.accepts(question, node, cluster) => self.answer(question, node, cluster, host),
            _ => Code::Success,
        }
    }

    /// Judges the node that the pod is about to go to by what is true now.
    ///
    /// Filter accepted it, so what was remembered was wrong, and is corrected now: the next attempt goes elsewhere. To
    /// the scheduler that is an error, after which it tries again soon. An unschedulable pod would wait for an event.
    pub fn reserve(&self, at: NodeIndex, cluster: &mut Cluster, host: &mut impl Host) -> Code {
        let Some(question) = self.question.as_ref().filter(|question| question.filters) else { return Code::Success };
        match cluster.freshen(host, at).and_then(|at| cluster.node(at)) {
            Some(node) if self.answer(question, node, cluster, host) != Code::Success => Code::Error,
            _ => Code::Success,
        }
    }

    /// Whether the pod of this cycle may not join a node, as far as is known now.
    pub fn refuses(&self, node: &Node, cluster: &Cluster) -> bool {
        let question = self.question.as_ref().filter(|question| question.filters);
        question.is_some_and(|question| !self.accepts(question, node, cluster))
    }

    /// Whether no pod of a class may join a node.
    pub fn refuses_class(&self, class: PodClass, node: &Node, cluster: &Cluster) -> bool {
        class.row().is_some_and(|row| self.budget_now(class, row, node, cluster).is_none())
    }

    /// Adds what the pod of this cycle takes of its class's budget.
    pub fn ask_for_allowance(&self, request: &mut Resources) {
        let Some(question) = self.question.as_ref().filter(|question| question.filters) else { return };
        let Pod { class, estimate, requests } = question.pod;
        for (id, allowance) in &self.allowances {
            if class.row() == Some(allowance.class) {
                let amount = if allowance.of_usage { estimate } else { requests };
                request.set(*id, amount.get(allowance.metric).max(0));
            }
        }
    }

    /// What a node has left of a class's budget, if `resource` stands for such.
    ///
    /// Only of the pod of the cycle is it known whether its class is declared. A node that is refused to others of the
    /// class altogether is refused by [`Qos::refuses_class`], so here it is open to them.
    pub fn allowance(&self, resource: ResourceId, node: &Node, cluster: &Cluster) -> Option<i64> {
        let at = self.allowances.binary_search_by_key(&resource, |(id, _)| *id).ok()?;
        let (_, allowance) = self.allowances.get(at)?;
        let at_hand = self.question.map(|question| question.pod.class);
        let (class, refused) = match at_hand.filter(|class| class.row() == Some(allowance.class)) {
            Some(class) => (class, 0),
            None => (PodClass::in_row(allowance.class), PLENTY),
        };
        let left = self.budget_now(class, allowance.class, node, cluster).map_or(refused, |budget| {
            if allowance.of_usage { budget.usage.get(allowance.metric) } else { budget.requests.get(allowance.metric) }
        });
        Some(left.min(PLENTY))
    }

    /// What a node keeps free of a resource, if it is a batch or mid resource.
    pub fn kept(&self, resource: ResourceId, node: &Node) -> i64 {
        let reclaimed = self.reclaimed.contains(&Some(resource));
        if reclaimed { self.rules.reclaimed.kept(node.allocatable.get(resource)) } else { 0 }
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
            reserve: requests_reclaimed && self.rules.reclaimed.reserve > 0,
            filters: self.rules.concern(pod.class, requests_reclaimed, own_thresholds),
        }
    }

    /// The same as judging the node.
    fn accepts(&self, question: &Question, node: &Node, cluster: &Cluster) -> bool {
        match question.pod.class.row().filter(|_| !question.reserve) {
            Some(row) => self
                .budget_now(question.pod.class, row, node, cluster)
                .is_some_and(|budget| budget.takes(&question.pod)),
            None => self.judge(question, node, cluster).is_ok(),
        }
    }

    /// The budget of a class on a node. Kept while it holds: pods that are alike come in numbers, and nodes change less
    /// often than they are asked about.
    fn budget_now(&self, class: PodClass, row: Class, node: &Node, cluster: &Cluster) -> Option<Budget> {
        let Some(now) = cluster.now_ms() else { return self.budget(class, node, cluster) };
        node.load.budget(row, class.declared, now).unwrap_or_else(|| {
            let budget = self.budget(class, node, cluster);
            let holds = (now, Usage::holds_until(&self.sources(node), now));
            node.load.keep_budget(row, class.declared, holds, budget);
            budget
        })
    }

    fn budget(&self, class: PodClass, node: &Node, cluster: &Cluster) -> Option<Budget> {
        let reclaimed = self.reclaimed(&[0; N], node);
        budget::budget(&self.rules, class, &self.view(node, cluster, &reclaimed))
    }

    fn judge(&self, question: &Question, node: &Node, cluster: &Cluster) -> Result<(), Rejection> {
        let reclaimed = self.reclaimed(&question.reclaimed, node);
        filter::filter(&self.rules, &question.pod, &self.view(node, cluster, &reclaimed))
    }

    /// Passes the verdict on to the scheduler.
    fn answer(&self, question: &Question, node: &Node, cluster: &Cluster, host: &mut impl Host) -> Code {
        let Err(rejection) = self.judge(question, node, cluster) else { return Code::Success };
        // The scheduler counts equal reasons and lists the others, all in one condition of the pod.
        let named = self.named.get();
        if named < self.most_named {
            self.named.set(named.saturating_add(1));
            host.status_reason(&say!(node.name, ": ", rejection));
        } else {
            host.status_reason(&rejection.brief());
        }
        Code::UnschedulableAndUnresolvable
    }

    /// The batch and mid resources of a node.
    fn reclaimed(&self, requested: &[i64; N], node: &Node) -> [Reclaimed; N] {
        let allocated = node.known().map(|known| &known.requested);
        let mut rest = self.reclaimed.iter().zip(requested);
        pod_class::RECLAIMED.map(|name| {
            let (id, requested) = rest.next().map_or((None, 0), |(id, requested)| (*id, *requested));
            let of = |amounts: &Resources| id.map_or(0, |id| amounts.get(id));
            Reclaimed { name, allocatable: of(&node.allocatable), allocated: allocated.map(of), requested }
        })
    }

    fn view<'a>(&self, node: &Node, cluster: &Cluster, reclaimed: &'a [Reclaimed]) -> filter::Node<'a> {
        let load = &node.load;
        filter::Node {
            allocatable: load.allocatable,
            usage: Usage::judge(&self.sources(node), cluster.now_ms()),
            placed_since: load.unmeasured(),
            protected: load.protected(),
            best_effort: load.best_effort(),
            thresholds: if self.node_thresholds { load.thresholds } else { NodeThresholds::default() },
            evicts_at: if self.node_thresholds { load.evicts_at } else { Percents::NONE },
            reclaimed,
        }
    }

    fn sources(&self, node: &Node) -> [Source; 2] {
        [
            Source { measured: node.load.measured, expires_after: self.expires_after },
            Source { measured: node.load.crane, expires_after: self.crane_expires_after },
        ]
    }
}

/// Names for what the rules limit: `milli-CPU below the BE threshold`. Sorted by number, as they are new names.
fn allowances(rules: &Rules, node_thresholds: bool, names: &mut ResourceNames) -> Vec<(ResourceId, Allowance)> {
    let unit = |metric| match metric {
        Metric::Cpu => "milli-CPU",
        Metric::Memory => "bytes of memory",
    };
    let mut allowances = Vec::new();
    let mut add = |name: &str, allowance| {
        if let Some(id) = names.intern(name) {
            allowances.push((id, allowance));
        }
    };
    for class in Class::ALL {
        for metric in Metric::ALL {
            if node_thresholds || rules.class(class).usage_thresholds.get(metric).is_some() {
                let name = say!(unit(metric), " below the ", class, " threshold");
                add(&name, Allowance { class, metric, of_usage: true });
            }
        }
    }
    for metric in Metric::ALL {
        if rules.best_effort_share.get(metric).is_some() {
            add(&say!(unit(metric), " in the BE share"), Allowance { class: Class::Be, metric, of_usage: false });
        }
    }
    allowances
}
