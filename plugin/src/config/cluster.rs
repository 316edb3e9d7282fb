//! `cluster`: how the module keeps what it knows of nodes.

use super::fields::{Fields, Section};

/// How the module keeps what it knows of nodes.
///
/// Reading a node costs the scheduler about 5 µs, so facts are kept from cycle to cycle. In each cycle the module reads
/// nodes it has never seen, the best-scored ones (until the winner is fresh), and a few more in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct ClusterOptions {
    /// Nodes read again in turn in every cycle, 0 to 10000. Default 32.
    #[cfg_attr(feature = "schema", schemars(range(max = 10_000)))]
    pub refresh_per_cycle: u32,
    /// Best-scored nodes read again before a decision, 1 to 1000. Default 8.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub verify_per_cycle: u32,
    /// After how many seconds a pod that the module placed is forgotten if node state never counted it: it was deleted
    /// before the publisher saw it. 10 to 3600, more than the publisher's worst lag. Default 120.
    #[cfg_attr(feature = "schema", schemars(range(min = 10, max = 3600)))]
    pub ledger_seconds: u32,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { refresh_per_cycle: 32, verify_per_cycle: 8, ledger_seconds: 120 }
    }
}

impl Section for ClusterOptions {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.number("refreshPerCycle", &mut self.refresh_per_cycle, 0..=10_000);
        fields.number("verifyPerCycle", &mut self.verify_per_cycle, 1..=1000);
        fields.number("ledgerSeconds", &mut self.ledger_seconds, 10..=3600);
    }
}
