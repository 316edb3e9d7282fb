//! The MPI operator's own MPIJob (`kubeflow.org/v2beta1`): workers, and a launcher in a Job.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::kubeflow::{ReplicaSpec, RunPolicy, put_into_group};
use super::owner::{Owner, label};
use super::{Expansion, count};

/// An MPIJob.
#[derive(Deserialize)]
pub struct Job {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    run_policy: Option<RunPolicy>,
    launcher_creation_policy: Option<String>,
    mpi_replica_specs: BTreeMap<String, ReplicaSpec>,
}

/// Workers first, then the launcher, unless that waits for the workers to be ready.
pub fn expand(job: Job) -> Expansion {
    let policy = job.spec.run_policy.unwrap_or_default();
    if policy.suspend == Some(true) {
        return Expansion::default();
    }
    let owner = Owner::new("kubeflow.org/v2beta1", "MPIJob", &job.metadata);
    let mut pods = Vec::new();
    if let Some(workers) = job.spec.mpi_replica_specs.get("Worker") {
        for index in 0..count(workers.replicas) {
            let mut pod = owner.pod(format!("{}-worker-{index}", owner.name), &workers.template);
            label(
                &mut pod,
                [
                    ("training.kubeflow.org/job-name", &owner.name),
                    ("training.kubeflow.org/job-role", "worker"),
                    ("training.kubeflow.org/operator-name", "mpi-operator"),
                    ("training.kubeflow.org/replica-index", &index.to_string()),
                ],
            );
            pods.push(pod);
        }
    }
    let mut group = policy.scheduling_policy;
    if let Some(group) = &mut group {
        // The launcher counts, whenever it is created.
        let all = i32::try_from(pods.len()).unwrap_or(i32::MAX).saturating_add(1);
        group.min_available.get_or_insert(all);
    }
    let waits = job.spec.launcher_creation_policy.as_deref() == Some("WaitForWorkersReady");
    if let Some(launcher) = job.spec.mpi_replica_specs.get("Launcher").filter(|_| !waits) {
        let runner = owner.child("batch/v1", "Job", format!("{}-launcher", owner.name));
        let mut pod = runner.pod(runner.generated(&runner.name, 0), &launcher.template);
        label(
            &mut pod,
            [
                ("batch.kubernetes.io/job-name", &runner.name),
                ("job-name", &runner.name),
                ("training.kubeflow.org/job-name", &owner.name),
                ("training.kubeflow.org/job-role", "launcher"),
                ("training.kubeflow.org/operator-name", "mpi-operator"),
            ],
        );
        pods.push(pod);
    }
    let pod_group = group.map(|group| put_into_group(&mut pods, &owner, &group));
    Expansion { pods, pod_group }
}
