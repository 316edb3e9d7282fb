//! `stowage test`: scenario folders against their expectations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::output::line;
use super::{BAD_INPUT, EXPECTATION_FAILED};
use crate::scenario;
use crate::trial::load_module;

/// Check scenario folders against their expectations
///
/// A folder holds cluster.yaml, workload.yaml, policy.json and expect.yaml. Folders in folders are found. Exits with 1 if
/// an expectation does not hold.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario folders, or folders of such
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Any module made for kube-scheduler-wasm-extension [default: Stowage]
    #[arg(short, long, value_name = "MODULE.wasm")]
    module: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When a folder cannot be read or the module cannot be loaded.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let module = load_module(args.module.as_deref())?;
    let mut cases = Vec::new();
    for folder in &args.folders {
        cases.extend(scenario::find(folder)?);
    }
    let (mut failed, mut faulty) = (0, 0);
    for case in &cases {
        match scenario::run(case, &module) {
            Ok(report) if report.failures.is_empty() => line(format_args!("ok      {}", name(case))),
            Ok(report) => {
                failed += 1;
                line(format_args!("FAILED  {}", name(case)));
                report.failures.iter().for_each(|failure| line(format_args!("        {failure}")));
            }
            Err(error) => {
                faulty += 1;
                line(format_args!("FAULTY  {}", name(case)));
                line(format_args!("        {error:#}"));
            }
        }
    }
    line(format_args!("{} of {} cases hold", cases.len() - failed - faulty, cases.len()));
    Ok(ExitCode::from(match (faulty, failed) {
        (0, 0) => 0,
        (0, _) => EXPECTATION_FAILED,
        _ => BAD_INPUT,
    }))
}

/// The folder, and the file if it is not the usual one.
fn name(case: &Path) -> String {
    if case.ends_with("expect.yaml") {
        case.parent().unwrap_or(case).display().to_string()
    } else {
        case.display().to_string()
    }
}
