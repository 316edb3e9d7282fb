//! May this pod join this node? Rule after rule, the first that says no gives the reason.
//!
//! Two properties hold and are tested: more usage never turns a no into a yes, and a stricter policy never says yes more
//! often. So no rule may look at a quantity that another rule only sees when the first one passed.

use alloc::string::String;

use super::class::{Class, PodClass};
use super::load::{Load, Metric, Percents, percent};
use super::rules::{ClassRules, ReclaimedRules, Rules, WithoutUsage};
use super::usage::Usage;
use crate::reckon::Reckon;
use crate::say::Say;

/// The pod to place.
#[derive(Clone, Copy, Debug)]
pub struct Pod {
    /// Its class.
    pub class: PodClass,
    /// What it is expected to use ([`super::estimate`]).
    pub estimate: Load,
    /// What it requests, batch and mid resources counted as cpu and memory.
    pub requests: Load,
}

/// What is known of the node.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Allocatable cpu and memory.
    pub allocatable: Load,
    /// Measured usage.
    pub usage: Usage,
    /// Estimates of the pods that were placed after the measurement.
    pub placed_since: Load,
    /// Number of LSE and LSR pods; `None` without node state.
    pub protected: Option<u32>,
    /// Requests of its best-effort pods; `None` without node state.
    pub best_effort: Option<Load>,
    /// Thresholds that the node brings itself.
    pub thresholds: NodeThresholds,
    /// Usage at which the node evicts best-effort pods, if it says so.
    pub evicts_at: Percents,
    /// Batch and mid resources that it has or has given out.
    pub reclaimed: &'a [Reclaimed],
}

/// Thresholds from the annotation `scheduling.koordinator.sh/usage-thresholds`, in place of those of the policy.
///
/// As in Koordinator the set counts as a whole: with only cpu given, memory is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeThresholds {
    /// `usageThresholds`; `None` if absent or empty, and then the policy's hold.
    pub usage: Option<Percents>,
    /// Whether `prodUsageThresholds` is given. They compare the usage of prod pods alone, which nobody reports to the
    /// scheduler, so all that is known is that prod pods are not held to `usageThresholds`.
    pub prod_apart: bool,
}

/// One batch or mid resource of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reclaimed {
    /// Its name.
    pub name: &'static str,
    /// What the node offers now.
    pub allocatable: i64,
    /// What it has given out; `None` without node state.
    pub allocated: Option<i64>,
    /// What the pod requests.
    pub requested: i64,
}

/// Why a pod may not join a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The row of the policy that says no.
    pub class: Class,
    /// The rule.
    pub rule: Rule,
}

/// A rule that says no, with what it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// More would be in use than the threshold allows.
    Threshold {
        /// Of which resource.
        metric: Metric,
        /// Measured, in percent.
        measured: i64,
        /// What estimates add, this pod included, in percent.
        estimated: i64,
        /// The limit, in percent.
        threshold: u8,
        /// Whether the limit is the node's own.
        from_node: bool,
    },
    /// Usage is not known, and that counts against the node.
    WithoutUsage {
        /// What is known instead.
        usage: Usage,
        /// Why it counts.
        because: Because,
    },
    /// LSE or LSR pods run on the node, and this class may not join them.
    Protected(Option<u32>),
    /// Best-effort pods would request more than their share.
    Share {
        /// Of which resource.
        metric: Metric,
        /// Already requested, in percent.
        requested: i64,
        /// What this pod adds, in percent.
        added: i64,
        /// The share, in percent.
        share: u8,
    },
    /// What best-effort pods request is not known.
    ShareUnknown,
    /// The node has less than it has given out.
    Overdrawn(Reclaimed),
    /// Too little is left, or only what is to stay free.
    Headroom {
        /// The resource.
        resource: Reclaimed,
        /// What may still be requested.
        free: i64,
        /// Percent that stays free.
        reserve: u8,
    },
}

/// Why unknown usage counts against a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The policy wants usage known.
    Always,
    /// So many LSE and LSR pods run there.
    Hosts(u32),
    /// Without node state, LSE and LSR pods may run there.
    MayHost,
}

/// Judges one node.
///
/// # Errors
/// The first rule that says no.
pub fn filter(rules: &Rules, pod: &Pod, node: &Node<'_>) -> Result<(), Rejection> {
    let Some((class, row)) = rules.row(pod.class) else { return Ok(()) };
    protected(pod, row, node)
        .and_then(|()| usage(rules, class, row, pod, node))
        .and_then(|()| share(rules, class, pod, node))
        .and_then(|()| reclaimed(rules, class, node))
        .map_err(|rule| Rejection { class, rule })
}

/// The thresholds that hold for a class on a node, each with whether it is the node's own.
///
/// Where nodes evict best-effort pods, batch and best-effort pods keep a margin below that: they would be placed only
/// to be evicted, and placed again. Where there is no limit this sets none either.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    cpu: Option<(u8, bool)>,
    memory: Option<(u8, bool)>,
}

impl Thresholds {
    /// Those of a class on a node.
    #[must_use]
    pub fn of(rules: &Rules, class: Class, row: ClassRules, node: &Node<'_>) -> Self {
        let own = node.thresholds.usage.filter(|_| class.fills_gaps() || !node.thresholds.prod_apart);
        let one = |metric| {
            let limit = own.unwrap_or(row.usage_thresholds).get(metric)?;
            let said = node.evicts_at.get(metric);
            let watermark = said.or(rules.evicts_at.get(metric)).filter(|_| class.fills_gaps());
            let below = watermark.map(|percent| percent.saturating_sub(rules.eviction_margin).max(1));
            Some(match below.filter(|below| *below < limit) {
                Some(below) => (below, said.is_some()),
                None => (limit, own.is_some()),
            })
        };
        Self { cpu: one(Metric::Cpu), memory: one(Metric::Memory) }
    }

    /// The threshold of one of the two resources.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<(u8, bool)> {
        match metric {
            Metric::Cpu => self.cpu,
            Metric::Memory => self.memory,
        }
    }

    /// Both, without where they are from.
    #[must_use]
    pub fn limits(&self) -> Percents {
        let limit = |metric| self.get(metric).map(|(limit, _)| limit);
        Percents { cpu: limit(Metric::Cpu), memory: limit(Metric::Memory) }
    }
}

fn protected(pod: &Pod, row: ClassRules, node: &Node<'_>) -> Result<(), Rule> {
    // What is not known is never held against a pod that declares nothing; see `Undeclared::Known`.
    let may_host = node.protected.map_or(pod.class.declared, |hosted| hosted > 0);
    if may_host && !row.beside_protected { Err(Rule::Protected(node.protected)) } else { Ok(()) }
}

fn usage(rules: &Rules, class: Class, row: ClassRules, pod: &Pod, node: &Node<'_>) -> Result<(), Rule> {
    let Some(load) = node.usage.load() else {
        let rule = if node.usage == Usage::Unknown { row.unknown_usage } else { row.stale_usage };
        let because = match (rule, node.protected) {
            (WithoutUsage::Allow, _) | (WithoutUsage::DenyBesideProtected, Some(0)) => return Ok(()),
            (WithoutUsage::Deny, _) => Because::Always,
            (WithoutUsage::DenyBesideProtected, Some(hosted)) => Because::Hosts(hosted),
            (WithoutUsage::DenyBesideProtected, None) => Because::MayHost,
        };
        return Err(Rule::WithoutUsage { usage: node.usage, because });
    };
    let thresholds = Thresholds::of(rules, class, row, node);
    let expected = load.plus(node.placed_since).plus(pod.estimate);
    for metric in Metric::ALL {
        let Some((threshold, from_node)) = thresholds.get(metric) else { continue };
        let total = node.allocatable.get(metric);
        let Some(percent_expected) = percent(expected.get(metric), total) else { continue };
        if percent_expected > i64::from(threshold) {
            let measured = percent(load.get(metric), total).unwrap_or(0);
            let estimated = percent_expected.wrapping_sub(measured);
            return Err(Rule::Threshold { metric, measured, estimated, threshold, from_node });
        }
    }
    Ok(())
}

fn share(rules: &Rules, class: Class, pod: &Pod, node: &Node<'_>) -> Result<(), Rule> {
    if class != Class::Be {
        return Ok(());
    }
    if rules.best_effort_share.is_none() {
        return Ok(());
    }
    let Some(requested) = node.best_effort else {
        return if pod.class.declared { Err(Rule::ShareUnknown) } else { Ok(()) };
    };
    for metric in Metric::ALL {
        let Some(share) = rules.best_effort_share.get(metric) else { continue };
        let total = node.allocatable.get(metric);
        let all = requested.plus(pod.requests).get(metric);
        let Some(percent_all) = percent(all, total) else { continue };
        if percent_all > i64::from(share) {
            let requested = percent(requested.get(metric), total).unwrap_or(0);
            return Err(Rule::Share { metric, requested, added: percent_all.wrapping_sub(requested), share });
        }
    }
    Ok(())
}

fn reclaimed(rules: &Rules, class: Class, node: &Node<'_>) -> Result<(), Rule> {
    let ReclaimedRules { deny_overdrawn, reserve } = rules.reclaimed;
    for resource in node.reclaimed {
        // Without node state the scheduler's own fit, which has just accepted the node, is all there is.
        let Some(allocated) = resource.allocated else { continue };
        if deny_overdrawn && class.fills_gaps() && allocated > resource.allocatable {
            return Err(Rule::Overdrawn(*resource));
        }
        if reserve > 0 && resource.requested > 0 {
            let kept = rules.reclaimed.kept(resource.allocatable);
            let free = resource.allocatable.minus(kept).minus(allocated);
            if resource.requested > free {
                return Err(Rule::Headroom { resource: *resource, free, reserve });
            }
        }
    }
    Ok(())
}

impl Rejection {
    /// Without what differs from node to node: `cpu above 65 percent (BE threshold)`.
    #[must_use]
    pub fn brief(&self) -> String {
        let mut text = String::new();
        self.words(true, &mut text);
        text
    }

    fn words(&self, short: bool, text: &mut String) {
        let class = self.class;
        match self.rule {
            Rule::Threshold { metric, measured, estimated, threshold, from_node } => {
                text.push_str(metric.name());
                if short {
                    say_to!(text, " above ", threshold);
                } else {
                    say_to!(text, " ", measured, " + ", estimated, " estimated > ", threshold);
                }
                let node = if from_node { ", set on the node" } else { "" };
                say_to!(text, " percent (", class, " threshold", node, ")");
            }
            Rule::WithoutUsage { usage, because } => {
                match usage {
                    Usage::Stale { after } => say_to!(text, "usage older than ", after, " s"),
                    Usage::Ahead => text.push_str("usage dated in the future (time zone?)"),
                    Usage::Known(_) | Usage::Unknown => text.push_str("usage unknown"),
                }
                match because {
                    Because::Always => {}
                    Because::Hosts(hosted) => {
                        text.push_str(" beside ");
                        pods(hosted, short, text);
                    }
                    Because::MayHost => say_to!(text, " and no node state: ", PODS, " may run there"),
                }
                say_to!(text, " (", class, " usage rule)");
            }
            Rule::Protected(hosted) => {
                match hosted {
                    Some(hosted) => {
                        text.push_str("hosts ");
                        pods(hosted, short, text);
                    }
                    None => say_to!(text, "no node state: may host ", PODS),
                }
                say_to!(text, " (", class, " kept apart)");
            }
            Rule::Share { metric, requested, added, share } => {
                text.push_str(metric.name());
                if short {
                    say_to!(text, " requests above ", share);
                } else {
                    say_to!(text, " ", requested, " + ", added, " requested > ", share);
                }
                text.push_str(" percent (BE share)");
            }
            Rule::ShareUnknown => text.push_str("no node state: best-effort requests unknown (BE share)"),
            Rule::Overdrawn(Reclaimed { name, allocatable, allocated, .. }) => {
                text.push_str(name);
                if short {
                    text.push_str(" overdrawn");
                } else {
                    say_to!(text, ": ", allocated.unwrap_or(0), " allocated of ", allocatable);
                }
                say_to!(text, " (", class, " headroom)");
            }
            Rule::Headroom { resource: Reclaimed { name, requested, .. }, free, reserve } => {
                say_to!(text, "needs ", requested, " ", name, ", ");
                if !short {
                    say_to!(text, "headroom ", free, " ");
                }
                say_to!(text, "with ", reserve, " percent kept free");
            }
        }
    }
}

/// Pods that others are kept apart from.
const PODS: &str = "LSE/LSR pods";

/// How many of them there are, unless it is to be `short`.
fn pods(number: u32, short: bool, text: &mut String) {
    if !short {
        say_to!(text, number, " ");
    }
    text.push_str(PODS);
}

impl Say for Rejection {
    /// `cpu 71 + 6 estimated > 65 percent (BE threshold)`.
    fn say(&self, text: &mut String) {
        self.words(false, text);
    }
}

display!(Rejection);

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
