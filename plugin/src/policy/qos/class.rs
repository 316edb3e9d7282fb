//! The QoS class of a pod, in Koordinator's words, from whatever the pod says about itself.
//!
//! A pod may carry a Koordinator label, a Volcano level, both or neither. They are read in that order, and the native
//! class (from requests and limits) answers for pods that say nothing. The priority band is a second, independent word:
//! a pod of class LS in the batch band is a batch job with guaranteed requests, not a service. [`Class`] joins the two
//! into the row of the policy that applies.

use alloc::string::String;

use crate::object::NativeQos;
use crate::say::Say;

/// QoS class as Koordinator names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QosClass {
    /// Latency sensitive, owns its cores.
    Lse,
    /// Latency sensitive, cores reserved.
    Lsr,
    /// Latency sensitive, cores shared.
    Ls,
    /// Best effort: runs on what others leave.
    Be,
    /// Part of the platform.
    System,
}

impl QosClass {
    /// The class that the label `koordinator.sh/qosClass` names.
    #[must_use]
    pub fn from_koordinator(label: &str) -> Option<Self> {
        Some(match label {
            "LSE" => Self::Lse,
            "LSR" => Self::Lsr,
            "LS" => Self::Ls,
            "BE" => Self::Be,
            "SYSTEM" => Self::System,
            _ => return None,
        })
    }

    /// The class that the annotation `volcano.sh/qos-level` names, by name or number.
    ///
    /// `LC` owns its cores as LSE does, `HLS` and the number 2 that both share are at least LSR. Level 0 is Volcano's
    /// word for "not said".
    #[must_use]
    pub fn from_volcano(level: &str) -> Option<Self> {
        Some(match level {
            "LC" => Self::Lse,
            "HLS" | "2" => Self::Lsr,
            "LS" | "1" => Self::Ls,
            "BE" | "-1" => Self::Be,
            _ => return None,
        })
    }

    /// What Koordinator assumes for a pod that says nothing.
    #[must_use]
    pub fn from_native(native: NativeQos) -> Self {
        match native {
            NativeQos::Guaranteed => Self::Lsr,
            NativeQos::Burstable => Self::Ls,
            NativeQos::BestEffort => Self::Be,
        }
    }

    /// The name as in the label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lse => "LSE",
            Self::Lsr => "LSR",
            Self::Ls => "LS",
            Self::Be => "BE",
            Self::System => "SYSTEM",
        }
    }

    /// LSE and LSR: what colocation must never disturb.
    #[must_use]
    pub fn is_protected(self) -> bool {
        matches!(self, Self::Lse | Self::Lsr)
    }
}

/// Priority band as Koordinator names it. A pod outside all bands has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// `koord-prod`, 9000 to 9999.
    Prod,
    /// `koord-mid`, 7000 to 7999.
    Mid,
    /// `koord-batch`, 5000 to 5999.
    Batch,
    /// `koord-free`, 3000 to 3999.
    Free,
}

impl Band {
    /// The band that the label `koordinator.sh/priority-class` names.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Some(match label {
            "koord-prod" => Self::Prod,
            "koord-mid" => Self::Mid,
            "koord-batch" => Self::Batch,
            "koord-free" => Self::Free,
            _ => return None,
        })
    }

    /// The band that `spec.priority` falls into.
    #[must_use]
    pub fn from_priority(priority: i32) -> Option<Self> {
        Some(match priority {
            9000..=9999 => Self::Prod,
            7000..=7999 => Self::Mid,
            5000..=5999 => Self::Batch,
            3000..=3999 => Self::Free,
            _ => return None,
        })
    }

    /// The name as in the label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prod => "koord-prod",
            Self::Mid => "koord-mid",
            Self::Batch => "koord-batch",
            Self::Free => "koord-free",
        }
    }
}

/// What a pod says about its class; empty where it says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    /// Label `koordinator.sh/qosClass`.
    pub koordinator_class: &'a str,
    /// Label `koordinator.sh/priority-class`.
    pub koordinator_band: &'a str,
    /// Annotation `volcano.sh/qos-level`.
    pub volcano_level: &'a str,
    /// `spec.priority`.
    pub priority: Option<i32>,
    /// From `status.qosClass`, computed when that is empty.
    pub native: NativeQos,
    /// Whether it requests `kubernetes.io/batch-cpu` or `kubernetes.io/batch-memory`.
    pub requests_batch: bool,
    /// Requested cpu, milli-CPU.
    pub cpu_request: i64,
    /// Whether a DaemonSet owns it.
    pub daemon_set: bool,
}

/// The class of a pod and how it came by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodClass {
    /// QoS class.
    pub qos: QosClass,
    /// Priority band, if it has one.
    pub band: Option<Band>,
    /// Whether the pod names its class, band or level. Otherwise the class was inferred from requests.
    pub declared: bool,
    /// DaemonSet pods are placed by their controller: no rule and no score concerns them.
    pub daemon_set: bool,
}

impl PodClass {
    /// Reads the class.
    #[must_use]
    pub fn of(marks: &Marks<'_>) -> Self {
        let named =
            QosClass::from_koordinator(marks.koordinator_class).or_else(|| QosClass::from_volcano(marks.volcano_level));
        let band = Band::from_label(marks.koordinator_band).or_else(|| marks.priority.and_then(Band::from_priority));
        // LSR is for the prod band. A pod that says it is batch is not protected for having guaranteed requests.
        let inferred = match (QosClass::from_native(marks.native), band) {
            (QosClass::Lsr, Some(Band::Mid | Band::Batch | Band::Free)) => QosClass::Ls,
            (class, _) => class,
        };
        Self {
            qos: named.unwrap_or(inferred),
            band,
            declared: named.is_some() || band.is_some(),
            daemon_set: marks.daemon_set,
        }
    }

    /// A pod that declares itself one of the pods of a row.
    #[must_use]
    pub fn in_row(class: Class) -> Self {
        let (qos, band) = match class {
            Class::Lse => (QosClass::Lse, None),
            Class::Lsr => (QosClass::Lsr, None),
            Class::Ls => (QosClass::Ls, None),
            Class::Batch => (QosClass::Ls, Some(Band::Batch)),
            Class::Be => (QosClass::Be, None),
        };
        Self { qos, band, declared: true, daemon_set: false }
    }

    /// The row of the policy that applies; `None` where no rule does: the platform's own pods.
    #[must_use]
    pub fn row(self) -> Option<Class> {
        if self.daemon_set {
            return None;
        }
        match (self.qos, self.band) {
            (QosClass::System, _) => None,
            (QosClass::Be, _) => Some(Class::Be),
            (QosClass::Ls, Some(Band::Batch | Band::Free)) => Some(Class::Batch),
            (QosClass::Ls, _) => Some(Class::Ls),
            (QosClass::Lsr, _) => Some(Class::Lsr),
            (QosClass::Lse, _) => Some(Class::Lse),
        }
    }
}

/// A row of the policy: what rules are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// QoS class LSE.
    Lse,
    /// QoS class LSR.
    Lsr,
    /// QoS class LS outside the batch and free bands.
    Ls,
    /// QoS class LS in the batch or free band: batch work with guaranteed requests.
    Batch,
    /// QoS class BE.
    Be,
}

impl Class {
    /// Every row.
    pub const ALL: [Self; 5] = [Self::Lse, Self::Lsr, Self::Ls, Self::Batch, Self::Be];

    /// The name as in the policy document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lse => "LSE",
            Self::Lsr => "LSR",
            Self::Ls => "LS",
            Self::Batch => "Batch",
            Self::Be => "BE",
        }
    }

    /// Batch and best-effort work: it fills gaps and yields to services.
    #[must_use]
    pub fn fills_gaps(self) -> bool {
        matches!(self, Self::Batch | Self::Be)
    }
}

impl Say for Class {
    fn say(&self, text: &mut String) {
        text.push_str(self.name());
    }
}

display!(Class);

#[cfg(test)]
#[path = "class_tests.rs"]
mod tests;
