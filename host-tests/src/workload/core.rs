//! The built-in workloads: Job, Deployment, ReplicaSet, StatefulSet.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};

use super::owner::{Owner, annotate, label};
use super::{Expansion, count, suffix};

/// A Job's first pods: as many as run at once.
pub fn job(job: &Job) -> Expansion {
    let owner = Owner::new("batch/v1", "Job", &job.metadata);
    let pods = job.spec.as_ref().map_or_else(Vec::new, |spec| job_pods(&owner, spec));
    Expansion { pods, pod_group: None }
}

/// The pods that the Job controller creates first for `owner`.
pub fn job_pods(owner: &Owner, spec: &JobSpec) -> Vec<Pod> {
    if spec.suspend == Some(true) {
        return Vec::new();
    }
    let parallelism = spec.parallelism.unwrap_or(1);
    let count = count(Some(spec.completions.map_or(parallelism, |completions| completions.min(parallelism))));
    let indexed = spec.completion_mode.as_deref() == Some("Indexed");
    (0..count)
        .map(|index| {
            let prefix = if indexed { format!("{}-{index}", owner.name) } else { owner.name.clone() };
            let mut pod = owner.pod(owner.generated(&prefix, index), &spec.template);
            label(
                &mut pod,
                [
                    ("batch.kubernetes.io/controller-uid", &owner.uid),
                    ("batch.kubernetes.io/job-name", &owner.name),
                    ("controller-uid", &owner.uid),
                    ("job-name", &owner.name),
                ],
            );
            if indexed {
                let index = index.to_string();
                label(&mut pod, [("batch.kubernetes.io/job-completion-index", &index)]);
                annotate(&mut pod, [("batch.kubernetes.io/job-completion-index", &index)]);
            }
            pod
        })
        .collect()
}

/// A Deployment's pods, through its first ReplicaSet.
pub fn deployment(deployment: &Deployment) -> Expansion {
    let owner = Owner::new("apps/v1", "Deployment", &deployment.metadata);
    let pods = match &deployment.spec {
        Some(spec) => deployment_pods(&owner, spec.replicas, &spec.template),
        None => Vec::new(),
    };
    Expansion { pods, pod_group: None }
}

/// The pods of a Deployment called like `owner`.
pub fn deployment_pods(owner: &Owner, replicas: Option<i32>, template: &PodTemplateSpec) -> Vec<Pod> {
    let hash = suffix::template_hash(&format!("{}/{}", owner.namespace, owner.name));
    let set = owner.child("apps/v1", "ReplicaSet", format!("{}-{hash}", owner.name));
    let mut pods = replicas_of(&set, replicas, template);
    pods.iter_mut().for_each(|pod| label(pod, [("pod-template-hash", &hash)]));
    pods
}

/// A ReplicaSet's pods.
pub fn replica_set(set: &ReplicaSet) -> Expansion {
    let owner = Owner::new("apps/v1", "ReplicaSet", &set.metadata);
    let pods = match &set.spec {
        Some(spec) => replicas_of(&owner, spec.replicas, spec.template.as_ref().unwrap_or(&PodTemplateSpec::default())),
        None => Vec::new(),
    };
    Expansion { pods, pod_group: None }
}

fn replicas_of(owner: &Owner, replicas: Option<i32>, template: &PodTemplateSpec) -> Vec<Pod> {
    (0..count(replicas)).map(|index| owner.pod(owner.generated(&owner.name, index), template)).collect()
}

/// A StatefulSet's pods. They are submitted together, also under `OrderedReady`, which waits for each to be ready.
pub fn stateful_set(set: &StatefulSet) -> Expansion {
    let owner = Owner::new("apps/v1", "StatefulSet", &set.metadata);
    let pods = match &set.spec {
        Some(spec) => (0..count(spec.replicas))
            .map(|index| {
                let name = format!("{}-{index}", owner.name);
                let mut pod = owner.pod(name.clone(), &spec.template);
                let revision = format!("{}-{}", owner.name, suffix::template_hash(&owner.name));
                label(
                    &mut pod,
                    [
                        ("apps.kubernetes.io/pod-index", &index.to_string()),
                        ("controller-revision-hash", &revision),
                        ("statefulset.kubernetes.io/pod-name", &name),
                    ],
                );
                pod
            })
            .collect(),
        None => Vec::new(),
    };
    Expansion { pods, pod_group: None }
}
