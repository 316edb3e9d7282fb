//! `stowage check POLICY`: a policy's faults, each with its line and field.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use stowage::config::Policy;

use super::BAD_INPUT;
use super::output::{line, say};

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
    let name = args.policy.display();
    let text = if args.policy.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(&args.policy)
    };
    let text = text.with_context(|| format!("cannot read policy {name}"))?;
    match Policy::parse(&text) {
        Ok(_) => {
            line(format_args!("{name}: valid"));
            Ok(ExitCode::SUCCESS)
        }
        Err(faults) => {
            for fault in faults.to_string().lines() {
                say(format_args!("{name}: {fault}"));
            }
            Ok(ExitCode::from(BAD_INPUT))
        }
    }
}
