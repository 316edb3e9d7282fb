//! The in-tree filters that fixtures need, each with its queueing hint.
//!
//! They run before the module's Filter, so a Filter call tells the module that the pod fits as far as they know.
//! InterPodAffinity, PodTopologySpread, ports, volumes and dynamic resources are not modelled: [`unmodelled`] names
//! what a pod asks for in vain.

mod affinity;
mod resources;
mod taints;
mod unmodelled;

pub use unmodelled::unmodelled;

use super::event::{Change, Event, Subject};
use super::node::NodeInfo;
use super::plugin::{PluginId, Rejection};
use super::pod::PodInfo;
use crate::framework::{ClusterEvent, Code, EventResource, action};

use stowage::object::ResourceNames;

/// The in-tree filters in the order of the default profile.
pub const IN_TREE: [PluginId; 6] = [
    PluginId::NodeUnschedulable,
    PluginId::NodeName,
    PluginId::TaintToleration,
    PluginId::NodeAffinity,
    PluginId::NodeResourcesFit,
    PluginId::GpuDevices,
];

/// The nodes that a pod's fields restrict it to (affinity on `metadata.name`), or `None` for all.
pub fn pre_filter(pod: &PodInfo) -> Option<Vec<String>> {
    affinity::required_names(pod)
}

/// The first in-tree refusal of `pod` on `node`.
pub fn filter(pod: &PodInfo, node: &NodeInfo, names: &ResourceNames) -> Result<(), Rejection> {
    taints::node_unschedulable(pod, node)?;
    node_name(pod, node)?;
    taints::taint_toleration(pod, node)?;
    affinity::node_affinity(pod, node)?;
    resources::fit(pod, node, names)?;
    resources::gpu_devices(pod, node)
}

fn node_name(pod: &PodInfo, node: &NodeInfo) -> Result<(), Rejection> {
    match pod.node_name() {
        Some(name) if name != &*node.name => Err(Rejection::new(
            Code::UnschedulableAndUnresolvable,
            PluginId::NodeName,
            "node(s) didn't match the requested node name",
        )),
        _ => Ok(()),
    }
}

/// The events after which a pod refused by `plugin` may fit.
pub fn events_to_register(plugin: PluginId) -> Vec<ClusterEvent> {
    let node = |action| ClusterEvent { resource: EventResource::Node, action };
    let pod = |action| ClusterEvent { resource: EventResource::Pod, action };
    match plugin {
        PluginId::NodeUnschedulable | PluginId::TaintToleration => {
            vec![node(action::ADD | action::UPDATE_NODE_TAINT), pod(action::UPDATE_POD_TOLERATION)]
        }
        PluginId::NodeName => vec![node(action::ADD)],
        PluginId::NodeAffinity => vec![node(action::ADD | action::UPDATE_NODE_LABEL)],
        PluginId::NodeResourcesFit | PluginId::GpuDevices => vec![
            pod(action::DELETE | action::UPDATE_POD_SCALE_DOWN),
            node(action::ADD | action::UPDATE_NODE_ALLOCATABLE),
        ],
        PluginId::SchedulingGates => vec![pod(action::UPDATE_POD_GATES_ELIMINATED)],
        PluginId::DefaultPreemption | PluginId::Wasm => Vec::new(),
    }
}

/// Whether `event`, one that `plugin` registered for, may really make `pod` fit (the plugin's queueing hint).
pub fn worth_requeuing(plugin: PluginId, pod: &PodInfo, event: &Event, names: &mut ResourceNames) -> bool {
    match (plugin, &event.subject) {
        (PluginId::NodeUnschedulable, Subject::Node(change)) => taints::unschedulable_hint(change),
        (PluginId::NodeUnschedulable, Subject::UnscheduledPod(change) | Subject::AssignedPod(change)) => {
            is_own(pod, change) && taints::tolerates_unschedulable(change.new.as_deref().unwrap_or(pod))
        }
        (PluginId::TaintToleration, Subject::Node(change)) => taints::taint_hint(pod, change),
        (PluginId::TaintToleration, Subject::UnscheduledPod(change) | Subject::AssignedPod(change)) => {
            is_own(pod, change)
        }
        (PluginId::NodeAffinity, Subject::Node(change)) => affinity::hint(pod, change),
        (PluginId::NodeResourcesFit | PluginId::GpuDevices, Subject::Node(change)) => {
            resources::node_hint(pod, change, names)
        }
        (
            PluginId::NodeResourcesFit | PluginId::GpuDevices,
            Subject::UnscheduledPod(change) | Subject::AssignedPod(change),
        ) => resources::pod_hint(pod, change),
        (PluginId::SchedulingGates, Subject::UnscheduledPod(change)) => is_own(pod, change),
        _ => true,
    }
}

fn is_own(pod: &PodInfo, change: &Change<PodInfo>) -> bool {
    change.new.as_ref().is_some_and(|new| new.uid == pod.uid)
}
