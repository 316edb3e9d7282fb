//! The pods as the API server has them, with what became of each.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::scheduler::Time;
use crate::scheduler::pod::PodInfo;

/// A pod in the API server.
#[derive(Debug)]
pub struct StoredPod {
    /// The current object.
    pub info: Rc<PodInfo>,
    /// Order of creation.
    pub number: u64,
    /// When it was created.
    pub created: Time,
    /// Whether it came with the cluster, as opposed to being submitted.
    pub initial: bool,
    /// Whether it has run to its end.
    pub finished: bool,
    /// Every attempt to schedule it.
    pub attempts: Vec<Attempt>,
}

/// One attempt to schedule a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it ended.
    pub time: Time,
    /// The node that the pod was bound to, or the message of its condition.
    pub result: Result<Rc<str>, Rc<str>>,
}

/// All pods, by `namespace/name`.
#[derive(Debug, Default)]
pub struct Store {
    pods: BTreeMap<Rc<str>, StoredPod>,
    created: u64,
}

impl Store {
    /// A number for the next pod.
    pub fn next_number(&mut self) -> u64 {
        self.created += 1;
        self.created
    }

    /// Adds a pod.
    pub fn insert(&mut self, info: Rc<PodInfo>, number: u64, created: Time, initial: bool) {
        let pod = StoredPod { info: info.clone(), number, created, initial, finished: false, attempts: Vec::new() };
        self.pods.insert(info.key.clone(), pod);
    }

    /// The pod with this `namespace/name`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&StoredPod> {
        self.pods.get(key)
    }

    /// The pod with this `namespace/name`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut StoredPod> {
        self.pods.get_mut(key)
    }

    /// The pod that `info` was once read from, if it is still the same pod.
    pub fn same_mut(&mut self, info: &PodInfo) -> Option<&mut StoredPod> {
        self.pods.get_mut(&info.key).filter(|pod| pod.info.uid == info.uid)
    }

    /// Removes a pod.
    pub fn remove(&mut self, key: &str) -> Option<StoredPod> {
        self.pods.remove(key)
    }

    /// All pods in order of creation.
    #[must_use]
    pub fn in_order(&self) -> Vec<&StoredPod> {
        let mut pods: Vec<&StoredPod> = self.pods.values().collect();
        pods.sort_by_key(|pod| pod.number);
        pods
    }
}
