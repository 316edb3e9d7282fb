//! What a pod will use before anyone could measure it, as Koordinator's LoadAware estimates it.
//!
//! A measurement is a minute or more old. Judging a node by it alone sends a burst of pods to the one node that was cool
//! at that time, so every pod placed since counts with its estimate.

use super::load::Load;
use crate::reckon::Reckon;

/// How pods are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimation {
    /// Percent of the request that a pod is expected to use.
    pub scaling: Factors,
    /// For a pod that requests nothing.
    pub default: Load,
}

/// Percent of the request, per resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    /// Of cpu.
    pub cpu: u16,
    /// Of memory.
    pub memory: u16,
}

impl Default for Estimation {
    /// LoadAware's: 85 % of cpu, 70 % of memory; 250m and 200 MiB for a pod that requests nothing.
    fn default() -> Self {
        Self { scaling: Factors { cpu: 85, memory: 70 }, default: Load { cpu: 250, memory: 200 << 20 } }
    }
}

impl Estimation {
    /// The estimate for a pod with these requests and limits (batch-cpu and mid-cpu count as cpu, likewise memory).
    ///
    /// Per resource: the larger of request and limit, scaled, at most the limit; the default when both are 0.
    #[must_use]
    pub fn of(&self, requests: Load, limits: Load) -> Load {
        Load {
            cpu: one(requests.cpu, limits.cpu, self.scaling.cpu, self.default.cpu),
            memory: one(requests.memory, limits.memory, self.scaling.memory, self.default.memory),
        }
    }
}

fn one(request: i64, limit: i64, factor: u16, default: i64) -> i64 {
    let basis = request.max(limit);
    if basis <= 0 {
        return default;
    }
    // Rounded half up; quotient and rest apart, so that no amount overflows.
    let (whole, rest) = (basis.checked_div(100).unwrap_or(0), basis.checked_rem(100).unwrap_or(0));
    let factor = i64::from(factor);
    let rest = rest.wrapping_mul(factor).wrapping_add(50).checked_div(100).unwrap_or(0);
    let scaled = whole.times(factor).plus(rest);
    if limit > 0 { scaled.min(limit) } else { scaled }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: i64 = 1 << 30;

    #[test]
    fn estimates_follow_load_aware() {
        let cpu = |request, limit| {
            Estimation::default().of(Load { cpu: request, memory: 0 }, Load { cpu: limit, memory: 0 }).cpu
        };
        assert_eq!(cpu(0, 0), 250, "nothing asked");
        assert_eq!(cpu(1000, 0), 850);
        assert_eq!(cpu(1000, 4000), 3400, "the limit is the larger");
        assert_eq!(cpu(4000, 1000), 1000, "capped by the limit");
        assert_eq!(cpu(1, 0), 1, "0.85 rounds up");
        assert_eq!(cpu(10, 0), 9, "8.5 rounds up");
        assert_eq!(cpu(i64::MAX, 0), i64::MAX / 100 * 85 + 6);

        let memory = |request, limit| {
            Estimation::default().of(Load { cpu: 0, memory: request }, Load { cpu: 0, memory: limit }).memory
        };
        assert_eq!(memory(0, 0), 200 << 20);
        assert_eq!(memory(10 * GIB, 0), 7 * GIB);
    }

    #[test]
    fn factors_above_one_hundred_stop_at_the_limit() {
        let eager = Estimation { scaling: Factors { cpu: 150, memory: 100 }, ..Estimation::default() };
        assert_eq!(eager.of(Load { cpu: 1000, memory: 0 }, Load::default()).cpu, 1500);
        assert_eq!(eager.of(Load { cpu: 1000, memory: 0 }, Load { cpu: 1200, memory: 0 }).cpu, 1200);
    }
}
