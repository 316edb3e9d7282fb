//! KubeRay's RayCluster, and RayJob, which makes one. A RayJob's submitter is created once its cluster is ready.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::owner::{Owner, label};
use super::{Expansion, count, room, suffix};
use crate::load::PodGroup;

/// Asks KubeRay for a PodGroup; only with its coscheduling integration switched on.
const GANG_LABEL: &str = "ray.io/gang-scheduling-enabled";

/// A RayCluster.
#[derive(Deserialize)]
pub struct Cluster {
    metadata: ObjectMeta,
    spec: ClusterSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterSpec {
    suspend: Option<bool>,
    head_group_spec: HeadGroup,
    #[serde(default)]
    worker_group_specs: Vec<WorkerGroup>,
}

#[derive(Deserialize)]
struct HeadGroup {
    template: PodTemplateSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkerGroup {
    group_name: String,
    replicas: Option<i32>,
    min_replicas: Option<i32>,
    num_of_hosts: Option<i32>,
    suspend: Option<bool>,
    template: PodTemplateSpec,
}

/// A RayJob.
#[derive(Deserialize)]
pub struct Job {
    metadata: ObjectMeta,
    spec: JobSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobSpec {
    suspend: Option<bool>,
    ray_cluster_spec: Option<ClusterSpec>,
}

/// A RayCluster's pods.
pub fn cluster(cluster: Cluster) -> Expansion {
    let owner = Owner::new("ray.io/v1", "RayCluster", &cluster.metadata);
    pods(&owner, cluster.metadata.labels.as_ref(), &cluster.spec)
}

/// The pods of the cluster that a RayJob makes.
pub fn job(job: Job) -> Expansion {
    let owner = Owner::new("ray.io/v1", "RayJob", &job.metadata);
    let Some(spec) = job.spec.ray_cluster_spec.filter(|_| job.spec.suspend != Some(true)) else {
        return Expansion::default();
    };
    let name = format!("{}-{}", owner.name, suffix::random(&owner.name, 0));
    pods(&owner.child("ray.io/v1", "RayCluster", name), job.metadata.labels.as_ref(), &spec)
}

fn pods(owner: &Owner, labels: Option<&BTreeMap<String, String>>, spec: &ClusterSpec) -> Expansion {
    if spec.suspend == Some(true) {
        return Expansion::default();
    }
    let mut pods =
        vec![node(owner, format!("{}-head", owner.name), "head", "headgroup", &spec.head_group_spec.template)];
    for group in spec.worker_group_specs.iter().filter(|group| group.suspend != Some(true)) {
        let replicas = group.replicas.or(group.min_replicas).or(Some(0));
        for index in 0..room(&pods, count(replicas) * count(group.num_of_hosts)) {
            let prefix = format!("{}-{}-worker", owner.name, group.group_name);
            let name = owner.generated(&prefix, index);
            pods.push(node(owner, name, "worker", &group.group_name, &group.template));
        }
    }
    let gang = labels.and_then(|labels| labels.get(GANG_LABEL)).is_some();
    let pod_group = gang.then(|| {
        pods.iter_mut().for_each(|pod| label(pod, [("scheduling.x-k8s.io/pod-group", &owner.name)]));
        PodGroup {
            namespace: owner.namespace.clone(),
            name: owner.name.clone(),
            min_member: u32::try_from(pods.len()).ok(),
        }
    });
    Expansion { pods, pod_group }
}

fn node(owner: &Owner, name: String, node_type: &str, group: &str, template: &PodTemplateSpec) -> Pod {
    let mut pod = owner.pod(name, template);
    label(
        &mut pod,
        [
            ("app.kubernetes.io/created-by", "kuberay-operator"),
            ("app.kubernetes.io/name", "kuberay"),
            ("ray.io/cluster", &owner.name),
            ("ray.io/group", group),
            ("ray.io/identifier", &format!("{}-{node_type}", owner.name)),
            ("ray.io/is-ray-node", "yes"),
            ("ray.io/node-type", node_type),
        ],
    );
    pod
}
