//! The gang of a pod, as node state counts it.
//!
//! The module and the publisher read pods by the same rules, so that a member counts for the same gang before and after
//! it is placed.

use alloc::boxed::Box;
use alloc::string::String;

use crate::object::Pod;
use crate::policy::gang::recognise::{self, PodText};

/// The label by which a publisher tells a pod the size of its gang where only a PodGroup object says it. A change of a
/// pod's labels lets the scheduler try the pod again at once.
pub const SIZE_LABEL: &str = "stowage.dev/gang-size";

/// Labels and annotations that name a pod's PodGroup object, in the order in which they count.
pub const POD_GROUP_KEYS: [&str; 4] = [
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
];

/// The size that a PodGroup tells its pods by `minMember`. Nobody waits for none or for less than that: it tells nothing.
#[must_use]
pub fn told_size(min_member: Option<i64>) -> Option<u32> {
    min_member.and_then(|min| u32::try_from(min).ok()).filter(|min| *min > 0)
}

/// What recognition sees of a pod.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a Pod<'a>);

impl PodText for Words<'_> {
    fn namespace(&self) -> &str {
        self.0.meta.namespace
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.meta.labels()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.meta.annotations()
    }

    fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.containers().filter_map(Result::ok).flat_map(|container| container.env())
    }

    fn native_group(&self) -> Option<Box<str>> {
        if let Some(group) = self.0.scheduling_group().ok()? {
            return Some(group.into());
        }
        let reference = self.0.workload_ref().ok()??;
        Some(say!(reference.name, "/", reference.pod_group, "/", reference.pod_group_replica_key).into())
    }
}

/// The key under which node state counts a member: `namespace/name` of its gang, and its role after another slash if it
/// has one. `None` for a pod in no gang, and for one that is about to go: it will not be there for its siblings.
#[must_use]
pub fn count_key(pod: &Pod<'_>) -> Option<String> {
    if pod.meta.terminating {
        return None;
    }
    let words = Words(pod);
    let (gang, role) = recognise::gang_and_role(&words)?;
    Some(if role.is_empty() { gang } else { say!(gang, "/", role) })
}
