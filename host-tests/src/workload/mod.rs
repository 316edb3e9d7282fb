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
pub(crate) mod suffix;
#[cfg(test)]
mod tests;
mod volcano;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

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

/// Most pods of one object. A typo in a number must not take all memory.
const MOST_PODS: usize = 10_000;

/// Fields that say how many of something there shall be.
const NUMBERS: [&str; 6] = ["replicas", "minReplicas", "parallelism", "completions", "numOfHosts", "size"];

/// The pods of a workload object; `None` if it is of another kind.
///
/// # Errors
/// When the object is not what its kind says.
pub fn expand(document: &Document<'_>) -> Result<Option<Expansion>, Fault> {
    let Some(expansion) = expand_kind(document)? else { return Ok(None) };
    if !document.is_named() {
        return Err(document.fault("metadata.name is missing"));
    }
    if let Some(fault) = negative(&document.decode()?) {
        return Err(document.fault(fault));
    }
    if expansion.pods.len() > MOST_PODS {
        return Err(document.fault(format!("makes more than {MOST_PODS} pods, which are too many to try")));
    }
    Ok(Some(expansion))
}

/// The first number of replicas below zero, with its path.
fn negative(object: &Value) -> Option<String> {
    let below = |name: &str, value: &Value| is_number_of_replicas(name) && value.as_i64().is_some_and(|it| it < 0);
    find(object, &mut String::new(), &below).map(|(path, number)| format!("{path} is {number}, which is negative"))
}

/// The field that keeps an object from having pods.
#[must_use]
pub fn why_no_pods(object: &Value) -> Option<String> {
    let suspended = |name: &str, value: &Value| name.ends_with("suspend") && *value == Value::Bool(true);
    let none = |name: &str, value: &Value| is_number_of_replicas(name) && value.as_i64() == Some(0);
    let found = find(object, &mut String::new(), &suspended).or_else(|| find(object, &mut String::new(), &none));
    found.map(|(path, value)| format!("{path} is {value}"))
}

fn is_number_of_replicas(name: &str) -> bool {
    NUMBERS.iter().any(|known| name.ends_with(known))
}

/// The first field within that fits, with its path.
fn find<'a>(value: &'a Value, path: &mut String, fits: &impl Fn(&str, &Value) -> bool) -> Option<(String, &'a Value)> {
    let length = path.len();
    let inside = |name: &str, inner: &'a Value, path: &mut String| {
        path.push_str(name);
        let found = if fits(name, inner) { Some((path.clone(), inner)) } else { find(inner, path, fits) };
        path.truncate(length);
        found
    };
    let dot = if length == 0 { "" } else { "." };
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, inner)| inside(&format!("{dot}{name}"), inner, path)),
        Value::Array(items) => {
            (0..).zip(items).find_map(|(at, inner): (usize, _)| inside(&format!("[{at}]"), inner, path))
        }
        _ => None,
    }
}

/// A number of replicas; 1 if absent. One too many is as good as any number of them too many.
fn count(replicas: Option<i32>) -> usize {
    usize::try_from(replicas.unwrap_or(1)).unwrap_or(0).min(MOST_PODS + 1)
}

/// As many of `count` as there is room for beside the pods made already, and one more.
fn room(pods: &[Pod], count: usize) -> usize {
    count.min((MOST_PODS + 1).saturating_sub(pods.len()))
}

fn expand_kind(document: &Document<'_>) -> Result<Option<Expansion>, Fault> {
    let group = document.api_version.split('/').next().unwrap_or_default();
    if group == "kubeflow.org"
        && kubeflow::knows(&document.kind)
        && let Some(fault) = kubeflow::without_replicas(&document.kind, &document.decode()?)
    {
        return Err(document.fault(fault));
    }
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
