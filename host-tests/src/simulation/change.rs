//! Changes from outside the scheduler: what users, controllers, kubelets and failures do to the cluster.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, PodCondition, PodStatus};

use super::admission::{admit, is_admitted};
use super::{Action, Scheduler, Simulation, profile, timestamp};
use crate::object::{NodeObject, PodObject};
use crate::publisher::{NodeStateMode, Usage};
use crate::scheduler::event::Event;
use crate::scheduler::pod::PodInfo;

/// Something that happens to the cluster.
#[derive(Debug)]
pub enum Change {
    /// A pod is created.
    CreatePod(PodObject),
    /// The pod with this `namespace/name` gets another object; its UID and node stay.
    UpdatePod(PodObject),
    /// The pod with this `namespace/name` is deleted, wherever it is.
    DeletePod(String),
    /// The bound pod with this `namespace/name` has run to its end.
    FinishPod(String),
    /// A node joins, or changes.
    SetNode(Box<Node>),
    /// A node leaves, and its pods with it.
    DeleteNode(String),
    /// A metrics source measures a node.
    Usage {
        /// The node.
        node: String,
        /// What was measured; nothing if the source went away.
        usage: Option<Usage>,
    },
    /// Node state begins to come otherwise.
    NodeState(NodeStateMode),
    /// Bindings begin to fail.
    FailBindings(BindFault),
    /// The scheduler starts again, with a fresh module: what was being bound is queued again.
    RestartScheduler,
}

/// Bindings that are to fail.
#[derive(Clone, Debug)]
pub struct BindFault {
    /// The `namespace/name` of the only pod concerned.
    pub pod: Option<String>,
    /// How many bindings.
    pub count: u32,
}

impl BindFault {
    pub(super) fn concerns(&self, key: &str) -> bool {
        self.pod.as_deref().is_none_or(|pod| pod == key)
    }
}

impl Simulation {
    pub(super) fn apply(&mut self, change: Change) -> anyhow::Result<()> {
        match change {
            Change::CreatePod(pod) => self.create_pod(Rc::new(pod), false),
            Change::UpdatePod(pod) => self.update_pod(&pod),
            Change::DeletePod(key) => {
                if let Some(pod) = self.store.get(&key).map(|pod| pod.info.clone()) {
                    self.delete_pod(&pod);
                }
            }
            Change::FinishPod(key) => self.finish_pod(&key),
            Change::SetNode(node) => self.set_node(NodeObject::new(*node)),
            Change::DeleteNode(name) => self.delete_node(&name),
            Change::Usage { node, usage } => {
                self.publisher.set_usage(&node, usage, self.now);
                self.publish(&node);
            }
            Change::NodeState(mode) => {
                self.publisher.mode = mode;
                self.publish_all();
            }
            Change::FailBindings(fault) => self.faults.push(fault),
            Change::RestartScheduler => self.restart()?,
        }
        Ok(())
    }

    pub(super) fn create_pod(&mut self, pod: Rc<PodObject>, initial: bool) {
        let number = self.store.next_number();
        let now = self.now;
        // A dump's pods have been admitted long ago; thousands of them are shared, not copied.
        let pod = if initial && is_admitted(&pod.pod) {
            pod
        } else {
            Rc::new(pod.with_pod(|pod| {
                admit(pod, number, now);
                self.publisher.tell_gang_size(pod);
            }))
        };
        let info = Rc::new(PodInfo::new(pod, &mut self.names.borrow_mut()));
        self.store.insert(info.clone(), number, self.now, initial && info.node_name().is_some());
        if info.is_finished() {
            self.store.get_mut(&info.key).into_iter().for_each(|pod| pod.finished = true);
        } else if let Some(node) = info.node_name() {
            self.handle.cache.borrow_mut().add_pod(&info);
            if !initial {
                self.publish(node);
                self.scheduler.queue.move_all(Event::assigned_pod_added(info.clone()), now, |_| true);
            }
        } else {
            self.scheduler.queue.add(info, now);
        }
    }

    fn update_pod(&mut self, pod: &PodObject) {
        let key = crate::scheduler::pod::key_of(&pod.pod);
        let Some(old) = self.store.get(&key).map(|pod| pod.info.clone()) else { return };
        let (number, now) = (0, self.now);
        let pod = pod.with_pod(|pod| {
            pod.metadata.uid = Some(old.uid.to_string());
            pod.metadata.creation_timestamp.clone_from(&old.pod().metadata.creation_timestamp);
            pod.status.clone_from(&old.pod().status);
            admit(pod, number, now);
            if let Some(spec) = &mut pod.spec {
                spec.node_name = old.node_name().map(str::to_owned);
            }
        });
        let new = Rc::new(PodInfo::new(Rc::new(pod), &mut self.names.borrow_mut()));
        if let Some(stored) = self.store.get_mut(&key) {
            stored.info = new.clone();
        }
        let Some(node) = new.node_name() else { return self.update_waiting_pod(&old, &new) };
        {
            let mut cache = self.handle.cache.borrow_mut();
            cache.remove_pod(&old.uid);
            cache.add_pod(&new);
        }
        self.publish(node);
        for event in Event::pod_updated(&old, &new) {
            self.scheduler.queue.move_all(event, now, |_| true);
        }
    }

    /// Removes a pod from the API server, and from everything that learns of it.
    pub(super) fn delete_pod(&mut self, pod: &PodInfo) {
        if self.store.same_mut(pod).is_none() {
            return;
        }
        let Some(stored) = self.store.remove(&pod.key) else { return };
        self.made_progress();
        self.release(&stored.info, stored.finished);
    }

    fn finish_pod(&mut self, key: &str) {
        let Some(stored) = self.store.get_mut(key).filter(|pod| pod.info.node_name().is_some() && !pod.finished) else {
            return;
        };
        stored.finished = true;
        stored.info = Rc::new(stored.info.changed(|pod| {
            pod.status.get_or_insert_with(PodStatus::default).phase = Some("Succeeded".to_owned());
        }));
        let info = stored.info.clone();
        self.release(&info, false);
    }

    /// The pod's resources become free, or it leaves the queue.
    fn release(&mut self, info: &Rc<PodInfo>, finished: bool) {
        let now = self.now;
        if let Some(node) = info.node_name() {
            if !finished {
                self.handle.cache.borrow_mut().remove_pod(&info.uid);
                self.publish(node);
                self.scheduler.queue.move_all(Event::assigned_pod_deleted(info.clone()), now, |_| true);
            }
            return;
        }
        self.scheduler.queue.delete(&info.uid);
        self.scheduler.forget_nomination(&info.uid);
        if let Some(node) = self.publisher.deleted_waiting(info) {
            self.publish(&node);
        }
        let waited = self.handle.waiting.borrow().get(&info.uid).is_some_and(|waiting| {
            waiting.rejected.set(true);
            true
        });
        let event = Event::assigned_pod_deleted(info.clone());
        if waited {
            self.scheduler.queue.move_all(event, now, |_| true);
            self.reject_waiting();
        } else if info.nominated_node_name().is_some() {
            self.scheduler.queue.move_all(event, now, |pod| pod.priority <= info.priority);
        }
    }

    /// Tells a pod to leave its node; it takes its time, and no more for being told again.
    pub(super) fn terminate(&mut self, victim: &PodInfo) {
        let now = self.now;
        let Some(stored) = self.store.same_mut(victim).filter(|stored| !stored.info.is_terminating()) else { return };
        let old = stored.info.clone();
        let new = Rc::new(old.changed(|pod| {
            pod.metadata.deletion_timestamp = Some(timestamp(now));
            let status = pod.status.get_or_insert_with(PodStatus::default);
            status.conditions.get_or_insert_default().push(PodCondition {
                type_: "DisruptionTarget".to_owned(),
                status: "True".to_owned(),
                reason: Some("PreemptionByScheduler".to_owned()),
                ..PodCondition::default()
            });
        }));
        stored.info = new.clone();
        self.handle.cache.borrow_mut().add_pod(&new);
        self.schedule(now + self.options.termination, Action::Gone(new));
    }

    fn set_node(&mut self, node: NodeObject) {
        let name = node.node.metadata.name.clone().unwrap_or_default();
        let before = self.handle.cache.borrow().node(&name).map(|node| node.object.clone());
        let node = match before.as_ref().and_then(|old| self.publisher.carry_over(&old.node, &node.node)) {
            Some(node) => NodeObject::new(node),
            None => node,
        };
        self.replace_node(before, Rc::new(node));
        self.publish(&name);
    }

    /// The node has a new object: the cache and the queue hear of it.
    pub(super) fn replace_node(&mut self, before: Option<Rc<NodeObject>>, node: Rc<NodeObject>) {
        self.handle.cache.borrow_mut().set_node(node.clone(), &mut self.names.borrow_mut());
        let events = match &before {
            None => vec![Event::node_added(node)],
            Some(before) => Event::node_updated(before, &node),
        };
        for event in events {
            self.scheduler.queue.move_all(event, self.now, |_| true);
        }
    }

    fn delete_node(&mut self, name: &str) {
        let Some(object) = self.handle.cache.borrow().node(name).map(|node| node.object.clone()) else { return };
        self.scheduler.queue.move_all(Event::node_deleted(object), self.now, |_| true);
        let removed = self.handle.cache.borrow_mut().remove_node(name);
        self.publisher.forget(name);
        for pod in removed.into_iter().flat_map(|node| node.pods).filter(|pod| pod.bound) {
            self.delete_pod(&pod.info);
        }
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.restarts += 1;
        let assumed: Vec<_> = self.bindings.drain().map(|(uid, _)| uid).collect();
        self.handle.waiting.borrow_mut().clear();
        for uid in assumed {
            self.handle.cache.borrow_mut().remove_pod(&uid);
        }
        let plugin = (self.factory)(self.handle.clone())?;
        let mut scheduler = Scheduler::new(self.handle.clone(), plugin, self.names.clone(), profile(&self.options))?;
        scheduler.reports = std::mem::take(&mut self.scheduler.reports);
        scheduler.plugin_errors = std::mem::take(&mut self.scheduler.plugin_errors);
        self.scheduler = scheduler;
        let waiting = self.store.in_order().into_iter().filter(|pod| pod.info.node_name().is_none());
        for pod in waiting.map(|pod| pod.info.clone()).collect::<Vec<_>>() {
            self.scheduler.queue.add(pod, self.now);
        }
        Ok(())
    }

    /// Publishes the state of every node.
    pub(super) fn publish_all(&mut self) {
        let names: Vec<Rc<str>> = self.handle.cache.borrow().nodes().iter().map(|node| node.name.clone()).collect();
        for name in names {
            self.publish(&name);
        }
    }

    /// The state of a node changed: it shows when the publisher gets to it.
    ///
    /// As time has passed, so does that of the nodes that are measured, lest their usage look old beside this one.
    pub(super) fn publish(&mut self, name: &str) {
        self.publish_one(name);
        for due in self.publisher.due(self.now) {
            self.publish_one(&due);
        }
    }

    fn publish_one(&mut self, name: &str) {
        let Some(lag) = self.publisher.lag() else { return };
        let document = {
            let cache = self.handle.cache.borrow();
            let Some(node) = cache.node(name) else { return };
            self.publisher.document(node, self.now)
        };
        if lag.is_zero() || self.cycles == 0 {
            self.annotate(name, document);
        } else {
            self.schedule(self.now + lag, Action::Publish { node: name.into(), document });
        }
    }

    /// Writes node state to a node's annotation.
    pub(super) fn annotate(&mut self, name: &str, document: String) {
        let Some(before) = self.handle.cache.borrow().node(name).map(|node| node.object.clone()) else { return };
        let mut node = before.node.clone();
        let annotations = node.metadata.annotations.get_or_insert_default();
        annotations.insert(crate::publisher::ANNOTATION.to_owned(), document);
        self.replace_node(Some(before), Rc::new(NodeObject::new(node)));
    }
}
