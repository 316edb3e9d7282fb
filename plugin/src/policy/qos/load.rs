//! Amounts of cpu and memory, the two resources whose use is measured, and exact percentages of them.

use crate::policy::portion::portion;
use crate::reckon::Reckon;

/// Cpu and memory together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Milli-CPU.
    pub cpu: i64,
    /// Bytes.
    pub memory: i64,
}

impl Load {
    /// The sum, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { cpu: self.cpu.plus(other.cpu), memory: self.memory.plus(other.memory) }
    }

    /// Whether neither amount is above that of `other`.
    #[must_use]
    pub fn is_within(self, other: Self) -> bool {
        self.cpu <= other.cpu && self.memory <= other.memory
    }

    /// The amount of one of the two.
    #[must_use]
    pub fn get(self, metric: Metric) -> i64 {
        match metric {
            Metric::Cpu => self.cpu,
            Metric::Memory => self.memory,
        }
    }
}

/// One of the two measured resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Milli-CPU.
    Cpu,
    /// Bytes.
    Memory,
}

impl Metric {
    /// Both, in the order in which they are judged.
    pub const ALL: [Self; 2] = [Self::Cpu, Self::Memory];

    /// The resource's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

/// Percentages of cpu and of memory; `None` where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percents {
    /// Percent of allocatable cpu.
    pub cpu: Option<u8>,
    /// Percent of allocatable memory.
    pub memory: Option<u8>,
}

impl Percents {
    /// No limit on either.
    pub const NONE: Self = Self { cpu: None, memory: None };

    /// The limit on one of the two.
    #[must_use]
    pub fn get(self, metric: Metric) -> Option<u8> {
        match metric {
            Metric::Cpu => self.cpu,
            Metric::Memory => self.memory,
        }
    }

    /// Whether neither is limited.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// `used` in percent of `total`, rounded half up as LoadAware rounds; `None` when there is nothing to use.
///
/// Exact for every amount: no floating point, so the boundary is where the rule says. Negative use counts as none.
#[must_use]
pub fn percent(used: i64, total: i64) -> Option<i64> {
    // The nearest whole of x is half of what 2 x has, and one.
    portion(used, 200, total)?.plus(1).checked_div(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_rounds_half_up_and_never_overflows() {
        for (used, total, expected) in [
            (0, 1000, 0),
            (654, 1000, 65),
            (655, 1000, 66),
            (1, 3, 33),
            (2, 3, 67),
            (1 << 61, 1 << 62, 50),
            (i64::MAX, i64::MAX, 100),
            (i64::MAX, 1, i64::MAX >> 1),
            (-5, 10, 0),
        ] {
            assert_eq!(percent(used, total), Some(expected), "{used} of {total}");
        }
        assert_eq!(percent(1, 0), None);
        assert_eq!(percent(1, -1), None);
    }
}
