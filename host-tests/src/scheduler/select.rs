//! How many nodes a cycle looks at, and which of the best it takes.

use rand::Rng;

/// Below this many nodes, all are looked at.
const MIN_FEASIBLE_NODES: usize = 100;
/// Least share of the nodes that is looked at, in percent.
const MIN_PERCENTAGE: usize = 5;

/// What share of the nodes a cycle looks at before it scores (`percentageOfNodesToScore`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// kube-scheduler's default: 50 % less one per 125 nodes, at least 5 %.
    #[default]
    Adaptive,
    /// This many percent.
    Percentage(usize),
    /// All nodes, from the first on, in every cycle.
    All,
}

impl Sampling {
    /// The number of fitting nodes after which the search ends.
    #[must_use]
    pub fn nodes_to_find(self, count: usize) -> usize {
        let percentage = match self {
            Self::Adaptive => 50_usize.saturating_sub(count / 125).max(MIN_PERCENTAGE),
            Self::Percentage(percentage) => percentage,
            Self::All => return count,
        };
        if count < MIN_FEASIBLE_NODES {
            return count;
        }
        (count * percentage / 100).max(MIN_FEASIBLE_NODES)
    }
}

/// Which of several best nodes is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Any, by the run's seed; what kube-scheduler does.
    #[default]
    Random,
    /// The first in the order of the search.
    First,
}

/// Position of the highest score. Scores must not be empty.
pub fn best(scores: &[i64], ties: Ties, random: &mut impl Rng) -> usize {
    let mut best = 0;
    let mut equal = 1;
    for (at, score) in scores.iter().enumerate().skip(1) {
        if *score > scores[best] {
            best = at;
            equal = 1;
        } else if *score == scores[best] && ties == Ties::Random {
            equal += 1;
            if random.random_range(0..equal) == 0 {
                best = at;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::SmallRng;

    use super::*;

    #[test]
    fn large_clusters_are_sampled() {
        let found: Vec<usize> = [99, 100, 500, 5000, 10_000].map(|n| Sampling::Adaptive.nodes_to_find(n)).to_vec();
        assert_eq!(found, [99, 100, 230, 500, 500]);
        assert_eq!(Sampling::All.nodes_to_find(5000), 5000);
    }

    #[test]
    fn ties_are_broken_evenly() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut taken = [0; 4];
        for _ in 0..3000 {
            taken[best(&[7, 9, 9, 9], Ties::Random, &mut random)] += 1;
        }
        assert_eq!(taken[0], 0);
        assert!(taken[1..].iter().all(|count| (850..1150).contains(count)), "{taken:?}");
        assert_eq!(best(&[7, 9, 9, 9], Ties::First, &mut random), 1);
    }
}
