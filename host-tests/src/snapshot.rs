//! A cluster that stands still, for asking a module call by call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::framework::Handle;
use crate::object::{NodeObject, PodObject};
use crate::scheduler::handle::LogSink;

/// The nodes that a module's calls see. It offers nothing else of the scheduler.
pub struct Snapshot {
    nodes: RefCell<Vec<Rc<NodeObject>>>,
    /// Where each node is, by name.
    places: RefCell<HashMap<String, usize>>,
    log: LogSink,
}

impl Snapshot {
    /// A cluster without nodes. The module's log lines go to `log`.
    #[must_use]
    pub fn new(log: LogSink) -> Self {
        Self { nodes: RefCell::default(), places: RefCell::default(), log }
    }

    /// Adds or replaces a node.
    pub fn set(&self, node: NodeObject) {
        let (mut nodes, mut places) = (self.nodes.borrow_mut(), self.places.borrow_mut());
        if let Some(at) = places.get(node.name()) {
            nodes[*at] = Rc::new(node);
        } else {
            places.insert(node.name().to_owned(), nodes.len());
            nodes.push(Rc::new(node));
        }
    }

    /// Takes a node away.
    pub fn remove(&self, name: &str) {
        let (mut nodes, mut places) = (self.nodes.borrow_mut(), self.places.borrow_mut());
        nodes.retain(|node| node.name() != name);
        *places = nodes.iter().enumerate().map(|(at, node)| (node.name().to_owned(), at)).collect();
    }
}

impl Handle for Snapshot {
    fn node(&self, name: &str) -> Option<Rc<NodeObject>> {
        let at = *self.places.borrow().get(name)?;
        self.nodes.borrow().get(at).cloned()
    }

    fn nodes(&self) -> Vec<Rc<NodeObject>> {
        self.nodes.borrow().clone()
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

    fn log(&self, severity: i32, message: &str) {
        (self.log)(severity, message);
    }
}
