//! The two writes: a node's annotation and a pod's label, both by server-side apply.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use stowage::cluster::node_state::ANNOTATION;

use crate::account::{Draft, LABEL, PodLabel};
use crate::leader::WRITE;

/// Who the API server is told that these fields belong to.
const FIELD_MANAGER: &str = "stowage-publisher";

/// Why a write was not done.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody else wrote meanwhile, or the object is another of the same name.
    Conflict,
    /// The object does not exist any more.
    Gone,
    /// The API server asks for a pause, or does not answer: no other write would fare better now.
    Busy {
        /// How long it asks to be left alone.
        asked: Option<Duration>,
        /// What it says.
        error: String,
    },
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
    match tokio::time::timeout(WRITE, write).await {
        Ok(answer) => answer.map_err(refusal),
        Err(_) => Err(Refusal::Busy { asked: None, error: format!("no answer within {WRITE:?}") }),
    }
}

fn refusal(error: kube::Error) -> Refusal {
    let kube::Error::Api(status) = &error else { return Refusal::Busy { asked: None, error: error.to_string() } };
    let asked = status.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0);
    match status.code {
        404 => Refusal::Gone,
        409 => Refusal::Conflict,
        // Asked for less, in trouble, or no longer knowing us.
        401 | 429 | 500.. => {
            Refusal::Busy { asked: asked.map(|seconds| Duration::from_secs(seconds.into())), error: error.to_string() }
        }
        _ => Refusal::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn one_objects_trouble_is_not_everybodys() {
        let refused = |code| refusal(kube::Error::Api(Box::new(Status { code, ..Status::default() })));
        assert_eq!((refused(404), refused(409)), (Refusal::Gone, Refusal::Conflict));
        for code in [400, 403, 422] {
            assert!(matches!(refused(code), Refusal::Failed(_)), "{code}");
        }
        for code in [401, 429, 500, 502, 503, 504] {
            assert!(matches!(refused(code), Refusal::Busy { asked: None, .. }), "{code}");
        }
        assert!(matches!(refusal(kube::Error::Service("reset".into())), Refusal::Busy { .. }));
    }
}
