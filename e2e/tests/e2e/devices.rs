//! Free thousandths of single GPUs, from Koordinator's objects and notes.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use stowage_e2e::objects::PodSpec;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::{repository, wait};

use super::publisher::cluster;

/// A node with a Device object has its GPUs told one by one, for as long as each pod's are known; others have not, nor
/// has any when the kind goes away.
pub async fn free_gpus_are_published(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 2, 3).await?;
    let kubectl = plane.kubectl()?;
    let kinds = repository().join("e2e/manifests/koordinator.yaml");
    kubectl.apply(&kinds)?;
    let file = plane.folder().join("device.yaml");
    let gpus: Vec<String> =
        (0..3).map(|minor| format!("{{type: gpu, id: GPU-{minor}, minor: {minor}, health: true}}")).collect();
    let text = format!(
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Device\nmetadata: {{name: node-0}}\n\
         spec: {{devices: [{}]}}\n",
        gpus.join(", ")
    );
    std::fs::write(&file, text)?;
    wait::until("Devices are served", async || kubectl.apply(&file)).await?;
    let published = async |pods: u32, expected: &[u16]| -> Result<()> {
        wait::until("what is free of each GPU is published", async || {
            let state = cluster.state("node-0").await?;
            ensure!((state.pods, &*state.gpu_free) == (pods, expected), "{} pods, {:?}", state.pods, state.gpu_free);
            Ok(())
        })
        .await
    };
    let half = |name: &str, minor: Option<u32>| {
        let note = |minor| format!(r#"{{"gpu":[{{"minor":{minor},"resources":{{"koordinator.sh/gpu-core":"50"}}}}]}}"#);
        PodSpec {
            name: name.to_owned(),
            requests: vec![("koordinator.sh/gpu-core", "50".to_owned())],
            annotations: minor
                .map(|minor| ("scheduling.koordinator.sh/device-allocated", note(minor)))
                .into_iter()
                .collect(),
            ..PodSpec::default()
        }
    };

    let _publisher = Publisher::start(&plane, "publisher")?;
    published(0, &[1000, 1000, 1000]).await?;
    for (pods, pod) in [half("one", Some(1)), PodSpec::with_gpus("whole", 1), half("untold", None)].iter().enumerate() {
        cluster.create_pod(pod).await?;
        cluster.bind(&pod.name, "node-0").await?;
        let expected: [&[u16]; 3] = [&[1000, 500, 1000], &[0, 500, 1000], &[]];
        published(u32::try_from(pods)? + 1, expected[pods]).await?;
    }
    cluster.delete("untold").await?;
    published(2, &[0, 500, 1000]).await?;
    let other = cluster.state("node-1").await?;
    ensure!(other.gpu_free.is_empty(), "nothing tells of the GPUs of node-1: {other:?}");

    kubectl.run(&["delete", "-f", &kinds.display().to_string()])?;
    published(2, &[]).await
}
