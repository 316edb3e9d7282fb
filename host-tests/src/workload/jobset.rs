//! JobSet (`jobset.x-k8s.io/v1alpha2`): several replicated Jobs.

use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::core::job_pods;
use super::owner::{Owner, annotate, label};
use super::{Expansion, MOST_PODS, count, suffix};

/// A JobSet.
#[derive(Deserialize)]
pub struct JobSet {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    suspend: Option<bool>,
    replicated_jobs: Vec<ReplicatedJob>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplicatedJob {
    name: String,
    group_name: Option<String>,
    replicas: Option<i32>,
    template: JobTemplateSpec,
}

/// The first pods of all Jobs.
pub fn expand(set: JobSet) -> Expansion {
    if set.spec.suspend == Some(true) {
        return Expansion::default();
    }
    let owner = Owner::new("jobset.x-k8s.io/v1alpha2", "JobSet", &set.metadata);
    let global: usize = set.spec.replicated_jobs.iter().map(|job| count(job.replicas)).sum();
    let mut pods = Vec::new();
    let mut global_index = 0_usize;
    for replicated in &set.spec.replicated_jobs {
        let group = replicated.group_name.as_deref().unwrap_or("default");
        let in_group: usize = set
            .spec
            .replicated_jobs
            .iter()
            .filter(|job| job.group_name.as_deref().unwrap_or("default") == group)
            .map(|job| count(job.replicas))
            .sum();
        for index in 0..count(replicated.replicas) {
            if pods.len() > MOST_PODS {
                break;
            }
            let name = format!("{}-{}-{index}", owner.name, replicated.name);
            let key = suffix::digest(&[&owner.namespace, &name]);
            let job = owner.child("batch/v1", "Job", name);
            let keys: [(&str, &str); 11] = [
                ("jobset.sigs.k8s.io/global-replicas", &global.to_string()),
                ("jobset.sigs.k8s.io/group-name", group),
                ("jobset.sigs.k8s.io/group-replicas", &in_group.to_string()),
                ("jobset.sigs.k8s.io/job-global-index", &global_index.to_string()),
                ("jobset.sigs.k8s.io/job-index", &index.to_string()),
                ("jobset.sigs.k8s.io/job-key", &key),
                ("jobset.sigs.k8s.io/jobset-name", &owner.name),
                ("jobset.sigs.k8s.io/jobset-uid", &owner.uid),
                ("jobset.sigs.k8s.io/replicatedjob-name", &replicated.name),
                ("jobset.sigs.k8s.io/replicatedjob-replicas", &count(replicated.replicas).to_string()),
                ("jobset.sigs.k8s.io/restart-attempt", "0"),
            ];
            // Jobs of a JobSet are indexed unless they say otherwise.
            let mut spec = replicated.template.spec.clone().unwrap_or_default();
            spec.completion_mode.get_or_insert_with(|| "Indexed".to_owned());
            for mut pod in job_pods(&job, &spec) {
                label(&mut pod, keys);
                annotate(&mut pod, keys);
                pods.push(pod);
            }
            global_index += 1;
        }
    }
    Expansion { pods, pod_group: None }
}
