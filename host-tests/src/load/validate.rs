//! What the API server would refuse, as far as it matters to scheduling.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use stowage::object::Quantity;

/// Most pods of a node that does not say how many it takes; the kubelet's own default.
const DEFAULT_MAX_PODS: &str = "110";

/// Checks a node and fills in what the API server and the kubelet would.
///
/// # Errors
/// What is wrong.
pub fn node(node: &mut Node) -> Result<(), String> {
    if node.metadata.name.as_deref().unwrap_or_default().is_empty() {
        return Err("metadata.name is missing".to_owned());
    }
    name(node.metadata.name.as_deref())?;
    let status = node.status.get_or_insert_default();
    if status.allocatable.is_none() {
        status.allocatable = status.capacity.clone();
    }
    let allocatable = status.allocatable.get_or_insert_default();
    allocatable.entry("pods".to_owned()).or_insert_with(|| Text(DEFAULT_MAX_PODS.to_owned()));
    amounts(allocatable, "status.allocatable")
}

/// Checks a pod.
///
/// # Errors
/// What is wrong.
pub fn pod(pod: &Pod) -> Result<(), String> {
    name(pod.metadata.name.as_deref())?;
    let spec = pod.spec.as_ref().ok_or("spec is missing")?;
    if spec.containers.is_empty() {
        return Err("spec.containers is empty".to_owned());
    }
    let init = spec.init_containers.iter().flatten().zip(0..).map(|(container, at)| (container, "initContainers", at));
    let main = spec.containers.iter().zip(0..).map(|(container, at)| (container, "containers", at));
    for (container, list, at) in init.chain(main) {
        let Some(resources) = &container.resources else { continue };
        for (part, list_of) in [("requests", &resources.requests), ("limits", &resources.limits)] {
            if let Some(list_of) = list_of {
                let path = format!("spec.{list}[{at}].resources.{part}");
                amounts(list_of, &path)?;
                list_of.iter().try_for_each(|(name, amount)| resource(name, amount, &path))?;
            }
        }
    }
    spec.overhead.as_ref().map_or(Ok(()), |overhead| amounts(overhead, "spec.overhead"))
}

/// The name of a node or pod: a DNS subdomain.
fn name(name: Option<&str>) -> Result<(), String> {
    let name = name.unwrap_or_default();
    let part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(inner)
    };
    if name.len() <= 253 && name.split('.').all(part) {
        return Ok(());
    }
    Err(format!("metadata.name is {name:?}, allowed are up to 253 lower case letters, digits, `-` and `.`"))
}

/// A resource that a container asks for.
fn resource(name: &str, amount: &Text, path: &str) -> Result<(), String> {
    let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    let Some((domain, _)) = name.split_once('/') else {
        return if standard {
            Ok(())
        } else {
            Err(format!("{path}[{name}] is no resource of Kubernetes; others have a domain"))
        };
    };
    // Devices: `kubernetes.io/batch-cpu` and the like may come in parts.
    let whole = |quantity: Quantity| quantity == Quantity::units(quantity.value());
    if !domain.ends_with("kubernetes.io") && !Quantity::parse(&amount.0).is_ok_and(whole) {
        return Err(format!("{path}[{name}] is {}, which must be a whole number", amount.0));
    }
    Ok(())
}

fn amounts(list: &BTreeMap<String, Text>, path: &str) -> Result<(), String> {
    for (name, text) in list {
        let quantity = Quantity::parse(&text.0).map_err(|error| format!("{path}[{name}] is {:?}, {error}", text.0))?;
        if quantity < Quantity::ZERO {
            return Err(format!("{path}[{name}] is {}, which is negative", text.0));
        }
    }
    Ok(())
}
