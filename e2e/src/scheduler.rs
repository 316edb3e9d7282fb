//! kube-scheduler with the extension and our module, as `deploy/` configures it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::control_plane::{ControlPlane, User, free_port};
use crate::environment::{MODULE, SCHEDULER};
use crate::process::Process;
use crate::repository;

/// The configuration that the manifests deliver.
const CONFIGURATION: &str = "deploy/base/scheduler-config.yaml";

/// What is changed of the manifests' configuration.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Another policy.
    pub policy: Option<String>,
    /// Another module; without any, the one of `STOWAGE_MODULE`.
    pub module: Option<PathBuf>,
    /// No module at all: the plugin is taken out.
    pub bare: bool,
    /// How many requests a second the scheduler may make.
    pub requests_per_second: Option<u32>,
}

/// Starts a scheduler.
///
/// # Errors
/// When it cannot be started.
pub fn start(plane: &ControlPlane, name: &str, changes: &Changes) -> Result<Process> {
    let program = SCHEDULER.path().with_context(|| format!("{SCHEDULER} is not set"))?;
    let module = changes.module.clone().or_else(|| MODULE.path()).with_context(|| format!("{MODULE} is not set"))?;
    let text = std::fs::read_to_string(repository().join(CONFIGURATION)).context(CONFIGURATION)?;
    let mut configuration: Value = serde_saphyr::from_str(&text).context(CONFIGURATION)?;
    adapt(&mut configuration, plane, &module, changes)?;
    let file = plane.folder().join(format!("{name}.json"));
    std::fs::write(&file, configuration.to_string())?;
    let mut command = Command::new(program);
    command
        .arg(format!("--config={}", file.display()))
        .arg(format!("--secure-port={}", free_port()?))
        .args(["--bind-address=127.0.0.1", "--authorization-always-allow-paths=/healthz,/readyz,/metrics"])
        .arg(format!("--authentication-kubeconfig={}", plane.kubeconfig(User::Scheduler).display()))
        .arg(format!("--authorization-kubeconfig={}", plane.kubeconfig(User::Scheduler).display()))
        .arg(format!("--cert-dir={}", plane.folder().join(name).display()));
    Process::start(name, &mut command, plane.folder())
}

/// Points the configuration at this control plane and module; the rest stays as it is delivered.
fn adapt(configuration: &mut Value, plane: &ControlPlane, module: &Path, changes: &Changes) -> Result<()> {
    let kubeconfig = plane.kubeconfig(User::Scheduler).display().to_string();
    configuration["clientConnection"]["kubeconfig"] = kubeconfig.into();
    if let Some(rate) = changes.requests_per_second {
        configuration["clientConnection"]["qps"] = rate.into();
        configuration["clientConnection"]["burst"] = rate.into();
    }
    let profile = configuration.pointer_mut("/profiles/0").context("no profile")?;
    if changes.bare {
        profile["plugins"]["multiPoint"]["enabled"] = Value::Array(Vec::new());
        profile["pluginConfig"].as_array_mut().context("no pluginConfig")?.retain(|it| it["name"] != "stowage");
        return Ok(());
    }
    let plugins = profile["pluginConfig"].as_array_mut().context("no pluginConfig")?;
    let ours = plugins.iter_mut().find(|plugin| plugin["name"] == "stowage").context("no plugin stowage")?;
    ours["args"]["guestURL"] = format!("file://{}", module.display()).into();
    if let Some(policy) = &changes.policy {
        ours["args"]["guestConfig"] = policy.clone().into();
    }
    Ok(())
}
