//! The rules, resolved: one row per class, nothing optional left to default.

use super::class::{Class, PodClass};
use super::estimate::Estimation;
use super::load::Percents;

/// Everything the QoS policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What happens to pods whose class, band and resources contradict each other.
    pub illegal_pairs: IllegalPairs,
    /// Which rules hold for pods that declare no class.
    pub undeclared: Undeclared,
    /// One row per class, in the order of [`Class::ALL`].
    pub classes: [ClassRules; Class::ALL.len()],
    /// Most that best-effort pods together may request of a node.
    pub best_effort_share: Percents,
    /// Batch and mid resources.
    pub reclaimed: ReclaimedRules,
    /// How pods are estimated that no measurement contains.
    pub estimation: Estimation,
    /// Usage at which nodes evict best-effort pods, but for those that say otherwise.
    pub evicts_at: Percents,
    /// Percent between thresholds and the usage at which a node evicts.
    pub eviction_margin: u8,
    /// Usage up to which a node is not hot, for the score of latency-sensitive pods.
    pub hot: Percents,
}

/// The rules for one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRules {
    /// Most that may be in use on a node, this pod included, in percent of allocatable.
    pub usage_thresholds: Percents,
    /// When the node's usage was never measured.
    pub unknown_usage: WithoutUsage,
    /// When it was measured too long ago.
    pub stale_usage: WithoutUsage,
    /// Whether the pod may join a node that hosts LSE or LSR pods.
    pub beside_protected: bool,
}

/// What to do about a node whose usage is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum WithoutUsage {
    /// Take it.
    Allow,
    /// Take it unless LSE or LSR pods run there, or may run there.
    DenyBesideProtected,
    /// Do not take it.
    Deny,
}

/// What happens to a pod that breaks a rule of [`super::pairs::IllegalPair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum IllegalPairs {
    /// A log line; the pod is scheduled.
    Log,
    /// The pod is not scheduled.
    Reject,
}

/// Which rules hold for a pod that declares no class, so that its class was inferred from its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum Undeclared {
    /// None.
    Ignore,
    /// Those that hold against something known: such a pod is never refused for what is not known about a node.
    Known,
    /// All, as for any other pod.
    All,
}

/// Rules for resources that are reclaimed from running pods (`kubernetes.io/batch-*`, `mid-*`). What is allocatable of
/// them shrinks while it is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReclaimedRules {
    /// Whether batch and best-effort pods stay off a node that has less of them than it has given out.
    pub deny_overdrawn: bool,
    /// Percent of allocatable that stays free.
    pub reserve: u8,
}

impl ReclaimedRules {
    /// What stays free of an amount, rounded up.
    #[must_use]
    pub fn kept(&self, allocatable: i64) -> i64 {
        let reserve = i64::from(self.reserve);
        // Quotient and rest apart, so that no amount overflows.
        let (whole, rest) = (allocatable.checked_div(100).unwrap_or(0), allocatable.checked_rem(100).unwrap_or(0));
        let rest = rest.wrapping_mul(reserve).wrapping_add(99).checked_div(100).unwrap_or(0);
        whole.wrapping_mul(reserve).wrapping_add(rest)
    }
}

impl Rules {
    /// The row of a class.
    #[must_use]
    pub fn class(&self, class: Class) -> ClassRules {
        let [lse, lsr, ls, batch, be] = self.classes;
        match class {
            Class::Lse => lse,
            Class::Lsr => lsr,
            Class::Ls => ls,
            Class::Batch => batch,
            Class::Be => be,
        }
    }

    /// The class and row by which the pod is judged; `None` if it passes everywhere.
    #[must_use]
    pub fn row(&self, pod: PodClass) -> Option<(Class, ClassRules)> {
        let class = pod.row()?;
        let mut rules = self.class(class);
        if !pod.declared {
            match self.undeclared {
                Undeclared::Ignore => return None,
                Undeclared::Known => {
                    rules.unknown_usage = WithoutUsage::Allow;
                    rules.stale_usage = WithoutUsage::Allow;
                }
                Undeclared::All => {}
            }
        }
        Some((class, rules))
    }

    /// Whether any node could be refused to the pod. If not, its cycle needs no Filter calls.
    ///
    /// `requests_reclaimed`: the pod requests batch or mid resources. `overrides`: some node brings its own thresholds.
    #[must_use]
    pub fn concern(&self, pod: PodClass, requests_reclaimed: bool, overrides: bool) -> bool {
        let Some((class, rules)) = self.row(pod) else { return false };
        overrides
            || !rules.usage_thresholds.is_none()
            || rules.unknown_usage != WithoutUsage::Allow
            || rules.stale_usage != WithoutUsage::Allow
            || !rules.beside_protected
            || (class == Class::Be && !self.best_effort_share.is_none())
            || (class.fills_gaps() && self.reclaimed.deny_overdrawn)
            || (requests_reclaimed && self.reclaimed.reserve > 0)
    }
}
