//! Which nodes are read again before they are refused.
//!
//! A refusal from memory may rest on what has changed since, but reading a node costs more than judging it, so each cycle
//! has a number of reads for it. The scheduler asks about nodes in the same order whenever a pod comes back: if those it
//! asks about first took all the reads, a pod would wait for ever while a node further on has long become fit. So half
//! of the reads are for nodes drawn anew in every cycle.

use crate::cluster::NodeIndex;

/// The reads of a cycle.
#[derive(Debug, Default)]
pub struct Rereads {
    per_cycle: u32,
    /// Left for the nodes drawn, and for any.
    drawn: u32,
    any: u32,
    /// The nodes drawn: as many as reads are for them, from this one on, in a circle of all nodes.
    from: u64,
    nodes: u64,
}

impl Rereads {
    /// So many a cycle.
    pub fn new(per_cycle: u32) -> Self {
        Self { per_cycle, ..Self::default() }
    }

    /// A cycle begins; `nodes` is one more than the largest index in use.
    pub fn begin(&mut self, cycle: u64, nodes: usize) {
        self.drawn = self.most_drawn();
        self.any = self.per_cycle.saturating_sub(self.drawn);
        self.nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        // Multiples of the golden ratio: close to even however many cycles of other pods lie between two of one pod.
        let drawn = cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.from = drawn.checked_rem(self.nodes).unwrap_or(0);
    }

    /// How many nodes are drawn in a cycle.
    fn most_drawn(&self) -> u32 {
        self.per_cycle.div_ceil(2)
    }

    /// Whether this node is read again. Takes one of the reads.
    pub fn take(&mut self, at: NodeIndex) -> bool {
        let ahead = u64::from(at.row()).saturating_add(self.nodes).saturating_sub(self.from);
        let ahead = ahead.checked_rem(self.nodes).unwrap_or(0);
        let left = if self.drawn > 0 && ahead < u64::from(self.most_drawn()) { &mut self.drawn } else { &mut self.any };
        let taken = *left > 0;
        *left = left.saturating_sub(1);
        taken
    }
}
