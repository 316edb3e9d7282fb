//! kubectl, for what its users do with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// kubectl with a kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    pub(crate) fn new(program: PathBuf, kubeconfig: PathBuf) -> Self {
        Self { program, kubeconfig }
    }

    /// Runs it; answers what it says.
    ///
    /// # Errors
    /// When it fails, with what it says about that.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments);
        // Its caches belong to the cluster, and go with it.
        command.env("KUBECACHEDIR", self.kubeconfig.with_file_name("kubectl-cache"));
        let Output { status, stdout, stderr } = command.output().context("kubectl")?;
        if !status.success() {
            bail!("kubectl {}: {}", arguments.join(" "), String::from_utf8_lossy(&stderr).trim());
        }
        let warnings = String::from_utf8_lossy(&stderr);
        // What the API server warns of (a field that it does not know, a pod that its namespace will not let in) is wrong.
        if warnings.contains("Warning:") {
            bail!("kubectl {}: {}", arguments.join(" "), warnings.trim());
        }
        Ok(String::from_utf8(stdout)?)
    }

    /// What a kustomization comes to.
    ///
    /// # Errors
    /// When it is faulty.
    pub fn kustomize(&self, folder: &Path) -> Result<String> {
        self.run(&["kustomize", &folder.display().to_string()])
    }

    /// Applies a file.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub fn apply(&self, file: &Path) -> Result<String> {
        self.run(&["apply", "--server-side", "-f", &file.display().to_string()])
    }

    /// Asks the API server whether it would take a file.
    ///
    /// # Errors
    /// When it would not.
    pub fn dry_run(&self, file: &Path) -> Result<String> {
        self.run(&["apply", "--server-side", "--dry-run=server", "-f", &file.display().to_string()])
    }
}
