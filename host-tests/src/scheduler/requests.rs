//! What a pod asks of a node and what a node offers, as NodeResourcesFit counts them.
//!
//! This is the scheduler's own arithmetic on typed objects, apart from the module's on protobuf: the fixtures that
//! pass through both are a test of both.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use stowage::object::{Quantities, Quantity, ResourceNames, Resources};

/// A node's `status.allocatable`.
pub fn allocatable(node: &Node, names: &mut ResourceNames) -> Resources {
    let status = node.status.as_ref();
    let list = status.and_then(|status| status.allocatable.as_ref());
    list.map_or_else(Resources::new, |list| quantities(list, names).rounded())
}

/// The larger of what the pod's containers need together and what any of its init containers needs on its way, plus
/// overhead. A restartable init container (sidecar) runs beside everything that starts after it.
pub fn pod_requests(pod: &Pod, names: &mut ResourceNames) -> Resources {
    let Some(spec) = &pod.spec else { return Resources::new() };
    let status = pod.status.as_ref();

    let mut total = Quantities::default();
    for container in &spec.containers {
        let statuses = status.and_then(|status| status.container_statuses.as_ref());
        total.add_all(&container_requests(container, statuses, names));
    }

    let mut sidecars = Quantities::default();
    let mut init = Quantities::default();
    for container in spec.init_containers.iter().flatten() {
        if container.restart_policy.as_deref() == Some("Always") {
            let statuses = status.and_then(|status| status.init_container_statuses.as_ref());
            let needed = container_requests(container, statuses, names);
            total.add_all(&needed);
            sidecars.add_all(&needed);
            init.max_all(&sidecars);
        } else {
            let mut needed = container_requests(container, None, names);
            needed.add_all(&sidecars);
            init.max_all(&needed);
        }
    }
    total.max_all(&init);

    if let Some(overhead) = &spec.overhead {
        total.add_all(&quantities(overhead, names));
    }
    // Rounded once, as sums are in Kubernetes.
    total.rounded()
}

/// A container's requests; while it is being resized, at least what it has now.
fn container_requests(
    container: &Container,
    statuses: Option<&Vec<ContainerStatus>>,
    names: &mut ResourceNames,
) -> Quantities {
    let spec = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let mut requests = spec.map_or_else(Quantities::default, |list| quantities(list, names));
    let status = statuses.and_then(|all| all.iter().find(|status| status.name == container.name));
    if let Some(running) = status.and_then(|status| status.resources.as_ref()) {
        let allocated = status.and_then(|status| status.allocated_resources.as_ref());
        for list in running.requests.iter().chain(allocated) {
            requests.max_all(&quantities(list, names));
        }
    }
    requests
}

/// Amounts that do not parse count as nothing; the loader refuses them as the API server does.
fn quantities(list: &BTreeMap<String, Text>, names: &mut ResourceNames) -> Quantities {
    let mut amounts = Quantities::default();
    for (name, text) in list {
        if let Some(id) = names.intern(name) {
            amounts.set(id, Quantity::parse(&text.0).unwrap_or(Quantity::ZERO));
        }
    }
    amounts
}
