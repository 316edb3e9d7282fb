//! What a pod may ask for that the harness does not model; better said than silently ignored.

use crate::scheduler::pod::PodInfo;

/// The fields of `pod` that a real scheduler would act on and this loop does not.
#[must_use]
pub fn unmodelled(pod: &PodInfo) -> Vec<&'static str> {
    let Some(spec) = &pod.pod().spec else { return Vec::new() };
    let affinity = spec.affinity.as_ref();
    let spreads = spec.topology_spread_constraints.as_deref().unwrap_or_default();
    let claims = spec.volumes.iter().flatten().any(|volume| volume.persistent_volume_claim.is_some());
    let ports = spec.containers.iter().flat_map(|container| container.ports.iter().flatten());
    let found = [
        (affinity.is_some_and(|affinity| affinity.pod_affinity.is_some()), "podAffinity"),
        (affinity.is_some_and(|affinity| affinity.pod_anti_affinity.is_some()), "podAntiAffinity"),
        (spreads.iter().any(|spread| spread.when_unsatisfiable == "DoNotSchedule"), "topologySpreadConstraints"),
        (claims, "persistentVolumeClaim"),
        (ports.filter_map(|port| port.host_port).any(|port| port > 0), "hostPort"),
        (spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()), "resourceClaims"),
    ];
    found.into_iter().filter(|(asked, _)| *asked).map(|(_, field)| field).collect()
}
