//! A plugin whose behaviour is given as closures, and which writes down what it was called with.

use std::cell::RefCell;
use std::rc::Rc;

use crate::framework::{ClusterEvent, Code, EventResource, Handle, Interfaces, Plugin, Status, action};
use crate::object::{NodeObject, PodObject};

type OnPod = RefCell<Box<dyn FnMut(&PodObject) -> Status>>;
type OnNode<T> = RefCell<Box<dyn FnMut(&PodObject, &str) -> T>>;

/// What a test plugin answers; shared by all instances, so that restarts can be told.
pub struct Double {
    pub interfaces: Interfaces,
    pub events: Vec<ClusterEvent>,
    pub pre_filter: OnPod,
    pub filter: OnNode<Status>,
    pub score: OnNode<i64>,
    pub reserve: OnNode<Status>,
    pub permit: OnNode<(Status, u32)>,
    /// `point pod node`, in order.
    pub calls: RefCell<Vec<String>>,
    /// How often a plugin was made.
    pub instances: RefCell<u32>,
}

impl Default for Double {
    fn default() -> Self {
        let event = |resource, action| ClusterEvent { resource, action };
        Self {
            interfaces: Interfaces {
                filter: true,
                score: true,
                pre_score: true,
                reserve: true,
                ..Interfaces::default()
            },
            events: vec![
                event(EventResource::Pod, action::ADD | action::DELETE),
                event(EventResource::Node, action::ADD | action::UPDATE_NODE_LABEL),
            ],
            pre_filter: RefCell::new(Box::new(|_| Status::success())),
            filter: RefCell::new(Box::new(|_, _| Status::success())),
            score: RefCell::new(Box::new(|_, _| 0)),
            reserve: RefCell::new(Box::new(|_, _| Status::success())),
            permit: RefCell::new(Box::new(|_, _| (Status::success(), 0))),
            calls: RefCell::default(),
            instances: RefCell::default(),
        }
    }
}

impl Double {
    pub fn plugin(self: &Rc<Self>, handle: Rc<dyn Handle>) -> Box<dyn Plugin> {
        *self.instances.borrow_mut() += 1;
        Box::new(Instance { double: self.clone(), handle })
    }

    fn call(&self, point: &str, pod: &PodObject, node: &str) {
        self.calls.borrow_mut().push(format!("{point} {} {node}", pod.name()).trim_end().to_owned());
    }

    /// The calls so far; forgets them.
    pub fn take_calls(&self) -> Vec<String> {
        self.calls.take()
    }

    /// How often a call was made, for all pods and nodes.
    pub fn count(&self, point: &str) -> usize {
        self.calls.borrow().iter().filter(|call| call.split(' ').next() == Some(point)).count()
    }
}

pub fn unschedulable(reason: &str) -> Status {
    Status::new(Code::Unschedulable, reason)
}

struct Instance {
    double: Rc<Double>,
    handle: Rc<dyn Handle>,
}

impl Plugin for Instance {
    fn interfaces(&self) -> Interfaces {
        self.double.interfaces
    }

    fn events_to_register(&mut self) -> anyhow::Result<Vec<ClusterEvent>> {
        Ok(self.double.events.clone())
    }

    fn pre_filter(&mut self, pod: &Rc<PodObject>) -> (Option<Vec<String>>, Status) {
        self.double.call("prefilter", pod, "");
        (None, (self.double.pre_filter.borrow_mut())(pod))
    }

    fn add_pod(&mut self, _: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        self.double.call("addpod", target, node);
        Status::success()
    }

    fn remove_pod(&mut self, _: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        self.double.call("removepod", target, node);
        Status::success()
    }

    fn filter(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        self.double.call("filter", pod, node);
        assert!(self.handle.node(node).is_some());
        (self.double.filter.borrow_mut())(pod, node)
    }

    fn post_filter(&mut self, pod: &Rc<PodObject>, _: &[(String, Code)]) -> (Option<String>, Status) {
        self.double.call("postfilter", pod, "");
        (None, Status::new(Code::Unschedulable, ""))
    }

    fn pre_score(&mut self, pod: &Rc<PodObject>, _: &[Rc<NodeObject>]) -> Status {
        self.double.call("prescore", pod, "");
        Status::success()
    }

    fn score(&mut self, pod: &Rc<PodObject>, node: &str) -> (i64, Status) {
        self.double.call("score", pod, node);
        ((self.double.score.borrow_mut())(pod, node), Status::success())
    }

    fn normalize_score(&mut self, _: &Rc<PodObject>, _: &mut Vec<(String, i64)>) -> Status {
        Status::success()
    }

    fn reserve(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        self.double.call("reserve", pod, node);
        (self.double.reserve.borrow_mut())(pod, node)
    }

    fn unreserve(&mut self, pod: &Rc<PodObject>, node: &str) {
        self.double.call("unreserve", pod, node);
    }

    fn permit(&mut self, pod: &Rc<PodObject>, node: &str) -> (Status, u32) {
        self.double.call("permit", pod, node);
        (self.double.permit.borrow_mut())(pod, node)
    }

    fn pre_bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        self.double.call("prebind", pod, node);
        Status::success()
    }

    fn bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        self.double.call("bind", pod, node);
        Status::new(Code::Skip, "")
    }

    fn post_bind(&mut self, pod: &Rc<PodObject>, node: &str) {
        self.double.call("postbind", pod, node);
    }
}
