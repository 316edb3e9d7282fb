//! What goes wrong around a publisher, and what it makes of it.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, ListParams, PostParams, VersionMatch};
use stowage_e2e::cluster::{Cluster, each};
use stowage_e2e::objects::{self, PodSpec};
use stowage_e2e::publisher::Publisher;
use stowage_e2e::{recount, repository, wait};

use super::publisher::cluster;

const WRITTEN: &str = r#"writes_total{resource="nodes"}"#;
const FAILED: &str = r#"write_failures_total{resource="nodes"}"#;

/// Makes pods `PREFIX-0` and so on and binds them, in turn, to nodes `node-0` and so on.
async fn place(cluster: &Cluster, prefix: &str, pods: usize, nodes: usize) -> Result<()> {
    let pods: Vec<PodSpec> = (0..pods).map(|number| PodSpec::with_gpus(format!("{prefix}-{number}"), 1)).collect();
    cluster.create_pods(&pods).await?;
    let on: Vec<String> = (0..pods.len()).map(|number| format!("node-{}", number % nodes)).collect();
    each(pods.iter().zip(&on).map(|(pod, node)| cluster.bind(&pod.name, node))).await
}

async fn recounted(cluster: &Cluster) -> Result<()> {
    wait::until("every annotation equals a recount", async || recount::compare(cluster).await).await
}

/// While the publisher stands still the API server forgets what it stood at (410 Gone): it lists everything again.
pub async fn what_was_missed_is_listed_again(folder: PathBuf) -> Result<()> {
    let (mut plane, cluster) = cluster(&folder, 5, 8).await?;
    let mut publisher = Publisher::start(&plane, "publisher")?;
    place(&cluster, "before", 10, 5).await?;
    recounted(&cluster).await?;
    publisher.process.pause()?;
    for number in 0..5 {
        cluster.delete(&format!("before-{number}")).await?;
    }
    place(&cluster, "after", 10, 5).await?;
    plane.stop_api_server()?;
    plane.memory = Some(1);
    plane.start_api_server().await?;
    let version = cluster.pods.list(&ListParams::default()).await?.metadata.resource_version.context("no version")?;
    wait::until("that version is forgotten", async || {
        // Something has to happen for it to be past.
        cluster.vandalise("node-0", Some("vandalised")).await?;
        cluster.vandalise("node-0", None).await?;
        let then = ListParams::default().at(&version).matching(VersionMatch::Exact);
        match cluster.pods.list(&then).await {
            Err(kube::Error::Api(status)) if status.code == 410 => Ok(()),
            answer => anyhow::bail!("{:?}", answer.map(drop)),
        }
    })
    .await?;
    publisher.process.resume()?;
    wait::until("it has listed again", async || {
        let lists = publisher.metric(r#"lists_total{resource="nodes"}"#)?;
        ensure!(lists >= 2.0, "{lists} lists of nodes: the watch went on");
        recount::compare(&cluster).await
    })
    .await
}

/// An API server that bears one write at a time and refuses all others (429) is not asked over and over.
pub async fn a_storm_of_refusals_is_waited_out(folder: PathBuf) -> Result<()> {
    const NODES: usize = 200;
    let (plane, cluster) = cluster(&folder, 200, 8).await?;
    let mut publisher = Publisher::start(&plane, "publisher")?;
    recounted(&cluster).await?;
    plane.kubectl()?.apply(&repository().join("e2e/manifests/refusals.yaml"))?;
    let mut storms = 0;
    wait::until("writes are refused", async || {
        // All nodes at once, since a single write is taken.
        storms += 1;
        place(&cluster, &format!("pod-{storms}"), NODES, NODES).await?;
        publisher.metric(FAILED).map(drop)
    })
    .await?;
    recounted(&cluster).await?;
    let (failed, written) = (publisher.metric(FAILED)?, publisher.metric(WRITTEN)?);
    ensure!(failed < written, "it was refused {failed} times for {written} writes");
    ensure!(publisher.metric("leader")? == 1.0, "it has lost its lease over it");
    Ok(())
}

/// A leader that stood still while another took over has its old view of everything, and writes none of it.
pub async fn a_leader_that_stood_still_writes_no_more(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 20, 8).await?;
    let mut first = Publisher::start(&plane, "first")?;
    place(&cluster, "before", 20, 20).await?;
    recounted(&cluster).await?;
    let mut second = Publisher::start(&plane, "second")?;
    wait::until("the second stands by", async || second.get("/readyz")).await?;
    let written = first.metric(WRITTEN)?;

    first.process.pause()?;
    place(&cluster, "meanwhile", 40, 20).await?;
    wait::until("the second leads", async || {
        ensure!(second.metric("leader")? == 1.0, "it does not");
        Ok(())
    })
    .await?;
    recounted(&cluster).await?;
    // It finds these pods in its ears when it wakes up, and that they are gone only after that.
    each((0..20).map(async |number| cluster.delete(&format!("meanwhile-{number}")).await)).await?;
    recounted(&cluster).await?;
    first.process.resume()?;
    wait::until("the first has heard of everything", async || {
        ensure!(first.metric("pods")? == 40.0 && first.metric("waiting_nodes")? == 0.0, "not yet");
        Ok(())
    })
    .await?;
    let more = first.metric(WRITTEN)? - written;
    ensure!(more == 0.0, "it wrote {more} times more");
    ensure!(second.metric("repairs_total")? == 0.0, "the second had to repair something");
    ensure!(first.metric("leader")? == 0.0 && second.metric("leader")? == 1.0, "the first leads again");
    recounted(&cluster).await
}

/// A node that is deleted stays so whatever happens on it; one of the same name that comes later has its own state.
pub async fn a_node_made_anew_is_another(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 2, 8).await?;
    let mut publisher = Publisher::start(&plane, "publisher")?;
    place(&cluster, "old", 4, 2).await?;
    recounted(&cluster).await?;
    let (now, create) = (DeleteParams::default(), PostParams::default());
    for round in 0..10 {
        // In the middle of writes about it.
        place(&cluster, &format!("round-{round}"), 4, 2).await?;
        cluster.nodes.delete("node-0", &now).await?;
        cluster.delete(&format!("round-{round}-2")).await?;
        cluster.nodes.create(&create, &objects::node("node-0", 8)?).await?;
    }
    recounted(&cluster).await?;
    cluster.nodes.delete("node-0", &now).await?;
    for round in 0..10 {
        cluster.delete(&format!("round-{round}-0")).await?;
    }
    cluster.delete("old-1").await?;
    recounted(&cluster).await?;
    wait::until("the publisher has forgotten the node", async || {
        let (nodes, waiting) = (publisher.metric("nodes")?, publisher.metric("waiting_nodes")?);
        ensure!((nodes, waiting) == (1.0, 0.0), "{nodes} nodes, {waiting} behind");
        Ok(())
    })
    .await?;
    ensure!(cluster.nodes.get_opt("node-0").await?.is_none(), "the node is there again");
    Ok(())
}

/// 5,000 pods bound as fast as the API server takes it, and a tenth of them ended or deleted at once.
pub async fn a_burst_is_published(folder: PathBuf) -> Result<()> {
    const PODS: usize = 5000;
    let (plane, cluster) = cluster(&folder, 100, 8).await?;
    let pods: Vec<PodSpec> = (0..PODS).map(|number| PodSpec::with_gpus(format!("pod-{number}"), 1)).collect();
    cluster.create_pods(&pods).await?;
    let mut publisher = Publisher::start(&plane, "publisher")?;
    wait::until("it has listed all", async || publisher.get("/readyz")).await?;
    each(pods.iter().enumerate().map(async |(number, pod)| {
        cluster.bind(&pod.name, &format!("node-{}", number % 100)).await?;
        match number % 20 {
            0 => cluster.delete(&pod.name).await,
            1 => cluster.finish(&pod.name).await,
            _ => Ok(()),
        }
    }))
    .await?;
    recounted(&cluster).await?;
    // The gauge is set once a second.
    wait::until("the metric says so, too", async || {
        let counted = publisher.metric("pods")?;
        ensure!(counted == (PODS - PODS / 10) as f64, "it counts {counted} pods");
        Ok(())
    })
    .await?;
    let status = publisher.process.stop().context("the publisher")?;
    ensure!(status.success(), "the publisher ended with {status}");
    Ok(())
}
