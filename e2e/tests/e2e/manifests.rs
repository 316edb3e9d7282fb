//! What people apply, before they do.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use stowage_e2e::control_plane::ControlPlane;
use stowage_e2e::environment::MODULE;
use stowage_e2e::{repository, wait};

/// Every overlay, rendered as its users render it, and taken by the API server with every default and check that it has.
pub async fn every_overlay_is_taken(folder: PathBuf) -> Result<()> {
    const OVERLAYS: [&str; 3] = ["configmap", "image-volume", "init-container"];
    let plane = ControlPlane::start(&folder).await?;
    let kubectl = plane.kubectl()?;
    kubectl.apply(&repository().join("deploy/base/namespace.yaml"))?;
    // A copy, since one overlay wants a module beside it, which must not appear in the tree.
    let copy = plane.folder().join("deploy");
    let copied = std::process::Command::new("cp").arg("-r").arg(repository().join("deploy")).arg(&copy).status()?;
    ensure!(copied.success(), "cannot copy deploy");
    std::fs::copy(MODULE.path().context("no module")?, copy.join("overlays/configmap/plugin.wasm"))?;
    for overlay in OVERLAYS {
        let text = kubectl.kustomize(&copy.join("overlays").join(overlay))?;
        let file = plane.folder().join(format!("{overlay}.yaml"));
        std::fs::write(&file, text)?;
        let said = kubectl.dry_run(&file).with_context(|| format!("overlay {overlay}"))?;
        for object in ["deployment.apps/stowage-scheduler", "deployment.apps/stowage-publisher"] {
            ensure!(said.contains(object), "overlay {overlay} makes no {object}:\n{said}");
        }
    }
    // Another policy is another ConfigMap, and so another scheduler.
    let config = copy.join("base/scheduler-config.yaml");
    let before = kubectl.kustomize(&copy.join("overlays/image-volume"))?;
    std::fs::write(&config, std::fs::read_to_string(&config)?.replace("\"binpack\": 1", "\"binpack\": 2"))?;
    let after = kubectl.kustomize(&copy.join("overlays/image-volume"))?;
    let name = |text: &str| {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.windows(2).find(|pair| pair[0].ends_with("configMap:")).map(|pair| pair[1].to_owned())
    };
    ensure!(name(&before).is_some() && name(&before) != name(&after), "the policy is not part of the ConfigMap's name");
    Ok(())
}

/// Every example, as its users write it, by an API server that has the kinds.
pub async fn every_example_is_taken(folder: PathBuf) -> Result<()> {
    let plane = ControlPlane::start(&folder).await?;
    let kubectl = plane.kubectl()?;
    for file in ["jobs.yaml", "podgroups.yaml"] {
        kubectl.apply(&repository().join("e2e/manifests").join(file))?;
    }
    let mut examples = 0;
    for example in std::fs::read_dir(repository().join("examples"))? {
        let workload = example?.path().join("workload.yaml");
        if workload.exists() {
            wait::until("the example is taken", async || kubectl.dry_run(&workload)).await?;
            examples += 1;
        }
    }
    ensure!(examples >= 9, "only {examples} examples");
    Ok(())
}
