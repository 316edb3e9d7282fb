//! The QoS class of a pod, read from its labels, annotations, priority and requests.
//!
//! The module classifies the pod of a cycle by this, and the publisher the pods that it counts: one reading, so that a
//! pod is the same class before and after it is placed.

use crate::object::{Pod, PodInfo, ResourceId, ResourceNames, Resources};
use crate::policy::qos::class::{Marks, PodClass};
use crate::policy::qos::load::Load;
use crate::policy::qos::pairs::IllegalPair;

/// Resources reclaimed from pods that do not use what they requested, in the order in which they are looked at:
/// Koordinator's and Volcano's names, then Koordinator's deprecated ones.
pub const RECLAIMED: [&str; 6] = [
    "kubernetes.io/batch-cpu",
    "kubernetes.io/batch-memory",
    "kubernetes.io/mid-cpu",
    "kubernetes.io/mid-memory",
    "koordinator.sh/batch-cpu",
    "koordinator.sh/batch-memory",
];
const CPU: [&str; 3] = ["kubernetes.io/batch-cpu", "kubernetes.io/mid-cpu", "koordinator.sh/batch-cpu"];
const MEMORY: [&str; 3] = ["kubernetes.io/batch-memory", "kubernetes.io/mid-memory", "koordinator.sh/batch-memory"];

/// The class of a pod, and the rule that its own words break, if any.
#[must_use]
pub fn pod_class(pod: &Pod<'_>, facts: &PodInfo, names: &ResourceNames) -> (PodClass, Option<IllegalPair>) {
    let batch = ["kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"];
    let marks = Marks {
        koordinator_class: pod.meta.label("koordinator.sh/qosClass").unwrap_or(""),
        koordinator_band: pod.meta.label("koordinator.sh/priority-class").unwrap_or(""),
        volcano_level: pod.meta.annotation("volcano.sh/qos-level").unwrap_or(""),
        priority: pod.priority,
        native: facts.qos,
        requests_batch: batch.iter().any(|name| amount(&facts.requests, names, name) > 0),
        cpu_request: facts.requests.get(ResourceId::CPU),
        daemon_set: facts.is_daemon_set(),
    };
    (PodClass::of(&marks), IllegalPair::of(&marks))
}

/// Cpu and memory in `amounts`, where batch and mid resources stand for what they are made of. Never negative: a sum
/// over pods must not shrink by one more.
#[must_use]
pub fn load(amounts: &Resources, names: &ResourceNames) -> Load {
    let one = |native: ResourceId, reclaimed: [&str; 3]| {
        let reclaimed = reclaimed.iter().map(|name| amount(amounts, names, name)).find(|amount| *amount > 0);
        reclaimed.unwrap_or_else(|| amounts.get(native).max(0))
    };
    Load { cpu: one(ResourceId::CPU, CPU), memory: one(ResourceId::MEMORY, MEMORY) }
}

fn amount(amounts: &Resources, names: &ResourceNames, name: &str) -> i64 {
    names.get(name).map_or(0, |id| amounts.get(id))
}
