//! What the loop offers to its plugin: the cache of this cycle, the waiting pods, a place for logs and events.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::Time;
use super::cache::Cache;
use super::pod::{PodInfo, Uid};
use crate::framework::Handle;
use crate::object::{NodeObject, PodObject};

/// Takes the module's log lines: klog severity and text.
pub type LogSink = Rc<dyn Fn(i32, &str)>;

/// A pod that Permit told to wait.
#[derive(Debug)]
pub struct WaitingPod {
    /// The pod, with the node it waits to be bound to.
    pub info: Rc<PodInfo>,
    /// When it is rejected if nobody does so before.
    pub deadline: Time,
    /// Set once it is rejected.
    pub rejected: Cell<bool>,
}

/// State that the loop and its plugin share. The loop changes it between calls into the plugin only.
pub struct SchedulerHandle {
    /// The cluster.
    pub cache: RefCell<Cache>,
    /// Pods that wait in Permit.
    pub waiting: RefCell<BTreeMap<Uid, WaitingPod>>,
    /// Events that the plugin recorded, as the host's JSON.
    pub recorded: RefCell<Vec<String>>,
    log: LogSink,
}

impl SchedulerHandle {
    /// An empty cluster.
    #[must_use]
    pub fn new(log: LogSink) -> Self {
        Self { cache: RefCell::default(), waiting: RefCell::default(), recorded: RefCell::default(), log }
    }
}

impl fmt::Debug for SchedulerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerHandle")
            .field("cache", &self.cache)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl Handle for SchedulerHandle {
    fn node(&self, name: &str) -> Option<Rc<NodeObject>> {
        self.cache.borrow().node(name).map(|node| node.object.clone())
    }

    fn nodes(&self) -> Vec<Rc<NodeObject>> {
        self.cache.borrow().nodes().iter().map(|node| node.object.clone()).collect()
    }

    fn image_states(&self, node: &str) -> String {
        if self.cache.borrow().node(node).is_some() { "{}".to_owned() } else { "null".to_owned() }
    }

    fn reject_waiting_pod(&self, uid: &str) -> bool {
        let waiting = self.waiting.borrow();
        let pod = waiting.get(uid);
        pod.inspect(|pod| pod.rejected.set(true)).is_some()
    }

    fn waiting_pod(&self, uid: &str) -> Option<Rc<PodObject>> {
        self.waiting.borrow().get(uid).map(|pod| pod.info.object.clone())
    }

    fn record_event(&self, event: &str) {
        self.recorded.borrow_mut().push(event.to_owned());
    }

    fn log(&self, severity: i32, message: &str) {
        (self.log)(severity, message);
    }
}
