//! What the module knows of the cluster: nodes, what they have allocated, and what it placed itself meanwhile.
//!
//! Facts are kept from cycle to cycle and read again only where a decision hangs on them. Allocation comes from node
//! state ([`node_state`]); pods that the module placed and that node state does not count yet are in the ledger, an
//! entry per pod on its node. A node without readable node state is *unknown*: it gets no opinion, and is never taken
//! for an empty one.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod by_name;
mod clock;
pub mod counted_pod;
pub mod gangs;
mod gone;
mod late;
mod ledger;
pub mod left;
mod node;
mod node_load;
pub mod node_state;
pub mod pod_class;
pub mod pod_gang;
pub mod said;
mod survey;

#[cfg(test)]
mod tests;

pub use node::{Entry, Known, Node};
use node_load::Reading;
pub use node_load::{Footprint, NodeLoad, RAW_ALLOCATABLE, THRESHOLDS};
pub use node_state::{NodeState, Unknown};

use by_name::ByName;
use clock::Clock;
use late::Late;
use said::Said;

use crate::gather::Gather;
use crate::host::{Host, Severity};
use crate::object::ResourceNames;
use crate::reckon::Reckon;
use crate::sorted_map::SortedMap;

/// A node's place in the [`Cluster`], valid until the node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(u32);

impl NodeIndex {
    /// Position in a table with one row per node.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// The same as a number of 32 bits.
    #[must_use]
    pub fn row(self) -> u32 {
        self.0
    }
}

/// Most nodes that facts are kept of; Kubernetes supports 5,000.
const MAX_NODES: usize = 20_000;
/// A note about a pod.
#[derive(Clone, Copy, Debug)]
struct Noted {
    /// The node it is about: where the pod is, or which told that it is gone.
    at: NodeIndex,
    /// Of this note: the oldest has the least.
    number: u64,
}

/// Notes by the hash of the pod's UID, or half of it.
type Notes = SortedMap<u64, Noted>;

/// The pod of the oldest note, if there are so many.
fn beyond(notes: &Notes, most: usize) -> Option<u64> {
    if notes.len() < most {
        return None;
    }
    notes.iter().least(|(_, noted)| noted.number).map(|(uid, _)| *uid)
}

/// What the module knows of the cluster.
#[derive(Debug)]
pub struct Cluster {
    /// All resource names met so far.
    pub names: ResourceNames,
    nodes: Vec<Option<Node>>,
    free: Vec<NodeIndex>,
    by_name: ByName,
    /// Where each pod of the ledger is, by UID hash.
    placed: Notes,
    /// Pods that node states told to be gone, by short UID.
    gone: Notes,
    /// How many notes were made.
    notes: u64,
    /// What was said of nodes that cannot be read: they are met in every cycle, and nothing is kept of them.
    said: Said,
    /// Keys of node labels whose values are kept.
    tracked: Vec<Box<str>>,
    /// Keys of node labels that rules of pods look at.
    label_keys: Vec<Box<str>>,
    /// Members of gangs that node state counts, over all nodes; keyed as in node state.
    gang_members: SortedMap<Box<str>, u32>,
    /// Grows whenever something here changes.
    generation: u64,
    ledger_ms: i64,
    /// When node states were written.
    published: Clock,
    /// When crane measured.
    crane: Clock,
    /// When the youngest pod was created, milliseconds since 1970.
    created_ms: i64,
    /// What these come to: [`Cluster::clock_ms`] and [`Cluster::now_ms`].
    clock_ms: i64,
    now_ms: Option<i64>,
    late: Late,
    /// The zone of crane's annotator, in seconds east of Greenwich; `None` if its annotations are not read.
    crane_offset: Option<i32>,
    /// How many nodes bring thresholds of their own.
    own_thresholds: usize,
    cycle: u64,
    turn: usize,
}

impl Cluster {
    /// A cluster of which nothing is known. `tracked` are the keys of labels to keep of every node;
    /// `ledger_seconds` is how long a placed pod may stay uncounted.
    #[must_use]
    pub fn new(tracked: Vec<Box<str>>, ledger_seconds: u32) -> Self {
        Self {
            names: ResourceNames::default(),
            nodes: Vec::new(),
            free: Vec::new(),
            by_name: ByName::default(),
            placed: SortedMap::default(),
            gone: SortedMap::default(),
            notes: 0,
            said: Said::default(),
            tracked,
            label_keys: Vec::new(),
            gang_members: SortedMap::default(),
            generation: 0,
            ledger_ms: i64::from(ledger_seconds).times(1000),
            published: Clock::default(),
            crane: Clock::default(),
            created_ms: 0,
            clock_ms: 0,
            now_ms: None,
            late: Late::default(),
            crane_offset: None,
            own_thresholds: 0,
            cycle: 0,
            turn: 0,
        }
    }

    /// Begins a scheduling cycle: facts read from now on are fresh.
    pub fn begin_cycle(&mut self) {
        self.cycle = self.cycle.saturating_add(1);
    }

    /// The number of this cycle: the module's logical time.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Whether some node brings usage thresholds of its own.
    #[must_use]
    pub fn any_own_thresholds(&self) -> bool {
        self.own_thresholds > 0
    }

    /// The named node, if it is known.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.by_name.find(name, |at| self.node(at).map(|node| &*node.name))
    }

    /// A known node.
    #[must_use]
    #[inline(never)]
    pub fn node(&self, at: NodeIndex) -> Option<&Node> {
        self.nodes.get(at.index()).and_then(Option::as_ref)
    }

    /// All known nodes.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        self.nodes.iter().flatten().map(|node| (node.at, node))
    }

    /// The node in a row of a table with one row per node.
    #[must_use]
    pub fn at_row(&self, row: u32) -> Option<&Node> {
        self.node(NodeIndex(row))
    }

    /// Changes whenever something known of the cluster does.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// One more than the largest index in use: the size of a table with one row per node.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the node was read in this cycle.
    #[must_use]
    pub fn is_fresh(&self, at: NodeIndex) -> bool {
        self.node(at).is_some_and(|node| node.read_in == self.cycle)
    }

    /// Reads a node from the scheduler's snapshot, whether or not it is known. `None` if there is no such node (and
    /// what was known of it is forgotten) or if its object cannot be read.
    pub fn read(&mut self, host: &mut impl Host, name: &str) -> Option<NodeIndex> {
        let mut news = Vec::new();
        let bytes = host.node(name);
        let at = if bytes.is_empty() {
            if let Some(at) = self.find(name) {
                self.forget(at);
            }
            None
        } else {
            self.take_in(name, bytes, &mut news)
        };
        for line in news {
            host.log(Severity::Error, &line);
        }
        at
    }

    /// Reads a known node unless that was done in this cycle; `None` as for [`Cluster::read`].
    pub fn freshen(&mut self, host: &mut impl Host, at: NodeIndex) -> Option<NodeIndex> {
        if self.is_fresh(at) {
            return Some(at);
        }
        let name = self.node(at)?.name.clone();
        self.read(host, &name)
    }

    /// Notes what a node is now. What is worth a line in the log goes to `news`.
    fn take_in(&mut self, name: &str, bytes: &[u8], news: &mut Vec<String>) -> Option<NodeIndex> {
        let known = self.find(name);
        let digest = digest(bytes);
        if let Some(at) = known
            && let Some(node) = node_mut(&mut self.nodes, at)
            && node.digest == digest
        {
            node.read_in = self.cycle;
            self.settle(at);
            return known;
        }
        let at = known.or_else(|| self.next_index())?;
        let kept = (self.tracked.as_slice(), self.label_keys.as_slice());
        let reading = Reading { crane_offset: self.crane_offset, now: self.now_ms };
        let mut node = match Node::read(at, name, bytes, &mut self.names, kept, reading) {
            Ok(node) => node,
            Err(error) => {
                let line = say!("node ", name, ": cannot be read, it gets no opinion: ", error);
                if self.said.is_news(&line) {
                    news.push(line);
                }
                match known {
                    Some(at) => self.forget(at),
                    None => self.free.push(at),
                }
                return None;
            }
        };
        node.digest = digest;
        node.read_in = self.cycle;
        let mut before = self.nodes.get_mut(at.index()).and_then(Option::take);
        if let Some(why) = node.news(before.as_ref()) {
            news.push(say!("node ", name, ": allocation unknown, it gets no opinion: ", why));
        }
        self.note_load(news, before.as_ref(), &node);
        if let Some(state) = node.state() {
            for uid in &state.left {
                self.note_gone(*uid, at);
            }
        }
        self.count_gangs(before.as_ref(), Some(&node));
        for entry in before.as_mut().map(Node::take_entries).unwrap_or_default() {
            node.place(entry);
        }
        if known.is_none() {
            let others = self.nodes.iter().flatten().map(|node| (node.at, &*node.name));
            self.by_name.insert(name, at, others);
        }
        self.store(at, node);
        self.hear(at);
        self.settle(at);
        Some(at)
    }

    fn changed(&mut self) {
        self.generation = self.generation.saturating_add(1);
    }

    /// Reads up to `count` known nodes again, in turn.
    pub fn refresh(&mut self, host: &mut impl Host, count: u32) {
        for _ in 0..count.min(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)) {
            self.turn = self.turn.checked_add(1).filter(|turn| *turn < self.nodes.len()).unwrap_or(0);
            if let Some(at) = self.nodes.get(self.turn).and_then(Option::as_ref).map(|node| node.at) {
                self.freshen(host, at);
            }
        }
    }

    fn note_load(&mut self, news: &mut Vec<String>, before: Option<&Node>, node: &Node) {
        let own = |node: &Node| usize::from(node.has_own_thresholds());
        self.own_thresholds = self.own_thresholds.saturating_sub(before.map_or(0, own)).saturating_add(own(node));
        if node.load.broken_thresholds && before.is_none_or(|before| !before.load.broken_thresholds) {
            let name = &node.name;
            news.push(say!("node ", name, ": ", THRESHOLDS, " cannot be read, the policy's hold"));
        }
    }

    fn next_index(&mut self) -> Option<NodeIndex> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        let at = NodeIndex(u32::try_from(self.nodes.len()).ok()?);
        self.nodes.push(None);
        Some(at)
    }

    fn store(&mut self, at: NodeIndex, node: Node) {
        if let Some(slot) = self.nodes.get_mut(at.index()) {
            *slot = Some(node);
        }
        self.changed();
    }

    fn forget(&mut self, at: NodeIndex) {
        let Some(node) = self.nodes.get_mut(at.index()).and_then(Option::take) else { return };
        self.hear(at);
        self.count_gangs(Some(&node), None);
        self.changed();
        if node.has_own_thresholds() {
            self.own_thresholds = self.own_thresholds.saturating_sub(1);
        }
        for entry in node.entries() {
            self.placed.remove(&entry.uid);
        }
        self.free.push(at);
    }
}

/// A known node, to be changed; of the nodes alone, so that the rest of the cluster can be read meanwhile.
fn node_mut(nodes: &mut [Option<Node>], at: NodeIndex) -> Option<&mut Node> {
    nodes.get_mut(at.index())?.as_mut()
}

/// Folds bytes into a hash, eight at a time. Not for input that an attacker chooses to collide.
///
/// A product alone carries nothing downwards: names that differ in the last digits only would share their hash.
fn digest(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, word: u64| {
        let product = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        product ^ (product >> 32)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let seed = u64::try_from(bytes.len()).unwrap_or(0);
    let hash = words.iter().fold(seed, |hash, word| fold(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| fold(hash, u64::from(*byte)))
}
