//! What tests do to a cluster.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use stowage::cluster::node_state::{ANNOTATION, NodeState};

use crate::objects::{self, PodSpec};

/// The API, with the access of an administrator.
#[derive(Clone)]
pub struct Cluster {
    /// For what has no method here.
    pub client: Client,
    /// All nodes.
    pub nodes: Api<Node>,
    /// Pods of the namespace `default`, the only one tests use.
    pub pods: Api<Pod>,
}

/// How many requests are under way at a time.
const PARALLEL: usize = 8;

impl Cluster {
    /// With a client that may do everything.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { nodes: Api::all(client.clone()), pods: Api::namespaced(client.clone(), "default"), client }
    }

    /// Makes nodes `node-0` and so on.
    ///
    /// # Errors
    /// When the API server does not take one.
    pub async fn create_nodes(&self, count: u32, gpus: u32) -> Result<()> {
        each((0..count).map(|number| self.create_node(format!("node-{number}"), gpus))).await
    }

    async fn create_node(&self, name: String, gpus: u32) -> Result<()> {
        self.nodes.create(&PostParams::default(), &objects::node(&name, gpus)?).await.context(name)?;
        Ok(())
    }

    /// Makes pods.
    ///
    /// # Errors
    /// When the API server does not take one.
    pub async fn create_pods(&self, pods: &[PodSpec]) -> Result<()> {
        each(pods.iter().map(|pod| self.create_pod(pod))).await
    }

    /// Makes a pod.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub async fn create_pod(&self, pod: &PodSpec) -> Result<()> {
        self.pods.create(&PostParams::default(), &pod.pod()?).await.with_context(|| pod.name.clone())?;
        Ok(())
    }

    /// Binds a pod, as a scheduler does.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub async fn bind(&self, pod: &str, node: &str) -> Result<()> {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": "default"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let path = format!("/api/v1/namespaces/default/pods/{pod}/binding");
        let request =
            Request::post(path).header("content-type", "application/json").body(serde_json::to_vec(&binding)?)?;
        self.client.request::<Value>(request).await.with_context(|| format!("bind {pod}"))?;
        Ok(())
    }

    /// Says that a pod has run to its end, as a kubelet does.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub async fn finish(&self, pod: &str) -> Result<()> {
        let patch = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
        self.pods.patch_status(pod, &PatchParams::default(), &patch).await.with_context(|| format!("finish {pod}"))?;
        Ok(())
    }

    /// Deletes a pod at once: nobody is there to end it gracefully.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub async fn delete(&self, pod: &str) -> Result<()> {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.pods.delete(pod, &now).await.with_context(|| format!("delete {pod}"))?;
        Ok(())
    }

    /// Deletes every pod.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub async fn delete_pods(&self) -> Result<()> {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.pods.delete_collection(&now, &ListParams::default()).await?;
        Ok(())
    }

    /// Every pod with the node it is bound to, if it is, by name.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn placements(&self) -> Result<Vec<(String, Option<String>)>> {
        let pods = self.pods.list(&ListParams::default()).await?;
        let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        Ok(pods.iter().map(|pod| (pod.name_any(), node(pod))).collect())
    }

    /// The nodes of the pods whose names begin so; fails while one of them is not bound.
    ///
    /// # Errors
    /// See above, or when the API server does not answer.
    pub async fn bound(&self, prefix: &str, count: usize) -> Result<Vec<String>> {
        let placements = self.placements().await?;
        let of = placements.into_iter().filter(|(pod, _)| pod.starts_with(prefix));
        let nodes: Vec<String> = of.filter_map(|(_, node)| node).collect();
        anyhow::ensure!(nodes.len() == count, "{} of {count} pods {prefix}* are bound", nodes.len());
        Ok(nodes)
    }

    /// Why a pod is not scheduled, as its condition says; fails while there is no such condition.
    ///
    /// # Errors
    /// See above, or when the API server does not answer.
    pub async fn reason(&self, pod: &str) -> Result<String> {
        let pod = self.pods.get(pod).await?;
        let conditions = pod.status.and_then(|status| status.conditions).unwrap_or_default();
        let unscheduled = conditions.into_iter().find(|it| it.type_ == "PodScheduled" && it.status == "False");
        unscheduled.and_then(|condition| condition.message).context("no condition PodScheduled=False")
    }

    /// A node's published state.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub async fn state(&self, node: &str) -> Result<NodeState> {
        state(&self.nodes.get(node).await?)
    }

    /// Edits, or with `None` removes, a node's annotation.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub async fn vandalise(&self, node: &str, text: Option<&str>) -> Result<()> {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {ANNOTATION: text}}}));
        self.nodes.patch(node, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

/// The published state of a node.
///
/// # Errors
/// When there is none that can be read.
pub fn state(node: &Node) -> Result<NodeState> {
    let text = node.annotations().get(ANNOTATION).with_context(|| format!("{}: no annotation", node.name_any()))?;
    NodeState::parse(text).map_err(|unknown| anyhow::anyhow!("{}: {unknown}", node.name_any()))
}

/// Runs requests, some at a time.
///
/// # Errors
/// The first that fails.
pub async fn each(requests: impl Iterator<Item = impl Future<Output = Result<()>>>) -> Result<()> {
    stream::iter(requests).buffer_unordered(PARALLEL).try_collect().await
}
