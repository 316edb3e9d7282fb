//! `stowage completions`: completion scripts for shells.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;

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
    clap_complete::generate(args.shell, &mut Cli::command(), "stowage", &mut std::io::stdout());
    ExitCode::SUCCESS
}
