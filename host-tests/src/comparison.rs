//! Two policies or modules on the same input, and whether they differ by more than chance.
//!
//! The scheduler breaks ties at random, so one run of each says little. Both are run with the same seeds; what differs is
//! judged by the differences between the runs of one seed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stowage::cluster::pod_gang::Words;
use stowage::object::{self, GpuNames, GpuUnit, Resources};
use stowage::policy::gang::recognise::gang_and_role;

use crate::simulation::{Options, Simulation};
use crate::trial::Trial;

/// What one run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures([f64; FIGURES.len()]);

/// Names of the figures, in the order of their tables. The JSON has them as they are.
pub const FIGURES: [&str; 9] = [
    "placed",
    "pending",
    "gpusAllocated",
    "emptyNodes",
    "emptyGpuNodes",
    "freeGpusOnUsedNodes",
    "gangsStarted",
    "gangsWaiting",
    "meanWaitSeconds",
];

/// Where each submitted pod went.
type Places = BTreeMap<String, String>;

impl Figures {
    /// Reads the figures off a simulation that has come to rest.
    #[must_use]
    pub fn of(simulation: &Simulation) -> Self {
        let names = simulation.resource_names();
        let mut gpus = GpuNames::default();
        gpus.learn(&names);
        let devices = |amounts: &Resources| -> i64 {
            amounts.iter().filter(|(id, _)| gpus.unit(*id) == Some(GpuUnit::Device)).map(|(_, amount)| amount).sum()
        };
        let (mut allocated, mut empty, mut empty_gpu, mut scattered) = (0, 0, 0, 0);
        for node in simulation.cluster().nodes() {
            let (used, all) = (devices(&node.requested), devices(&node.allocatable));
            allocated += used;
            empty += i64::from(node.pods.is_empty());
            empty_gpu += i64::from(all > 0 && used == 0);
            scattered += if used > 0 { (all - used).max(0) } else { 0 };
        }
        let mut gangs: BTreeMap<String, bool> = BTreeMap::new();
        let mut waits = Vec::new();
        for pod in simulation.pods().into_iter().filter(|pod| !pod.initial) {
            let bound = pod.info.node_name().is_some();
            if let Some(gang) = object::Pod::parse(pod.info.object.protobuf()).ok().and_then(|pod| gang(&pod)) {
                let all_bound = gangs.entry(gang).or_insert(true);
                *all_bound &= bound;
            }
            if let Some(last) = pod.attempts.last().filter(|_| bound) {
                waits.push(last.time.saturating_sub(pod.created).as_secs_f64());
            }
        }
        let started = gangs.values().filter(|all_bound| **all_bound).count();
        let count = |number: usize| number as f64;
        let mean_wait = if waits.is_empty() { 0.0 } else { waits.iter().sum::<f64>() / count(waits.len()) };
        Self([
            count(simulation.placements().len()),
            count(simulation.pending().len()),
            allocated as f64,
            empty as f64,
            empty_gpu as f64,
            scattered as f64,
            count(started),
            count(gangs.len() - started),
            mean_wait,
        ])
    }
}

fn gang(pod: &object::Pod<'_>) -> Option<String> {
    gang_and_role(&Words(pod)).map(|(gang, _)| gang)
}

/// One side: its runs, one a seed.
#[derive(Debug, Default)]
pub struct Side {
    figures: Vec<Figures>,
    places: Vec<Places>,
    /// What the module did wrong, if anything.
    pub errors: Vec<String>,
}

impl Side {
    /// Runs a trial with the seeds 0 to `seeds`.
    ///
    /// # Errors
    /// When the module does not start.
    pub fn run(trial: &Trial, seeds: u64, options: &Options) -> anyhow::Result<Self> {
        let mut side = Self::default();
        for seed in 0..seeds {
            let mut simulation = trial.simulation(Options { seed, ..options.clone() })?;
            simulation.run_until_idle()?;
            side.figures.push(Figures::of(&simulation));
            side.places.push(simulation.placements().into_iter().collect());
            side.errors.extend(simulation.plugin_errors().iter().cloned());
        }
        Ok(side)
    }
}

/// The comparison as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    schema_version: &'static str,
    /// Runs of each side.
    pub seeds: usize,
    /// Each figure.
    pub figures: Vec<Figure>,
    /// Pods that went elsewhere with the first seed.
    pub moved: Vec<Moved>,
    /// How many pods the first side alone moves from one seed to another, on average.
    pub moved_by_ties: f64,
}

/// One figure of both sides.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figure {
    /// One of [`FIGURES`].
    pub name: &'static str,
    /// Of the first side.
    pub first: Spread,
    /// Of the second side.
    pub second: Spread,
    /// Mean of the second less the first.
    pub difference: f64,
    /// Whether the difference is larger than twice its standard error; unknown with one seed.
    pub clear: Option<bool>,
}

/// A figure over the seeds.
#[derive(Debug, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub least: f64,
    /// Largest.
    pub most: f64,
}

/// A pod that one side puts elsewhere than the other; `None` where it waits.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// `namespace/name`.
    pub pod: String,
    /// Its node with the first side.
    pub first: Option<String>,
    /// Its node with the second side.
    pub second: Option<String>,
}

impl Comparison {
    /// Compares two sides that were run with the same seeds.
    #[must_use]
    pub fn of(first: &Side, second: &Side) -> Self {
        let figures = FIGURES.iter().enumerate().map(|(at, name)| {
            let [first, second] =
                [first, second].map(|side| side.figures.iter().map(|run| run.0[at]).collect::<Vec<_>>());
            let differences: Vec<f64> = first.iter().zip(&second).map(|(first, second)| second - first).collect();
            Figure {
                name,
                difference: mean(&differences),
                clear: is_clear(&differences),
                first: Spread::of(&first),
                second: Spread::of(&second),
            }
        });
        let by_ties: Vec<f64> = match first.places.split_first() {
            Some((one, others)) => others.iter().map(|other| moved(one, other).len() as f64).collect(),
            None => Vec::new(),
        };
        Self {
            schema_version: "v1",
            seeds: first.figures.len(),
            figures: figures.collect(),
            moved: first
                .places
                .first()
                .zip(second.places.first())
                .map(|(one, other)| moved(one, other))
                .unwrap_or_default(),
            moved_by_ties: mean(&by_ties),
        }
    }
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        Self {
            mean: mean(values),
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

fn moved(first: &Places, second: &Places) -> Vec<Moved> {
    let pods: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let of = |places: &Places, pod: &String| places.get(pod).cloned();
    pods.into_iter()
        .map(|pod| Moved { pod: pod.clone(), first: of(first, pod), second: of(second, pod) })
        .filter(|moved| moved.first != moved.second)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Whether the mean of paired differences is further from 0 than twice its standard error.
fn is_clear(differences: &[f64]) -> Option<bool> {
    if differences.len() < 2 {
        return None;
    }
    let (mean, count) = (mean(differences), differences.len() as f64);
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    // Sums of like numbers are off by some bits.
    Some(mean.abs() > 2.0 * error + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(runs: &[(f64, &[(&str, &str)])]) -> Side {
        let places =
            |places: &[(&str, &str)]| places.iter().map(|(pod, node)| ((*pod).into(), (*node).into())).collect();
        let figures = |placed: f64| Figures(std::array::from_fn(|at| if at == 0 { placed } else { 0.0 }));
        Side {
            figures: runs.iter().map(|(placed, _)| figures(*placed)).collect(),
            places: runs.iter().map(|(_, pods)| places(pods)).collect(),
            errors: Vec::new(),
        }
    }

    #[test]
    fn what_chance_alone_does_is_not_clear() {
        let first = side(&[(10.0, &[]), (12.0, &[]), (11.0, &[])]);
        let better = side(&[(13.0, &[]), (15.0, &[]), (14.0, &[])]);
        let noisy = side(&[(11.0, &[]), (9.0, &[]), (14.0, &[])]);
        assert_eq!(Comparison::of(&first, &better).figures[0].clear, Some(true));
        assert_eq!(Comparison::of(&first, &better).figures[0].difference, 3.0);
        assert_eq!(Comparison::of(&first, &noisy).figures[0].clear, Some(false));
        assert_eq!(Comparison::of(&first, &first).figures[0].clear, Some(false));
        let once = side(&[(1.0, &[])]);
        assert_eq!(Comparison::of(&once, &once).figures[0].clear, None);
    }

    #[test]
    fn pods_that_moved_are_those_of_the_first_seed() {
        let first = side(&[(2.0, &[("a", "n1"), ("b", "n1")]), (2.0, &[("a", "n1"), ("b", "n2")])]);
        let second = side(&[(1.0, &[("a", "n1"), ("c", "n2")]), (0.0, &[])]);
        let comparison = Comparison::of(&first, &second);
        let moved = |pod: &str, first: Option<&str>, second: Option<&str>| Moved {
            pod: pod.into(),
            first: first.map(Into::into),
            second: second.map(Into::into),
        };
        assert_eq!(comparison.moved, [moved("b", Some("n1"), None), moved("c", None, Some("n2"))]);
        assert_eq!(comparison.moved_by_ties, 1.0);
    }
}
