//! `stowage explain`: why a pod went where it went, or nowhere.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use crate::hint::did_you_mean;
use crate::scheduler::report::{CycleReport, Verdict};
use crate::simulation::Simulation;
use crate::trial::{ScoreLine, Trial, is_in_gang};
use anyhow::bail;
use serde::Serialize;
use serde_json::Value;

use super::MODULE_MISBEHAVED;
use super::inputs::{Explain, Inputs, Log};
use super::output::{Format, Table, line, report_module};

/// Show every node's verdict and score for one pod
///
/// Runs like `stowage run` and shows the pod's last scheduling cycle: which filter refused each node and why, and what the
/// score of each other node is made of.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The pod: `namespace/name`, or `name` in the namespace `default`
    pod: String,
    #[command(flatten)]
    inputs: Inputs,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// The explanation as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    schema_version: &'static str,
    pod: String,
    attempts: u32,
    /// Why earlier attempts failed; attempts that failed for one reason stand together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Earlier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    nodes: Vec<Node>,
    /// Why there are no scores: what stands beside the only node that fits.
    #[serde(skip)]
    unscored: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Earlier {
    first: u32,
    last: u32,
    reason: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    /// `fits`, `refused` or `notVisited`.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parts: BTreeMap<String, Value>,
}

/// Runs the command.
///
/// # Errors
/// When an input is bad, or the pod is not among the inputs.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let trial = args.inputs.read()?;
    let key = if args.pod.contains('/') { args.pod.clone() } else { format!("default/{}", args.pod) };
    let (mut simulation, log) = start(&args.inputs, &trial, &Explain::Pod(key.clone()))?;
    simulation.run_until_idle()?;
    let Some(report) = simulation.reports().last() else { bail!("{}", not_scheduled(&simulation, &key)) };
    let earlier = simulation.reports().iter().rev().skip(1).rev();
    let earlier = earlier.filter_map(|report| Some((report.attempt, report.failure.clone()?))).collect();
    let in_gang = simulation.pod(&key).is_some_and(|pod| is_in_gang(&pod.info));
    let explanation = explain(report, earlier, in_gang, &log);
    match args.output {
        Format::Json => line(serde_json::to_string_pretty(&explanation)?),
        Format::Table => print(&explanation),
    }
    let misbehaved = report_module(&simulation, &log);
    Ok(if misbehaved { ExitCode::from(MODULE_MISBEHAVED) } else { ExitCode::SUCCESS })
}

/// Our module tells the parts of its scores if asked to; other modules may refuse a policy that asks.
pub(super) fn start(inputs: &Inputs, trial: &Trial, whom: &Explain) -> anyhow::Result<(Simulation, Log)> {
    if let Some(asking) = trial.asking_for_parts()
        && let Ok(started) = inputs.simulation(&asking, whom)
    {
        return Ok(started);
    }
    inputs.simulation(trial, whom)
}

fn not_scheduled(simulation: &Simulation, key: &str) -> String {
    if let Some(pod) = simulation.pod(key) {
        return match pod.info.node_name() {
            Some(node) => format!("pod {key} was not scheduled: it was on node {node} from the start"),
            None => format!("pod {key} was not scheduled: {}", crate::trial::reason(pod)),
        };
    }
    let pods = simulation.pods();
    let hint = did_you_mean(key, pods.iter().map(|pod| &*pod.info.key));
    if !hint.is_empty() {
        return format!("there is no pod {key}{hint}");
    }
    // What controllers make begins with the name of what they make it for.
    let name = key.rsplit('/').next().unwrap_or(key);
    let keys = pods.iter().map(|pod| &*pod.info.key);
    let alike: Vec<&str> = keys.filter(|other| other.contains(name) || key.contains(*other)).collect();
    if !alike.is_empty() {
        return format!("there is no pod {key}; did you mean {}?", some(&alike));
    }
    let submitted: Vec<&str> = pods.iter().filter(|pod| !pod.initial).map(|pod| &*pod.info.key).collect();
    if submitted.is_empty() {
        return format!("there is no pod {key}, and none that waits for a node: --workload names files with such pods");
    }
    format!("there is no pod {key}; there are {}", some(&submitted))
}

/// The first of many names.
fn some(names: &[&str]) -> String {
    const MOST: usize = 5;
    let listed = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

fn explain(report: &CycleReport, earlier: Vec<(u32, String)>, in_gang: bool, log: &Log) -> Explanation {
    let log = log.borrow();
    // The last line about a node is of the last cycle.
    let parts: BTreeMap<String, BTreeMap<String, Value>> = log
        .iter()
        .filter_map(|(_, line)| ScoreLine::parse(line))
        .filter(|line| line.pod == report.pod)
        .map(|line| (line.node, line.parts))
        .collect();
    let nodes = report.nodes.iter().map(|node| {
        let (verdict, plugin, reason, score) = match &node.verdict {
            Verdict::Refused { plugin, reason } => {
                ("refused", Some(plugin.clone()), Some(report.refusal(reason)), None)
            }
            Verdict::Fits { score } => ("fits", None, None, *score),
            Verdict::NotVisited => ("notVisited", None, None, None),
        };
        let parts = parts.get(&node.node).filter(|_| score.is_some()).cloned().unwrap_or_default();
        Node { name: node.node.clone(), verdict, plugin, reason, score, parts }
    });
    Explanation {
        schema_version: "v1",
        pod: report.pod.clone(),
        attempts: report.attempt,
        earlier: grouped(earlier),
        node: report.chosen.clone(),
        reason: report.failure.clone(),
        nodes: nodes.collect(),
        unscored: if in_gang && report.is_narrowed() {
            "its place in the gang's plan"
        } else {
            "the only node that fits is not scored"
        },
    }
}

fn grouped(attempts: Vec<(u32, String)>) -> Vec<Earlier> {
    let mut groups: Vec<Earlier> = Vec::new();
    for (attempt, reason) in attempts {
        match groups.last_mut() {
            Some(group) if group.reason == reason => group.last = attempt,
            _ => groups.push(Earlier { first: attempt, last: attempt, reason }),
        }
    }
    groups
}

fn print(explanation: &Explanation) {
    let outcome = match (&explanation.node, &explanation.reason) {
        (Some(node), _) => format!("goes to {node}"),
        (None, Some(reason)) => format!("waits: {reason}"),
        (None, None) => "waits".to_owned(),
    };
    line(format_args!("{} {outcome}", explanation.pod));
    line("");
    for Earlier { first, last, reason } in &explanation.earlier {
        let attempts = if first == last { format!("attempt {first}") } else { format!("attempts {first} to {last}") };
        line(format_args!("{attempts}: {reason}"));
    }
    if !explanation.earlier.is_empty() {
        line(format_args!("attempt {}:", explanation.attempts));
    }
    table(explanation).print();
}

/// What is not a part of the score but tells where packing's part comes from, with headings that name the unit.
const DIAGNOSTICS: [(&str, &str); 5] = [
    ("regret", "REGRET mGPU"),
    ("loser", "LOSER"),
    ("loses", "LOSES mGPU"),
    ("valueBefore", "VALUE BEFORE mGPU"),
    ("valueAfter", "VALUE AFTER mGPU"),
];

/// The node that was taken, then the others by score, and those that were refused.
fn table(explanation: &Explanation) -> Table {
    let is_part = |name: &str| DIAGNOSTICS.iter().all(|(known, _)| *known != name);
    let given: BTreeSet<&str> =
        explanation.nodes.iter().flat_map(|node| node.parts.keys()).map(String::as_str).collect();
    let parts: Vec<&str> = given.iter().copied().filter(|name| is_part(name)).collect();
    let diagnostics: Vec<_> = DIAGNOSTICS.into_iter().filter(|(name, _)| given.contains(name)).collect();
    let scored = explanation.nodes.iter().any(|node| node.score.is_some());
    let mut columns = vec!["NODE".to_owned(), "VERDICT".to_owned()];
    columns.extend(scored.then(|| "SCORE".to_owned()));
    columns.extend(parts.iter().map(|part| part.to_uppercase()));
    columns.extend(diagnostics.iter().map(|(_, heading)| (*heading).to_owned()));
    columns.push("REASON".to_owned());
    let mut table = Table::new(columns);

    let chosen = |node: &Node| explanation.node.as_ref() == Some(&node.name);
    let mut nodes: Vec<&Node> = explanation.nodes.iter().collect();
    nodes.sort_by_key(|node| (!chosen(node), node.verdict == "refused", Reverse(node.score)));
    for node in nodes {
        let verdict = match node.verdict {
            "fits" if chosen(node) => "chosen",
            "notVisited" => "not visited",
            other => other,
        };
        let part = |name: &str| node.parts.get(name).map_or_else(|| "-".to_owned(), plain);
        let mut cells = vec![node.name.clone(), verdict.to_owned()];
        cells.extend(scored.then(|| node.score.map_or_else(|| "-".to_owned(), |score| score.to_string())));
        cells.extend(parts.iter().map(|name| part(name)));
        cells.extend(diagnostics.iter().map(|(name, _)| part(name)));
        cells.push(match (&node.plugin, &node.reason) {
            (Some(plugin), Some(reason)) => format!("{plugin}: {reason}"),
            _ if node.verdict == "fits" && !scored => explanation.unscored.to_owned(),
            _ => String::new(),
        });
        table.row(cells);
    }
    table
}

/// A value as people write it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
