//! What one cycle saw on every node, for people who ask why.

use std::fmt;
use std::rc::Rc;

use super::Time;

/// Takes the report of every cycle of every pod.
#[derive(Clone)]
pub struct ReportSink(pub Rc<dyn Fn(&CycleReport)>);

impl fmt::Debug for ReportSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportSink")
    }
}

/// A cycle, node by node.
#[derive(Clone, Debug)]
pub struct CycleReport {
    /// `namespace/name` of the pod.
    pub pod: String,
    /// When the cycle started.
    pub time: Time,
    /// The number of this attempt.
    pub attempt: u32,
    /// Every node of the cluster, in the cluster's order.
    pub nodes: Vec<NodeReport>,
    /// The node that was taken.
    pub chosen: Option<String>,
    /// Why the attempt failed, if it did.
    pub failure: Option<String>,
}

/// A node in a [`CycleReport`].
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// The node's name.
    pub node: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// What a cycle made of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A plugin refused it.
    Refused {
        /// Who.
        plugin: String,
        /// Why.
        reason: String,
    },
    /// It fits; the score is the module's, `None` if nobody scored.
    Fits {
        /// 0 to 100.
        score: Option<i64>,
    },
    /// The cycle ended before it was looked at.
    NotVisited,
}

impl CycleReport {
    /// Why a plugin refused a node, in words that tell something: where a plugin's PreFilter named the only nodes worth
    /// looking at, such as a gang member's own slot, the scheduler's own words for all others do not say which.
    #[must_use]
    pub fn refusal(&self, reason: &str) -> String {
        if !is_left_out(reason) {
            return reason.to_owned();
        }
        let left: Vec<&str> = self.nodes.iter().filter(|node| !node.is_left_out()).map(|node| &*node.node).collect();
        format!("its PreFilter leaves {} only", left.join(", "))
    }

    /// Whether a plugin's PreFilter named the only nodes worth looking at.
    #[must_use]
    pub fn is_narrowed(&self) -> bool {
        self.nodes.iter().any(NodeReport::is_left_out)
    }
}

impl NodeReport {
    fn is_left_out(&self) -> bool {
        matches!(&self.verdict, Verdict::Refused { reason, .. } if is_left_out(reason))
    }
}

fn is_left_out(reason: &str) -> bool {
    reason.starts_with("node(s) didn't satisfy plugin(s)")
}
