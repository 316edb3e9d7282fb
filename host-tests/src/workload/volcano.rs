//! Volcano's Job (`batch.volcano.sh/v1alpha1`).

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::owner::{Owner, annotate, label};
use super::{Expansion, count, room};
use crate::load::PodGroup;

/// A Volcano Job.
#[derive(Deserialize)]
pub struct Job {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    min_available: Option<i32>,
    scheduler_name: Option<String>,
    queue: Option<String>,
    priority_class_name: Option<String>,
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    name: Option<String>,
    replicas: Option<i32>,
    template: PodTemplateSpec,
}

/// The job's pods and the PodGroup that its controller makes for them.
pub fn expand(job: Job) -> Expansion {
    let owner = Owner::new("batch.volcano.sh/v1alpha1", "Job", &job.metadata);
    let group = format!("{}-{}", owner.name, owner.uid);
    let queue = job.spec.queue.as_deref().unwrap_or("default");
    let mut pods = Vec::new();
    for (position, task) in job.spec.tasks.iter().enumerate() {
        let task_name = task.name.clone().unwrap_or_else(|| format!("default{position}"));
        for index in 0..room(&pods, count(task.replicas)) {
            let mut pod = owner.pod(format!("{}-{task_name}-{index}", owner.name), &task.template);
            if let Some(spec) = &mut pod.spec {
                spec.scheduler_name
                    .get_or_insert_with(|| job.spec.scheduler_name.clone().unwrap_or_else(|| "volcano".to_owned()));
                if spec.priority_class_name.is_none() {
                    spec.priority_class_name.clone_from(&job.spec.priority_class_name);
                }
            }
            let index = index.to_string();
            annotate(
                &mut pod,
                [
                    ("scheduling.k8s.io/group-name", &group),
                    ("volcano.sh/job-name", &owner.name),
                    ("volcano.sh/job-version", "0"),
                    ("volcano.sh/queue-name", queue),
                    ("volcano.sh/task-index", &index),
                    ("volcano.sh/task-spec", &task_name),
                ],
            );
            label(
                &mut pod,
                [
                    ("volcano.sh/job-name", &owner.name),
                    ("volcano.sh/job-namespace", &owner.namespace),
                    ("volcano.sh/queue-name", queue),
                    ("volcano.sh/task-index", &index),
                    ("volcano.sh/task-spec", &task_name),
                ],
            );
            pods.push(pod);
        }
    }
    let min = job.spec.min_available.and_then(|min| u32::try_from(min).ok());
    let min_member = min.or_else(|| u32::try_from(pods.len()).ok());
    Expansion { pods, pod_group: Some(PodGroup { namespace: owner.namespace, name: group, min_member }) }
}
