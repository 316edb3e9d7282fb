//! `qos`: which pods stay off which nodes, by class and load.

use alloc::string::String;

mod read;

use crate::object::Quantity;
use crate::policy::qos::class::Class;
use crate::policy::qos::estimate::{Estimation, Factors};
use crate::policy::qos::load::{Load, Percents};
use crate::policy::qos::rules::{ClassRules, IllegalPairs, ReclaimedRules, Rules, Undeclared, WithoutUsage};

/// Batch and best-effort pods stay off nodes that are hot or that protect latency-sensitive pods.
///
/// Without this key the defaults below hold. They concern only pods of class BE and Batch, and refuse to pods that
/// declare no class nothing but nodes that are measurably hot; every other pod is scheduled as if the key were not there.
/// Percentages are of the node's allocatable; 0 means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Qos {
    /// Whether any QoS rule holds. Default true.
    pub enabled: bool,
    /// Pods that declare no class (no Koordinator label, no priority band, no Volcano level): `Ignore` them, hold against
    /// them only what is `Known` about a node, or treat them like `All` others. Default `Known`.
    pub undeclared: Undeclared,
    /// Pods whose class, priority band and resources contradict each other (BE with koord-prod): `Log` or `Reject`.
    /// Default `Log`.
    pub illegal_pairs: IllegalPairs,
    /// Rules per class.
    pub classes: Classes,
    /// Most that best-effort pods together may request of a node (batch and mid resources counted). Default: no limit.
    pub best_effort_share: Limits,
    /// Batch and mid resources (`kubernetes.io/batch-cpu` and so on), which shrink while they are allocated.
    pub reclaimed: Reclaimed,
    /// Where usage comes from and how long it is good for.
    pub usage: UsageSources,
    /// How much a pod is expected to use until it is measured.
    pub estimation: EstimationOptions,
    /// Whether nodes may bring their own thresholds (annotation `scheduling.koordinator.sh/usage-thresholds`, as in
    /// Koordinator) and say at which usage they evict (`volcano.sh/evicting-cpu-high-watermark` and
    /// `-memory-high-watermark`). Default true.
    pub node_thresholds: bool,
    /// Usage from which on a node is hot, for the score of latency-sensitive pods. Default cpu 65, memory 80.
    pub hot: Limits,
    /// Usage at which all nodes evict best-effort pods. If given, thresholds of BE and Batch must lie at least
    /// `evictionMargin` below, or pods would be placed only to be evicted. Default: not known.
    pub eviction_watermarks: Limits,
    /// Percent between the thresholds of BE and Batch and the eviction watermarks. Default 5.
    #[cfg_attr(feature = "schema", schemars(range(max = 50)))]
    pub eviction_margin: u32,
}

impl Default for Qos {
    fn default() -> Self {
        Self {
            enabled: true,
            undeclared: Undeclared::Known,
            illegal_pairs: IllegalPairs::Log,
            classes: Classes::default(),
            best_effort_share: Limits::default(),
            reclaimed: Reclaimed::default(),
            usage: UsageSources::default(),
            estimation: EstimationOptions::default(),
            node_thresholds: true,
            hot: Limits::default(),
            eviction_watermarks: Limits::default(),
            eviction_margin: 5,
        }
    }
}

/// Rules per class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Classes {
    /// Latency sensitive, exclusive cores (also Volcano LC). Default: no rule.
    #[cfg_attr(feature = "schema", serde(rename = "LSE"))]
    pub lse: ClassOptions,
    /// Latency sensitive, reserved cores (also Volcano HLS, and native Guaranteed). Default: no rule.
    #[cfg_attr(feature = "schema", serde(rename = "LSR"))]
    pub lsr: ClassOptions,
    /// Latency sensitive (also Volcano LS, and native Burstable). Default: no rule.
    #[cfg_attr(feature = "schema", serde(rename = "LS"))]
    pub ls: ClassOptions,
    /// LS pods in the bands koord-batch and koord-free. Default: cpu 65 and memory 80 percent.
    #[cfg_attr(feature = "schema", serde(rename = "Batch"))]
    pub batch: ClassOptions,
    /// Best effort (also Volcano BE, and native BestEffort). Default: cpu 65 and memory 60 percent; nodes of unknown usage
    /// only if no LSE or LSR pod runs there.
    #[cfg_attr(feature = "schema", serde(rename = "BE"))]
    pub be: ClassOptions,
}

/// Rules for one class; what is absent keeps the default of that class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct ClassOptions {
    /// Most that may be in use on a node, this pod included.
    pub usage_thresholds: Limits,
    /// Nodes whose usage was never measured: `Allow`, `DenyBesideProtected` (LSE or LSR pods) or `Deny`.
    pub unknown_usage: Option<WithoutUsage>,
    /// Nodes whose usage was measured too long ago; likewise.
    pub stale_usage: Option<WithoutUsage>,
    /// Whether pods of this class may join a node that hosts LSE or LSR pods. Default true.
    pub beside_protected: Option<bool>,
}

/// Percentages of allocatable cpu and memory, 1 to 100; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Limits {
    /// Of cpu.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub cpu: Option<u32>,
    /// Of memory.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub memory: Option<u32>,
}

/// Batch and mid resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Reclaimed {
    /// Whether batch and best-effort pods stay off a node that has given out more than it now has. Default true.
    pub deny_overdrawn: bool,
    /// Percent of allocatable that stays free, 0 to 100. Default 0.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub reserve: u32,
}

impl Default for Reclaimed {
    fn default() -> Self {
        Self { deny_overdrawn: true, reserve: 0 }
    }
}

/// Where usage comes from and how long it is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct UsageSources {
    /// Age in seconds from which on the usage in node state is stale, 1 to 86400. Default 180, as LoadAware.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 86_400)))]
    pub expiration_seconds: u32,
    /// Annotations of crane-scheduler's annotator, read where node state has no fresh usage.
    pub crane: Crane,
}

impl Default for UsageSources {
    fn default() -> Self {
        Self { expiration_seconds: 180, crane: Crane::default() }
    }
}

/// Annotations of crane-scheduler's annotator: `cpu_usage_avg_5m` and `mem_usage_avg_5m`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Crane {
    /// Whether they are read. Default true.
    pub enabled: bool,
    /// Zone of the annotator (its `TZ`), as `+08:00`, `-05:30` or `Z`. The annotator writes local time although it ends
    /// in `Z`. Default `+08:00`, as the annotator's.
    pub utc_offset: String,
    /// Age in seconds from which on they are stale, 1 to 86400. Default 480: three minutes between updates and five of
    /// grace, as crane-scheduler.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 86_400)))]
    pub expiration_seconds: u32,
}

impl Default for Crane {
    fn default() -> Self {
        Self { enabled: true, utc_offset: "+08:00".into(), expiration_seconds: 480 }
    }
}

/// How much a pod is expected to use until it is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct EstimationOptions {
    /// Percent of the larger of request and limit (at most the limit). Default cpu 85, memory 70, as LoadAware.
    pub scaling_factors: ScalingFactors,
    /// For a pod that neither requests nor limits the resource. Default cpu `250m`, memory `200Mi`, as LoadAware.
    pub default_request: DefaultRequest,
}

/// Percentages for cpu and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct ScalingFactors {
    /// For cpu, 1 to 1000.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub cpu: Option<u32>,
    /// For memory, 1 to 1000.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub memory: Option<u32>,
}

/// Quantities of cpu and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct DefaultRequest {
    /// Cpu.
    pub cpu: String,
    /// Memory.
    pub memory: String,
}

impl Default for DefaultRequest {
    fn default() -> Self {
        Self { cpu: "250m".into(), memory: "200Mi".into() }
    }
}

impl Qos {
    /// The rules; `None` if they are switched off.
    #[must_use]
    pub fn rules(&self) -> Option<Rules> {
        let defaults = Estimation::default();
        let quantity = |text: &str| Quantity::parse(text).unwrap_or_default();
        let factor = |given: Option<u32>, default: u16| given.and_then(|it| u16::try_from(it).ok()).unwrap_or(default);
        self.enabled.then(|| Rules {
            illegal_pairs: self.illegal_pairs,
            undeclared: self.undeclared,
            classes: Class::ALL.map(|class| self.classes.rules(class)),
            best_effort_share: self.best_effort_share.over(Percents::NONE),
            reclaimed: ReclaimedRules {
                deny_overdrawn: self.reclaimed.deny_overdrawn,
                reserve: clip(self.reclaimed.reserve),
            },
            estimation: Estimation {
                scaling: Factors {
                    cpu: factor(self.estimation.scaling_factors.cpu, defaults.scaling.cpu),
                    memory: factor(self.estimation.scaling_factors.memory, defaults.scaling.memory),
                },
                default: Load {
                    cpu: quantity(&self.estimation.default_request.cpu).milli_value(),
                    memory: quantity(&self.estimation.default_request.memory).value(),
                },
            },
            evicts_at: self.eviction_watermarks.over(Percents::NONE),
            eviction_margin: clip(self.eviction_margin),
            hot: self.hot.over(Percents { cpu: Some(65), memory: Some(80) }),
        })
    }
}

impl Classes {
    fn of(&self, class: Class) -> &ClassOptions {
        match class {
            Class::Lse => &self.lse,
            Class::Lsr => &self.lsr,
            Class::Ls => &self.ls,
            Class::Batch => &self.batch,
            Class::Be => &self.be,
        }
    }

    fn rules(&self, class: Class) -> ClassRules {
        let (thresholds, without) = match class {
            Class::Lse | Class::Lsr | Class::Ls => (Percents::NONE, WithoutUsage::Allow),
            Class::Batch => (Percents { cpu: Some(65), memory: Some(80) }, WithoutUsage::Allow),
            // Koordlet evicts best-effort pods at 65 percent of memory: stay a margin below.
            Class::Be => (Percents { cpu: Some(65), memory: Some(60) }, WithoutUsage::DenyBesideProtected),
        };
        let options = self.of(class);
        ClassRules {
            usage_thresholds: options.usage_thresholds.over(thresholds),
            unknown_usage: options.unknown_usage.unwrap_or(without),
            stale_usage: options.stale_usage.unwrap_or(without),
            beside_protected: options.beside_protected.unwrap_or(true),
        }
    }
}

impl Limits {
    /// These limits, and `defaults` where nothing is said.
    fn over(self, defaults: Percents) -> Percents {
        let one = |given: Option<u32>, default: Option<u8>| match given {
            None => default,
            Some(0) => None,
            Some(limit) => Some(clip(limit)),
        };
        Percents { cpu: one(self.cpu, defaults.cpu), memory: one(self.memory, defaults.memory) }
    }
}

impl Crane {
    /// Seconds east of Greenwich; `None` if the text is no offset.
    #[must_use]
    pub fn offset_seconds(&self) -> Option<i32> {
        let (sign, [hours, minutes]) = match self.utc_offset.as_bytes() {
            b"Z" => return Some(0),
            [b'+', a, b, b':', c, d] => (1, [[a, b], [c, d]]),
            [b'-', a, b, b':', c, d] => (-1, [[a, b], [c, d]]),
            _ => return None,
        };
        let number = |digits: [&u8; 2], most: i32| {
            let number = digits.into_iter().try_fold(0, |number: i32, digit| {
                let digit = char::from(*digit).to_digit(10).and_then(|digit| i32::try_from(digit).ok())?;
                Some(number.saturating_mul(10).saturating_add(digit))
            });
            number.filter(|number| *number <= most)
        };
        let minutes = number(hours, 14)?.saturating_mul(60).saturating_add(number(minutes, 59)?);
        Some(minutes.saturating_mul(60).saturating_mul(sign))
    }
}

fn clip(percent: u32) -> u8 {
    u8::try_from(percent.min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests;
