//! Why no node took a pod (`framework.Diagnosis`), and the sentence about it that ends up in the pod's condition.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::plugin::{PluginSet, Rejection};
use crate::framework::Code;

/// The refusals of one cycle.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Refusals by position of the node in the cache.
    pub nodes: Vec<(usize, Rejection)>,
    /// What holds for all nodes that are not among `nodes`.
    pub others: Option<Rejection>,
    /// PreFilter's refusal, which takes the place of the nodes' ones in the message.
    pub pre_filter: Option<String>,
    /// What PostFilter had to say.
    pub post_filter: String,
    /// The plugins that refused.
    pub rejectors: PluginSet,
    /// Those that answered `Pending`.
    pub pending: PluginSet,
}

impl Diagnosis {
    /// A refusal on the node at `at`.
    pub fn reject_node(&mut self, at: usize, rejection: Rejection) {
        self.count(&rejection);
        self.nodes.push((at, rejection));
    }

    /// A refusal before any node was looked at.
    pub fn reject_all(&mut self, rejection: Rejection) {
        self.count(&rejection);
        self.pre_filter = Some(rejection.message());
        self.others = Some(rejection);
    }

    fn count(&mut self, rejection: &Rejection) {
        if rejection.is_rejected() {
            self.rejectors.insert(rejection.plugin);
        }
        if rejection.code == Code::Pending {
            self.pending.insert(rejection.plugin);
        }
    }

    /// The code for each of `count` nodes. Preemption is tried where it is `Unschedulable`.
    #[must_use]
    pub fn codes(&self, count: usize) -> Vec<Code> {
        let others = self.others.as_ref().map_or(Code::UnschedulableAndUnresolvable, |rejection| rejection.code);
        let mut codes = vec![others; count];
        for (at, rejection) in &self.nodes {
            codes[*at] = rejection.code;
        }
        codes
    }

    /// "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) were unschedulable."
    #[must_use]
    pub fn message(&self, count: usize) -> String {
        let mut message = format!("0/{count} nodes are available:");
        match &self.pre_filter {
            Some(reason) if !reason.is_empty() => {
                let _ = write!(message, " {reason}.");
            }
            _ => {
                let histogram = self.histogram(count);
                if !histogram.is_empty() {
                    let _ = write!(message, " {}.", histogram.join(", "));
                }
            }
        }
        if !self.post_filter.is_empty() {
            let _ = write!(message, " {}", self.post_filter);
        }
        message
    }

    fn histogram(&self, count: usize) -> Vec<String> {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in self.nodes.iter().flat_map(|(_, rejection)| &rejection.reasons) {
            *reasons.entry(reason).or_default() += 1;
        }
        let others = count.saturating_sub(self.nodes.len());
        if others > 0 {
            for reason in self.others.iter().flat_map(|rejection| &rejection.reasons) {
                *reasons.entry(reason).or_default() += others;
            }
        }
        let mut lines: Vec<String> = reasons.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        lines.sort();
        lines
    }
}
