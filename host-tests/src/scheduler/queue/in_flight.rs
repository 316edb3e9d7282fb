//! Pods that are being scheduled right now, and the events that came meanwhile.
//!
//! A pod that is being scheduled is in no queue, so an event that would bring it back finds nothing to move. Events are
//! therefore kept as long as a pod is under way that was popped before them, and looked at when that pod is rejected.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::scheduler::event::Event;
use crate::scheduler::pod::Uid;

/// The log of pops and events, in order.
#[derive(Debug, Default)]
pub struct InFlight {
    /// Oldest first; starts with a pod that is still under way.
    log: VecDeque<Entry>,
    /// Position of `log[0]` among all entries there ever were.
    start: usize,
    /// Position of each pod under way.
    pods: HashMap<Uid, usize>,
}

#[derive(Debug)]
enum Entry {
    /// A pod was popped.
    Popped,
    /// That pod's cycle is over.
    Done,
    /// Something happened.
    Event(Rc<Event>),
}

impl InFlight {
    /// A pod was popped.
    pub fn start(&mut self, uid: Uid) {
        self.pods.insert(uid, self.start + self.log.len());
        self.log.push_back(Entry::Popped);
    }

    /// Something happened that may concern pods under way.
    pub fn record(&mut self, event: &Rc<Event>) {
        if !self.pods.is_empty() {
            self.log.push_back(Entry::Event(event.clone()));
        }
    }

    /// What happened since the pod was popped.
    pub fn events_since(&self, uid: &str) -> Vec<Rc<Event>> {
        let Some(position) = self.pods.get(uid) else { return Vec::new() };
        let after = self.log.range(position - self.start..);
        after.filter_map(|entry| if let Entry::Event(event) = entry { Some(event.clone()) } else { None }).collect()
    }

    /// Whether the pod is under way.
    pub fn contains(&self, uid: &str) -> bool {
        self.pods.contains_key(uid)
    }

    /// The pod's outcome no longer depends on events.
    pub fn done(&mut self, uid: &str) {
        let Some(position) = self.pods.remove(uid) else { return };
        self.log[position - self.start] = Entry::Done;
        while let Some(Entry::Done | Entry::Event(_)) = self.log.front() {
            self.log.pop_front();
            self.start += 1;
        }
    }
}
