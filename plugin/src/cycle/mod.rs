//! One scheduling cycle after another: the extension points, on top of what is known of the cluster.
//!
//! The scheduler calls PreFilter, Filter per node, PreScore, Score per node and Reserve for one pod at a time, and
//! Unreserve whenever a binding fails, also in the middle of another pod's cycle. Calls are serialised.

mod scoring;
#[cfg(test)]
mod tests;

use crate::cluster::{Cluster, node_state};
use crate::config::{Faults, Policy};
use crate::host::{Code, Host, Severity};
use crate::object::{PodInfo, RequestOptions};

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
}

/// The policy at work.
#[derive(Debug)]
pub struct Module {
    policy: Policy,
    cluster: Cluster,
    scoring: Scoring,
    /// The pod of this cycle, once a step needed it; `Some(None)` if it cannot be read.
    pod: Option<Option<PodInfo>>,
}

impl Module {
    /// Reads the policy document from the scheduler.
    ///
    /// # Errors
    /// The document's faults.
    pub fn start(host: &mut impl Host) -> Result<Self, Faults> {
        let policy = Policy::parse(&host.config())?;
        Ok(Self {
            cluster: Cluster::new([], policy.cluster.ledger_seconds),
            scoring: Scoring::new(&policy),
            pod: None,
            policy,
        })
    }

    /// Start-up: registers the events that make a rejected pod worth another try.
    ///
    /// No general Pod update is among them: the scheduler's own status patch after a rejection would be one.
    pub fn enqueue(&mut self, host: &mut impl Host) {
        use event::{ADD, DELETE, NODE, NODE_ALLOCATABLE, NODE_LABEL, NODE_TAINT, POD};
        host.cluster_events(&[(POD, ADD | DELETE), (NODE, ADD | NODE_ALLOCATABLE | NODE_LABEL | NODE_TAINT)]);
    }

    /// A pod's cycle begins.
    pub fn pre_filter(&mut self, _host: &mut impl Host) -> Code {
        self.cluster.begin_cycle();
        self.pod = None;
        Code::Skip
    }

    /// May the pod run on the current node?
    pub fn filter(&mut self, _host: &mut impl Host) -> Code {
        Code::Success
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
        self.scoring.score_all(pod, &mut self.cluster, &self.policy, host)
    }

    /// The score of the current node, 0..100.
    pub fn score(&mut self, host: &mut impl Host) -> i32 {
        self.scoring.score_of(self.cluster.find(host.current_node_name()))
    }

    /// The pod goes to the current node.
    pub fn reserve(&mut self, host: &mut impl Host) -> Code {
        let name = host.current_node_name().to_owned();
        let Some(pod) = pod(&mut self.pod, &mut self.cluster, &self.policy, host) else { return Code::Success };
        let pod = pod.clone();
        let at = self.cluster.find(&name).or_else(|| self.cluster.read(host, &name));
        if let Some(at) = at {
            self.cluster.place(&pod, at);
        }
        Code::Success
    }

    /// The pod does not go there after all. Comes from another pod's binding, at any time.
    pub fn unreserve(&mut self, host: &mut impl Host) {
        if let Some(pod) = read_pod(&mut self.cluster, &self.policy, host) {
            self.cluster.unplace(node_state::uid_hash(&pod.uid));
        }
    }
}

/// The pod of this cycle, read when first needed.
fn pod<'a>(
    slot: &'a mut Option<Option<PodInfo>>,
    cluster: &mut Cluster,
    policy: &Policy,
    host: &mut impl Host,
) -> Option<&'a PodInfo> {
    slot.get_or_insert_with(|| read_pod(cluster, policy, host)).as_ref()
}

fn read_pod(cluster: &mut Cluster, policy: &Policy, host: &mut impl Host) -> Option<PodInfo> {
    let options = RequestOptions { pod_level: policy.pod_level_resources };
    match PodInfo::read(host.current_pod(), &mut cluster.names, &options) {
        Ok(pod) => Some(pod),
        Err(error) => {
            host.log(Severity::Error, &format!("pod cannot be read, no opinion on it: {error}"));
            None
        }
    }
}
