//! The scheduling queue of kube-scheduler 1.33: who is tried next, and when a rejected pod comes back.
//!
//! A pod is in the active queue (to be tried, highest priority first), in a backoff queue (to be tried when its backoff
//! is over, or before that if there is nothing else to do), among the unschedulable (until an event comes that a plugin
//! which rejected it registered for) or under way.

mod in_flight;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use stowage::object::ResourceNames;

use self::in_flight::InFlight;
use super::Time;
use super::event::{Event, Subject};
use super::filter;
use super::plugin::{Failure, PluginId, PluginSet};
use super::pod::{PodInfo, Uid};
use crate::framework::ClusterEvent;

/// Backoff after the first failed attempt; doubles with each.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// Longest backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(10);
/// Backoff ends at whole seconds, so that priority counts among pods whose backoff ends in the same one.
const BACKOFF_WINDOW: Duration = Duration::from_secs(1);
/// Unschedulable pods are tried again after this long, whatever happens or does not.
pub const UNSCHEDULABLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// How often it is looked whether they have waited that long.
pub const UNSCHEDULABLE_FLUSH: Duration = Duration::from_secs(30);

/// A pod with its history in the queue.
#[derive(Clone, Debug)]
pub struct QueuedPod {
    /// The pod.
    pub info: Rc<PodInfo>,
    /// When it was queued, or last rejected.
    pub timestamp: Time,
    /// How often it was tried.
    pub attempts: u32,
    /// The plugins that rejected it last.
    rejectors: PluginSet,
    /// Those of them that answered `Pending`.
    pending: PluginSet,
    /// Set while its backoff is known.
    backoff_until: Option<Time>,
    /// Order of creation; decides between pods of one priority and timestamp.
    sequence: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Active,
    Backoff,
    /// Backoff after an error: not cut short when there is nothing else to do.
    ErrorBackoff,
    Unschedulable,
}

/// Highest priority first, then longest waiting.
type Order = (Reverse<i32>, Time, u64);

impl QueuedPod {
    fn order(&self) -> Order {
        (Reverse(self.info.priority), self.timestamp, self.sequence)
    }

    /// The pod's backoff and its end, `None` before the first attempt.
    fn backoff_until(&mut self) -> Option<Time> {
        if self.attempts > 0 && self.backoff_until.is_none() {
            let doublings = (self.attempts - 1).min(16);
            let backoff = INITIAL_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF);
            self.backoff_until = Some(window(self.timestamp + backoff));
        }
        self.backoff_until
    }

    fn is_backing_off(&mut self, now: Time) -> bool {
        self.backoff_until().is_some_and(|until| until >= window(now))
    }

    fn is_gated(&self) -> bool {
        self.info.is_gated()
    }
}

/// Start of the backoff window that `time` is in.
fn window(time: Time) -> Time {
    Duration::from_secs(time.as_secs())
}

/// What to do with a rejected pod after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Skip,
    AfterBackoff,
    Immediately,
}

/// The queue.
#[derive(Debug)]
pub struct SchedulingQueue {
    /// All pods but those under way.
    pods: HashMap<Uid, QueuedPod>,
    active: BTreeMap<Order, Uid>,
    backoff: BTreeMap<(Time, Order), Uid>,
    error_backoff: BTreeMap<(Time, Order), Uid>,
    unschedulable: BTreeMap<u64, Uid>,
    in_flight: InFlight,
    /// Which plugin registered for which event.
    registered: Vec<(ClusterEvent, PluginId)>,
    names: Rc<RefCell<ResourceNames>>,
    next_sequence: u64,
    /// The period of [`UNSCHEDULABLE_FLUSH`] in which unschedulable pods were looked at last.
    flushed_period: u64,
}

impl SchedulingQueue {
    /// An empty queue. `registered` are the module's events; those of the in-tree plugins are known.
    pub fn new(registered: &[ClusterEvent], names: Rc<RefCell<ResourceNames>>) -> Self {
        let in_tree = filter::IN_TREE.into_iter().chain([PluginId::SchedulingGates]);
        let in_tree =
            in_tree.flat_map(|plugin| filter::events_to_register(plugin).into_iter().map(move |e| (e, plugin)));
        let module = registered.iter().map(|event| (*event, PluginId::Wasm));
        Self {
            pods: HashMap::new(),
            active: BTreeMap::new(),
            backoff: BTreeMap::new(),
            error_backoff: BTreeMap::new(),
            unschedulable: BTreeMap::new(),
            in_flight: InFlight::default(),
            registered: in_tree.chain(module).collect(),
            names,
            next_sequence: 0,
            flushed_period: 0,
        }
    }

    /// Queues a new pod. Its arrival moves no other pod.
    pub fn add(&mut self, info: Rc<PodInfo>, now: Time) {
        let pod = QueuedPod {
            info,
            timestamp: now,
            attempts: 0,
            rejectors: PluginSet::default(),
            pending: PluginSet::default(),
            backoff_until: None,
            sequence: self.next_sequence,
            place: Place::Active,
        };
        self.next_sequence += 1;
        self.put_active(pod);
    }

    /// The pod to try next: the first of the active queue or, if that is empty, the one whose backoff ends first.
    pub fn pop(&mut self) -> Option<QueuedPod> {
        let uid = match self.active.first_key_value() {
            Some((_, uid)) => uid.clone(),
            None => self.backoff.first_key_value()?.1.clone(),
        };
        let mut pod = self.take(&uid)?;
        pod.attempts += 1;
        pod.backoff_until = None;
        pod.rejectors = PluginSet::default();
        pod.pending = PluginSet::default();
        self.in_flight.start(uid);
        Some(pod)
    }

    /// Takes back a pod whose cycle or binding failed.
    pub fn add_unschedulable(&mut self, mut pod: QueuedPod, failure: &Failure, now: Time) {
        let uid = pod.info.uid.clone();
        pod.timestamp = now;
        pod.rejectors = failure.rejectors;
        pod.pending = failure.pending;
        let strategy = self.strategy_after_cycle(&pod);
        self.requeue(pod, strategy, now);
        self.in_flight.done(&uid);
    }

    /// Events no longer matter to the pod that is under way: it waits for nothing but its binding, or is gone.
    pub fn done(&mut self, uid: &str) {
        self.in_flight.done(uid);
    }

    /// A pod that waits in the queue changed.
    pub fn update(&mut self, old: &Rc<PodInfo>, new: &Rc<PodInfo>, now: Time) {
        let events: Vec<Rc<Event>> = Event::pod_updated(old, new).into_iter().map(Rc::new).collect();
        if self.in_flight.contains(&new.uid) {
            for event in &events {
                self.in_flight.record(event);
            }
            return;
        }
        let Some(mut pod) = self.take(&new.uid) else { return self.add(new.clone(), now) };
        pod.info = new.clone();
        let place = pod.place;
        if place != Place::Unschedulable {
            return self.put(pod, place);
        }
        let strategies = events.iter().map(|event| self.strategy(&pod, event));
        let strategy = strategies.into_iter().find(|strategy| *strategy != Strategy::Skip).unwrap_or(Strategy::Skip);
        self.requeue(pod, strategy, now);
    }

    /// Forgets a pod that does not wait any more.
    pub fn delete(&mut self, uid: &str) {
        self.take(uid);
    }

    /// Brings back the unschedulable pods that `event` makes worth another try, among those that `concerned` picks.
    pub fn move_all(&mut self, event: Event, now: Time, concerned: impl Fn(&PodInfo) -> bool) {
        let of_interest =
            matches!(event.subject, Subject::Timeout) || self.registered.iter().any(|(known, _)| event.matches(*known));
        if !of_interest {
            return;
        }
        let event = Rc::new(event);
        let waiting: Vec<Uid> = self.unschedulable.values().cloned().collect();
        for uid in waiting {
            let Some(pod) = self.pods.get(&uid).filter(|pod| !pod.is_gated() && concerned(&pod.info)) else { continue };
            let strategy = self.strategy(pod, &event);
            if strategy != Strategy::Skip
                && let Some(pod) = self.take(&uid)
            {
                self.requeue(pod, strategy, now);
            }
        }
        self.in_flight.record(&event);
    }

    /// Activates the pods whose backoff is over. To be called at every whole second.
    pub fn flush_backoff(&mut self, now: Time) {
        let over = |queue: &BTreeMap<(Time, Order), Uid>| -> Vec<Uid> {
            queue.iter().take_while(|((until, _), _)| *until < window(now)).map(|(_, uid)| uid.clone()).collect()
        };
        for uid in over(&self.backoff).into_iter().chain(over(&self.error_backoff)) {
            if let Some(pod) = self.take(&uid) {
                self.put(pod, Place::Active);
            }
        }
    }

    /// Brings back the pods that have been unschedulable for five minutes. Looks at them every half minute only.
    pub fn flush_unschedulable(&mut self, now: Time) {
        let period = now.as_secs() / UNSCHEDULABLE_FLUSH.as_secs();
        if std::mem::replace(&mut self.flushed_period, period) == period {
            return;
        }
        let due = |pod: &QueuedPod| !pod.is_gated() && now.saturating_sub(pod.timestamp) > UNSCHEDULABLE_TIMEOUT;
        let waiting = self.unschedulable.values().filter_map(|uid| self.pods.get(uid));
        let due: Vec<Uid> = waiting.filter(|pod| due(pod)).map(|pod| pod.info.uid.clone()).collect();
        for uid in due {
            if let Some(pod) = self.take(&uid) {
                self.requeue(pod, Strategy::AfterBackoff, now);
            }
        }
    }

    /// Whether [`SchedulingQueue::pop`] would give a pod.
    #[must_use]
    pub fn can_pop(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    /// When [`SchedulingQueue::flush_backoff`] next has something to do, at the earliest.
    #[must_use]
    pub fn next_backoff_end(&self) -> Option<Time> {
        let first = |queue: &BTreeMap<(Time, Order), Uid>| queue.keys().next().map(|(until, _)| *until);
        let until = [first(&self.backoff), first(&self.error_backoff)].into_iter().flatten().min()?;
        Some(until + BACKOFF_WINDOW)
    }

    /// When [`SchedulingQueue::flush_unschedulable`] next has something to do.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let waiting = self.unschedulable.values().filter_map(|uid| self.pods.get(uid));
        let oldest = waiting.filter(|pod| !pod.is_gated()).map(|pod| pod.timestamp).min()?;
        let period = (oldest + UNSCHEDULABLE_TIMEOUT).as_secs() / UNSCHEDULABLE_FLUSH.as_secs() + 1;
        Some(Duration::from_secs(period * UNSCHEDULABLE_FLUSH.as_secs()))
    }

    /// How many pods wait, in whichever part of the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether no pod waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    fn strategy_after_cycle(&self, pod: &QueuedPod) -> Strategy {
        if pod.rejectors.union(pod.pending).is_empty() {
            return Strategy::AfterBackoff;
        }
        let mut best = Strategy::Skip;
        for event in self.in_flight.events_since(&pod.info.uid) {
            match self.strategy(pod, &event) {
                Strategy::Skip => {}
                Strategy::AfterBackoff if !pod.pending.is_empty() => best = Strategy::AfterBackoff,
                decided => return decided,
            }
        }
        best
    }

    /// Whether one of the plugins that rejected the pod asked for events like this one.
    fn strategy(&self, pod: &QueuedPod, event: &Event) -> Strategy {
        let rejectors = pod.rejectors.union(pod.pending);
        if rejectors.is_empty() || matches!(event.subject, Subject::Timeout) {
            return Strategy::AfterBackoff;
        }
        let mut strategy = Strategy::Skip;
        for (registered, plugin) in &self.registered {
            let asked = rejectors.contains(*plugin) && event.matches(*registered);
            if !asked || !filter::worth_requeuing(*plugin, &pod.info, event, &mut self.names.borrow_mut()) {
                continue;
            }
            if pod.pending.contains(*plugin) {
                return Strategy::Immediately;
            }
            if pod.pending.is_empty() {
                return Strategy::AfterBackoff;
            }
            strategy = Strategy::AfterBackoff;
        }
        strategy
    }

    fn requeue(&mut self, mut pod: QueuedPod, strategy: Strategy, now: Time) {
        match strategy {
            Strategy::Skip => self.put(pod, Place::Unschedulable),
            Strategy::AfterBackoff if pod.is_backing_off(now) => {
                let error = pod.rejectors.union(pod.pending).is_empty();
                self.put(pod, if error { Place::ErrorBackoff } else { Place::Backoff });
            }
            Strategy::AfterBackoff | Strategy::Immediately => self.put_active(pod),
        }
    }

    /// Into the active queue, unless gates hold the pod back.
    fn put_active(&mut self, mut pod: QueuedPod) {
        if pod.is_gated() {
            pod.rejectors.insert(PluginId::SchedulingGates);
            self.put(pod, Place::Unschedulable);
        } else {
            self.put(pod, Place::Active);
        }
    }

    fn put(&mut self, mut pod: QueuedPod, place: Place) {
        let uid = pod.info.uid.clone();
        let until = pod.backoff_until().unwrap_or_default();
        match place {
            Place::Active => drop(self.active.insert(pod.order(), uid.clone())),
            Place::Backoff => drop(self.backoff.insert((until, pod.order()), uid.clone())),
            Place::ErrorBackoff => drop(self.error_backoff.insert((until, pod.order()), uid.clone())),
            Place::Unschedulable => drop(self.unschedulable.insert(pod.sequence, uid.clone())),
        }
        pod.place = place;
        self.pods.insert(uid, pod);
    }

    fn take(&mut self, uid: &str) -> Option<QueuedPod> {
        let mut pod = self.pods.remove(uid)?;
        let until = pod.backoff_until().unwrap_or_default();
        match pod.place {
            Place::Active => drop(self.active.remove(&pod.order())),
            Place::Backoff => drop(self.backoff.remove(&(until, pod.order()))),
            Place::ErrorBackoff => drop(self.error_backoff.remove(&(until, pod.order()))),
            Place::Unschedulable => drop(self.unschedulable.remove(&pod.sequence)),
        }
        Some(pod)
    }
}
