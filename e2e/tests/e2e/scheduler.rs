//! The unmodified scheduler with our module, the publisher beside it, both as `deploy/` configures them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use serde_json::Value;
use stowage_e2e::cluster::Cluster;
use stowage_e2e::control_plane::ControlPlane;
use stowage_e2e::objects::{PodSpec, SCHEDULER_NAME};
use stowage_e2e::process::Process;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::scheduler::{self, Changes};
use stowage_e2e::{repository, wait};

use super::groups::delete_waiting;
use super::publisher::cluster;
use super::usage::measure;

/// Everything that a cluster needs to place pods.
struct Running {
    plane: ControlPlane,
    cluster: Cluster,
    publisher: Publisher,
    scheduler: Process,
}

async fn start(folder: &Path, nodes: u32, gpus: u32, changes: &Changes) -> Result<Running> {
    let (plane, cluster) = cluster(folder, nodes, gpus).await?;
    let publisher = Publisher::start_with(&plane, "publisher", &["--heartbeat=1"])?;
    published(&cluster, nodes).await?;
    let scheduler = scheduler::start(&plane, "scheduler", changes)?;
    Ok(Running { plane, cluster, publisher, scheduler })
}

async fn published(cluster: &Cluster, nodes: u32) -> Result<()> {
    for node in 0..nodes {
        wait::until("the node's state is published", async || cluster.state(&format!("node-{node}")).await).await?;
    }
    Ok(())
}

fn gang(name: &str, members: u32, min: u32) -> Vec<PodSpec> {
    (0..members).map(|number| PodSpec::with_gpus(format!("{name}-{number}"), 1).in_gang(name, min)).collect()
}

impl Running {
    async fn bound(&mut self, prefix: &str, count: usize) -> Result<Vec<String>> {
        wait::until(&format!("all of {prefix} are bound"), async || {
            self.scheduler.check()?;
            self.cluster.bound(prefix, count).await
        })
        .await
    }

    /// Waits until the pod's condition says so.
    async fn waits(&self, pod: &str, expected: &str) -> Result<()> {
        wait::until("the pod's condition tells why it waits", async || {
            let reason = self.cluster.reason(pod).await?;
            ensure!(reason.contains(expected), "{pod}: {reason}, and not {expected}");
            Ok(())
        })
        .await
    }
}

/// The demo's TFJob: its five pods, as the training operator makes them, all go to one of two nodes.
pub async fn a_tf_job_is_packed(folder: PathBuf) -> Result<()> {
    let mut running = start(&folder, 2, 4, &Changes::default()).await?;
    let job = std::fs::read_to_string(repository().join("examples/tfjob/workload.yaml"))?;
    let job: Value = serde_saphyr::from_str(&job)?;
    let name = job["metadata"]["name"].as_str().context("no name")?;
    for (role, replicas) in job["spec"]["tfReplicaSpecs"].as_object().context("no replicas")? {
        for index in 0..replicas["replicas"].as_u64().context("no count")? {
            let mut pod = replicas["template"].clone();
            pod["metadata"]["name"] = format!("{name}-{}-{index}", role.to_lowercase()).into();
            running.cluster.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        }
    }
    let nodes: BTreeSet<String> = running.bound("tf-smoke-gpu", 5).await?.into_iter().collect();
    ensure!(nodes.len() == 1, "the job is on {nodes:?}");
    Ok(())
}

/// No member of a gang of 20 starts before all can.
pub async fn a_gang_is_complete_or_absent(folder: PathBuf) -> Result<()> {
    let mut running = start(&folder, 4, 4, &Changes::default()).await?;
    let pods = gang("gang", 20, 20);
    running.cluster.create_pods(&pods[..19]).await?;
    for pod in &pods[..19] {
        running.waits(&pod.name, "of 20 members").await?;
    }
    // All are there, but there is room for 16.
    running.cluster.create_pod(&pods[19]).await?;
    running.waits("gang-19", "room for 16").await?;
    let bound = running.cluster.placements().await?.iter().filter(|(_, node)| node.is_some()).count();
    ensure!(bound == 0, "{bound} members of an incomplete gang are bound");
    running.cluster.nodes.create(&PostParams::default(), &stowage_e2e::objects::node("node-4", 4)?).await?;
    running.bound("gang", 20).await?;
    Ok(())
}

/// A member that was deleted while it waited is not counted on when there is room at last.
pub async fn a_deleted_member_is_not_counted_on(folder: PathBuf) -> Result<()> {
    let mut running = start(&folder, 2, 1, &Changes::default()).await?;
    for (pod, expected) in
        gang("gang", 3, 3).iter().zip(["1 of 3 members", "2 of 3 members", "3 of 3 members, needs 3 x"])
    {
        running.cluster.create_pod(pod).await?;
        running.waits(&pod.name, expected).await?;
    }
    delete_waiting(&running.cluster, "gang-2", "node-0").await?;
    running.cluster.nodes.create(&PostParams::default(), &stowage_e2e::objects::node("node-2", 4)?).await?;
    // The node brings it back.
    running.waits("gang-0", "2 of 3 members").await?;
    let bound = running.cluster.placements().await?.iter().filter(|(_, node)| node.is_some()).count();
    ensure!(bound == 0, "{bound} members are bound without the third");
    running.cluster.create_pod(&PodSpec::with_gpus("gang-3", 1).in_gang("gang", 3)).await?;
    running.bound("gang", 3).await?;
    Ok(())
}

/// Two gangs that fit one at a time: one starts, the other holds nothing, and starts when the first has ended.
pub async fn of_two_gangs_one_starts(folder: PathBuf) -> Result<()> {
    let mut running = start(&folder, 2, 4, &Changes::default()).await?;
    let pods: Vec<PodSpec> =
        gang("first", 6, 6).into_iter().zip(gang("second", 6, 6)).flat_map(<[_; 2]>::from).collect();
    for pod in &pods {
        running.cluster.create_pod(pod).await?;
    }
    let winner = wait::until("one of the gangs starts", async || {
        for gang in ["first", "second"] {
            if running.cluster.bound(gang, 6).await.is_ok() {
                return Ok(gang);
            }
        }
        anyhow::bail!("neither does")
    })
    .await?;
    let loser = if winner == "first" { "second" } else { "first" };
    running.waits(&format!("{loser}-0"), "needs").await?;
    ensure!(running.cluster.bound(loser, 0).await.is_ok(), "a part of the {loser} gang is bound");
    for number in 0..6 {
        running.cluster.delete(&format!("{winner}-{number}")).await?;
    }
    running.bound(loser, 6).await?;
    Ok(())
}

/// Best-effort pods are packed, but not onto a node that is busy.
pub async fn a_hot_node_is_avoided(folder: PathBuf) -> Result<()> {
    let policy = r#"{"weights": {"binpack": 1}, "qos": {"classes": {"BE": {"usageThresholds": {"cpu": 50}}}}}"#;
    let changes = Changes { policy: Some(policy.to_owned()), ..Changes::default() };
    let mut running = start(&folder, 2, 0, &changes).await?;
    let best_effort = |name: &str| PodSpec {
        name: name.to_owned(),
        labels: vec![("koordinator.sh/qosClass", "BE".to_owned())],
        scheduler: Some(SCHEDULER_NAME),
        ..PodSpec::default()
    };
    let usage = async |running: &Running, cpu: &str, milli: i64| -> Result<()> {
        measure(&running.plane, "node-0", &Timestamp::now().to_string(), cpu, "1Gi").await?;
        wait::until("the usage is published", async || {
            let usage = running.cluster.state("node-0").await?.usage.context("no usage")?;
            ensure!(usage.cpu == milli, "{usage:?}");
            Ok(())
        })
        .await
    };
    // Something is on node-0, so that packing goes there.
    running.cluster.create_pod(&PodSpec { requests: vec![("cpu", "8".to_owned())], ..best_effort("before") }).await?;
    running.cluster.bind("before", "node-0").await?;
    usage(&running, "8", 8000).await?;
    running.cluster.create_pod(&best_effort("cool")).await?;
    ensure!(running.bound("cool", 1).await? == ["node-0"], "it is not packed");
    usage(&running, "28", 28_000).await?;
    running.cluster.create_pod(&best_effort("hot")).await?;
    ensure!(running.bound("hot", 1).await? == ["node-1"], "it went to the hot node");
    Ok(())
}

/// As a Deployment does it: the new scheduler waits for the lease, the old one gives it up. A gang that waits meanwhile
/// goes on waiting, and starts under the new policy.
pub async fn a_policy_changes_by_a_rolling_restart(folder: PathBuf) -> Result<()> {
    let mut running = start(&folder, 4, 4, &Changes::default()).await?;
    let waiting = gang("gang", 4, 4);
    running.cluster.create_pods(&waiting[..3]).await?;
    running.waits("gang-0", "of 4 members").await?;
    let pods = |name: &str| [0, 1].map(|number| PodSpec::with_gpus(format!("{name}-{number}"), 1));
    running.cluster.create_pods(&pods("packed")).await?;
    let packed: BTreeSet<String> = running.bound("packed", 2).await?.into_iter().collect();
    ensure!(packed.len() == 1, "with the first policy they are on {packed:?}");

    let policy = std::fs::read_to_string(repository().join("deploy/policies/inference.json"))?;
    let changes = Changes { policy: Some(policy), ..Changes::default() };
    let new = scheduler::start(&running.plane, "new-scheduler", &changes)?;
    let old = std::mem::replace(&mut running.scheduler, new);
    old.stop()?;
    running.cluster.create_pods(&pods("spread")).await?;
    let spread: BTreeSet<String> = running.bound("spread", 2).await?.into_iter().collect();
    ensure!(spread.len() == 2 && spread.is_disjoint(&packed), "with the second policy they are on {spread:?}");
    // Each says how many had come when it was tried; the last to be tried has seen all three.
    wait::until("the new scheduler knows the three members", async || {
        for pod in &waiting[..3] {
            if running.cluster.reason(&pod.name).await?.contains("3 of 4 members") {
                return Ok(());
            }
        }
        anyhow::bail!("none says so")
    })
    .await?;
    running.cluster.create_pod(&waiting[3]).await?;
    running.bound("gang", 4).await?;
    Ok(())
}

/// The scheduler dies while it binds a gang; the next one finishes what it began.
pub async fn a_gang_survives_its_scheduler(folder: PathBuf) -> Result<()> {
    // So few requests a second that binding 20 pods takes a second, and starting not much longer.
    let slow = Changes { requests_per_second: Some(15), ..Changes::default() };
    let mut running = start(&folder, 5, 4, &slow).await?;
    running.cluster.create_pods(&gang("gang", 20, 20)).await?;
    let before = wait::until("a part of the gang is bound", async || {
        let placements = running.cluster.placements().await?;
        let bound = placements.iter().filter(|(_, node)| node.is_some()).count();
        ensure!(bound >= 3, "{bound} are");
        Ok(bound)
    })
    .await?;
    let next = scheduler::start(&running.plane, "next-scheduler", &Changes::default())?;
    std::mem::replace(&mut running.scheduler, next).kill();
    ensure!(before < 20, "the gang was complete before the scheduler could die");
    running.bound("gang", 20).await?;
    Ok(())
}

/// A scheduler that starts while node state is late takes no gang's room for free that the one before it has given away; the
/// gang comes again of itself, and starts when node state has caught up.
pub async fn late_node_state_is_waited_for(folder: PathBuf) -> Result<()> {
    let mut running = start(&folder, 1, 4, &Changes::default()).await?;
    let late = gang("late", 2, 2);
    running.cluster.create_pod(&late[0]).await?;
    running.waits("late-0", "1 of 2 members").await?;
    let next = Publisher::start(&running.plane, "paused")?;
    next.process.pause()?;
    std::mem::replace(&mut running.publisher, next).process.stop()?;
    running.cluster.create_pods(&gang("first", 3, 3)).await?;
    running.bound("first", 3).await?;
    let next = scheduler::start(&running.plane, "next-scheduler", &Changes::default())?;
    std::mem::replace(&mut running.scheduler, next).stop()?;
    running.cluster.create_pod(&late[1]).await?;
    running.waits("late-1", "node state from before the start").await?;
    running.cluster.delete("first-0").await?;

    running.publisher.process.resume()?;
    // Node state has caught up when it counts a pod of the new scheduler.
    running.cluster.create_pod(&PodSpec::with_gpus("single", 0)).await?;
    running.bound("single", 1).await?;
    running.bound("late", 2).await?;
    Ok(())
}
