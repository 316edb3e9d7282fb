//! Pods that are gone, by what node states say of those that left.
//!
//! The scheduler tells the module of attempts only, and nothing of a pending pod that is deleted. A gang that counted it
//! on would start without it.

use super::node_state::short;
use super::{Cluster, NodeIndex, Noted, beyond};

/// So many are remembered, the latest.
const MAX_GONE: usize = 4096;

impl Cluster {
    /// The node's state says that the pod is gone.
    pub(super) fn note_gone(&mut self, short_uid: u32, at: NodeIndex) {
        if let Some(oldest) = beyond(&self.gone, MAX_GONE) {
            self.gone.remove(&oldest);
        }
        self.notes = self.notes.saturating_add(1);
        self.gone.insert(short_uid.into(), Noted { at, number: self.notes });
    }

    /// Whether the pod with this hash of its UID is gone.
    #[must_use]
    pub fn is_gone(&self, uid_hash: u64) -> bool {
        self.gone.contains_key(&short(uid_hash).into())
    }

    /// The scheduler tries the pod, so it was another that was meant: short UIDs are not unique.
    pub fn is_there(&mut self, uid_hash: u64) {
        self.gone.remove(&short(uid_hash).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_and_the_bound_holds() {
        let mut cluster = Cluster::new(Vec::new(), 120);
        let uid = |number: u32| number.wrapping_mul(2_654_435_761);
        for number in 0..10_000 {
            cluster.note_gone(uid(number), NodeIndex(0));
            cluster.note_gone(uid(number), NodeIndex(1));
            assert!(cluster.gone.len() <= MAX_GONE);
        }
        let is_gone = |number| cluster.is_gone(u64::from(uid(number)) | 7 << 32);
        assert!((10_000 - 4_000..10_000).all(is_gone));
        assert!(!is_gone(1) && !is_gone(10_001));
    }

    #[test]
    fn whoever_comes_is_there() {
        let mut cluster = Cluster::new(Vec::new(), 120);
        cluster.note_gone(5, NodeIndex(0));
        cluster.is_there(5 | 1 << 40);
        assert!(!cluster.is_gone(5));
    }
}
