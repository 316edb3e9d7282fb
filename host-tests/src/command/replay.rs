//! `stowage replay`: another module on a recorded run.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Context as _;

use super::EXPECTATION_FAILED;
use super::output::{Format, line};
use crate::host::{Options, WasmPlugin};
use crate::recording::{Call, Difference, replay};
use crate::trial::{load_module, read_policy};

/// Ask a module everything that a recording holds, and show the first answer that differs
///
/// That the module asks for other events is shown if nothing else differs. Exits with 1 if an answer differs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What `stowage record` wrote; `-` is stdin
    recording: PathBuf,
    /// The module to ask [default: Stowage]
    #[arg(short, long, value_name = "MODULE.wasm")]
    module: Option<PathBuf>,
    /// Another policy document (JSON) than the recorded one
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// Runs the command.
///
/// # Errors
/// When an input is bad.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let module = load_module(args.module.as_deref())?;
    let name = args.recording.display();
    let reader: Box<dyn BufRead> = if args.recording == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(&args.recording).with_context(|| format!("cannot read {name}"))?))
    };
    let policy = args.policy.as_deref().map(|path| read_policy(path, &module)).transpose()?;
    let replayed = replay(reader, policy.as_deref(), Rc::new(|_, _| {}), &mut |policy, handle| {
        Ok(Box::new(WasmPlugin::new(&module, policy, handle, Options::default())?))
    });
    let replayed = replayed.with_context(|| name.to_string())?;
    match (args.output, &replayed.difference) {
        (Format::Json, _) => {
            let mut json = serde_json::json!({ "schemaVersion": "v1", "calls": replayed.calls });
            json["difference"] = serde_json::to_value(&replayed.difference)?;
            line(serde_json::to_string_pretty(&json)?);
        }
        (Format::Table, None) => line(format_args!("{} calls, every answer is as recorded", replayed.calls)),
        (Format::Table, Some(difference)) => {
            line(format_args!("line {} of {name}, call {}:", difference.line, replayed.calls));
            print(difference)?;
        }
    }
    Ok(if replayed.difference.is_some() { ExitCode::from(EXPECTATION_FAILED) } else { ExitCode::SUCCESS })
}

fn print(Difference { call, pod, answer, .. }: &Difference) -> anyhow::Result<()> {
    let Call { export, node, nodes, .. } = call;
    line(format_args!("  call      {export}"));
    for (name, value) in [("pod", pod), ("node", node)] {
        if let Some(value) = value {
            line(format_args!("  {name:<10}{value}"));
        }
    }
    if !nodes.is_empty() {
        line(format_args!("  nodes     {}", nodes.join(", ")));
    }
    line(format_args!("  recorded  {}", serde_json::to_string(&call.answer)?));
    line(format_args!("  now       {}", serde_json::to_string(answer)?));
    Ok(())
}
