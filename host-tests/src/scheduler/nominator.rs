//! Pods that wait for preemption to make room on a node nominated for them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::pod::{PodInfo, Uid};

/// Nominated pods. Others of lower priority are filtered as if these were on their nodes already.
#[derive(Debug, Default)]
pub struct Nominator {
    pods: BTreeMap<Uid, (Rc<str>, Rc<PodInfo>)>,
}

impl Nominator {
    /// Nominates `node` for the pod.
    pub fn nominate(&mut self, pod: Rc<PodInfo>, node: Rc<str>) {
        self.pods.insert(pod.uid.clone(), (node, pod));
    }

    /// The pod has no nominated node any more.
    pub fn forget(&mut self, uid: &str) {
        self.pods.remove(uid);
    }

    /// The pods nominated to `node`.
    pub fn on_node(&self, node: &str) -> impl Iterator<Item = &Rc<PodInfo>> {
        self.pods.values().filter(move |(nominated, _)| &**nominated == node).map(|(_, pod)| pod)
    }

    /// Whether there are none, which is nearly always so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}
