//! What a publisher tells of gangs besides who runs: sizes that stand in PodGroup objects only, and who waits no more.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use stowage::cluster::node_state::short_uid;
use stowage_e2e::cluster::Cluster;
use stowage_e2e::objects::PodSpec;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::{repository, wait};

use super::publisher::cluster;

/// Pending pods get the label, whichever comes first, the pod or its group; and again when the group changes.
pub async fn sizes_of_pod_groups_reach_their_pods(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 1, 0).await?;
    let kubectl = plane.kubectl()?;
    kubectl.apply(&repository().join("e2e/manifests/podgroups.yaml"))?;
    let group = async |api: &str, name: &str, min: u32| -> Result<()> {
        let file = plane.folder().join("podgroup.yaml");
        let meta = format!("{{name: {name}, namespace: default}}");
        let text = format!("apiVersion: {api}\nkind: PodGroup\nmetadata: {meta}\nspec: {{minMember: {min}}}\n");
        std::fs::write(&file, text)?;
        wait::until("PodGroups are served", async || kubectl.apply(&file)).await.map(drop)
    };
    let labelled = async |pod: &str, expected: Option<&str>| -> Result<()> {
        let pod = cluster.pods.get(pod).await?;
        let size = pod.labels().get("stowage.dev/gang-size").map(|size| &**size);
        ensure!(size == expected, "{} has the size {size:?}", pod.name_any());
        Ok(())
    };
    let named = |name: &str, key: &'static str, group: &str| {
        let labels = vec![(key, group.to_owned())];
        PodSpec { labels, ..PodSpec::with_gpus(name, 0) }
    };
    let member = |name: &str, group: &str| named(name, "scheduling.x-k8s.io/pod-group", group);

    cluster.create_pod(&member("early", "bert")).await?;
    group("scheduling.x-k8s.io/v1alpha1", "bert", 3).await?;
    group("scheduling.volcano.sh/v1beta1", "gpt", 2).await?;
    group("scheduling.sigs.k8s.io/v1alpha1", "t5", 6).await?;
    let _publisher = Publisher::start(&plane, "publisher")?;
    cluster.create_pod(&member("late", "bert")).await?;
    cluster.create_pod(&member("other", "gpt")).await?;
    cluster.create_pod(&named("old", "pod-group.scheduling.sigs.k8s.io", "t5")).await?;
    cluster.create_pod(&member("lonely", "llama")).await?;
    for (pod, size) in [("early", "3"), ("late", "3"), ("other", "2"), ("old", "6")] {
        wait::until("the pod is told its gang's size", async || labelled(pod, Some(size)).await).await?;
    }

    cluster.bind("early", "node-0").await?;
    wait::until("the pod is published", async || {
        ensure!(cluster.state("node-0").await?.pods == 1, "not yet");
        Ok(())
    })
    .await?;
    group("scheduling.x-k8s.io/v1alpha1", "bert", 4).await?;
    group("scheduling.x-k8s.io/v1alpha1", "llama", 5).await?;
    for (pod, size) in [("late", "4"), ("lonely", "5")] {
        wait::until("a group changes", async || labelled(pod, Some(size)).await).await?;
    }
    // It runs already; what its group says now is of no use to it.
    labelled("early", Some("3")).await
}

/// Deletes a member that waits, and waits until the publisher tells of it.
pub async fn delete_waiting(cluster: &Cluster, pod: &str, node: &str) -> Result<()> {
    let uid = cluster.pods.get(pod).await?.uid().context("no UID")?;
    cluster.delete(pod).await?;
    wait::until("some node tells that the member is gone", async || {
        let left = cluster.state(node).await?.left;
        ensure!(left.contains(&short_uid(&uid)), "{node} tells of {left:?}");
        Ok(())
    })
    .await
}

/// Members that were deleted while they waited are told on a node, by the next publisher, too; pods by themselves are not.
pub async fn deleted_members_are_told(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 2, 0).await?;
    let publisher = Publisher::start(&plane, "publisher")?;
    for pod in ["gang-0", "gang-1"] {
        cluster.create_pod(&PodSpec::with_gpus(pod, 0).in_gang("gang", 2)).await?;
    }
    cluster.create_pod(&PodSpec::with_gpus("single", 0)).await?;
    wait::until("node state is published", async || cluster.state("node-0").await).await?;
    cluster.delete("single").await?;
    delete_waiting(&cluster, "gang-0", "node-0").await?;
    let told = cluster.state("node-0").await?.left;
    ensure!(told.len() == 1, "one was a member, and {told:?} are told");

    publisher.process.stop()?;
    let _publisher = Publisher::start(&plane, "next")?;
    cluster.create_pod(&PodSpec::with_gpus("runs", 0)).await?;
    cluster.bind("runs", "node-1").await?;
    wait::until("the next publisher has taken over", async || {
        ensure!(cluster.state("node-1").await?.pods == 1, "not yet");
        Ok(())
    })
    .await?;
    delete_waiting(&cluster, "gang-1", "node-0").await?;
    let left = cluster.state("node-0").await?.left;
    ensure!(left.len() == 2 && left.contains(&told[0]), "{left:?} forget {told:?}");
    Ok(())
}
