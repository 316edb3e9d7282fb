//! Measurements, run only if asked for by name: `cargo test -p stowage-e2e --test e2e figures::`. They assert nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use http::Request;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, PostParams, WatchEvent};
use stowage_e2e::cluster::{Cluster, each, state};
use stowage_e2e::control_plane::ControlPlane;
use stowage_e2e::objects::PodSpec;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::scheduler::{self, Changes};
use stowage_e2e::wait;

use super::publisher::cluster;

/// From a bind's answer to the annotation that counts the pod, at 100 binds a second for 30 seconds on 200 nodes.
pub async fn lag(folder: PathBuf) -> Result<()> {
    const PODS: usize = 3000;
    let (plane, cluster) = cluster(&folder, 200, 8).await?;
    let pods: Vec<PodSpec> = (0..PODS).map(|number| PodSpec::with_gpus(format!("pod-{number}"), 1)).collect();
    cluster.create_pods(&pods).await?;
    let uids: HashMap<String, u32> = cluster
        .pods
        .list(&ListParams::default())
        .await?
        .into_iter()
        .filter_map(|pod| {
            let uid = stowage::cluster::node_state::short_uid(&pod.metadata.uid?);
            Some((pod.metadata.name?, uid))
        })
        .collect();
    let _publisher = Publisher::start(&plane, "publisher")?;
    wait::until("the nodes are published", async || cluster.state("node-199").await).await?;

    let (seen, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let watch = Request::get("/api/v1/nodes?watch=true&resourceVersion=0").body(Vec::new())?;
    let mut events = Box::pin(cluster.client.request_events::<Node>(watch).await?);
    tokio::spawn(async move {
        while let Some(Ok(event)) = events.next().await {
            if let WatchEvent::Added(node) | WatchEvent::Modified(node) = event
                && let Ok(state) = state(&node)
            {
                drop(seen.send((Instant::now(), state.uids)));
            }
        }
    });
    let start = Instant::now();
    let bound: Vec<(u32, Instant)> = futures::stream::iter(pods.iter().enumerate())
        .map(async |(number, pod)| {
            tokio::time::sleep_until((start + Duration::from_millis(10) * u32::try_from(number)?).into()).await;
            cluster.bind(&pod.name, &format!("node-{}", (number * 7) % 200)).await?;
            anyhow::Ok((uids[&pod.name], Instant::now()))
        })
        .buffered(64)
        .try_collect()
        .await?;
    let took = start.elapsed();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut first: HashMap<u32, Instant> = HashMap::new();
    while let Ok((at, uids)) = arrivals.try_recv() {
        for uid in uids {
            first.entry(uid).or_insert(at);
        }
    }
    let lags = bound.iter().filter_map(|(uid, at)| Some(first.get(uid)?.saturating_duration_since(*at)));
    let lags: Vec<Duration> = lags.collect();
    println!("\n  {PODS} binds in {took:.1?}, {} published; lag {}", lags.len(), quantiles(lags));
    Ok(())
}

/// 5,000 nodes and 50,000 pods: the most memory that the publisher ever has, and how long it takes to publish all.
pub async fn memory(folder: PathBuf) -> Result<()> {
    const NODES: u32 = 5000;
    const PODS: u32 = NODES * 10;
    let (plane, cluster) = cluster(&folder, NODES, 8).await?;
    let pods =
        (0..PODS).map(|number| (number, PodSpec::with_gpus(format!("pod-{number}"), u32::from(number % 10 < 8))));
    each(pods.map(async |(number, spec)| {
        let mut pod = spec.pod()?;
        pod.spec.get_or_insert_default().node_name = Some(format!("node-{}", number % NODES));
        cluster.pods.create(&PostParams::default(), &pod).await?;
        Ok(())
    }))
    .await?;
    let start = Instant::now();
    let mut publisher = Publisher::start(&plane, "publisher")?;
    wait::until("all is published", async || {
        let (nodes, pods) = (publisher.metric("nodes")?, publisher.metric("pods")?);
        ensure!(nodes == f64::from(NODES) && pods == f64::from(PODS), "it has {nodes} nodes and {pods} pods");
        ensure!(publisher.metric("waiting_nodes")? == 0.0, "some are not");
        Ok(())
    })
    .await?;
    let peak = publisher.process.resident()? >> 20;
    println!("\n  {NODES} nodes, {PODS} pods: all published after {:.1?}, peak {peak} MiB", start.elapsed());
    Ok(())
}

/// From the last member's creation to all bound, on 100 nodes.
pub async fn gangs(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 100, 8).await?;
    let _publisher = Publisher::start(&plane, "publisher")?;
    wait::until("the nodes are published", async || cluster.state("node-99").await).await?;
    let _scheduler = scheduler::start(&plane, "scheduler", &Changes::default())?;
    println!();
    for size in [8, 20, 100] {
        let mut times = Vec::new();
        for round in 0..5 {
            let name = format!("gang-{size}-{round}");
            let pods: Vec<PodSpec> = (0..size)
                .map(|number| PodSpec::with_gpus(format!("{name}-{number}"), 1).in_gang(&name, size))
                .collect();
            cluster.create_pods(&pods).await?;
            let last = Instant::now();
            bound(&cluster, usize::try_from(size)?).await?;
            times.push(last.elapsed());
            cluster.delete_pods().await?;
            // The freed nodes are published before the next round.
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        println!("  gang of {size}: {}", quantiles(times));
    }
    Ok(())
}

/// Pods a second, for 1,000 pods with a GPU on 500 nodes, from the first bind to the last.
pub async fn throughput(folder: PathBuf) -> Result<()> {
    let empty = folder.with_extension("wasm");
    std::fs::write(&empty, wat::parse_str(EMPTY)?)?;
    let variants = [
        ("no plugin", Changes { bare: true, ..Changes::default() }, false),
        (
            "empty filter and score",
            Changes { module: Some(empty), policy: Some("{}".to_owned()), ..Changes::default() },
            false,
        ),
        ("stowage and publisher", Changes::default(), true),
    ];
    let mut rates: HashMap<&str, Vec<f64>> = HashMap::new();
    for round in 0..3 {
        for (name, changes, publishes) in &variants {
            let rate = place(&folder.join(format!("{round}-{}", name.replace(' ', "-"))), changes, *publishes).await?;
            rates.entry(name).or_default().push(rate);
        }
    }
    println!();
    for (name, ..) in &variants {
        let mut rates = rates[name].clone();
        rates.sort_by(f64::total_cmp);
        println!("  {name}: median {:.0} pods/s of {rates:.0?}", rates[rates.len() / 2]);
    }
    Ok(())
}

const EMPTY: &str = r#"(module (memory (export "memory") 1)
    (func (export "filter") (result i32) i32.const 0)
    (func (export "score") (result i64) i64.const 0))"#;

async fn place(folder: &Path, changes: &Changes, publishes: bool) -> Result<f64> {
    const PODS: usize = 1000;
    let (plane, cluster): (ControlPlane, Cluster) = cluster(folder, 500, 8).await?;
    let _publisher = publishes.then(|| Publisher::start(&plane, "publisher")).transpose()?;
    if publishes {
        wait::until("the nodes are published", async || cluster.state("node-499").await).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let pods: Vec<PodSpec> = (0..PODS).map(|number| PodSpec::with_gpus(format!("pod-{number}"), 1)).collect();
    cluster.create_pods(&pods).await?;
    let mut scheduler = scheduler::start(&plane, "scheduler", changes)?;
    let mut bound: HashMap<String, Instant> = HashMap::new();
    let mut events = Box::pin(futures::stream::empty().right_stream());
    while bound.len() < PODS {
        scheduler.check()?;
        let Some(event) = tokio::time::timeout(wait::LONG, events.next()).await.context("no bind for long")? else {
            // The API server ends watches as it likes; a new one begins with every pod that there is.
            let watch = Request::get("/api/v1/namespaces/default/pods?watch=true").body(Vec::new())?;
            events = Box::pin(cluster.client.request_events::<Pod>(watch).await?.left_stream());
            continue;
        };
        if let Ok(WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event
            && pod.spec.is_some_and(|spec| spec.node_name.is_some())
        {
            bound.entry(pod.metadata.name.unwrap_or_default()).or_insert_with(Instant::now);
        }
    }
    let (first, last) = (bound.values().min(), bound.values().max());
    let took = last.zip(first).map(|(last, first)| last.duration_since(*first)).context("nothing bound")?;
    Ok((PODS - 1) as f64 / took.as_secs_f64())
}

async fn bound(cluster: &Cluster, count: usize) -> Result<()> {
    while cluster.bound("gang", count).await.is_err() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| {
        times.get((times.len() * share / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    format!("p50 {:.1?}, p99 {:.1?}, most {:.1?} of {}", at(50), at(99), at(100), times.len())
}
