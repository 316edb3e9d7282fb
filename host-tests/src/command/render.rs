//! `stowage render`: a picture of a run that was kept as JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use crate::picture::{self, Colours};
use crate::trial::Outcome;

/// Draw the result of `stowage run -o json`
///
/// The page (*.html) is one file that needs nothing else: nodes before and after the run, pending pods with their reasons,
/// and, if the result was made with --explain, why each pod went where it went. The drawing (*.svg) is for documents.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What `stowage run -o json` printed; `-` is stdin
    #[arg(value_name = "RESULT.json")]
    result: PathBuf,
    /// The file to write, *.html or *.svg
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What the colours of a drawing tell; a page has a switch
    #[arg(long, value_enum, default_value_t = Colours::Job)]
    by: Colours,
}

/// Runs the command.
///
/// # Errors
/// When the result is not one, or the picture cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let source = crate::load::read(&args.result)?;
    let name = args.result.display();
    let outcome: Outcome = serde_json::from_str(source.text())
        .with_context(|| format!("{name} is not the output of `stowage run -o json`"))?;
    if outcome.schema_version != "v1" {
        bail!("{name} has schemaVersion {:?}; this program reads v1", outcome.schema_version);
    }
    match extension(&args.output) {
        "svg" => save(&args.output, &picture::svg(&outcome, args.by)?),
        _ => write(&outcome, &args.output),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a page goes into this file, by its name.
///
/// # Errors
/// When none does.
pub fn expect_page(file: &Path) -> anyhow::Result<()> {
    match extension(file) {
        "html" | "htm" => Ok(()),
        _ => bail!("{}: a picture is a file *.html or, with `stowage render`, *.svg", file.display()),
    }
}

/// Writes the page of an outcome.
///
/// # Errors
/// When the file cannot be written, or is none that a page goes into.
pub fn write(outcome: &Outcome, file: &Path) -> anyhow::Result<()> {
    expect_page(file)?;
    save(file, &picture::html(outcome)?)
}

fn save(file: &Path, picture: &str) -> anyhow::Result<()> {
    std::fs::write(file, picture).with_context(|| format!("cannot write {}", file.display()))
}

fn extension(file: &Path) -> &str {
    file.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}
