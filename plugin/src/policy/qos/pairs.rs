//! Combinations of class, band and resources that contradict each other.
//!
//! Koordinator's webhook refuses most of them when the pod is created. Clusters without that webhook have such pods, and
//! a contradiction silently resolved is a pod in the wrong place, so each one has a name that a log line or a pod's
//! condition can carry.

use alloc::string::String;

use super::class::{Band, Marks, PodClass, QosClass};
use crate::say::Say;

/// A rule that a pod breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IllegalPair {
    /// Label `koordinator.sh/qosClass` has a value that is no class.
    UnknownQosClass,
    /// Label `koordinator.sh/priority-class` has a value that is no band.
    UnknownPriorityClass,
    /// Annotation `volcano.sh/qos-level` has a value that is no level.
    UnknownQosLevel,
    /// Class BE needs the mid, batch or free band.
    BeBand(Option<Band>),
    /// Class LSR needs the prod band.
    LsrBand(Option<Band>),
    /// Only class BE may request batch-cpu and batch-memory.
    BatchResources(QosClass),
    /// Classes LSE and LSR need whole CPUs.
    WholeCpus(QosClass),
}

impl IllegalPair {
    /// The first rule that the pod breaks. Only what the pod declares is held against it, never an inferred class.
    #[must_use]
    pub fn of(marks: &Marks<'_>) -> Option<Self> {
        let koordinator = QosClass::from_koordinator(marks.koordinator_class);
        if koordinator.is_none() && !marks.koordinator_class.is_empty() {
            return Some(Self::UnknownQosClass);
        }
        if Band::from_label(marks.koordinator_band).is_none() && !marks.koordinator_band.is_empty() {
            return Some(Self::UnknownPriorityClass);
        }
        if QosClass::from_volcano(marks.volcano_level).is_none() && !matches!(marks.volcano_level, "" | "0") {
            return Some(Self::UnknownQosLevel);
        }
        let class = PodClass::of(marks);
        if marks.requests_batch && class.qos != QosClass::Be {
            return Some(Self::BatchResources(class.qos));
        }
        match (koordinator?, class.band) {
            (QosClass::Be, band @ (None | Some(Band::Prod))) => Some(Self::BeBand(band)),
            (QosClass::Lsr, band) if band != Some(Band::Prod) => Some(Self::LsrBand(band)),
            (qos, _) if qos.is_protected() && !is_whole(marks.cpu_request) => Some(Self::WholeCpus(qos)),
            _ => None,
        }
    }

    /// The rule's name.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::UnknownQosClass => "known-qos-class",
            Self::UnknownPriorityClass => "known-priority-class",
            Self::UnknownQosLevel => "known-qos-level",
            Self::BeBand(_) => "be-needs-mid-batch-or-free",
            Self::LsrBand(_) => "lsr-needs-prod",
            Self::BatchResources(_) => "batch-resources-need-be",
            Self::WholeCpus(_) => "lse-lsr-need-whole-cpus",
        }
    }
}

fn is_whole(milli_cpu: i64) -> bool {
    milli_cpu > 0 && milli_cpu.checked_rem(1000) == Some(0)
}

impl Say for IllegalPair {
    fn say(&self, text: &mut String) {
        let band = |band: Option<Band>| band.map_or("no priority band", Band::name);
        match *self {
            Self::UnknownQosClass => text.push_str("koordinator.sh/qosClass is none of LSE, LSR, LS, BE, SYSTEM"),
            Self::UnknownPriorityClass => {
                text.push_str("koordinator.sh/priority-class is none of koord-prod, koord-mid, koord-batch, koord-free")
            }
            Self::UnknownQosLevel => text.push_str("volcano.sh/qos-level is none of LC, HLS, LS, BE, 2, 1, 0, -1"),
            Self::BeBand(found) => say_to!(text, "QoS class BE with ", band(found)),
            Self::LsrBand(found) => say_to!(text, "QoS class LSR with ", band(found)),
            Self::BatchResources(qos) => say_to!(text, "batch-cpu or batch-memory with QoS class ", qos.name()),
            Self::WholeCpus(qos) => say_to!(text, "QoS class ", qos.name(), " without a whole number of CPUs"),
        }
        say_to!(text, " (rule ", self.rule(), ")");
    }
}

display!(IllegalPair);
