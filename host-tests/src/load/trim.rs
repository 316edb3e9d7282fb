//! Takes from bound pods what nobody reads any more once they run.
//!
//! A dump of a large cluster has tens of thousands of pods, each with kilobytes of mounts, probes and variables. Of a pod
//! that has its node, the scheduler and the module read metadata, requests, priority and status; pods that are yet to be
//! scheduled stay whole.

use k8s_openapi::api::core::v1::{Container, Pod};

/// Trims a pod if it has a node.
pub fn trim(pod: &mut Pod) {
    pod.metadata.managed_fields = None;
    let Some(spec) = pod.spec.as_mut().filter(|spec| spec.node_name.is_some()) else { return };
    spec.volumes = None;
    for list in [spec.init_containers.as_mut(), Some(&mut spec.containers)].into_iter().flatten() {
        *list = std::mem::take(list).into_iter().map(trimmed).collect();
    }
    if let Some(status) = &mut pod.status {
        for list in [&mut status.container_statuses, &mut status.init_container_statuses].into_iter().flatten() {
            // Only a container that is being resized has more to say than its spec.
            list.retain(|status| status.resources.is_some() || status.allocated_resources.is_some());
            list.shrink_to_fit();
        }
    }
}

fn trimmed(container: Container) -> Container {
    Container {
        name: container.name,
        image: container.image,
        ports: container.ports,
        resize_policy: container.resize_policy,
        resources: container.resources,
        restart_policy: container.restart_policy,
        ..Container::default()
    }
}
