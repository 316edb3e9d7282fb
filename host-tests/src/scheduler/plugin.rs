//! Which plugin said what: names of the plugins in the profile, and their answers with their reasons.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use crate::framework::{Code, Status};

/// A plugin of the profile, in the order in which the scheduler calls them: in-tree ones first, ours last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum PluginId {
    SchedulingGates,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodeResourcesFit,
    /// Stands in for whatever knows a node's GPU devices.
    GpuDevices,
    DefaultPreemption,
    /// The module.
    Wasm,
}

impl fmt::Display for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wasm => f.write_str("wasm"),
            in_tree => fmt::Debug::fmt(in_tree, f),
        }
    }
}

/// A set of plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginSet(u16);

impl PluginSet {
    /// Adds `plugin`.
    pub fn insert(&mut self, plugin: PluginId) {
        self.0 |= 1 << plugin as u8;
    }

    /// Whether `plugin` is in the set.
    #[must_use]
    pub fn contains(self, plugin: PluginId) -> bool {
        self.0 & (1 << plugin as u8) != 0
    }

    /// The plugins of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is no plugin in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A plugin's refusal of a pod, on one node or altogether.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Any code but `Success` and `Skip`.
    pub code: Code,
    /// Who refused.
    pub plugin: PluginId,
    /// Why; NodeResourcesFit gives one reason per resource.
    pub reasons: Vec<Cow<'static, str>>,
}

impl Rejection {
    /// A refusal for one reason.
    pub fn new(code: Code, plugin: PluginId, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code, plugin, reasons: vec![reason.into()] }
    }

    /// A refusal by the module.
    #[must_use]
    pub fn by_module(status: Status) -> Self {
        let reasons = if status.reason.is_empty() { Vec::new() } else { vec![status.reason.into()] };
        Self { code: status.code, plugin: PluginId::Wasm, reasons }
    }

    /// Whether the pod is refused, as opposed to something having gone wrong.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(self.code, Code::Unschedulable | Code::UnschedulableAndUnresolvable | Code::Pending)
    }

    /// The reasons as one text.
    #[must_use]
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }
}

/// Why a cycle or a binding did not end with a bound pod.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The code that the pod's queue decides by.
    pub code: Code,
    /// The plugins that refused the pod: events that they registered for bring it back. Empty for errors, which are
    /// retried after a backoff whatever happens.
    pub rejectors: PluginSet,
    /// Those among them that answered `Pending`: the pod comes back without backoff.
    pub pending: PluginSet,
    /// What the pod's condition says.
    pub message: Rc<str>,
    /// The node nominated for the pod; `None` leaves the nomination as it is.
    pub nominate: Option<Nomination>,
}

/// What a failed cycle does to the pod's nominated node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nomination {
    /// No node is nominated any more.
    Clear,
    /// This one is: preemption makes room there.
    Node(Rc<str>),
}

impl Failure {
    /// Something went wrong in a plugin or in the scheduler.
    pub fn error(message: impl Into<Rc<str>>) -> Self {
        Self {
            code: Code::Error,
            rejectors: PluginSet::default(),
            pending: PluginSet::default(),
            message: message.into(),
            nominate: Some(Nomination::Clear),
        }
    }

    /// Whether the pod was refused, as opposed to something having gone wrong.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        self.code != Code::Error
    }
}
