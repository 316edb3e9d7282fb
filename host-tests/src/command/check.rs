//! `stowage check POLICY`: a policy's faults, each with its line and field.

use std::path::PathBuf;
use std::process::ExitCode;

use stowage::config::Policy;

use super::BAD_INPUT;
use super::output::{line, say};
use crate::hint::hinted;

/// Check a policy document
///
/// Prints every fault with line, column and field and exits with 2, or says that the document is valid and exits with 0.
/// The module itself refuses a faulty policy with the same words.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy document (JSON); `-` is stdin.
    policy: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let source = crate::load::read(&args.policy)?;
    match Policy::parse(source.text()) {
        Ok(_) => {
            line(format_args!("{}: valid", source.name()));
            Ok(ExitCode::SUCCESS)
        }
        Err(faults) => {
            for fault in hinted(&faults.to_string()).lines() {
                say(format_args!("{}: {fault}", source.name()));
            }
            Ok(ExitCode::from(BAD_INPUT))
        }
    }
}
