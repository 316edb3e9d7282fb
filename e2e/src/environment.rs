//! Where the programs are that a case needs.

use std::path::PathBuf;
use std::{env, fmt};

/// What a case needs that a machine may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// etcd, kube-apiserver and kubectl: `make e2e` builds them.
    ControlPlane,
    /// The same, and a scheduler built with the unmodified upstream extension.
    Scheduler,
}

/// A variable that names a program or a folder of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable(&'static str);

/// The folder with `etcd`, `kube-apiserver` and `kubectl`.
pub const CONTROL_PLANE: Variable = Variable("STOWAGE_CONTROL_PLANE");
/// The publisher.
pub const PUBLISHER: Variable = Variable("STOWAGE_PUBLISHER");
/// The module.
pub const MODULE: Variable = Variable("STOWAGE_MODULE");
/// A scheduler with the extension.
pub const SCHEDULER: Variable = Variable("KUBE_SCHEDULER");

impl Variable {
    /// The path, if it is set.
    #[must_use]
    pub fn path(self) -> Option<PathBuf> {
        env::var_os(self.0).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl Needs {
    /// The first variable that is needed and not set.
    #[must_use]
    pub fn missing(self) -> Option<Variable> {
        let needed: &[Variable] = match self {
            Self::ControlPlane => &[CONTROL_PLANE, PUBLISHER, MODULE],
            Self::Scheduler => &[CONTROL_PLANE, PUBLISHER, MODULE, SCHEDULER],
        };
        needed.iter().copied().find(|variable| variable.path().is_none())
    }
}
