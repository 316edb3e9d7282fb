//! `stowage run`: where pods would go.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Context as _;

use crate::anonymize::anonymize;
use crate::trial::{Before, Digest, NodeOutcome, Outcome, Trial, amount};

use super::inputs::{Explain, Inputs};
use super::output::{Format, Table, line, report_module, say};
use super::watch::watch;
use super::{MODULE_MISBEHAVED, explain, render};

/// Show where the pods of a workload would go, and why others wait
///
/// Runs the scheduler's loop with the policy module on a simulated cluster until nothing can move any more. In JSON, cpu is
/// in milli-CPU and memory in bytes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Run nothing; write the cluster and the workload's pods to a file (JSON; `-` is stdout) with names, namespaces, labels,
    /// images and resources of one's own replaced, fit to be attached to a report. Environment variables are left out, so
    /// gang.inferSizeFromEnv finds nothing; a policy's own patterns and names (gang.sizes, resources) no longer match, nor do
    /// Gt and Lt on one's own labels
    #[arg(long, value_name = "FILE")]
    anonymize: Option<PathBuf>,
    /// Run again whenever an input changes
    #[arg(long, conflicts_with = "anonymize")]
    watch: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
    /// Also draw a page of it: nodes before and after, pending pods, why each pod went where it went
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also say in JSON what each pod's last cycle made of the nodes; --html does so anyway
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
///
/// # Errors
/// When an input is bad.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.watch { watch(&args.inputs.files(), || run_once(args)) } else { run_once(args) }
}

fn run_once(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.html {
        render::expect_page(file)?;
    }
    let trial = args.inputs.read()?;
    if let Some(path) = &args.anonymize {
        args.inputs.expect_other(path)?;
        write_anonymous(&trial, path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let digest = Rc::new(Digest::default());
    let (mut simulation, log) = if args.explain || args.html.is_some() {
        explain::start(&args.inputs, &trial, &Explain::Everybody(digest.clone()))?
    } else {
        args.inputs.simulation(&trial, &Explain::Nobody)?
    };
    let before = Before::of(&simulation);
    let rest = simulation.run_until_idle()?;
    let mut outcome = Outcome::of(&simulation, rest);
    outcome.add_pods(&simulation, &before, &mut digest.take());
    if let Some(file) = &args.html {
        render::write(&outcome, file)?;
    }
    match args.output {
        Format::Json => line(serde_json::to_string_pretty(&outcome)?),
        Format::Table => print(&outcome),
    }
    for warning in simulation.warnings() {
        say(format_args!("note: {warning}"));
    }
    if !rest.settled {
        say("note: pods were still being tried in vain when the run was ended");
    }
    let misbehaved = report_module(&simulation, &log);
    Ok(if misbehaved { ExitCode::from(MODULE_MISBEHAVED) } else { ExitCode::SUCCESS })
}

fn write_anonymous(trial: &Trial, path: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&anonymize(trial))?;
    if path == Path::new("-") {
        line(text);
        return Ok(());
    }
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

fn print(outcome: &Outcome) {
    if !outcome.placements.is_empty() {
        let mut table = Table::new(["POD", "NODE"]);
        outcome.placements.iter().for_each(|placement| table.row([&placement.pod, &placement.node]));
        table.print();
        line("");
    }
    if !outcome.pending.is_empty() {
        let mut table = Table::new(["PENDING", "REASON"]);
        outcome.pending.iter().for_each(|pod| table.row([&pod.pod, &pod.reason]));
        table.print();
        line("");
    }
    if !outcome.evicted.is_empty() {
        let mut table = Table::new(["EVICTED", "FROM NODE"]);
        outcome.evicted.iter().for_each(|pod| table.row([&pod.pod, &pod.node]));
        table.print();
        line("");
    }
    nodes(&outcome.nodes).print();
    line("");
    let evicted = match outcome.evicted.len() {
        0 => String::new(),
        evicted => format!("{evicted} evicted, "),
    };
    line(format_args!(
        "{} placed, {} pending, {evicted}{} scheduling cycles, {} s simulated",
        outcome.placements.len(),
        outcome.pending.len(),
        outcome.cycles,
        outcome.simulated_seconds
    ));
}

fn nodes(nodes: &[NodeOutcome]) -> Table {
    let mut resources: Vec<&String> = Vec::new();
    for name in nodes.iter().flat_map(|node| node.allocatable.keys().chain(node.allocated.keys())) {
        if !resources.contains(&name) && name != "ephemeral-storage" && !name.starts_with("hugepages-") {
            resources.push(name);
        }
    }
    let headings = resources.iter().map(|name| name.to_uppercase());
    let mut table = Table::new(std::iter::once("NODE".to_owned()).chain(headings));
    for node in nodes {
        let cells = resources.iter().map(|name| {
            let of = |amounts: &std::collections::BTreeMap<String, i64>| amounts.get(*name).copied().unwrap_or(0);
            let (allocated, allocatable) = (of(&node.allocated), of(&node.allocatable));
            if allocated == 0 && allocatable == 0 {
                return "-".to_owned();
            }
            format!("{}/{}", amount(name, allocated), amount(name, allocatable))
        });
        table.row(std::iter::once(node.name.clone()).chain(cells));
    }
    table
}
