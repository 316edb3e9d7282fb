//! Whether node state may be older than what a module before this one placed.
//!
//! A fresh module has an empty ledger. What the one before it placed last is in no ledger and, where node state is late,
//! in no node state either: nodes look freer than they are. For a pod by itself the scheduler knows better. For a gang it
//! does not: it says of one member at a time whether there is room. So until node state has caught up, a node counts for
//! one member, as if nothing were known of it.
//!
//! That there was a module before this one shows in pods that a scheduler has turned away and that this module has never
//! seen. Node state has caught up when it counts a pod that this module placed, since the publisher learns of bindings in
//! their order, or when documents have been written for longer than they are ever late. Where none is written, and none
//! is due for a pod that this module placed, gangs wait for some rounds and no longer.

use super::Cluster;
use crate::reckon::Reckon;

/// How late node state may be, in milliseconds.
const LATEST_MS: i64 = 30_000;

/// What is known of that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Late {
    /// There was a module before this one.
    succeeds: bool,
    /// Node state has caught up.
    caught_up: bool,
    /// The latest that had been written when all nodes had first been read.
    read_ms: Option<i64>,
    /// The first that was written after that.
    since_ms: Option<i64>,
}

impl Cluster {
    /// Whether node state may be older than what was placed before this module started.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late.succeeds && !self.late.caught_up
    }

    /// Another module turned pods away before this one started.
    pub fn succeeds_another(&mut self) {
        if !self.late.succeeds {
            self.late.succeeds = true;
            self.changed();
        }
    }

    /// Whether to take node state as it is: it counts a pod that this module placed, or nothing is to be expected of it, or
    /// the question is what would be if.
    pub fn believe(&mut self, believe: bool) {
        self.late.caught_up = believe;
        self.changed();
    }

    /// All nodes have been read.
    pub(super) fn all_read(&mut self) {
        self.late.read_ms.get_or_insert(self.clock_ms);
    }

    /// The clock may have moved.
    pub(super) fn tell_late(&mut self) {
        let now = self.clock_ms;
        if self.late.read_ms.is_some_and(|read| read != now) {
            let since = *self.late.since_ms.get_or_insert(now);
            self.late.caught_up |= now.minus(since) >= LATEST_MS;
        }
    }
}
