//! The publisher against a real API server: what it publishes, whatever happens.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;
use kube::api::Api;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use stowage::cluster::node_state::{ANNOTATION, NodeState};
use stowage_e2e::cluster::{Cluster, each};
use stowage_e2e::control_plane::{ControlPlane, User};
use stowage_e2e::objects::PodSpec;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::{recount, repository, wait};

/// A control plane with nodes, and with what `deploy/` lets the publisher and the scheduler do there.
pub async fn cluster(folder: &Path, nodes: u32, gpus: u32) -> Result<(ControlPlane, Cluster)> {
    let plane = ControlPlane::start(folder).await?;
    let kubectl = plane.kubectl()?;
    for file in ["namespace.yaml", "publisher-rbac.yaml", "scheduler-rbac.yaml"] {
        kubectl.apply(&repository().join("deploy/base").join(file))?;
    }
    let cluster = Cluster::new(plane.client(User::Admin).await?);
    cluster.create_nodes(nodes, gpus).await?;
    Ok((plane, cluster))
}

/// 200 nodes, 2,000 pods created, bound, finished and deleted at random; the publisher dies in the middle.
pub async fn recount_after_a_storm(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 200, 8).await?;
    let mut random = StdRng::seed_from_u64(7);
    let mut publisher = Some(Publisher::start(&plane, "first")?);
    let mut pods: Vec<PodSpec> = (0..2000).map(|number| pod(number, &mut random)).collect();
    for (round, pods) in pods.chunks_mut(250).enumerate() {
        cluster.create_pods(pods).await?;
        // The order in which they are bound is not the one in which they were made; one in ten stays pending.
        pods.shuffle(&mut random);
        let bound = &pods[..225];
        let on: Vec<String> = bound.iter().map(|_| format!("node-{}", random.random_range(0..200))).collect();
        each(bound.iter().zip(&on).map(|(pod, node)| cluster.bind(&pod.name, node))).await?;
        each(bound[..50].iter().map(|pod| cluster.delete(&pod.name))).await?;
        each(bound[50..80].iter().map(|pod| cluster.finish(&pod.name))).await?;
        match round {
            // It dies in the middle of it, and another takes over while more happens.
            3 => publisher.take().context("the first publisher")?.process.kill(),
            4 => publisher = Some(Publisher::start(&plane, "second")?),
            _ => {}
        }
    }
    wait::until("every annotation equals a recount", async || recount::compare(&cluster).await).await?;
    let status = publisher.context("the second publisher")?.process.stop()?;
    ensure!(status.success(), "the publisher ended with {status}");
    Ok(())
}

fn pod(number: usize, random: &mut StdRng) -> PodSpec {
    const CHOICE: [(&str, [&str; 3]); 3] =
        [("cpu", ["100m", "500m", "2"]), ("memory", ["64Mi", "512Mi", "1Gi"]), ("nvidia.com/gpu", ["1", "2", "4"])];
    let mut requests = Vec::new();
    for (name, values) in CHOICE {
        if random.random_bool(0.7) {
            requests.push((name, values[random.random_range(0..3)].to_owned()));
        }
    }
    let init = if random.random_bool(0.2) { vec![("cpu", "1".to_owned())] } else { Vec::new() };
    let pod = PodSpec { name: format!("pod-{number}"), requests, init, ..PodSpec::default() };
    if number.is_multiple_of(5) { pod.in_gang(&format!("gang-{}", number % 7), 3) } else { pod }
}

/// Whoever edits or removes an annotation sees it repaired.
pub async fn repairs_what_others_edit(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 3, 8).await?;
    let mut publisher = Publisher::start(&plane, "publisher")?;
    cluster.create_pod(&PodSpec::with_gpus("pod", 2)).await?;
    cluster.bind("pod", "node-1").await?;
    wait::until("the pod is published", async || recount::compare(&cluster).await).await?;
    ensure!(publisher.metric("repairs_total")? == 0.0, "it took its own writes for somebody else's");

    let state = cluster.state("node-1").await?;
    let empty = NodeState::empty(state.at).to_json();
    // By a clock that is a day ahead, and with a word more: both would be read by the module, and stay.
    let ahead = NodeState { at: state.at + 86_400_000, ..state.clone() }.to_json();
    let more = state.to_json().replacen('{', "{\"note\": 1, ", 1);
    let edits = [None, Some("vandalised"), Some(&*empty), Some(&*ahead), Some(&*more)];
    for (repairs, text) in [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().zip(edits) {
        cluster.vandalise("node-1", text).await?;
        wait::until("the edit is repaired", async || {
            ensure!(publisher.metric("repairs_total")? == repairs, "{text:?} is not noticed");
            let node = cluster.nodes.get("node-1").await?;
            ensure!(node.annotations().get(ANNOTATION).map(|text| &**text) != text, "{text:?} is still there");
            recount::compare(&cluster).await
        })
        .await?;
    }
    // What else is on the node is somebody else's, and stays.
    let kubectl = plane.kubectl()?;
    kubectl.run(&["annotate", "node", "node-1", "example.com/note=kept"])?;
    cluster.delete("pod").await?;
    wait::until("the pod is gone", async || recount::compare(&cluster).await).await?;
    let note = kubectl.run(&["get", "node", "node-1", "-o", r"jsonpath={.metadata.annotations.example\.com/note}"])?;
    ensure!(note == "kept", "somebody else's annotation is {note:?}");
    Ok(())
}

/// The API server goes away and comes back: watches end, and what they stood at is too old to go on from.
pub async fn loses_nothing_with_the_api_server(folder: PathBuf) -> Result<()> {
    let (mut plane, cluster) = cluster(&folder, 10, 8).await?;
    let mut publisher = Publisher::start(&plane, "publisher")?;
    let bind = async |number: u32| -> Result<()> {
        let name = format!("pod-{number}");
        cluster.create_pod(&PodSpec::with_gpus(&*name, 1)).await?;
        cluster.bind(&name, &format!("node-{}", number % 10)).await
    };
    bind(0).await?;
    wait::until("the first pod is published", async || recount::compare(&cluster).await).await?;
    for round in 1..=2 {
        plane.stop_api_server()?;
        plane.start_api_server().await?;
        // At once, so that some of it happens before the publisher is back.
        for number in 0..10 {
            bind(round * 10 + number).await?;
        }
        cluster.delete(&format!("pod-{}", round * 10)).await?;
        wait::until("what happened meanwhile is published", async || recount::compare(&cluster).await).await?;
    }
    publisher.get("/healthz")?;
    publisher.get("/readyz")?;
    Ok(())
}

/// One of two writes. Killed, its lease runs out; stopped, it gives the lease back.
pub async fn hands_over_to_another_replica(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 3, 8).await?;
    let leases = Api::<Lease>::namespaced(cluster.client.clone(), "stowage-system");
    let holder = async |expected: &str| -> Result<()> {
        let lease = leases.get("stowage-publisher").await?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
        ensure!(holder == expected, "{holder:?} leads");
        Ok(())
    };
    let publish = async |pod: &str| -> Result<()> {
        cluster.create_pod(&PodSpec::with_gpus(pod, 1)).await?;
        cluster.bind(pod, "node-0").await?;
        wait::until("the pod is published", async || recount::compare(&cluster).await).await
    };

    let first = Publisher::start(&plane, "first")?;
    wait::until("the first leads", async || holder("first").await).await?;
    let mut second = Publisher::start(&plane, "second")?;
    publish("one").await?;
    wait::until("the second stands by", async || second.get("/readyz")).await?;
    ensure!(second.metric("leader")? == 0.0, "both lead");
    ensure!(second.metric(r#"writes_total{resource="nodes"}"#).is_err(), "the second writes, too");

    first.process.kill();
    wait::until("the second leads", async || holder("second").await).await?;
    publish("two").await?;

    let mut third = Publisher::start(&plane, "third")?;
    wait::until("the third stands by", async || third.get("/readyz")).await?;
    ensure!(second.process.stop()?.success(), "the second did not end well");
    wait::until("the third leads", async || holder("third").await).await?;
    publish("three").await
}
