//! `stowage schema`: the JSON Schema of the policy document.

use std::process::ExitCode;

use super::output::line;

/// Print the JSON Schema of the policy document
///
/// Made from the types that read it. Editors that know JSON Schema complete and check a policy with it.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Never; the signature is that of every command.
pub fn run(_: &Args) -> anyhow::Result<ExitCode> {
    line(serde_json::to_string_pretty(&schemars::schema_for!(stowage::config::Policy))?);
    Ok(ExitCode::SUCCESS)
}
