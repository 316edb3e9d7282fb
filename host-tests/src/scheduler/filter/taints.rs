//! NodeUnschedulable and TaintToleration.

use k8s_openapi::api::core::v1::{Taint, Toleration};

use crate::framework::Code;
use crate::object::NodeObject;
use crate::scheduler::event::Change;
use crate::scheduler::node::NodeInfo;
use crate::scheduler::plugin::{PluginId, Rejection};
use crate::scheduler::pod::PodInfo;

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Refuses cordoned nodes, unless the pod tolerates being there.
pub fn node_unschedulable(pod: &PodInfo, node: &NodeInfo) -> Result<(), Rejection> {
    if is_cordoned(&node.object) && !tolerates_unschedulable(pod) {
        let reason = "node(s) were unschedulable";
        return Err(Rejection::new(Code::UnschedulableAndUnresolvable, PluginId::NodeUnschedulable, reason));
    }
    Ok(())
}

/// Refuses nodes with a `NoSchedule` or `NoExecute` taint that the pod does not tolerate.
pub fn taint_toleration(pod: &PodInfo, node: &NodeInfo) -> Result<(), Rejection> {
    match untolerated(pod, &node.object) {
        Some(taint) => {
            let value = taint.value.as_deref().unwrap_or_default();
            let reason = format!("node(s) had untolerated taint {{{}: {value}}}", taint.key);
            Err(Rejection::new(Code::UnschedulableAndUnresolvable, PluginId::TaintToleration, reason))
        }
        None => Ok(()),
    }
}

/// Whether the pod may run on cordoned nodes, as DaemonSet pods do.
pub fn tolerates_unschedulable(pod: &PodInfo) -> bool {
    let cordon =
        Taint { key: UNSCHEDULABLE.to_owned(), effect: "NoSchedule".to_owned(), value: None, time_added: None };
    tolerations(pod).iter().any(|toleration| tolerates(toleration, &cordon))
}

/// A node helps if it was uncordoned or is new.
pub fn unschedulable_hint(change: &Change<NodeObject>) -> bool {
    let cordoned_before = change.old.as_ref().is_none_or(|old| is_cordoned(old));
    cordoned_before && change.new.as_ref().is_some_and(|new| !is_cordoned(new))
}

/// A node helps if it has no untolerated taint now and had one before, or is new.
pub fn taint_hint(pod: &PodInfo, change: &Change<NodeObject>) -> bool {
    let refused_before = change.old.as_ref().is_none_or(|old| untolerated(pod, old).is_some());
    refused_before && change.new.as_ref().is_some_and(|new| untolerated(pod, new).is_none())
}

fn is_cordoned(node: &NodeObject) -> bool {
    node.node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false)
}

fn untolerated<'a>(pod: &PodInfo, node: &'a NodeObject) -> Option<&'a Taint> {
    let taints = node.node.spec.as_ref()?.taints.as_ref()?;
    taints
        .iter()
        .filter(|taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute"))
        .find(|taint| !tolerations(pod).iter().any(|toleration| tolerates(toleration, taint)))
}

fn tolerations(pod: &PodInfo) -> &[Toleration] {
    pod.pod().spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |value: &Option<String>| value.as_deref().unwrap_or_default().to_owned();
    let (effect, key) = (given(&toleration.effect), given(&toleration.key));
    if (!effect.is_empty() && effect != taint.effect) || (!key.is_empty() && key != taint.key) {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => given(&toleration.value) == given(&taint.value),
        "Exists" => true,
        _ => false,
    }
}
