//! NodeResourcesFit, and the GPU devices that it cannot tell apart.

use std::borrow::Cow;

use stowage::object::{ResourceId, ResourceNames};

use crate::framework::Code;
use crate::object::NodeObject;
use crate::scheduler::event::Change;
use crate::scheduler::node::NodeInfo;
use crate::scheduler::plugin::{PluginId, Rejection};
use crate::scheduler::pod::PodInfo;

/// Refuses a pod that asks for more than the node has left, naming every resource that is short.
pub fn fit(pod: &PodInfo, node: &NodeInfo, names: &ResourceNames) -> Result<(), Rejection> {
    let mut reasons = Vec::new();
    if i64::try_from(node.pods.len()).unwrap_or(i64::MAX) >= node.allocatable.get(ResourceId::PODS) {
        reasons.push(Cow::Borrowed("Too many pods"));
    }
    for (id, requested) in pod.requests.iter() {
        let free = node.allocatable.get(id).saturating_sub(node.requested.get(id));
        if requested > 0 && requested > free && id != ResourceId::PODS {
            reasons.push(insufficient(id, names));
        }
    }
    if reasons.is_empty() {
        Ok(())
    } else {
        Err(Rejection { code: Code::Unschedulable, plugin: PluginId::NodeResourcesFit, reasons })
    }
}

fn insufficient(id: ResourceId, names: &ResourceNames) -> Cow<'static, str> {
    match id {
        ResourceId::CPU => "Insufficient cpu".into(),
        ResourceId::MEMORY => "Insufficient memory".into(),
        other => format!("Insufficient {}", names.name(other)).into(),
    }
}

/// Refuses a pod for which enough GPUs are free in sum, but not on enough devices.
pub fn gpu_devices(pod: &PodInfo, node: &NodeInfo) -> Result<(), Rejection> {
    match pod.gpu {
        Some(gpu) if !node.devices.fits(gpu) => {
            let reason = "node(s) had no GPU device with enough left";
            Err(Rejection::new(Code::Unschedulable, PluginId::GpuDevices, reason))
        }
        _ => Ok(()),
    }
}

/// A node helps if the pod fits an empty one like it, and it is new or grew in something that the pod asks for.
pub fn node_hint(pod: &PodInfo, change: &Change<NodeObject>, names: &mut ResourceNames) -> bool {
    let Some(new) = &change.new else { return false };
    let new = NodeInfo::new(new.clone(), names);
    if fit(pod, &new, names).is_err() {
        return false;
    }
    let Some(old) = &change.old else { return true };
    let old = NodeInfo::new(old.clone(), names);
    let grew = |id: ResourceId| new.allocatable.get(id) > old.allocatable.get(id);
    grew(ResourceId::PODS) || pod.requests.iter().any(|(id, requested)| requested > 0 && grew(id))
}

/// A pod that left a node, or asks for less of what this one asks for, makes room.
pub fn pod_hint(pod: &PodInfo, change: &Change<PodInfo>) -> bool {
    match (&change.old, &change.new) {
        (Some(old), None) => old.node_name().is_some() || old.nominated_node_name().is_some(),
        (Some(old), Some(new)) if new.uid != pod.uid => {
            let shrank = |id: ResourceId| new.requests.get(id) < old.requests.get(id);
            new.node_name().is_some() && pod.requests.iter().any(|(id, requested)| requested > 0 && shrank(id))
        }
        _ => true,
    }
}
