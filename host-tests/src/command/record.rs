//! `stowage record`: every call of a run, as JSON lines.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Context as _;

use super::MODULE_MISBEHAVED;
use super::inputs::Inputs;
use super::output::{report_errors, say};
use crate::recording::{Recorder, Tape};

/// Run a workload and write down every call of the module with its answer
///
/// Runs like `stowage run`. `stowage replay` asks another build of the module, or the same with another policy, everything
/// again and shows the first answer that differs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Where to write the recording (JSON lines); `-` is stdout
    #[arg(long, value_name = "FILE", default_value = "-")]
    to: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// When an input is bad or the recording cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.inputs.expect_other(&args.to)?;
    let trial = args.inputs.read()?;
    let out: Box<dyn Write> = if args.to == Path::new("-") {
        Box::new(BufWriter::new(std::io::stdout()))
    } else {
        let file = File::create(&args.to).with_context(|| format!("cannot write {}", args.to.display()))?;
        Box::new(BufWriter::new(file))
    };
    let tape = Rc::new(RefCell::new(Tape::new(out, &trial.policy)));
    let (mut make, recorded) = (trial.factory(), Rc::clone(&tape));
    let factory = Box::new(move |handle: Rc<dyn crate::framework::Handle>| {
        Ok(Box::new(Recorder::new(make(Rc::clone(&handle))?, handle, Rc::clone(&recorded))) as Box<_>)
    });
    let mut simulation = trial.simulation_of(factory, args.inputs.options(&trial, 1))?;
    simulation.run_until_idle()?;
    let calls = tape.borrow_mut().finish()?;
    say(format_args!("{calls} calls in {} scheduling cycles", simulation.cycles()));
    Ok(if report_errors(&simulation) { ExitCode::from(MODULE_MISBEHAVED) } else { ExitCode::SUCCESS })
}
