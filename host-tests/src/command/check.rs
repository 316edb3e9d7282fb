//! `stowage check POLICY`: a policy's faults, each with its line and field.

use std::path::PathBuf;
use std::process::ExitCode;

use super::BAD_INPUT;
use super::output::{line, say};
use crate::hint::hinted;

/// Check a policy document
///
/// Prints every fault with line, column and field and exits with 2, or says that the document is valid and exits with 0.
/// The module itself refuses a faulty policy with the same words.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy document (JSON), or the scheduler's configuration that holds it as guestConfig; `-` is stdin
    policy: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let source = crate::load::read(&args.policy)?;
    let mut valid = true;
    for policy in crate::load::policies(&source)? {
        let faults = policy.faults();
        valid &= faults.is_empty();
        match &policy.plugin {
            Some(plugin) if faults.is_empty() => {
                line(format_args!("{}: guestConfig of {plugin}: valid", source.name()))
            }
            None if faults.is_empty() => line(format_args!("{}: valid", source.name())),
            _ => faults.iter().for_each(|fault| say(format_args!("{}: {}", source.name(), hinted(fault)))),
        }
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::from(BAD_INPUT) })
}
