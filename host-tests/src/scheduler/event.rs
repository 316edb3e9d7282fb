//! Cluster events: what happened, and whether a plugin registered for it.

use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::pod::PodInfo;
use crate::framework::{ClusterEvent, EventResource, action};
use crate::object::NodeObject;

/// An update of a pod that no plugin can name ("updatePodOther"), like the scheduler's own status patch.
pub const UPDATE_POD_OTHER: u32 = 1 << 12;

/// What an event happened to, before and after.
#[derive(Debug)]
pub enum Subject {
    /// A pod that has a node.
    AssignedPod(Change<PodInfo>),
    /// A pod that waits for one.
    UnscheduledPod(Change<PodInfo>),
    /// A node.
    Node(Change<NodeObject>),
    /// Everything: unschedulable pods have waited long enough.
    Timeout,
}

/// An object before and after an event; at least one of the two is there.
#[derive(Debug)]
pub struct Change<T> {
    /// Before; absent for additions.
    pub old: Option<Rc<T>>,
    /// After; absent for deletions.
    pub new: Option<Rc<T>>,
}

/// Something that may make a rejected pod worth another try.
#[derive(Debug)]
pub struct Event {
    /// One bit of [`action`] (or [`UPDATE_POD_OTHER`]).
    pub action: u32,
    /// What it happened to.
    pub subject: Subject,
}

impl Event {
    /// A pod got a node.
    #[must_use]
    pub fn assigned_pod_added(pod: Rc<PodInfo>) -> Self {
        Self { action: action::ADD, subject: Subject::AssignedPod(Change { old: None, new: Some(pod) }) }
    }

    /// A pod left its node, or an assumed pod did not get it after all.
    #[must_use]
    pub fn assigned_pod_deleted(pod: Rc<PodInfo>) -> Self {
        Self { action: action::DELETE, subject: Subject::AssignedPod(Change { old: Some(pod), new: None }) }
    }

    /// The events that a pod's update amounts to.
    #[must_use]
    pub fn pod_updated(old: &Rc<PodInfo>, new: &Rc<PodInfo>) -> Vec<Self> {
        let change = || Change { old: Some(old.clone()), new: Some(new.clone()) };
        pod_actions(old, new)
            .into_iter()
            .map(|action| Self {
                action,
                subject: match new.node_name() {
                    Some(_) => Subject::AssignedPod(change()),
                    None => Subject::UnscheduledPod(change()),
                },
            })
            .collect()
    }

    /// A node appeared.
    #[must_use]
    pub fn node_added(node: Rc<NodeObject>) -> Self {
        Self { action: action::ADD, subject: Subject::Node(Change { old: None, new: Some(node) }) }
    }

    /// A node disappeared.
    #[must_use]
    pub fn node_deleted(node: Rc<NodeObject>) -> Self {
        Self { action: action::DELETE, subject: Subject::Node(Change { old: Some(node), new: None }) }
    }

    /// The events that a node's update amounts to; none if nothing that the scheduler looks at changed.
    #[must_use]
    pub fn node_updated(old: &Rc<NodeObject>, new: &Rc<NodeObject>) -> Vec<Self> {
        let change = || Change { old: Some(old.clone()), new: Some(new.clone()) };
        let actions = node_actions(&old.node, &new.node);
        actions.into_iter().map(|action| Self { action, subject: Subject::Node(change()) }).collect()
    }

    /// Unschedulable pods have waited for five minutes.
    #[must_use]
    pub fn timeout() -> Self {
        Self { action: action::ALL, subject: Subject::Timeout }
    }

    /// Whether this event is one of those that `registered` stands for. The timeout is for everyone and matches none.
    #[must_use]
    pub fn matches(&self, registered: ClusterEvent) -> bool {
        let resource = match self.subject {
            Subject::AssignedPod(_) | Subject::UnscheduledPod(_) => EventResource::Pod,
            Subject::Node(_) => EventResource::Node,
            Subject::Timeout => return false,
        };
        let same = registered.resource == EventResource::Any || registered.resource == resource;
        same && registered.action & self.action != 0
    }
}

fn pod_actions(old: &PodInfo, new: &PodInfo) -> Vec<u32> {
    let tolerations =
        |pod: &PodInfo| pod.pod().spec.as_ref().and_then(|spec| spec.tolerations.as_ref()).map_or(0, Vec::len);
    let shrunk = old.requests.iter().any(|(id, amount)| new.requests.get(id) < amount || !new.requests.contains(id));
    let changes = [
        (old.pod().metadata.labels != new.pod().metadata.labels, action::UPDATE_POD_LABEL),
        (shrunk, action::UPDATE_POD_SCALE_DOWN),
        (old.is_gated() && !new.is_gated(), action::UPDATE_POD_GATES_ELIMINATED),
        (tolerations(old) != tolerations(new), action::UPDATE_POD_TOLERATION),
    ];
    let mut actions: Vec<u32> = changes.into_iter().filter(|(changed, _)| *changed).map(|(_, action)| action).collect();
    if actions.is_empty() {
        actions.push(UPDATE_POD_OTHER);
    }
    actions
}

fn node_actions(old: &Node, new: &Node) -> Vec<u32> {
    let unschedulable = |node: &Node| node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    let changes = [
        (unschedulable(old) && !unschedulable(new), action::UPDATE_NODE_TAINT),
        (allocatable(old) != allocatable(new), action::UPDATE_NODE_ALLOCATABLE),
        (old.metadata.labels != new.metadata.labels, action::UPDATE_NODE_LABEL),
        (taints(old) != taints(new), action::UPDATE_NODE_TAINT),
        (!conditions(old).eq(conditions(new)), action::UPDATE_NODE_CONDITION),
        (old.metadata.annotations != new.metadata.annotations, action::UPDATE_NODE_ANNOTATION),
    ];
    changes.into_iter().filter(|(changed, _)| *changed).map(|(_, action)| action).collect()
}

fn allocatable(node: &Node) -> Option<&BTreeMap<String, Quantity>> {
    node.status.as_ref()?.allocatable.as_ref()
}

fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

/// Types and states of conditions; their messages and heartbeats do not count.
fn conditions(node: &Node) -> impl Iterator<Item = (&str, &str)> {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().map(|condition| (condition.type_.as_str(), condition.status.as_str()))
}
