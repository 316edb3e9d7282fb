//! `stowage trace`: which share of a cluster's GPUs a policy gives away before nothing fits any more.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Serialize;

use super::MODULE_MISBEHAVED;
use super::output::{self, Format, Table, line};
use crate::openb::chart::{Line, svg};
use crate::openb::compare::{Contestant, Job, run as replay_all};
use crate::openb::module::Misbehaved;
use crate::openb::replay::{Options, Outcome, Ties};
use crate::openb::{self, Trace, formula};
use crate::trial::{load_module, read_policy};

/// The module's name among the formulas.
const OURS: &str = "stowage";
/// As many as `stowage compare` takes.
const MOST_SEEDS: u64 = 1000;
/// Percents of arrived demand that tables show.
const SHOWN: [u32; 6] = [80, 90, 95, 100, 110, 130];

/// Replay a production trace (openb) and show how much of the GPUs gets allocated
///
/// Pods arrive one by one in random order until demand reaches a multiple of the cluster's GPUs; none leaves, so that
/// placement alone decides. Each pod is placed by the module, called as a scheduler calls it; pods that fit nowhere are
/// dropped. Percents are of the cluster's GPUs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Node list
    #[arg(long, value_name = "CSV")]
    nodes: PathBuf,
    /// Pod lists; each is replayed by itself
    #[arg(long, value_name = "CSV", required = true, num_args = 1..)]
    pods: Vec<PathBuf>,
    /// The policy document (JSON) [default: the policy's defaults]
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Any module made for kube-scheduler-wasm-extension [default: Stowage]
    #[arg(short, long, value_name = "MODULE.wasm")]
    module: Option<PathBuf>,
    /// Seed of the order of arrival and of ties between nodes
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Several seeds, such as 42-46 or 1,5,7: show the mean
    #[arg(long, value_name = "LIST", conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// Demand that arrives, as a multiple of the cluster's GPUs
    #[arg(long, value_name = "FACTOR", default_value_t = 1.3)]
    arrive: f64,
    /// Which of several equally good nodes gets a pod: any, as in kube-scheduler, or the first in an order drawn once
    #[arg(long, value_enum, default_value = "random")]
    ties: TieOrder,
    /// Compare formulas side by side, all or those named; `stowage` is the module, the others are computed natively
    #[arg(long, value_name = "NAMES", num_args = 0.., value_delimiter = ',')]
    policy_compare: Option<Vec<String>>,
    /// Draw allocated over arrived GPUs into this file (SVG)
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "camelCase")]
enum TieOrder {
    Random,
    Fixed,
}

/// Seeds, from `42-46` or `1,5,7`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seeds(Vec<u64>);

impl FromStr for Seeds {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut seeds = Vec::new();
        for part in text.split(',') {
            let number = |text: &str| text.parse::<u64>().with_context(|| format!("{text:?} is no seed"));
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            ensure!(first <= last, "{part:?} is no range: it ends before it begins");
            ensure!(last - first < MOST_SEEDS - seeds.len() as u64, "more than {MOST_SEEDS} seeds");
            seeds.extend(first..=last);
        }
        Ok(Self(seeds))
    }
}

/// What was asked for, and what came of it. `results` always holds everything; what a single replay gave stands outside, too.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    schema_version: &'static str,
    /// The policy document of the module; absent for its defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    seeds: Vec<u64>,
    ties: TieOrder,
    arrive: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    only: Option<Summary>,
    results: Vec<Named>,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Named {
    workload: String,
    policy: String,
    #[serde(flatten)]
    summary: Summary,
}

/// The mean of the seeds; pods are those of all.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    arrived: Vec<Arrived>,
    pods: usize,
    failed: usize,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Arrived {
    percent: u32,
    gpu_allocated_percent: f64,
}

/// Runs the command.
///
/// # Errors
/// When an input is bad.
pub fn run(args: &Args) -> Result<ExitCode> {
    let started = Instant::now();
    ensure!(args.arrive > 0.0 && args.arrive <= 10.0, "--arrive: {} is not between 0 and 10", args.arrive);
    args.chart.as_deref().map_or(Ok(()), expect_chart)?;
    let traces: Vec<Trace> = args.pods.iter().map(|pods| openb::read(&args.nodes, pods)).collect::<Result<_>>()?;
    let contestants = contestants(args)?;
    let seeds = args.seeds.clone().unwrap_or(Seeds(vec![args.seed])).0;
    let ties = match args.ties {
        TieOrder::Random => Ties::Random,
        TieOrder::Fixed => Ties::Fixed,
    };
    let mut jobs = Vec::new();
    for trace in &traces {
        for (_, contestant) in &contestants {
            let options = |seed| Options { seed, arrive: args.arrive, ties };
            jobs.extend(seeds.iter().map(|seed| Job { trace, contestant, options: options(*seed) }));
        }
    }
    let replays = format!("{} replays", jobs.len());
    let progress = output::spinner("{spinner} {pos} pods placed in {msg} ({elapsed})", &replays);
    let outcomes = match replay_all(&jobs, &|| progress.inc(1)) {
        Err(error) if error.is::<Misbehaved>() => {
            output::say_error(&error);
            return Ok(ExitCode::from(MODULE_MISBEHAVED));
        }
        outcomes => outcomes?,
    };
    progress.finish_and_clear();
    let mut logged: Vec<&String> = outcomes.iter().flat_map(|(_, log)| log).collect();
    logged.sort();
    logged.dedup();
    logged.iter().for_each(|line| output::say(format_args!("module: {line}")));

    let mut results: Vec<Named> = Vec::new();
    let mut of_seeds = outcomes.chunks(seeds.len());
    for pods in &args.pods {
        for ((policy, _), outcomes) in contestants.iter().zip(of_seeds.by_ref()) {
            let outcomes: Vec<&Outcome> = outcomes.iter().map(|(outcome, _)| outcome).collect();
            results.push(Named { workload: stem(pods), policy: policy.clone(), summary: summary(&outcomes) });
        }
    }
    if let Some(path) = &args.chart {
        let lines: Vec<Line> = results.iter().map(|named| drawn(named, traces.len() > 1)).collect();
        std::fs::write(path, svg(&lines)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    match args.output {
        Format::Table => print(&results, started.elapsed().as_secs_f64()),
        Format::Json => {
            let only = if let [only] = &*results { Some(only.summary.clone()) } else { None };
            let report = Report {
                schema_version: "v1",
                policy: args.policy.as_ref().map(|path| path.display().to_string()),
                seeds,
                ties: args.ties,
                arrive: args.arrive,
                only,
                results,
                seconds: rounded(started.elapsed().as_secs_f64()),
            };
            line(serde_json::to_string_pretty(&report)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a chart that could not be written: replays take minutes.
fn expect_chart(path: &Path) -> Result<()> {
    let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    ensure!(named, "{}: a chart is a file *.svg", path.display());
    // Not truncated: what is there stays until there is something better.
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
    opened.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// Who is compared, by name.
fn contestants(args: &Args) -> Result<Vec<(String, Contestant)>> {
    let all = || formula::NAMES.iter().copied().chain([OURS]).map(ToOwned::to_owned).collect();
    let names: Vec<String> = match &args.policy_compare {
        None => vec![OURS.to_owned()],
        Some(names) if names.is_empty() => all(),
        Some(names) => names.clone(),
    };
    let module = || -> Result<Contestant> {
        let module = load_module(args.module.as_deref())?;
        let policy = args.policy.as_deref().map(|path| read_policy(path, &module)).transpose()?;
        Ok(Contestant::Module(module, policy.unwrap_or_default()))
    };
    let find = |name: String| {
        if name == OURS {
            return Ok((name, module()?));
        }
        match formula::NAMES.iter().find(|known| **known == name) {
            Some(known) => Ok((name, Contestant::Formula(known))),
            None => bail!("--policy-compare: no formula is called {name:?}; there are {}", all().join(", ")),
        }
    };
    names.into_iter().map(find).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

fn summary(outcomes: &[&Outcome]) -> Summary {
    let percents = outcomes.first().map(|outcome| outcome.allocated.as_slice()).unwrap_or_default();
    let mean = |percent: u32| {
        let found: Option<Vec<f64>> = outcomes.iter().map(|outcome| outcome.at(percent)).collect();
        let found = found?;
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        Some(Arrived { percent, gpu_allocated_percent: rounded(mean) })
    };
    Summary {
        arrived: percents.iter().filter_map(|(percent, _)| mean(*percent)).collect(),
        pods: outcomes.iter().map(|outcome| outcome.pods).sum(),
        failed: outcomes.iter().map(|outcome| outcome.failed).sum(),
    }
}

/// Two digits behind the point.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn drawn(named: &Named, several_workloads: bool) -> Line {
    let name = &named.policy;
    let points = named.summary.arrived.iter().map(|at| (f64::from(at.percent), at.gpu_allocated_percent));
    Line {
        name: if several_workloads { format!("{name}, {}", named.workload) } else { name.clone() },
        points: points.collect(),
    }
}

fn print(results: &[Named], seconds: f64) {
    let at = |named: &Named, percent: u32| {
        let found = named.summary.arrived.iter().find(|arrived| arrived.percent == percent);
        found.map(|arrived| arrived.gpu_allocated_percent)
    };
    let shown: Vec<u32> =
        SHOWN.into_iter().filter(|percent| results.iter().any(|named| at(named, *percent).is_some())).collect();
    line("GPUs allocated, % of all, when so many % have arrived as demand:");
    let columns = shown.iter().map(|percent| format!("{percent} %"));
    let head = ["WORKLOAD".to_owned(), "POLICY".to_owned()];
    let mut table = Table::new(head.into_iter().chain(columns).chain(["PODS".to_owned(), "FAILED".to_owned()]));
    for named in results {
        let cells =
            shown.iter().map(|percent| at(named, *percent).map_or("-".to_owned(), |found| format!("{found:.2}")));
        let counts = [named.summary.pods.to_string(), named.summary.failed.to_string()];
        table.row([named.workload.clone(), named.policy.clone()].into_iter().chain(cells).chain(counts));
    }
    let mut policies: Vec<&str> = results.iter().map(|named| named.policy.as_str()).collect();
    policies.dedup();
    for policy in policies.iter().filter(|_| results.iter().any(|named| named.workload != results[0].workload)) {
        let of_policy: Vec<&Named> = results.iter().filter(|named| named.policy == *policy).collect();
        let mean = |percent: &u32| {
            let found: Option<Vec<f64>> = of_policy.iter().map(|named| at(named, *percent)).collect();
            found.map_or("-".to_owned(), |found| format!("{:.2}", found.iter().sum::<f64>() / found.len() as f64))
        };
        table.row(["mean".to_owned(), (*policy).to_owned()].into_iter().chain(shown.iter().map(mean)));
    }
    table.print();
    line(format_args!("{seconds:.1} s"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_lists_and_ranges() {
        assert_eq!("42-44,7".parse::<Seeds>().unwrap(), Seeds(vec![42, 43, 44, 7]));
        for wrong in ["", "4-", "5-4", "x", "0-1000", "0-999,5"] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
    }
}
