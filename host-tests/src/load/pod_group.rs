//! PodGroup objects, which say how many members a gang needs: scheduler-plugins', Volcano's and Kubernetes' own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use stowage::cluster::pod_gang::told_size;

/// A gang's size, as an object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodGroup {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// The least number of members that start together; `None` if any number may.
    pub min_member: Option<u32>,
}

/// The parts of all three PodGroups; their `spec`s do not overlap.
#[derive(Deserialize)]
pub(super) struct Manifest {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    /// `scheduling.x-k8s.io` and `scheduling.volcano.sh`.
    min_member: Option<i64>,
    /// `scheduling.k8s.io`.
    scheduling_policy: Option<SchedulingPolicy>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SchedulingPolicy {
    gang: Option<GangPolicy>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GangPolicy {
    min_count: i64,
}

impl From<Manifest> for PodGroup {
    fn from(manifest: Manifest) -> Self {
        let native = manifest.spec.scheduling_policy.and_then(|policy| policy.gang).map(|gang| gang.min_count);
        Self {
            namespace: manifest.metadata.namespace.unwrap_or_else(|| "default".to_owned()),
            name: manifest.metadata.name.unwrap_or_default(),
            min_member: told_size(manifest.spec.min_member.or(native)),
        }
    }
}

/// Whether `api_version` is one of the groups that have PodGroups.
pub(super) fn has_pod_groups(api_version: &str) -> bool {
    let group = api_version.split('/').next().unwrap_or_default();
    matches!(group, "scheduling.x-k8s.io" | "scheduling.volcano.sh" | "scheduling.k8s.io" | "scheduling.sigs.k8s.io")
}
