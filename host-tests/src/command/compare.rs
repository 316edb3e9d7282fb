//! `stowage compare`: two policies or two modules on the same input.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

use crate::comparison::{Comparison, Side};
use crate::hint::did_you_mean;
use crate::trial::{Trial, load_module, read_policy};

use super::MODULE_MISBEHAVED;
use super::inputs::Inputs;
use super::output::{Format, Table, line, say};

/// Pods that went elsewhere that a table lists.
const MOST_MOVED: usize = 20;

/// Run two policies or two modules on the same input and show what differs
///
/// Each side is a policy document (`*.json`), a module (`*.wasm`) or the word `default`; what a side does not name is taken
/// from --policy and --module. Both run with the same seeds, since the scheduler breaks ties at random: a difference is
/// called clear if it is larger than twice its standard error.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The one side
    first: PathBuf,
    /// The other side
    second: PathBuf,
    #[command(flatten)]
    inputs: Inputs,
    /// How many seeds to run each side with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// Runs the command.
///
/// # Errors
/// When an input is bad.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let trial = args.inputs.read()?;
    let options = args.inputs.options(&trial, args.seeds * 2);
    let [first, second] = [&args.first, &args.second].map(|side| {
        let trial = side_of(&trial, side)?;
        Side::run(&trial, args.seeds, &options)
    });
    let (first, second) = (first?, second?);
    let comparison = Comparison::of(&first, &second);
    match args.output {
        Format::Json => line(serde_json::to_string_pretty(&comparison)?),
        Format::Table => print(&comparison, args),
    }
    let errors = first.errors.iter().chain(&second.errors);
    let first_error = errors.clone().next();
    if let Some(error) = first_error {
        say(format_args!("error: a module misbehaved {} time(s), first: {error}", errors.count()));
    }
    Ok(if first_error.is_some() { ExitCode::from(MODULE_MISBEHAVED) } else { ExitCode::SUCCESS })
}

fn side_of(trial: &Trial, side: &Path) -> anyhow::Result<Trial> {
    if side == Path::new("default") {
        return Ok(trial.clone());
    }
    if side.extension().is_some_and(|extension| extension == "wasm") {
        return Ok(Trial { module: load_module(Some(side))?, ..trial.clone() });
    }
    if side.extension().is_none() && !side.exists() {
        let hint = did_you_mean(&side.to_string_lossy(), ["default"]);
        bail!("a side is a policy, a module or the word default; there is no file {}{hint}", side.display());
    }
    Ok(Trial { policy: read_policy(side, &trial.module)?, ..trial.clone() })
}

fn print(comparison: &Comparison, args: &Args) {
    let name = |side: &Path| side.display().to_string();
    let mut table = Table::new(["FIGURE".to_owned(), name(&args.first), name(&args.second), "DIFFERENCE".to_owned()]);
    for figure in &comparison.figures {
        let spread = |spread: &crate::comparison::Spread| {
            if spread.least == spread.most {
                number(spread.mean)
            } else {
                format!("{} ({} to {})", number(spread.mean), number(spread.least), number(spread.most))
            }
        };
        let difference = match figure.clear {
            _ if figure.difference == 0.0 => "-".to_owned(),
            Some(false) => format!("{:+} within the noise", rounded(figure.difference)),
            Some(true) | None => format!("{:+}", rounded(figure.difference)),
        };
        table.row([words(figure.name), spread(&figure.first), spread(&figure.second), difference]);
    }
    table.print();
    line("");
    if !comparison.moved.is_empty() {
        let mut table = Table::new(["MOVED".to_owned(), name(&args.first), name(&args.second)]);
        let node = |node: &Option<String>| node.clone().unwrap_or_else(|| "waits".to_owned());
        for moved in comparison.moved.iter().take(MOST_MOVED) {
            table.row([moved.pod.clone(), node(&moved.first), node(&moved.second)]);
        }
        table.print();
        if let Some(more) = comparison.moved.len().checked_sub(MOST_MOVED + 1) {
            line(format_args!("and {} more", more + 1));
        }
        line("");
    }
    line(format_args!(
        "{} pod(s) go elsewhere with seed 0; ties alone move {} from seed to seed",
        comparison.moved.len(),
        number(comparison.moved_by_ties)
    ));
    if comparison.seeds == 1 {
        line("one seed tells nothing of the noise: use --seeds");
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn number(value: f64) -> String {
    rounded(value).to_string()
}

/// `freeGpusOnUsedNodes` as people write it.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words.replace("gpu", "GPU")
}
