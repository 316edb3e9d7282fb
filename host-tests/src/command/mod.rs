//! The subcommands, one file each, and what they share.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 fine, 1 an expectation failed, 2 bad input (or an output that
//! cannot be written), 3 the module misbehaved.

mod bench;
mod check;
mod compare;
mod completions;
mod explain;
mod inputs;
mod inspect;
mod output;
mod record;
mod render;
mod replay;
mod run;
mod schema;
mod test;
mod trace;
mod watch;

use std::process::ExitCode;

use clap::Parser;

/// An expectation does not hold.
pub const EXPECTATION_FAILED: u8 = 1;
/// An input was bad, or the output cannot be written.
pub const BAD_INPUT: u8 = 2;
/// The module failed where no sound module does.
pub const MODULE_MISBEHAVED: u8 = 3;

/// Run as printed by tests/documents.rs.
const EXAMPLES: &str = "\
Examples, in the folder examples/tfjob of the repository:

    stowage run -c cluster.yaml -w workload.yaml -p policy.json
    stowage run -c cluster.yaml -w workload.yaml --html run.html
    stowage explain tf-smoke-gpu-worker-0 -c cluster.yaml -w workload.yaml
    stowage check policy.json
    stowage test .
    stowage compare default policy-spread.json -c cluster.yaml -w workload.yaml
    stowage run -c cluster.yaml -w workload.yaml -o json --explain > result.json
    stowage render result.json -o run.svg
    stowage record -c cluster.yaml -w workload.yaml --to run.jsonl
    stowage replay run.jsonl
    stowage bench --nodes 100
    stowage schema > policy.schema.json
    stowage completions bash > stowage.bash";

/// Try a scheduling policy on a laptop: the module that a cluster would load, behind the scheduler's own interface.
#[derive(Debug, Parser)]
#[command(name = "stowage", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(run::Args),
    Explain(explain::Args),
    Trace(trace::Args),
    Inspect(inspect::Args),
    Test(test::Args),
    Compare(compare::Args),
    Render(render::Args),
    Check(check::Args),
    Schema(schema::Args),
    Bench(bench::Args),
    Record(record::Args),
    Replay(replay::Args),
    Completions(completions::Args),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Completions(args) => Ok(completions::run(&args)),
    };
    result.unwrap_or_else(|error| {
        output::say_error(&error);
        ExitCode::from(BAD_INPUT)
    })
}
