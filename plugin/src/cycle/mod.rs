//! One scheduling cycle after another: the extension points, on top of what is known of the cluster.
//!
//! The scheduler calls PreFilter, Filter per node, PreScore, Score per node and Reserve for one pod at a time, and
//! Unreserve whenever a binding fails, also in the middle of another pod's cycle. Calls are serialised.

use alloc::borrow::ToOwned;

mod gang;
mod gang_facts;
mod packing;
#[cfg(test)]
mod packing_tests;
mod qos;
#[cfg(test)]
mod qos_tests;
mod rereads;
mod scoring;
#[cfg(test)]
mod tests;

use crate::cluster::{Cluster, node_state, pod_class};
use crate::config::{Faults, Policy};
use crate::host::{Code, Host, Severity};
use crate::object::{self, PodInfo, RequestOptions};
use crate::policy::packing::PodShape;
use crate::policy::qos::class::PodClass;
use crate::policy::qos::pairs::IllegalPair;

use gang::{GangPod, Gangs};
use packing::Packer;
use qos::Qos;
use scoring::{Others, Scoring};

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
    pub const POD_LABEL: u32 = 128;
}

/// The policy at work.
#[derive(Debug)]
pub struct Module {
    policy: Policy,
    cluster: Cluster,
    scoring: Scoring,
    qos: Option<Qos>,
    gangs: Option<Gangs>,
    packer: Option<Packer>,
    /// Whether a cycle has begun in this life of the module.
    begun: bool,
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
    /// `None` if gangs are switched off.
    gang: Option<GangPod>,
    /// `None` if packing is switched off.
    shape: Option<PodShape>,
}

impl Module {
    /// Reads the policy document from the scheduler.
    ///
    /// # Errors
    /// The document's faults.
    #[inline(never)]
    pub fn start(host: &mut impl Host) -> Result<Self, Faults> {
        let policy = Policy::parse(&host.config())?;
        let mut cluster = Cluster::new(Packer::node_labels(&policy), policy.cluster.ledger_seconds);
        Ok(Self {
            qos: Qos::new(&policy, &mut cluster),
            gangs: Gangs::new(&policy, &mut cluster),
            packer: Packer::new(&policy),
            cluster,
            scoring: Scoring::new(&policy),
            begun: false,
            pod: None,
            policy,
        })
    }

    /// Start-up: registers the events that make a rejected pod worth another try.
    ///
    /// No general Pod update is among them: the scheduler's own status patch after a rejection would be one.
    pub fn enqueue(&mut self, host: &mut impl Host) {
        use event::{ADD, DELETE, NODE, NODE_ALLOCATABLE, NODE_ANNOTATION, NODE_LABEL, NODE_TAINT, POD, POD_LABEL};
        // Load and node state travel in annotations: a pod refused for them waits for nothing else.
        let annotations = if self.qos.is_some() || self.gangs.is_some() { NODE_ANNOTATION } else { 0 };
        // The publisher tells the size of a gang in a label of its pods.
        let labels = if self.gangs.is_some() { POD_LABEL } else { 0 };
        let node = ADD | NODE_ALLOCATABLE | NODE_LABEL | NODE_TAINT | annotations;
        host.cluster_events(&[(POD, ADD | DELETE | labels), (NODE, node)]);
    }

    /// A pod's cycle begins. Skip unless some node may be refused to the pod, which so costs no Filter call.
    pub fn pre_filter(&mut self, host: &mut impl Host) -> Code {
        self.cluster.begin_cycle();
        self.begun = true;
        self.pod = None;
        if self.qos.is_none() && self.gangs.is_none() && self.packer.is_none() {
            return Code::Skip;
        }
        self.read_pod(host);
        let pod = self.pod.as_ref().and_then(Option::as_ref);
        if let (Some(packer), Some(CyclePod { info, gang, shape: Some(shape), .. })) = (&mut self.packer, pod) {
            packer.arrives(info, shape, gang.as_ref().map_or(1, GangPod::together));
        }
        let by_qos = match &mut self.qos {
            Some(qos) => qos.pre_filter(pod, &self.cluster, host),
            None => Code::Skip,
        };
        if !matches!(by_qos, Code::Success | Code::Skip) {
            return by_qos;
        }
        let by_gang = match self.gangs.as_mut().zip(pod) {
            Some((gangs, pod)) => gangs.pre_filter(pod, self.qos.as_ref(), &mut self.cluster, host),
            None => Code::Skip,
        };
        if by_gang == Code::Skip { by_qos } else { by_gang }
    }

    /// May the pod run on the current node?
    pub fn filter(&mut self, host: &mut impl Host) -> Code {
        if let Some(error) = self.interrupted(host) {
            return error;
        }
        let by_qos = match &mut self.qos {
            Some(qos) => qos.filter(&mut self.cluster, host),
            None => Code::Success,
        };
        match &mut self.gangs {
            Some(gangs) if by_qos == Code::Success => gangs.filter(self.qos.as_ref(), &mut self.cluster, host),
            _ => by_qos,
        }
    }

    /// An error if the module was started anew in the middle of a cycle: what PreFilter found out about the pod is
    /// lost, and no node may be taken on the word of a module that knows nothing. The scheduler tries the pod again.
    fn interrupted(&self, host: &mut impl Host) -> Option<Code> {
        if self.begun || (self.qos.is_none() && self.gangs.is_none()) {
            return None;
        }
        host.status_reason("the policy was started anew in the middle of this cycle");
        Some(Code::Error)
    }

    /// Preemption adds a pod to the current node.
    pub fn add_pod(&mut self, host: &mut impl Host) -> Code {
        self.try_without(false, host)
    }

    /// Preemption takes a pod from the current node.
    pub fn remove_pod(&mut self, host: &mut impl Host) -> Code {
        self.try_without(true, host)
    }

    fn try_without(&mut self, without: bool, host: &mut impl Host) -> Code {
        if let Some(gangs) = &mut self.gangs {
            gangs.try_without(without, &self.policy, &mut self.cluster, host);
        }
        Code::Success
    }

    /// Scores all nodes that are left.
    pub fn pre_score(&mut self, host: &mut impl Host) -> Code {
        self.read_pod(host);
        let Some(Some(pod)) = &self.pod else { return Code::Skip };
        let others = Others { qos: self.qos.as_ref(), gangs: self.gangs.as_ref() };
        let packing = self.packer.as_mut().zip(pod.shape.as_ref());
        self.scoring.score_all(&pod.info, others, packing, &mut self.cluster, &self.policy, host)
    }

    /// The score of the current node, 0..100.
    pub fn score(&mut self, host: &mut impl Host) -> i32 {
        self.scoring.score_of(self.cluster.find(host.current_node_name()))
    }

    /// The pod goes to the current node.
    pub fn reserve(&mut self, host: &mut impl Host) -> Code {
        if let Some(error) = self.interrupted(host) {
            return error;
        }
        let name = host.current_node_name().to_owned();
        self.read_pod(host);
        let Some(Some(pod)) = &self.pod else { return Code::Success };
        let Some(at) = self.cluster.find(&name).or_else(|| self.cluster.read(host, &name)) else {
            return Code::Success;
        };
        if let Some(qos) = &self.qos {
            match qos.reserve(at, &mut self.cluster, host) {
                Code::Success => {}
                refused => return refused,
            }
        }
        if let Some(gangs) = &mut self.gangs {
            match gangs.reserve(at.row(), self.qos.as_ref(), &self.cluster, host) {
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
        let Some(pod) = read_pod(&mut self.cluster, self.gangs.as_ref(), None, &self.policy, host) else { return };
        self.cluster.unplace(node_state::uid_hash(&pod.info.uid));
        if let Some(gangs) = &mut self.gangs {
            gangs.unreserve(&pod);
        }
    }

    /// Reads the pod of this cycle, unless a step has done so.
    fn read_pod(&mut self, host: &mut impl Host) {
        if self.pod.is_none() {
            let packer = self.packer.as_mut();
            let pod = read_pod(&mut self.cluster, self.gangs.as_ref(), packer, &self.policy, host);
            self.cluster.pod_created(pod.as_ref().map_or(0, |pod| pod.info.created));
            self.pod = Some(pod);
        }
    }
}

fn read_pod(
    cluster: &mut Cluster,
    gangs: Option<&Gangs>,
    packer: Option<&mut Packer>,
    policy: &Policy,
    host: &mut impl Host,
) -> Option<CyclePod> {
    match CyclePod::read(host.current_pod(), cluster, gangs, packer, policy) {
        Ok(pod) => Some(pod),
        Err(error) => {
            host.log(Severity::Error, &say!("pod cannot be read, no opinion on it: ", error));
            None
        }
    }
}

impl CyclePod {
    fn read(
        bytes: &[u8],
        cluster: &mut Cluster,
        gangs: Option<&Gangs>,
        packer: Option<&mut Packer>,
        policy: &Policy,
    ) -> Result<Self, object::Error> {
        let options = RequestOptions { pod_level: policy.pod_level_resources };
        let pod = object::Pod::parse(bytes)?;
        let info = PodInfo::of(&pod, &mut cluster.names, &options)?;
        let (class, illegal) = pod_class::pod_class(&pod, &info, &cluster.names);
        let gang = gangs.map(|gangs| gangs.read(&pod)).transpose()?;
        let shape = packer.map(|packer| packer.shape(&pod, &info, cluster)).transpose()?;
        Ok(Self { info, class, illegal, gang, shape })
    }
}
