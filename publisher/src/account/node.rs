//! One node: what is on it, and what its annotation said last.

use stowage::cluster::left::Left;
use stowage::cluster::node_state::{ANNOTATION, NodeState, Usage, uid_hash};
use stowage::object::Metadata;

use crate::usage::Meter;

use super::PodKey;

/// What is known of a node.
#[derive(Debug, Default)]
pub(super) struct NodeRecord {
    /// `None`: pods name the node, but the API server has none of that name (yet, or any more).
    uid: Option<Box<str>>,
    pub pods: Vec<PodKey>,
    pub left: Left,
    /// By [`Meter`].
    usage: [Option<Usage>; 2],
    /// When the next of the pods that no measurement contains will have run long enough.
    pub blind_until: Option<i64>,
    /// The list that the node was in last.
    pub list: u32,
    /// [`content`] of the annotation that the API server has, as far as is known; `None` if it is missing or broken.
    published: Option<u64>,
    /// When that annotation was written.
    published_at: i64,
    /// [`content`] of the draft that was made last, to know an answer of the API server that overtakes the other.
    drafted: Option<u64>,
    /// The newest resource version seen, of an event or of a write.
    version: u64,
}

/// A document to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The node it is meant for. A write that names it cannot create or hit another node of that name.
    pub uid: String,
    /// The annotation's value.
    pub text: String,
    content: u64,
    at: i64,
}

/// What an event of a node brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeNews {
    /// Nothing that matters here.
    Same,
    /// A node that was not there.
    New,
    /// Somebody else changed the annotation.
    Altered,
}

/// How far ahead of ours another replica's clock may be.
const SKEW_MS: i64 = 60_000;
/// How far Koordinator's measurements, one a minute by default, may be behind the metrics API's.
const LATE_MS: i64 = 180_000;

impl NodeRecord {
    pub fn exists(&self) -> bool {
        self.uid.is_some()
    }

    /// Neither object nor pods: not worth a record.
    pub fn is_nothing(&self) -> bool {
        self.uid.is_none() && self.pods.is_empty()
    }

    pub fn forget_object(&mut self) {
        *self = Self { pods: std::mem::take(&mut self.pods), list: self.list, ..Self::default() };
    }

    /// Takes note of the node's object.
    pub fn observe(&mut self, meta: &Metadata<'_>, now_ms: i64) -> NodeNews {
        let known = self.uid.as_deref() == Some(meta.uid);
        if !known {
            self.forget_object();
            self.uid = Some(meta.uid.into());
        }
        // An event from before our own write tells nothing of it. Should a version not be a number, all events count:
        // the price is a write too many.
        let version = meta.resource_version.parse().unwrap_or(u64::MAX);
        if version < self.version {
            return NodeNews::Same;
        }
        if version != u64::MAX {
            self.version = version;
        }
        // As it was written, to the byte: what else somebody puts into it would stay for ever.
        let read = |text| NodeState::parse(text).ok().filter(|state| state.to_json() == text);
        // A time to come would make the module take everything for old.
        let soon = now_ms.saturating_add(SKEW_MS);
        let found = meta.annotation(ANNOTATION).and_then(read).filter(|state| state.at <= soon);
        if !known && let Some(state) = &found {
            // A publisher that has just started knows no less than the one before it.
            if let Some(usage) = &state.usage {
                self.measured(Meter::Metrics, usage, now_ms, 0);
            }
            for uid in &state.left {
                self.left.note_uid(*uid, state.at);
            }
        }
        let at = found.as_ref().map_or(0, |state| state.at);
        let published = found.map(content);
        let altered = published != self.published && published != self.drafted;
        let changed = published != self.published;
        (self.published, self.published_at) = (published, at);
        match (known, altered, changed) {
            (false, ..) => NodeNews::New,
            (true, true, _) => NodeNews::Altered,
            (true, false, _) => NodeNews::Same,
        }
    }

    /// What is measured here. Koordinator's mean of some minutes counts before the metrics API's of some seconds, unless
    /// it has fallen behind.
    pub fn usage(&self) -> Option<&Usage> {
        let [metrics, koordinator] = &self.usage;
        let late = |mean: &Usage, usage: &Usage| usage.at.saturating_sub(mean.at) > LATE_MS;
        match (metrics, koordinator) {
            (Some(metrics), Some(koordinator)) if late(koordinator, metrics) => Some(metrics),
            (metrics, koordinator) => koordinator.as_ref().or(metrics.as_ref()),
        }
    }

    /// Takes note of a measurement; answers whether the annotation is due for it.
    pub fn measured(&mut self, meter: Meter, usage: &Usage, now_ms: i64, heartbeat_ms: i64) -> bool {
        let first = self.usage().is_none();
        let known = &mut self.usage[meter as usize];
        // What is measured at a time to come is measured by a clock that is wrong: it would pass for fresh for ever.
        let believed = usage.at <= now_ms.saturating_add(SKEW_MS);
        if !believed || known.as_ref().is_some_and(|known| known.at >= usage.at) {
            return false;
        }
        *known = Some(usage.clone());
        first || now_ms.saturating_sub(self.published_at) >= heartbeat_ms
    }

    /// Forgets a measurement; answers whether there was one.
    pub fn unmeasured(&mut self, meter: Meter) -> bool {
        self.usage[meter as usize].take().is_some()
    }

    /// The document to write, if the annotation does not say the same already.
    pub fn draft(&mut self, mut state: NodeState) -> Option<Draft> {
        let at = state.at;
        let content = content(state.clone());
        self.drafted = Some(content);
        if self.published == Some(content) {
            return None;
        }
        // Two documents of one node never bear the same time, nor does a later one bear an earlier.
        state.at = at.max(self.published_at.saturating_add(1));
        Some(Draft { uid: self.uid.as_deref()?.to_owned(), text: state.to_json(), content, at: state.at })
    }

    /// Takes note of a write, unless a newer object has been seen meanwhile.
    pub fn written(&mut self, draft: &Draft, version: &str) {
        let version = version.parse().unwrap_or(self.version);
        if self.uid.as_deref() == Some(&draft.uid) && version >= self.version {
            (self.version, self.published, self.published_at) = (version, Some(draft.content), draft.at);
        }
    }
}

/// What a document says, whenever it was written.
fn content(mut state: NodeState) -> u64 {
    state.at = 0;
    uid_hash(&state.to_json())
}
