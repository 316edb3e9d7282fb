//! The two writes: a node's annotation and a pod's label, both by server-side apply.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use stowage::cluster::node_state::ANNOTATION;

use crate::account::{Draft, LABEL, PodLabel};

/// Who the API server is told that these fields belong to.
const FIELD_MANAGER: &str = "stowage-publisher";
/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Why a write was not done.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody else wrote meanwhile, or the object is another of the same name.
    Conflict,
    /// The object does not exist any more.
    Gone,
    /// The API server asks for a pause.
    Busy(Option<Duration>),
    /// Anything else.
    Failed(String),
}

/// Writes a node's annotation; answers the node's resource version since.
///
/// # Errors
/// [`Refusal`]; the write may have been done all the same if it is [`Refusal::Failed`].
pub async fn annotate(client: Client, node: &str, draft: &Draft) -> Result<String, Refusal> {
    let body = json!({
        "apiVersion": "v1",
        "kind": "Node",
        // An apply creates what does not exist, unless it says which object it means.
        "metadata": {"name": node, "uid": draft.uid, "annotations": {ANNOTATION: draft.text}},
    });
    let nodes = Api::<Node>::all(client);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(&body);
    let node = patient(nodes.patch_metadata(node, &parameters, &patch)).await?;
    Ok(node.resource_version().unwrap_or_default())
}

/// Writes a pod's label.
///
/// # Errors
/// As [`annotate`].
pub async fn label(client: Client, label: &PodLabel) -> Result<(), Refusal> {
    let body = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": label.name, "uid": label.uid, "labels": {LABEL: label.size}},
    });
    let pods = Api::<Pod>::namespaced(client, &label.namespace);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    patient(pods.patch_metadata(&label.name, &parameters, &Patch::Apply(&body))).await.map(drop)
}

async fn patient<T>(write: impl Future<Output = kube::Result<T>>) -> Result<T, Refusal> {
    match tokio::time::timeout(PATIENCE, write).await {
        Ok(answer) => answer.map_err(|error| refusal(&error)),
        Err(_) => Err(Refusal::Failed(format!("no answer within {PATIENCE:?}"))),
    }
}

fn refusal(error: &kube::Error) -> Refusal {
    let kube::Error::Api(status) = error else { return Refusal::Failed(error.to_string()) };
    let pause = status.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0);
    match status.code {
        404 => Refusal::Gone,
        409 => Refusal::Conflict,
        429 | 503 | 504 => Refusal::Busy(pause.map(|seconds| Duration::from_secs(seconds.into()))),
        _ => Refusal::Failed(error.to_string()),
    }
}
