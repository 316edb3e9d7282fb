//! A module whose answers are noted down.

use std::cell::RefCell;
use std::rc::Rc;

use stowage_host::framework::{ClusterEvent, Code, Interfaces, Plugin, Status};
use stowage_host::host::WasmPlugin;
use stowage_host::object::{NodeObject, PodObject};

/// Answers in the order in which they were given.
pub type Answers = Rc<RefCell<Vec<Answer>>>;

/// What PreFilter, Filter or Reserve said.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The pod's name.
    pub pod: String,
    /// The extension point.
    pub point: &'static str,
    pub status: Status,
}

/// The module, and where its answers are noted.
pub struct Recorder {
    pub module: WasmPlugin,
    pub answers: Answers,
}

impl Recorder {
    fn note(&self, pod: &PodObject, point: &'static str, status: &Status) {
        self.answers.borrow_mut().push(Answer { pod: pod.name().to_owned(), point, status: status.clone() });
    }
}

impl Plugin for Recorder {
    fn interfaces(&self) -> Interfaces {
        self.module.interfaces()
    }
    fn events_to_register(&mut self) -> anyhow::Result<Vec<ClusterEvent>> {
        self.module.events_to_register()
    }
    fn pre_filter(&mut self, pod: &Rc<PodObject>) -> (Option<Vec<String>>, Status) {
        let (nodes, status) = self.module.pre_filter(pod);
        self.note(pod, "PreFilter", &status);
        (nodes, status)
    }
    fn add_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        self.module.add_pod(pod, target, node)
    }
    fn remove_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        self.module.remove_pod(pod, target, node)
    }
    fn filter(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        let status = self.module.filter(pod, node);
        self.note(pod, "Filter", &status);
        status
    }
    fn post_filter(&mut self, pod: &Rc<PodObject>, statuses: &[(String, Code)]) -> (Option<String>, Status) {
        self.module.post_filter(pod, statuses)
    }
    fn pre_score(&mut self, pod: &Rc<PodObject>, nodes: &[Rc<NodeObject>]) -> Status {
        self.module.pre_score(pod, nodes)
    }
    fn score(&mut self, pod: &Rc<PodObject>, node: &str) -> (i64, Status) {
        self.module.score(pod, node)
    }
    fn normalize_score(&mut self, pod: &Rc<PodObject>, scores: &mut Vec<(String, i64)>) -> Status {
        self.module.normalize_score(pod, scores)
    }
    fn reserve(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        let status = self.module.reserve(pod, node);
        self.note(pod, "Reserve", &status);
        status
    }
    fn unreserve(&mut self, pod: &Rc<PodObject>, node: &str) {
        self.module.unreserve(pod, node);
    }
    fn permit(&mut self, pod: &Rc<PodObject>, node: &str) -> (Status, u32) {
        self.module.permit(pod, node)
    }
    fn pre_bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        self.module.pre_bind(pod, node)
    }
    fn bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        self.module.bind(pod, node)
    }
    fn post_bind(&mut self, pod: &Rc<PodObject>, node: &str) {
        self.module.post_bind(pod, node);
    }
}
