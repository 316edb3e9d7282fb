//! PodGroup objects, which say how many members a gang needs: scheduler-plugins' and Volcano's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use stowage::cluster::pod_gang::told_size;

use super::document::Document;
use super::fault::Fault;

/// The groups whose PodGroups the publisher reads.
const GROUPS: [&str; 3] = ["scheduling.x-k8s.io", "scheduling.sigs.k8s.io", "scheduling.volcano.sh"];

/// The group of Kubernetes' own, which hold the pods that name them in their `spec` together by themselves.
const NATIVE: &str = "scheduling.k8s.io";

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

#[derive(Deserialize)]
struct Manifest {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    min_member: Option<i64>,
}

impl From<Manifest> for PodGroup {
    fn from(manifest: Manifest) -> Self {
        Self {
            namespace: manifest.metadata.namespace.unwrap_or_else(|| "default".to_owned()),
            name: manifest.metadata.name.unwrap_or_default(),
            min_member: told_size(manifest.spec.min_member),
        }
    }
}

/// The PodGroup of a document, as the publisher reads it; `None` for one of Kubernetes' own, which it does not.
///
/// # Errors
/// When it is of a group that has no PodGroups that are known here, or is none.
pub(super) fn pod_group(document: &Document<'_>) -> Result<Option<PodGroup>, Fault> {
    let version = &document.api_version;
    match version.split('/').next().unwrap_or_default() {
        NATIVE => Ok(None),
        group if GROUPS.contains(&group) => Ok(Some(document.decode::<Manifest>()?.into())),
        _ => {
            let known = GROUPS.join(", ");
            Err(document.fault(format!("a PodGroup of {version} is not read, only those of {known} and {NATIVE}")))
        }
    }
}
