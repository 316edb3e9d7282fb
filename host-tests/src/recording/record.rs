//! Writing a recording.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::rc::Rc;

use anyhow::Context as _;

use super::{Answer, Call, Line, export};
use crate::framework::{ClusterEvent, Code, EventResource, Handle, Interfaces, Plugin, Status};
use crate::object::{NodeObject, PodObject};

/// Where a recording goes.
pub struct Tape {
    out: Box<dyn Write>,
    /// What could not be written; nothing is written after it.
    fault: Option<std::io::Error>,
    calls: u64,
    /// Lines of pods, by object. The objects are kept, so that no other takes their address.
    pods: HashMap<*const PodObject, (usize, Rc<PodObject>)>,
    nodes: HashMap<String, Rc<NodeObject>>,
}

impl Tape {
    /// An empty recording of a module with this configuration.
    #[must_use]
    pub fn new(out: Box<dyn Write>, policy: &str) -> Self {
        let mut tape = Self { out, fault: None, calls: 0, pods: HashMap::new(), nodes: HashMap::new() };
        tape.write(&Line::Recording { schema_version: "v1".to_owned(), policy: policy.to_owned() });
        tape
    }

    /// Ends the recording; answers the number of calls in it.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn finish(&mut self) -> anyhow::Result<u64> {
        self.write(&Line::End(self.calls));
        let fault = self.fault.take().or_else(|| self.out.flush().err());
        fault.map_or(Ok(self.calls), Err).context("cannot write the recording")
    }

    fn write(&mut self, line: &Line) {
        if self.fault.is_none() {
            let mut bytes = serde_json::to_vec(line).expect("lines have string keys only");
            bytes.push(b'\n');
            self.fault = self.out.write_all(&bytes).err();
        }
    }

    fn pod(&mut self, pod: &Rc<PodObject>) -> usize {
        let key = Rc::as_ptr(pod);
        if let Some((number, _)) = self.pods.get(&key) {
            return *number;
        }
        self.write(&Line::Pod(pod.json()));
        let number = self.pods.len();
        self.pods.insert(key, (number, Rc::clone(pod)));
        number
    }

    /// Writes what has changed of the nodes. The scheduler's snapshot is the same for a whole cycle.
    fn snapshot(&mut self, handle: &dyn Handle) {
        let nodes = handle.nodes();
        for node in &nodes {
            if self.nodes.get(node.name()).is_none_or(|known| !Rc::ptr_eq(known, node)) {
                self.write(&Line::Node(serde_json::to_value(&node.node).expect("nodes have string keys only")));
                self.nodes.insert(node.name().to_owned(), Rc::clone(node));
            }
        }
        if nodes.len() != self.nodes.len() {
            let there: std::collections::HashSet<&str> = nodes.iter().map(|node| node.name()).collect();
            let mut gone: Vec<String> =
                self.nodes.keys().filter(|name| !there.contains(name.as_str())).cloned().collect();
            gone.sort();
            for name in gone {
                self.nodes.remove(&name);
                self.write(&Line::NodeGone(name));
            }
        }
    }

    fn call(&mut self, call: Call) {
        self.calls += 1;
        self.write(&Line::Call(Box::new(call)));
    }
}

/// A plugin whose calls are recorded.
pub struct Recorder {
    plugin: Box<dyn Plugin>,
    handle: Rc<dyn Handle>,
    tape: Rc<RefCell<Tape>>,
}

impl Recorder {
    /// Records the calls of a plugin that has just started.
    #[must_use]
    pub fn new(plugin: Box<dyn Plugin>, handle: Rc<dyn Handle>, tape: Rc<RefCell<Tape>>) -> Self {
        tape.borrow_mut().write(&Line::Start);
        Self { plugin, handle, tape }
    }

    fn snapshot(&self) {
        self.tape.borrow_mut().snapshot(&*self.handle);
    }

    fn call(&self, export: &str, pod: &Rc<PodObject>, node: Option<&str>, answer: Answer) {
        self.write(export, pod, |call| call.node = node.map(ToOwned::to_owned), answer);
    }

    fn write(&self, export: &str, pod: &Rc<PodObject>, fill: impl FnOnce(&mut Call), answer: Answer) {
        let mut tape = self.tape.borrow_mut();
        let mut call = Call { pod: Some(tape.pod(pod)), ..empty(export, answer) };
        fill(&mut call);
        tape.call(call);
    }

    fn target(&self, export: &str, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str, status: &Status) {
        let target = self.tape.borrow_mut().pod(target);
        let fill = |call: &mut Call| (call.target, call.node) = (Some(target), Some(node.to_owned()));
        self.write(export, pod, fill, status.clone().into());
    }
}

fn empty(export: &str, answer: Answer) -> Call {
    Call {
        export: export.to_owned(),
        pod: None,
        target: None,
        node: None,
        nodes: Vec::new(),
        statuses: Vec::new(),
        scores: Vec::new(),
        answer,
    }
}

/// What a plugin wants to hear of, as an answer.
pub(super) fn events(events: &[ClusterEvent]) -> Answer {
    let number = |resource| match resource {
        EventResource::Pod => 0,
        EventResource::Node => 1,
        EventResource::Other(other) => other.into(),
        EventResource::Any => -1,
    };
    let events = events.iter().map(|event| (number(event.resource), event.action)).collect();
    Answer { events: Some(events), ..Answer::default() }
}

impl Plugin for Recorder {
    fn interfaces(&self) -> Interfaces {
        self.plugin.interfaces()
    }

    fn events_to_register(&mut self) -> anyhow::Result<Vec<ClusterEvent>> {
        self.snapshot();
        let registered = self.plugin.events_to_register()?;
        self.tape.borrow_mut().call(empty(export::ENQUEUE, events(&registered)));
        Ok(registered)
    }

    fn pre_filter(&mut self, pod: &Rc<PodObject>) -> (Option<Vec<String>>, Status) {
        self.snapshot();
        let (nodes, status) = self.plugin.pre_filter(pod);
        let answer = Answer { nodes: nodes.clone(), ..status.clone().into() };
        self.call(export::PRE_FILTER, pod, None, answer);
        (nodes, status)
    }

    fn add_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        let status = self.plugin.add_pod(pod, target, node);
        self.target(export::ADD_POD, pod, target, node, &status);
        status
    }

    fn remove_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        let status = self.plugin.remove_pod(pod, target, node);
        self.target(export::REMOVE_POD, pod, target, node, &status);
        status
    }

    fn filter(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        let status = self.plugin.filter(pod, node);
        self.call(export::FILTER, pod, Some(node), status.clone().into());
        status
    }

    fn post_filter(&mut self, pod: &Rc<PodObject>, statuses: &[(String, Code)]) -> (Option<String>, Status) {
        let (nominated, status) = self.plugin.post_filter(pod, statuses);
        let answer = Answer { nodes: nominated.clone().map(|node| vec![node]), ..status.clone().into() };
        let codes = statuses.iter().map(|(node, code)| (node.clone(), *code as i32)).collect();
        self.write(export::POST_FILTER, pod, |call| call.statuses = codes, answer);
        (nominated, status)
    }

    fn pre_score(&mut self, pod: &Rc<PodObject>, nodes: &[Rc<NodeObject>]) -> Status {
        let status = self.plugin.pre_score(pod, nodes);
        let names = nodes.iter().map(|node| node.name().to_owned()).collect();
        self.write(export::PRE_SCORE, pod, |call| call.nodes = names, status.clone().into());
        status
    }

    fn score(&mut self, pod: &Rc<PodObject>, node: &str) -> (i64, Status) {
        let (score, status) = self.plugin.score(pod, node);
        let answer = Answer { number: Some(score), ..status.clone().into() };
        self.call(export::SCORE, pod, Some(node), answer);
        (score, status)
    }

    fn normalize_score(&mut self, pod: &Rc<PodObject>, scores: &mut Vec<(String, i64)>) -> Status {
        let before = scores.clone();
        let status = self.plugin.normalize_score(pod, scores);
        let answer = Answer { scores: Some(sorted(scores)), ..status.clone().into() };
        self.write(export::NORMALIZE_SCORE, pod, |call| call.scores = before, answer);
        status
    }

    fn reserve(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        let status = self.plugin.reserve(pod, node);
        self.call(export::RESERVE, pod, Some(node), status.clone().into());
        status
    }

    fn unreserve(&mut self, pod: &Rc<PodObject>, node: &str) {
        // A binding may fail long after its cycle.
        self.snapshot();
        self.plugin.unreserve(pod, node);
        self.call(export::UNRESERVE, pod, Some(node), Answer::default());
    }

    fn permit(&mut self, pod: &Rc<PodObject>, node: &str) -> (Status, u32) {
        let (status, milliseconds) = self.plugin.permit(pod, node);
        let answer = Answer { number: Some(milliseconds.into()), ..status.clone().into() };
        self.call(export::PERMIT, pod, Some(node), answer);
        (status, milliseconds)
    }

    fn pre_bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        let status = self.plugin.pre_bind(pod, node);
        self.call(export::PRE_BIND, pod, Some(node), status.clone().into());
        status
    }

    fn bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        let status = self.plugin.bind(pod, node);
        self.call(export::BIND, pod, Some(node), status.clone().into());
        status
    }

    fn post_bind(&mut self, pod: &Rc<PodObject>, node: &str) {
        self.plugin.post_bind(pod, node);
        self.call(export::POST_BIND, pod, Some(node), Answer::default());
    }
}

/// Scores in an order that says nothing.
pub(super) fn sorted(scores: &[(String, i64)]) -> Vec<(String, i64)> {
    let mut scores = scores.to_vec();
    scores.sort();
    scores
}
