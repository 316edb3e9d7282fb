//! LeaderWorkerSet (`leaderworkerset.x-k8s.io/v1`): groups of a leader and its workers.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::owner::{Owner, annotate, environment, label};
use super::{Expansion, count, room, suffix};

/// A LeaderWorkerSet.
#[derive(Deserialize)]
pub struct LeaderWorkerSet {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    replicas: Option<i32>,
    startup_policy: Option<String>,
    leader_worker_template: Template,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Template {
    size: Option<i32>,
    leader_template: Option<PodTemplateSpec>,
    worker_template: PodTemplateSpec,
}

/// Every group's leader, then its workers, unless those wait for the leader to be ready.
pub fn expand(set: LeaderWorkerSet) -> Expansion {
    let owner = Owner::new("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", &set.metadata);
    let template = &set.spec.leader_worker_template;
    let size = count(template.size);
    let waits = set.spec.startup_policy.as_deref() == Some("LeaderReady");
    let mut pods = Vec::new();
    for group in 0..count(set.spec.replicas) {
        let leader = format!("{}-{group}", owner.name);
        let created = if waits { 1 } else { size };
        for worker in 0..room(&pods, created) {
            // Leaders belong to the StatefulSet of the whole set, workers to one of their group.
            let (controller, name, template) = if worker == 0 {
                let template = template.leader_template.as_ref().unwrap_or(&template.worker_template);
                (owner.child("apps/v1", "StatefulSet", owner.name.clone()), leader.clone(), template)
            } else {
                let set = owner.child("apps/v1", "StatefulSet", leader.clone());
                (set, format!("{leader}-{worker}"), &template.worker_template)
            };
            let mut pod = controller.pod(name, template);
            label(
                &mut pod,
                [
                    ("leaderworkerset.sigs.k8s.io/group-index", &group.to_string()),
                    ("leaderworkerset.sigs.k8s.io/group-key", &suffix::digest(&[&owner.namespace, &leader])),
                    ("leaderworkerset.sigs.k8s.io/name", &owner.name),
                    ("leaderworkerset.sigs.k8s.io/template-revision-hash", &suffix::template_hash(&owner.name)),
                    ("leaderworkerset.sigs.k8s.io/worker-index", &worker.to_string()),
                ],
            );
            annotate(&mut pod, [("leaderworkerset.sigs.k8s.io/size", &size.to_string())]);
            if worker > 0 {
                annotate(&mut pod, [("leaderworkerset.sigs.k8s.io/leader-name", &leader)]);
            }
            environment(&mut pod, &[("LWS_GROUP_SIZE", size.to_string())]);
            pods.push(pod);
        }
    }
    Expansion { pods, pod_group: None }
}
