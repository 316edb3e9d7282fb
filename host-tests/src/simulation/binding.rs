//! From a pod that is assumed to run on its node to one that does, or back to the queue.

use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PodCondition, PodStatus};

use super::store::Attempt;
use super::{Action, Simulation, Time, timestamp};
use crate::scheduler::event::Event;
use crate::scheduler::handle::WaitingPod;
use crate::scheduler::plugin::{Failure, Nomination};
use crate::scheduler::pod::{PodInfo, Uid};
use crate::scheduler::{QueuedPod, rejected_while_waiting};

/// A pod on its way to its node.
pub struct Binding {
    queued: QueuedPod,
    assumed: Rc<PodInfo>,
}

impl Simulation {
    /// Starts what kube-scheduler does in a goroutine of its own.
    pub(super) fn start_binding(&mut self, queued: QueuedPod, assumed: Rc<PodInfo>, wait: Option<Duration>) {
        let uid = assumed.uid.clone();
        match wait {
            None => {
                self.scheduler.queue.done(&uid);
                self.schedule(self.now + self.options.bind_latency, Action::Bind(uid.clone()));
            }
            Some(wait) => {
                let deadline = self.now + wait;
                let waiting = WaitingPod { info: assumed.clone(), deadline, rejected: false.into() };
                self.handle.waiting.borrow_mut().insert(uid.clone(), waiting);
                self.schedule(deadline, Action::PermitTimeout(uid.clone()));
            }
        }
        self.bindings.insert(uid, Binding { queued, assumed });
    }

    /// Nobody allowed the waiting pod in time.
    pub(super) fn permit_timeout(&mut self, uid: &Uid) {
        let due = self.handle.waiting.borrow().get(uid).is_some_and(|pod| pod.deadline <= self.now);
        if due {
            self.end_waiting(uid, "rejected due to timeout after waiting at plugin wasm");
        }
    }

    /// Sends back the waiting pods that were rejected meanwhile.
    pub(super) fn reject_waiting(&mut self) {
        let waiting = self.handle.waiting.borrow();
        let rejected = waiting.iter().filter(|(_, pod)| pod.rejected.get()).map(|(uid, _)| uid.clone());
        let rejected: Vec<Uid> = rejected.collect();
        drop(waiting);
        for uid in rejected {
            self.end_waiting(&uid, "rejected while waiting on permit");
        }
    }

    fn end_waiting(&mut self, uid: &Uid, reason: &'static str) {
        self.handle.waiting.borrow_mut().remove(uid);
        if let Some(binding) = self.bindings.remove(uid) {
            self.binding_failed(binding, &rejected_while_waiting(reason));
        }
    }

    /// PreBind, Bind and PostBind.
    pub(super) fn bind(&mut self, uid: &Uid) {
        let Some(binding) = self.bindings.remove(uid) else { return };
        let result = self
            .scheduler
            .pre_bind_and_bind(&binding.assumed)
            .and_then(|bound| if bound { Ok(()) } else { self.default_bind(&binding.assumed) });
        match result {
            Err(failure) => self.binding_failed(binding, &failure),
            Ok(()) => {
                self.pod_bound(&binding.assumed);
                self.scheduler.post_bind(&binding.assumed);
                self.reject_waiting();
            }
        }
    }

    /// DefaultBinder: the API server takes the binding, unless the pod is gone or a fault is to be injected.
    fn default_bind(&mut self, assumed: &PodInfo) -> Result<(), Failure> {
        let error = |why: String| Err(Failure::error(format!("running Bind plugin \"DefaultBinder\": {why}")));
        if let Some(at) = self.faults.iter().position(|fault| fault.concerns(&assumed.key)) {
            self.faults[at].count -= 1;
            self.faults.retain(|fault| fault.count > 0);
            return error("injected fault".to_owned());
        }
        match self.store.same_mut(assumed) {
            Some(_) => Ok(()),
            None => error(format!("pods \"{}\" not found", assumed.key)),
        }
    }

    fn pod_bound(&mut self, assumed: &Rc<PodInfo>) {
        let now = self.now;
        let node: Rc<str> = assumed.node_name().unwrap_or_default().into();
        let Some(stored) = self.store.same_mut(assumed) else { return };
        let unassigned = std::mem::replace(&mut stored.info, Rc::new(started(assumed, now)));
        let info = stored.info.clone();
        stored.attempts.push(Attempt { time: now, result: Ok(node.clone()) });
        self.made_progress();

        // To the informers, one pod without a node disappears and one with a node appears.
        self.handle.cache.borrow_mut().add_pod(&info);
        self.publish(&node);
        self.scheduler.queue.delete(&info.uid);
        if unassigned.nominated_node_name().is_some() {
            let priority = unassigned.priority;
            let event = Event::assigned_pod_deleted(unassigned);
            self.scheduler.queue.move_all(event, now, |pod| pod.priority <= priority);
        }
        self.scheduler.queue.move_all(Event::assigned_pod_added(info.clone()), now, |_| true);
        if self.handle.cache.borrow().node(&node).is_none() {
            // The node is gone; the garbage collector follows.
            self.delete_pod(&info);
        }
    }

    fn binding_failed(&mut self, binding: Binding, failure: &Failure) {
        let Binding { queued, assumed } = binding;
        self.scheduler.unreserve(&assumed);
        let event = Event::assigned_pod_deleted(assumed.clone());
        if failure.is_rejected() {
            self.handle_failure(queued, failure);
            self.scheduler.queue.move_all(event, self.now, |pod| pod.uid != assumed.uid);
        } else {
            self.scheduler.queue.move_all(event, self.now, |_| true);
            self.handle_failure(queued, failure);
        }
    }

    /// Back to the queue, with a condition that says why.
    pub(super) fn handle_failure(&mut self, mut queued: QueuedPod, failure: &Failure) {
        let now = self.now;
        let Some(stored) = self.store.same_mut(&queued.info).filter(|pod| pod.info.node_name().is_none()) else {
            return self.scheduler.queue.done(&queued.info.uid);
        };
        stored.attempts.push(Attempt { time: now, result: Err(failure.message.clone()) });
        queued.info = stored.info.clone();
        let info = queued.info.clone();
        self.scheduler.queue.add_unschedulable(queued, failure, now);
        self.scheduler.nominate(&info, failure.nominate.as_ref());

        let nominated = match &failure.nominate {
            None => info.nominated_node_name().map(Rc::from),
            Some(Nomination::Clear) => None,
            Some(Nomination::Node(node)) => Some(node.clone()),
        };
        let reason = reason(failure);
        if condition(&info) != Some((reason, &failure.message)) || nominated.as_deref() != info.nominated_node_name() {
            let patch = Action::PatchStatus { pod: info, message: failure.message.clone(), reason, nominated };
            self.schedule(now + self.options.bind_latency, patch);
        }
    }

    /// The scheduler's own update of a pod's status, which is an event like any other.
    pub(super) fn patch_status(
        &mut self,
        pod: &PodInfo,
        reason: &'static str,
        message: &Rc<str>,
        nominated: Option<Rc<str>>,
    ) {
        let now = self.now;
        let Some(stored) = self.store.same_mut(pod).filter(|pod| pod.info.node_name().is_none()) else { return };
        let old = stored.info.clone();
        let new = Rc::new(old.changed(|pod| {
            let status = pod.status.get_or_insert_with(PodStatus::default);
            status.nominated_node_name = nominated.as_deref().map(str::to_owned);
            let conditions = status.conditions.get_or_insert_default();
            conditions.retain(|condition| condition.type_ != "PodScheduled");
            conditions.push(PodCondition {
                type_: "PodScheduled".to_owned(),
                status: "False".to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message.to_string()),
                last_transition_time: Some(timestamp(now)),
                ..PodCondition::default()
            });
        }));
        stored.info = new.clone();
        self.update_waiting_pod(&old, &new);
    }

    /// Tells the queue about a change of a pod without a node.
    pub(super) fn update_waiting_pod(&mut self, old: &Rc<PodInfo>, new: &Rc<PodInfo>) {
        if self.bindings.contains_key(&new.uid) {
            return;
        }
        self.scheduler.queue.update(old, new, self.now);
        if old.nominated_node_name().is_some() && old.nominated_node_name() != new.nominated_node_name() {
            let priority = old.priority;
            let event = Event::assigned_pod_deleted(old.clone());
            self.scheduler.queue.move_all(event, self.now, |pod| pod.priority <= priority);
        }
    }
}

/// The pod as its kubelet reports it right after the binding.
fn started(assumed: &PodInfo, now: Time) -> PodInfo {
    assumed.changed(|pod| {
        let status = pod.status.get_or_insert_with(PodStatus::default);
        status.phase = Some("Running".to_owned());
        status.nominated_node_name = None;
        status.start_time = Some(timestamp(now));
        status.conditions.get_or_insert_default().retain(|condition| condition.type_ != "PodScheduled");
    })
}

fn reason(failure: &Failure) -> &'static str {
    if failure.is_rejected() { "Unschedulable" } else { "SchedulerError" }
}

fn condition(pod: &PodInfo) -> Option<(&str, &str)> {
    let conditions = pod.pod().status.as_ref()?.conditions.as_ref()?;
    let condition = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    Some((condition.reason.as_deref()?, condition.message.as_deref()?))
}
