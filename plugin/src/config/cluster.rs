//! `cluster`: how the module keeps what it knows of nodes.

use serde::Deserialize;

use super::Faults;

/// How the module keeps what it knows of nodes.
///
/// Reading a node costs the scheduler about 5 µs, so facts are kept from cycle to cycle. In each cycle the module reads
/// nodes it has never seen, the best-scored ones (until the winner is fresh), and a few more in turn.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterOptions {
    /// Nodes read again in turn in every cycle, 0 to 10000. Default 32.
    pub refresh_per_cycle: u32,
    /// Best-scored nodes read again before a decision, 1 to 1000. Default 8.
    pub verify_per_cycle: u32,
    /// After how many seconds a pod that the module placed is forgotten if node state never counted it: it was deleted
    /// before the publisher saw it. 10 to 3600, more than the publisher's worst lag. Default 120.
    pub ledger_seconds: u32,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { refresh_per_cycle: 32, verify_per_cycle: 8, ledger_seconds: 120 }
    }
}

impl ClusterOptions {
    pub(super) fn validate(&self, faults: &mut Faults) {
        for (path, value, least, most) in [
            ("cluster.refreshPerCycle", self.refresh_per_cycle, 0, 10_000),
            ("cluster.verifyPerCycle", self.verify_per_cycle, 1, 1000),
            ("cluster.ledgerSeconds", self.ledger_seconds, 10, 3600),
        ] {
            if !(least..=most).contains(&value) {
                faults.push(path, format!("{value} is out of range, allowed are {least} to {most}"));
            }
        }
    }
}
