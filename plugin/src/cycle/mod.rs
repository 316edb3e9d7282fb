//! One scheduling cycle after another: the extension points, on top of what is known of the cluster.
//!
//! The scheduler calls PreFilter, Filter per node, PreScore, Score per node and Reserve for one pod at a time, and
//! Unreserve whenever a binding fails, also in the middle of another pod's cycle. Calls are serialised.

mod qos;
#[cfg(test)]
mod qos_tests;
mod scoring;
#[cfg(test)]
mod tests;

use crate::cluster::{Cluster, node_state, pod_class};
use crate::config::{Faults, Policy};
use crate::host::{Code, Host, Severity};
use crate::object::{self, PodInfo, RequestOptions};
use crate::policy::qos::class::PodClass;
use crate::policy::qos::pairs::IllegalPair;

use qos::Qos;
use scoring::Scoring;

/// Kinds of objects and actions on them, as the scheduler numbers them.
mod event {
    pub const POD: u32 = 0;
    pub const NODE: u32 = 1;
    pub const ADD: u32 = 1;
    pub const DELETE: u32 = 2;
    pub const NODE_ALLOCATABLE: u32 = 4;
    pub const NODE_LABEL: u32 = 8;
    pub const NODE_TAINT: u32 = 16;
    pub const NODE_ANNOTATION: u32 = 64;
}

/// The policy at work.
#[derive(Debug)]
pub struct Module {
    policy: Policy,
    cluster: Cluster,
    scoring: Scoring,
    qos: Option<Qos>,
    /// The pod of this cycle, once a step needed it; `Some(None)` if it cannot be read.
    pod: Option<Option<CyclePod>>,
}

/// What a cycle needs to know of its pod.
#[derive(Clone, Debug)]
struct CyclePod {
    info: PodInfo,
    class: PodClass,
    /// The rule that its class, band and resources break together.
    illegal: Option<IllegalPair>,
}

impl Module {
    /// Reads the policy document from the scheduler.
    ///
    /// # Errors
    /// The document's faults.
    pub fn start(host: &mut impl Host) -> Result<Self, Faults> {
        let policy = Policy::parse(&host.config())?;
        let mut cluster = Cluster::new([], policy.cluster.ledger_seconds);
        Ok(Self {
            qos: Qos::new(&policy, &mut cluster.names),
            cluster,
            scoring: Scoring::new(&policy),
            pod: None,
            policy,
        })
    }

    /// Start-up: registers the events that make a rejected pod worth another try.
    ///
    /// No general Pod update is among them: the scheduler's own status patch after a rejection would be one.
    pub fn enqueue(&mut self, host: &mut impl Host) {
        use event::{ADD, DELETE, NODE, NODE_ALLOCATABLE, NODE_ANNOTATION, NODE_LABEL, NODE_TAINT, POD};
        // Load and node state travel in annotations: a pod refused for them waits for nothing else.
        let annotations = if self.qos.is_some() { NODE_ANNOTATION } else { 0 };
        let node = ADD | NODE_ALLOCATABLE | NODE_LABEL | NODE_TAINT | annotations;
        host.cluster_events(&[(POD, ADD | DELETE), (NODE, node)]);
    }

    /// A pod's cycle begins.
    pub fn pre_filter(&mut self, host: &mut impl Host) -> Code {
        self.cluster.begin_cycle();
        self.pod = None;
        let Some(qos) = &mut self.qos else { return Code::Skip };
        let pod = pod(&mut self.pod, &mut self.cluster, &self.policy, host);
        qos.pre_filter(pod, &self.cluster, host)
    }

    /// May the pod run on the current node?
    pub fn filter(&mut self, host: &mut impl Host) -> Code {
        match &mut self.qos {
            Some(qos) => qos.filter(&mut self.cluster, host),
            None => Code::Success,
        }
    }

    /// Preemption adds a pod to the current node.
    pub fn add_pod(&mut self, _host: &mut impl Host) -> Code {
        Code::Success
    }

    /// Preemption takes a pod from the current node.
    pub fn remove_pod(&mut self, _host: &mut impl Host) -> Code {
        Code::Success
    }

    /// Scores all nodes that are left.
    pub fn pre_score(&mut self, host: &mut impl Host) -> Code {
        let Some(pod) = pod(&mut self.pod, &mut self.cluster, &self.policy, host) else { return Code::Skip };
        self.scoring.score_all(&pod.info, self.qos.as_ref(), &mut self.cluster, &self.policy, host)
    }

    /// The score of the current node, 0..100.
    pub fn score(&mut self, host: &mut impl Host) -> i32 {
        self.scoring.score_of(self.cluster.find(host.current_node_name()))
    }

    /// The pod goes to the current node.
    pub fn reserve(&mut self, host: &mut impl Host) -> Code {
        let name = host.current_node_name().to_owned();
        let Some(pod) = pod(&mut self.pod, &mut self.cluster, &self.policy, host) else { return Code::Success };
        let Some(at) = self.cluster.find(&name).or_else(|| self.cluster.read(host, &name)) else {
            return Code::Success;
        };
        if let Some(qos) = &self.qos {
            match qos.reserve(at, &mut self.cluster, host) {
                Code::Success => {}
                refused => return refused,
            }
        }
        let footprint = self.qos.as_ref().and_then(Qos::footprint);
        self.cluster.place(&pod.info, footprint, at);
        Code::Success
    }

    /// The pod does not go there after all. Comes from another pod's binding, at any time.
    pub fn unreserve(&mut self, host: &mut impl Host) {
        if let Some(pod) = read_pod(&mut self.cluster, &self.policy, host) {
            self.cluster.unplace(node_state::uid_hash(&pod.info.uid));
        }
    }
}

/// The pod of this cycle, read when first needed.
fn pod<'a>(
    slot: &'a mut Option<Option<CyclePod>>,
    cluster: &mut Cluster,
    policy: &Policy,
    host: &mut impl Host,
) -> Option<&'a CyclePod> {
    slot.get_or_insert_with(|| read_pod(cluster, policy, host)).as_ref()
}

fn read_pod(cluster: &mut Cluster, policy: &Policy, host: &mut impl Host) -> Option<CyclePod> {
    match CyclePod::read(host.current_pod(), cluster, policy) {
        Ok(pod) => Some(pod),
        Err(error) => {
            host.log(Severity::Error, &format!("pod cannot be read, no opinion on it: {error}"));
            None
        }
    }
}

impl CyclePod {
    fn read(bytes: &[u8], cluster: &mut Cluster, policy: &Policy) -> Result<Self, object::Error> {
        let options = RequestOptions { pod_level: policy.pod_level_resources };
        let pod = object::Pod::parse(bytes)?;
        let info = PodInfo::of(&pod, &mut cluster.names, &options)?;
        let (class, illegal) = pod_class::pod_class(&pod, &info, &cluster.names);
        Ok(Self { info, class, illegal })
    }
}
