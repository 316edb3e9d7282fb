//! Measured usage, from where a metrics server would have it.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use stowage_e2e::control_plane::ControlPlane;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::{repository, wait};

use super::publisher::cluster;

/// Says what a metrics server measured on a node; brings the API along when it is not there yet.
pub async fn measure(plane: &ControlPlane, node: &str, at: &str, cpu: &str, memory: &str) -> Result<()> {
    let kubectl = plane.kubectl()?;
    kubectl.apply(&repository().join("e2e/manifests/metrics.yaml"))?;
    let file = plane.folder().join("metrics.yaml");
    let text = format!(
        "apiVersion: metrics.k8s.io/v1beta1\nkind: NodeMetrics\nmetadata: {{name: {node}}}\n\
         timestamp: {at}\nwindow: 20s\nusage: {{cpu: \"{cpu}\", memory: {memory}}}\n"
    );
    std::fs::write(&file, text)?;
    wait::until("the metrics API is served", async || kubectl.apply(&file)).await.map(drop)
}

/// What is measured appears in the annotation with its time.
pub async fn measured_usage_is_published(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 2, 0).await?;
    measure(&plane, "node-0", "2025-11-30T00:00:01Z", "1500m", "2Gi").await?;
    let _publisher = Publisher::start(&plane, "publisher")?;
    let usage =
        wait::until("usage is published", async || cluster.state("node-0").await?.usage.context("no usage")).await?;
    ensure!((usage.at, usage.cpu, usage.memory) == (1_764_460_801_000, 1500, 2 << 30), "{usage:?}");
    let other = wait::until("the other node is published", async || cluster.state("node-1").await).await?;
    ensure!(other.usage.is_none(), "nothing was measured on node-1: {other:?}");
    Ok(())
}

/// What Koordinator's agents measure counts before it, and no longer than they are there.
pub async fn koordinators_measurements_are_published(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 2, 0).await?;
    let kubectl = plane.kubectl()?;
    kubectl.apply(&repository().join("e2e/manifests/koordinator.yaml"))?;
    measure(&plane, "node-0", "2025-11-30T00:01:00Z", "1500m", "2Gi").await?;
    let file = plane.folder().join("nodemetric.yaml");
    let report = async |cpu: &str| -> Result<()> {
        let text = format!(
            "apiVersion: slo.koordinator.sh/v1alpha1\nkind: NodeMetric\nmetadata: {{name: node-0}}\nspec: {{}}\n\
             status:\n  updateTime: 2025-11-30T00:00:01Z\n\
             \x20 nodeMetric: {{nodeUsage: {{resources: {{cpu: {cpu}, memory: 3Gi}}}}}}\n"
        );
        std::fs::write(&file, text)?;
        wait::until("NodeMetrics are served", async || kubectl.apply(&file)).await.map(drop)
    };
    let published = async |at: i64, cpu: i64| -> Result<()> {
        wait::until("the usage is published", async || {
            let usage = cluster.state("node-0").await?.usage.context("no usage")?;
            ensure!((usage.at, usage.cpu) == (at, cpu), "{usage:?}");
            Ok(())
        })
        .await
    };
    report("much").await?;
    let mut publisher = Publisher::start_with(&plane, "publisher", &["--heartbeat=0"])?;
    published(1_764_460_860_000, 1500).await?;
    ensure!(publisher.metric(r#"skipped_objects_total{resource="nodemetrics"}"#)? >= 1.0, "it read a broken one");
    report("2500m").await?;
    published(1_764_460_801_000, 2500).await?;
    kubectl.run(&["delete", "-f", &file.display().to_string()])?;
    published(1_764_460_860_000, 1500).await
}
