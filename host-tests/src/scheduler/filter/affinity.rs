//! NodeAffinity: `nodeSelector` and required node affinity.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use crate::framework::Code;
use crate::object::NodeObject;
use crate::scheduler::event::Change;
use crate::scheduler::node::NodeInfo;
use crate::scheduler::plugin::{PluginId, Rejection};
use crate::scheduler::pod::PodInfo;

/// Refuses nodes whose labels the pod does not want.
pub fn node_affinity(pod: &PodInfo, node: &NodeInfo) -> Result<(), Rejection> {
    if matches(pod, &node.object) {
        return Ok(());
    }
    let reason = "node(s) didn't match Pod's node affinity/selector";
    Err(Rejection::new(Code::UnschedulableAndUnresolvable, PluginId::NodeAffinity, reason))
}

/// The nodes that the pod's required terms name, if every term names some: what DaemonSet pods carry.
pub fn required_names(pod: &PodInfo) -> Option<Vec<String>> {
    let terms = &required(pod)?.node_selector_terms;
    let mut names = Vec::new();
    for term in terms {
        let named =
            term.match_fields.iter().flatten().find(|field| field.key == "metadata.name" && field.operator == "In");
        names.extend(named?.values.iter().flatten().cloned());
    }
    names.sort();
    names.dedup();
    (!terms.is_empty()).then_some(names)
}

/// A node helps if the pod wants it now and did not before, or it is new.
pub fn hint(pod: &PodInfo, change: &Change<NodeObject>) -> bool {
    let unwanted_before = change.old.as_ref().is_none_or(|old| !matches(pod, old));
    unwanted_before && change.new.as_ref().is_some_and(|new| matches(pod, new))
}

fn required(pod: &PodInfo) -> Option<&NodeSelector> {
    let affinity = pod.pod().spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    affinity.required_during_scheduling_ignored_during_execution.as_ref()
}

fn matches(pod: &PodInfo, node: &NodeObject) -> bool {
    let none = BTreeMap::new();
    let labels = node.node.metadata.labels.as_ref().unwrap_or(&none);
    let selector = pod.pod().spec.as_ref().and_then(|spec| spec.node_selector.as_ref());
    let selected = selector.is_none_or(|wanted| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)));
    let name = node.node.metadata.name.as_deref().unwrap_or_default();
    selected
        && required(pod)
            .is_none_or(|selector| selector.node_selector_terms.iter().any(|term| term_matches(term, labels, name)))
}

/// All requirements of a term hold; a term without any matches nothing.
fn term_matches(term: &NodeSelectorTerm, labels: &BTreeMap<String, String>, name: &str) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    expressions.iter().all(|wanted| requirement_holds(wanted, labels.get(&wanted.key).map(String::as_str)))
        && fields.iter().all(|wanted| wanted.key == "metadata.name" && requirement_holds(wanted, Some(name)))
}

fn requirement_holds(wanted: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = wanted.values.as_deref().unwrap_or_default();
    let listed = value.is_some_and(|value| values.iter().any(|wanted| wanted == value));
    let bound = || Some((value?.parse::<i64>().ok()?, values.first()?.parse::<i64>().ok()?));
    match &*wanted.operator {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => bound().is_some_and(|(value, bound)| value > bound),
        "Lt" => bound().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}
