//! The scheduling framework's vocabulary: what the loop asks of a plugin, and what a plugin may ask back.
//!
//! Names follow kube-scheduler's framework. Two things implement [`Plugin`]: the WebAssembly host, for any module made
//! for kube-scheduler-wasm-extension, and native test doubles.

use std::rc::Rc;

use crate::object::{NodeObject, PodObject};

/// What an extension point answers. The numbers are the framework's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum Code {
    Success = 0,
    Error = 1,
    Unschedulable = 2,
    UnschedulableAndUnresolvable = 3,
    Wait = 4,
    Skip = 5,
    Pending = 6,
}

impl Code {
    /// The code behind a number, `None` for numbers that the framework does not know.
    #[must_use]
    pub fn from_i32(code: i32) -> Option<Self> {
        use Code::{Error, Pending, Skip, Success, Unschedulable, UnschedulableAndUnresolvable, Wait};
        [Success, Error, Unschedulable, UnschedulableAndUnresolvable, Wait, Skip, Pending]
            .into_iter()
            .find(|known| *known as i32 == code)
    }
}

/// A code with the reason that goes into the pod's condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What to do next.
    pub code: Code,
    /// Why; empty on success.
    pub reason: String,
    /// The plugin gave no answer, or none that there is: this is what the host makes of it.
    pub failed: bool,
}

impl Status {
    /// Go on.
    #[must_use]
    pub fn success() -> Self {
        Self::new(Code::Success, "")
    }

    /// A status with a reason.
    #[must_use]
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), failed: false }
    }

    /// The plugin has failed.
    #[must_use]
    pub fn failure(reason: impl Into<String>) -> Self {
        Self { failed: true, ..Self::new(Code::Error, reason) }
    }

    /// Whether the cycle goes on.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == Code::Success
    }
}

/// Objects that cluster events are about. The numbers are upstream's (`result.cluster_events`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum EventResource {
    Pod,
    Node,
    /// Any other kind that the host knows; the loop never fires these.
    Other(u32),
    /// Every kind.
    Any,
}

/// Actions of cluster events, as bits. The numbers are Kubernetes 1.33's.
#[allow(missing_docs)]
pub mod action {
    pub const ADD: u32 = 1;
    pub const DELETE: u32 = 2;
    pub const UPDATE_NODE_ALLOCATABLE: u32 = 4;
    pub const UPDATE_NODE_LABEL: u32 = 8;
    pub const UPDATE_NODE_TAINT: u32 = 16;
    pub const UPDATE_NODE_CONDITION: u32 = 32;
    pub const UPDATE_NODE_ANNOTATION: u32 = 64;
    pub const UPDATE_POD_LABEL: u32 = 128;
    pub const UPDATE_POD_SCALE_DOWN: u32 = 256;
    pub const UPDATE_POD_TOLERATION: u32 = 512;
    pub const UPDATE_POD_GATES_ELIMINATED: u32 = 1024;
    pub const ALL: u32 = (1 << 14) - 1;
}

/// An event, or a set of events, that makes rejected pods worth another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClusterEvent {
    /// What the event is about.
    pub resource: EventResource,
    /// Bits of [`action`].
    pub action: u32,
}

/// What a plugin implements. `PreFilter`, `EventsToRegister` and friends that upstream always implements are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Interfaces {
    pub pre_filter_extensions: bool,
    pub filter: bool,
    pub post_filter: bool,
    pub pre_score: bool,
    pub score: bool,
    pub normalize_score: bool,
    pub reserve: bool,
    pub permit: bool,
    pub pre_bind: bool,
    pub bind: bool,
    pub post_bind: bool,
}

/// What the scheduler offers to plugins (`framework.Handle`).
pub trait Handle {
    /// The named node in this cycle's snapshot.
    fn node(&self, name: &str) -> Option<Rc<NodeObject>>;
    /// All nodes in this cycle's snapshot.
    fn nodes(&self) -> Vec<Rc<NodeObject>>;
    /// Image states of a node as JSON, `null` if there is no such node.
    fn image_states(&self, node: &str) -> String;
    /// Rejects a pod that waits in Permit; false if none does.
    fn reject_waiting_pod(&self, uid: &str) -> bool;
    /// The pod with that UID if it waits in Permit.
    fn waiting_pod(&self, uid: &str) -> Option<Rc<PodObject>>;
    /// An event that the plugin recorded, as the host's JSON.
    fn record_event(&self, event: &str);
    /// A log line of the plugin: klog severity and text.
    fn log(&self, severity: i32, message: &str);
}

/// A scheduling plugin, one method per extension point.
///
/// A plugin that lacks an extension point answers as upstream does for it: success, or score 0.
pub trait Plugin {
    /// What the plugin implements.
    fn interfaces(&self) -> Interfaces;
    /// The events that make a pod this plugin rejected worth another try.
    fn events_to_register(&mut self) -> anyhow::Result<Vec<ClusterEvent>>;
    /// Start of a pod's cycle. The names, if any, are the only nodes worth looking at.
    fn pre_filter(&mut self, pod: &Rc<PodObject>) -> (Option<Vec<String>>, Status);
    /// Preemption adds `target` to `node`.
    fn add_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status;
    /// Preemption takes `target` from `node`.
    fn remove_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status;
    /// May the pod run on `node`?
    fn filter(&mut self, pod: &Rc<PodObject>, node: &str) -> Status;
    /// No node fits. The name, if any, is the node nominated for the pod.
    fn post_filter(&mut self, pod: &Rc<PodObject>, statuses: &[(String, Code)]) -> (Option<String>, Status);
    /// The nodes that passed every filter.
    fn pre_score(&mut self, pod: &Rc<PodObject>, nodes: &[Rc<NodeObject>]) -> Status;
    /// Score of `node`.
    fn score(&mut self, pod: &Rc<PodObject>, node: &str) -> (i64, Status);
    /// Rewrites all scores at once.
    fn normalize_score(&mut self, pod: &Rc<PodObject>, scores: &mut Vec<(String, i64)>) -> Status;
    /// The pod is about to be bound to `node`.
    fn reserve(&mut self, pod: &Rc<PodObject>, node: &str) -> Status;
    /// It was not bound after all.
    fn unreserve(&mut self, pod: &Rc<PodObject>, node: &str);
    /// Last word before binding; with [`Code::Wait`], how long to wait at most, in milliseconds.
    fn permit(&mut self, pod: &Rc<PodObject>, node: &str) -> (Status, u32);
    /// Before binding.
    fn pre_bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status;
    /// Binds the pod itself; [`Code::Skip`] leaves it to the scheduler.
    fn bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status;
    /// The pod is bound.
    fn post_bind(&mut self, pod: &Rc<PodObject>, node: &str);
}
