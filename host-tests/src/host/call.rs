//! What one call of the guest is about and what it answered, and the rest of what imports need.

use std::rc::Rc;

use wasmtime::Memory;

use super::engine::MemoryLimit;
use super::imports::Wasi;
use crate::framework::{Code, Handle};
use crate::object::{NodeObject, PodObject};

/// Parameters and results of one call; they travel through imports, since exports carry numbers only.
#[derive(Default)]
pub(super) struct Call {
    pub(super) pod: Option<Rc<PodObject>>,
    pub(super) target: Option<Rc<PodObject>>,
    pub(super) node: String,
    pub(super) filtered_nodes: Vec<Rc<NodeObject>>,
    pub(super) statuses: Vec<(String, Code)>,
    pub(super) scores: Vec<(String, i64)>,

    pub(super) events: Vec<(u32, u32)>,
    /// `None` if the guest named no node.
    pub(super) node_names: Option<Vec<String>>,
    pub(super) nominated_node: String,
    pub(super) reason: String,
    pub(super) normalized_scores: Vec<(String, i64)>,
}

impl Call {
    /// An empty call that keeps its buffers.
    pub(super) fn reset(&mut self) {
        self.pod = None;
        self.target = None;
        self.node.clear();
        self.filtered_nodes.clear();
        self.statuses.clear();
        self.scores.clear();
        self.events.clear();
        self.node_names = None;
        self.nominated_node.clear();
        self.reason.clear();
        self.normalized_scores.clear();
    }
}

/// What every instance of a plugin shares.
pub(super) struct Shared {
    pub(super) config: String,
    pub(super) handle: Rc<dyn Handle>,
    pub(super) log_severity: i32,
    pub(super) args: Vec<String>,
}

impl Default for Shared {
    /// For looking at modules without running them.
    fn default() -> Self {
        Self { config: String::new(), handle: Rc::new(NoScheduler), log_severity: 0, args: Vec::new() }
    }
}

/// A scheduler without nodes.
struct NoScheduler;

impl Handle for NoScheduler {
    fn node(&self, _: &str) -> Option<Rc<NodeObject>> {
        None
    }
    fn nodes(&self) -> Vec<Rc<NodeObject>> {
        Vec::new()
    }
    fn image_states(&self, _: &str) -> String {
        "null".to_owned()
    }
    fn reject_waiting_pod(&self, _: &str) -> bool {
        false
    }
    fn waiting_pod(&self, _: &str) -> Option<Rc<PodObject>> {
        None
    }
    fn record_event(&self, _: &str) {}
    fn log(&self, _: i32, _: &str) {}
}

/// What the imports of one instance work on.
pub(super) struct State {
    pub(super) shared: Rc<Shared>,
    pub(super) call: Call,
    /// The guest's memory, known once it is instantiated.
    pub(super) memory: Option<Memory>,
    pub(super) memory_limit: MemoryLimit,
    pub(super) wasi: Wasi,
    /// What the guest wrote to stdout and stderr during this call.
    pub(super) output: Vec<u8>,
}

impl State {
    pub(super) fn new(shared: Rc<Shared>, memory_limit: usize) -> Self {
        Self {
            shared,
            call: Call::default(),
            memory: None,
            memory_limit: MemoryLimit(memory_limit),
            wasi: Wasi::default(),
            output: Vec::new(),
        }
    }

    /// More output than this of one call is dropped; upstream would keep it.
    const MAX_OUTPUT: usize = 1 << 20;

    pub(super) fn print(&mut self, bytes: &[u8]) {
        let room = Self::MAX_OUTPUT.saturating_sub(self.output.len());
        self.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
