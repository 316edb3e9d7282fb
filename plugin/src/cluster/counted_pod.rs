//! A pod on a node, as a publisher of node state counts it.
//!
//! The publisher on a cluster and the simulated one both count pods by this, and read them by the same rules as the
//! module: a pod weighs the same before and after it is placed.

use alloc::string::String;

use super::node_state::NodeState;
use super::pod_class::pod_class;
use super::pod_gang;
use crate::object::{self, Pod, PodInfo, RequestOptions, ResourceNames};
use crate::policy::qos::class::QosClass;

/// What of a pod goes into the state of its node.
#[derive(Clone, Debug)]
pub struct CountedPod {
    /// Its requests, limits and identity.
    pub facts: PodInfo,
    /// Its QoS class.
    pub class: QosClass,
    /// The gang it counts for, see [`pod_gang::count_key`].
    pub gang: Option<String>,
}

impl CountedPod {
    /// Reads a pod. New resource names get numbers in `names`.
    ///
    /// # Errors
    /// The part of the pod that cannot be read.
    pub fn read(pod: &Pod<'_>, names: &mut ResourceNames) -> Result<Self, object::Error> {
        let facts = PodInfo::of(pod, names, &RequestOptions::default())?;
        let (class, _) = pod_class(pod, &facts, names);
        Ok(Self { facts, class: class.qos, gang: pod_gang::count_key(pod) })
    }

    /// Adds the pod to the state of its node. `leaving`: it is about to go, and will not be there for its siblings.
    /// `measured`: its usage is part of what was measured on the node.
    pub fn count(&self, state: &mut NodeState, names: &ResourceNames, leaving: bool, measured: bool) {
        let gang = self.gang.as_deref().filter(|_| !leaving);
        state.count(&self.facts, names, Some(self.class.name()), gang);
        if !measured {
            state.add_unmeasured(&self.facts, names);
        }
    }
}
