//! `stowage bench`: what a module costs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::builder::RangedU64ValueParser;

use super::EXPECTATION_FAILED;
use super::output::{Format, Table, line, say};
use crate::hint::did_you_mean;
use crate::host::Module;
use crate::measurement::{Budget, Measurement};
use crate::trial::read_policy;

/// Measure a module: size, load time, memory, and each call's fuel and time on clusters of several sizes
///
/// Fuel (about one unit per instruction) does not depend on the machine. With a budget file, exits with 1 if something
/// costs more. A budget is JSON: {"size": bytes, "loadSeconds": s, "memory": bytes, "calls": {"prescore": {"coldFuel": n,
/// "fuel": n, "microseconds": n}}}; what is absent may cost anything.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Any module made for kube-scheduler-wasm-extension [default: Stowage]
    #[arg(value_name = "MODULE.wasm")]
    module: Option<PathBuf>,
    /// The policy document (JSON) [default: the module's defaults]
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Numbers of nodes
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100, 1000, 5000], value_parser = nodes())]
    nodes: Vec<usize>,
    /// What the module may cost
    #[arg(long, value_name = "FILE")]
    budget: Option<PathBuf>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// Four times what Kubernetes supports; the objects of more would fill a laptop.
fn nodes() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=20_000)
}

/// Runs the command.
///
/// # Errors
/// When an input is bad.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let budget = match &args.budget {
        Some(path) => {
            let source = crate::load::read(path)?;
            serde_json::from_str(source.text()).with_context(|| format!("{} is no budget", path.display()))?
        }
        None => Budget::default(),
    };
    let bytes = args.module.as_ref().map(read).transpose()?;
    let bytes = bytes.as_deref().unwrap_or(crate::builtin_module());
    let module = args.module.as_ref().map_or("Stowage".into(), |path| path.display().to_string());
    let loaded = Module::from_bytes(bytes).with_context(|| module.clone())?;
    let policy = args.policy.as_deref().map(|path| read_policy(path, &loaded)).transpose()?.unwrap_or_default();
    let measured = Measurement::of(bytes, &policy, &args.nodes).with_context(|| module)?;
    let calls: Vec<&str> = measured.clusters.iter().flat_map(|cluster| cluster.calls.keys().copied()).collect();
    if let Some(other) = budget.calls.keys().find(|call| !calls.contains(&call.as_str())) {
        bail!("the budget's calls.{other} is no call of the module{}", did_you_mean(other, calls));
    }
    match args.output {
        Format::Json => line(serde_json::to_string_pretty(&measured)?),
        Format::Table => print(&measured),
    }
    let over = measured.over(&budget);
    over.iter().for_each(|over| say(format_args!("over budget: {over}")));
    Ok(if over.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXPECTATION_FAILED) })
}

fn print(measured: &Measurement) {
    line(format_args!("{} bytes, loaded in {:.3} s", measured.size, measured.load_seconds));
    line("");
    let mut table = Table::new(["NODES", "CALL", "COLD FUEL", "FUEL", "MICROSECONDS", "MEMORY"]);
    for cluster in &measured.clusters {
        for (at, (call, cost)) in cluster.calls.iter().enumerate() {
            let memory = if at == 0 { format!("{} KiB", cluster.memory >> 10) } else { String::new() };
            table.row([
                cluster.nodes.to_string(),
                (*call).to_owned(),
                cost.cold_fuel.to_string(),
                cost.fuel.to_string(),
                cost.microseconds.to_string(),
                memory,
            ]);
        }
    }
    table.print();
}
