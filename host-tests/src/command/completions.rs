//! `stowage completions`: completion scripts for shells.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use super::output::line;

/// Print a completion script for a shell
///
/// For bash: source <(stowage completions bash)
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stowage", &mut script);
    line(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}
