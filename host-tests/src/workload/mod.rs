//! What controllers make of the objects that people submit: pods, with the names, labels, annotations and owners that
//! those controllers give them.
//!
//! Gang recognition and scoring read exactly these keys, so they are taken from the controllers' sources. A controller
//! that creates some pods only after others run (a Ray job's submitter) is represented by the pods of its first step.

mod core;
mod jobset;
mod kserve;
mod kubeflow;
mod lws;
mod mpi;
mod owner;
mod ray;
mod suffix;
#[cfg(test)]
mod tests;
mod volcano;

use k8s_openapi::api::core::v1::Pod;

use crate::load::{Document, Fault, PodGroup};

/// Pods of one workload object, and the PodGroup that its controller makes beside them.
#[derive(Debug, Default)]
pub struct Expansion {
    /// The pods, in the order in which they are created.
    pub pods: Vec<Pod>,
    /// The gang's size, where the controller says it in an object of its own.
    pub pod_group: Option<PodGroup>,
}

/// The kinds that [`expand`] knows, for messages.
pub const KINDS: &str = "Pod, Job, Deployment, ReplicaSet, StatefulSet, TFJob, PyTorchJob, XGBoostJob, PaddleJob, \
                         JAXJob, MPIJob, Volcano Job, RayCluster, RayJob, JobSet, LeaderWorkerSet, InferenceService";

/// The pods of a workload object; `None` if it is of another kind.
///
/// # Errors
/// When the object is not what its kind says.
pub fn expand(document: &Document<'_>) -> Result<Option<Expansion>, Fault> {
    let group = document.api_version.split('/').next().unwrap_or_default();
    Ok(Some(match (group, document.kind.as_str()) {
        ("batch", "Job") => core::job(&document.decode()?),
        ("apps", "Deployment") => core::deployment(&document.decode()?),
        ("apps", "ReplicaSet") => core::replica_set(&document.decode()?),
        ("apps", "StatefulSet") => core::stateful_set(&document.decode()?),
        ("kubeflow.org", "MPIJob") if document.api_version != "kubeflow.org/v1" => mpi::expand(document.decode()?),
        ("kubeflow.org", kind) if kubeflow::knows(kind) => kubeflow::expand(kind, document.decode()?),
        ("batch.volcano.sh", "Job") => volcano::expand(document.decode()?),
        ("ray.io", "RayCluster") => ray::cluster(document.decode()?),
        ("ray.io", "RayJob") => ray::job(document.decode()?),
        ("jobset.x-k8s.io", "JobSet") => jobset::expand(document.decode()?),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") => lws::expand(document.decode()?),
        ("serving.kserve.io", "InferenceService") => {
            kserve::expand(document.decode()?).map_err(|why| document.fault(why))?
        }
        _ => return Ok(None),
    }))
}
