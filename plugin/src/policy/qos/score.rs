//! How well a node suits a pod, by load: batch and best-effort work goes to the emptiest node, services keep away from
//! hot ones.
//!
//! The two differ on purpose. Spreading services by load would undo what binpack gathers, and a service gains nothing
//! from 20 % instead of 40 %; it loses when a node is hot. So services see no difference below the hot mark.

use super::filter::{Node, Pod, Thresholds};
use super::load::{Load, Metric, Percents};
use super::rules::Rules;
use crate::gather::Gather;
use crate::policy::portion::portion;
use crate::reckon::Reckon;

/// Best score.
pub const MAX: i64 = 100;

/// The node's score, 0 to [`MAX`]; `None` if QoS has no opinion on the pod.
///
/// Unknown usage scores 0, as in LoadAware: what is not known is not empty. The worse of cpu and memory counts.
#[must_use]
pub fn score(rules: &Rules, pod: &Pod, node: &Node<'_>) -> Option<i64> {
    let (class, row) = rules.row(pod.class)?;
    let Some(load) = node.usage.load() else { return Some(0) };
    let expected = load.plus(node.placed_since).plus(pod.estimate);
    Some(if class.fills_gaps() {
        room(expected, node.allocatable, Thresholds::of(rules, class, row, node).limits())
    } else {
        coolness(expected, node.allocatable, rules.hot)
    })
}

/// What is left below the threshold (100 % where there is none), in percent of the threshold.
fn room(expected: Load, allocatable: Load, limits: Percents) -> i64 {
    worst(|metric| {
        let most = allocatable.get(metric).times(limits.get(metric).unwrap_or(100).into());
        part(most.minus(hundredfold(expected.get(metric))), most)
    })
}

/// Full score up to the hot mark, from there down to 0 at 100 %.
fn coolness(expected: Load, allocatable: Load, hot: Percents) -> i64 {
    worst(|metric| {
        let (total, used) = (hundredfold(allocatable.get(metric)), hundredfold(expected.get(metric)));
        let mark = allocatable.get(metric).times(hot.get(metric).unwrap_or(100).min(100).into());
        if used <= mark { Some(MAX) } else { part(total.minus(used), total.minus(mark)).or(Some(0)) }
    })
}

/// Amounts are compared in hundredths, as percentages are whole.
fn hundredfold(amount: i64) -> i64 {
    amount.max(0).times(100)
}

/// `amount` in percent of `whole`, rounded down, within 0 to [`MAX`]; `None` if there is no whole.
fn part(amount: i64, whole: i64) -> Option<i64> {
    portion(amount, MAX, whole).map(|percent| percent.min(MAX))
}

fn worst(score: impl Fn(Metric) -> Option<i64>) -> i64 {
    Metric::ALL.iter().filter_map(|metric| score(*metric)).least(|score| *score).unwrap_or(0)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
