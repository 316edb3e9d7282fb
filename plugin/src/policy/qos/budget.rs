//! How much more a node takes of a class before a rule says no: for planning several pods at once.
//!
//! A gang that fits node by node may not fit as a whole: each member alone stays below the threshold, all together they
//! pass it, and the last ones would be refused after the first have started.

use super::class::{Class, PodClass};
use super::filter::{Node, Pod, Thresholds, filter};
use super::load::{Load, Metric, Percents};
use super::rules::Rules;
use crate::reckon::Reckon;

/// What pods of a class may add to a node; [`i64::MAX`] where nothing limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Sum of their estimates.
    pub usage: Load,
    /// Sum of their requests, batch and mid resources counted as cpu and memory.
    pub requests: Load,
}

impl Budget {
    /// No limit.
    pub const ANYTHING: Self = Self { usage: ANYTHING, requests: ANYTHING };

    /// Whether a pod of the class fits in.
    #[must_use]
    pub fn takes(&self, pod: &Pod) -> bool {
        pod.estimate.is_within(self.usage) && pod.requests.is_within(self.requests)
    }
}

const ANYTHING: Load = Load { cpu: i64::MAX, memory: i64::MAX };

/// The budget of a class on a node; `None` if the node is refused to the class whatever the pod asks for.
///
/// All rules count but the reserve of batch and mid resources, which is about what the pod requests of the resource.
#[must_use]
pub fn budget(rules: &Rules, class: PodClass, node: &Node<'_>) -> Option<Budget> {
    let Some((row_class, row)) = rules.row(class) else { return Some(Budget::ANYTHING) };
    let nothing_asked = Pod { class, estimate: Load::default(), requests: Load::default() };
    filter(rules, &nothing_asked, node).ok()?;
    let usage = node.usage.load().map_or(ANYTHING, |load| {
        let limits = Thresholds::of(rules, row_class, row, node).limits();
        below(limits, node.allocatable, load.plus(node.placed_since))
    });
    let requests = match node.best_effort {
        Some(requested) if row_class == Class::Be => below(rules.best_effort_share, node.allocatable, requested),
        _ => ANYTHING,
    };
    Some(Budget { usage, requests })
}

fn below(limits: Percents, allocatable: Load, used: Load) -> Load {
    let one = |metric: Metric| {
        let total = allocatable.get(metric);
        let Some(limit) = limits.get(metric).filter(|_| total > 0) else { return i64::MAX };
        most(limit, total).minus(used.get(metric).max(0)).max(0)
    };
    Load { cpu: one(Metric::Cpu), memory: one(Metric::Memory) }
}

/// The greatest amount that [`super::load::percent`] does not round above `limit`: less than `limit` and a half.
fn most(limit: u8, total: i64) -> i64 {
    let halves = i64::from(limit).times(2).plus(1);
    // Quotient and rest apart, so that no amount overflows.
    let (whole, rest) = (total.checked_div(200).unwrap_or(0), total.checked_rem(200).unwrap_or(0));
    let rest = rest.wrapping_mul(halves).wrapping_sub(1).checked_div_euclid(200).unwrap_or(0);
    whole.times(halves).plus(rest)
}

#[cfg(test)]
mod tests {
    use super::super::load::percent;
    use super::*;

    #[test]
    fn the_most_is_the_last_amount_that_rounds_to_the_limit() {
        for (limit, total) in [(65, 1000), (1, 1), (50, 3), (100, 7), (33, 96_000), (60, 1 << 40), (65, i64::MAX)] {
            let most = most(limit, total);
            assert!(percent(most, total) <= Some(limit.into()), "{limit} % of {total}: {most}");
            assert!(percent(most + 1, total) > Some(limit.into()), "{limit} % of {total}: {most}");
        }
    }
}
