//! The training operator's jobs (`kubeflow.org/v1`): TFJob, PyTorchJob, XGBoostJob, PaddleJob, JAXJob and MPIJob.
//!
//! All of them are replica specs by type. They differ in their rendezvous variables, two of which tell a job's size.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};

use super::owner::{Owner, annotate, environment, label};
use super::{Expansion, MOST_PODS, count, room};
use crate::hint::did_you_mean;
use crate::load::PodGroup;

/// A job of any of the kinds.
#[derive(Deserialize)]
pub struct Job {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    run_policy: Option<RunPolicy>,
    #[serde(
        alias = "tfReplicaSpecs",
        alias = "pytorchReplicaSpecs",
        alias = "xgbReplicaSpecs",
        alias = "paddleReplicaSpecs",
        alias = "jaxReplicaSpecs",
        alias = "mpiReplicaSpecs"
    )]
    replica_specs: BTreeMap<String, ReplicaSpec>,
}

#[derive(Deserialize)]
pub(super) struct ReplicaSpec {
    pub replicas: Option<i32>,
    pub template: PodTemplateSpec,
}

/// How a job is run; also the MPI operator's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunPolicy {
    pub scheduling_policy: Option<SchedulingPolicy>,
    pub suspend: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SchedulingPolicy {
    pub min_available: Option<i32>,
}

/// Whether the training operator has jobs of this kind.
pub fn knows(kind: &str) -> bool {
    matches!(kind, "TFJob" | "PyTorchJob" | "XGBoostJob" | "PaddleJob" | "JAXJob" | "MPIJob")
}

/// What is wrong with a job that has no field for its replicas: the one that was probably meant, if any.
pub fn without_replicas(kind: &str, job: &Value) -> Option<String> {
    let fields = job.get("spec")?.as_object()?;
    if fields.keys().any(|field| field.ends_with("eplicaSpecs")) {
        return None;
    }
    let family = kind.trim_end_matches("Job").to_lowercase();
    let key = format!("{}ReplicaSpecs", if family == "xgboost" { "xgb" } else { &family });
    let wrong = fields.keys().find(|field| !did_you_mean(field, [&*key]).is_empty());
    Some(wrong.map_or_else(
        || format!("spec.{key} is missing"),
        |field| format!("spec.{field} is no field of a {kind}; did you mean {key}?"),
    ))
}

/// The job's pods. With a scheduling policy the operator puts them into a PodGroup.
pub fn expand(kind: &str, job: Job) -> Expansion {
    let policy = job.spec.run_policy.clone().unwrap_or_default();
    if policy.suspend == Some(true) {
        return Expansion::default();
    }
    let owner = Owner::new("kubeflow.org/v1", kind, &job.metadata);
    let mut pods = Vec::new();
    for (role, spec) in &job.spec.replica_specs {
        for index in 0..room(&pods, count(spec.replicas)) {
            let mut pod = replica(&owner, kind, role, index, spec);
            environment(&mut pod, &variables(kind, &owner.name, role, index, &job.spec.replica_specs));
            pods.push(pod);
        }
    }
    let pod_group = policy.scheduling_policy.map(|policy| put_into_group(&mut pods, &owner, &policy));
    Expansion { pods, pod_group }
}

fn replica(owner: &Owner, kind: &str, role: &str, index: usize, spec: &ReplicaSpec) -> Pod {
    let role = role.to_lowercase();
    let launcher = role == "launcher";
    let name = if launcher { format!("{}-launcher", owner.name) } else { format!("{}-{role}-{index}", owner.name) };
    let mut pod = owner.pod(name, &spec.template);
    label(
        &mut pod,
        [
            ("training.kubeflow.org/job-name", &owner.name),
            ("training.kubeflow.org/operator-name", &format!("{}-controller", kind.to_lowercase())),
            ("training.kubeflow.org/replica-index", &index.to_string()),
            ("training.kubeflow.org/replica-type", &role),
        ],
    );
    let job_role = match role.as_str() {
        "launcher" => Some("launcher"),
        "chief" | "master" => Some("master"),
        "worker" if kind == "MPIJob" => Some("worker"),
        _ => None,
    };
    if let Some(job_role) = job_role {
        label(&mut pod, [("training.kubeflow.org/job-role", job_role)]);
    }
    pod
}

/// Where a replica finds the others.
fn variables(
    kind: &str,
    name: &str,
    role: &str,
    index: usize,
    specs: &BTreeMap<String, ReplicaSpec>,
) -> Vec<(&'static str, String)> {
    let total: usize = specs.values().map(|spec| count(spec.replicas)).sum();
    match kind {
        // Each names all the others: not for so many that they are refused anyway.
        "TFJob" if (2..=MOST_PODS).contains(&total) => {
            let hosts = |role: &str, spec: &ReplicaSpec| -> Vec<String> {
                let role = role.to_lowercase();
                (0..count(spec.replicas)).map(|at| format!("{name}-{role}-{at}.default.svc:2222")).collect()
            };
            // An evaluator is not part of the cluster.
            let members = specs.iter().filter(|(role, _)| *role != "Evaluator" && *role != "Eval");
            let cluster: BTreeMap<String, Vec<String>> =
                members.map(|(role, spec)| (role.to_lowercase(), hosts(role, spec))).collect();
            let task = json!({"type": role.to_lowercase(), "index": index});
            let config = json!({"cluster": cluster, "task": task, "environment": "cloud"});
            vec![("TF_CONFIG", config.to_string())]
        }
        "PyTorchJob" => {
            let rank = if role == "Worker" && specs.contains_key("Master") { index + 1 } else { index };
            vec![
                ("MASTER_ADDR", format!("{name}-master-0")),
                ("MASTER_PORT", "23456".to_owned()),
                ("PET_NNODES", total.to_string()),
                ("RANK", rank.to_string()),
                ("WORLD_SIZE", total.to_string()),
            ]
        }
        "XGBoostJob" => vec![("WORLD_SIZE", total.to_string())],
        _ => Vec::new(),
    }
}

/// Labels pods for coscheduling, or annotates them if their template asks for Volcano.
pub(super) fn put_into_group(pods: &mut [Pod], owner: &Owner, policy: &SchedulingPolicy) -> PodGroup {
    let total = pods.len();
    for pod in pods {
        let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.clone());
        if scheduler.as_deref() == Some("volcano") {
            let labels = pod.metadata.labels.as_ref();
            let role = labels.and_then(|labels| labels.get("training.kubeflow.org/replica-type")).cloned();
            annotate(pod, [("scheduling.k8s.io/group-name", &owner.name)]);
            if let Some(role) = role {
                annotate(pod, [("volcano.sh/task-spec", &role)]);
            }
        } else {
            label(pod, [("scheduling.x-k8s.io/pod-group", &owner.name)]);
        }
    }
    let min = policy.min_available.and_then(|min| u32::try_from(min).ok());
    PodGroup {
        namespace: owner.namespace.clone(),
        name: owner.name.clone(),
        min_member: min.or_else(|| u32::try_from(total).ok()),
    }
}
