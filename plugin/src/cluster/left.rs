//! Pods that have left a node soon after they came.
//!
//! A scheduler that placed one may never see a document that counts it, since only the newest is there to be read, and
//! would hold its place on. Whoever has been there for longer than [`SHORT_MS`] needs no mention: node states have been
//! written since that should have counted it. The publisher on a cluster and the simulated one both keep this.
//!
//! Members of gangs that were deleted while they waited had no node to leave. They are mentioned on any that has room for
//! it: a scheduler tells a module nothing of them, and their gang would start without them. That is for twice as long, since
//! the module looks when others of the gang are tried, which takes them more than [`SHORT_MS`] where nothing else happens.

use alloc::vec::Vec;

use super::node_state::short;
use crate::gather::Gather;

/// How long a pod has to stay on a node for its end to need no mention.
const SHORT_MS: i64 = 5 * 60 * 1000;
/// Most pods that are mentioned, the latest.
const MOST: usize = 64;

/// Who has left a node, in that order, and a time: [`SHORT_MS`] after it nobody needs to be told any more. `None` before it
/// is first told.
#[derive(Debug, Default)]
pub struct Left(Vec<(u32, Option<i64>)>);

impl Left {
    /// A pod with this hash of its UID, which was placed at `placed_ms`, is gone; answers whether that is news.
    pub fn note(&mut self, uid_hash: u64, placed_ms: i64) -> bool {
        self.note_uid(short(uid_hash), placed_ms)
    }

    /// A pod that was deleted while it waited is to be mentioned here, from the next document on.
    pub fn note_waiting(&mut self, uid_hash: u64) {
        self.add(short(uid_hash), None);
    }

    /// Whether another pod can be mentioned without one less.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.0.len() < MOST
    }

    /// The same by its short UID.
    pub fn note_uid(&mut self, uid: u32, placed_ms: i64) -> bool {
        self.add(uid, Some(placed_ms))
    }

    fn add(&mut self, uid: u32, since_ms: Option<i64>) -> bool {
        let news = self.0.iter().all(|(known, _)| *known != uid);
        if news {
            self.0.push((uid, since_ms));
            self.0.drain(..self.0.len().saturating_sub(MOST));
        }
        news
    }

    /// Who is to be mentioned in a document that is written now; forgets the others.
    pub fn at(&mut self, now_ms: i64) -> Vec<u32> {
        let told_ms = now_ms.saturating_add(SHORT_MS);
        self.0.retain_mut(|(_, since_ms)| now_ms < since_ms.get_or_insert(told_ms).saturating_add(SHORT_MS));
        self.0.iter().map(|(uid, _)| *uid).gather()
    }
}
