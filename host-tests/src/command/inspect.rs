//! `stowage inspect`: what the stock host makes of a module.

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::MODULE_MISBEHAVED;
use super::output::line;
use crate::host::{ExportInfo, ImportInfo, Inspection, Offer, Role};

/// Show what a module exports and imports, and whether the stock host takes it
///
/// Exits with 3 if the host would refuse the module.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The module; any that was made for kube-scheduler-wasm-extension
    #[arg(value_name = "MODULE.wasm")]
    module: PathBuf,
    /// A table for people or JSON for programs
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "table")]
    output: Output,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Output {
    Table,
    Json,
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be read or is not WebAssembly that the host's runtime compiles.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.module.display();
    let bytes = std::fs::read(&args.module).with_context(|| format!("cannot read module {name}"))?;
    let inspection = Inspection::of(&bytes).with_context(|| name.to_string())?;
    match args.output {
        Output::Table => line(format_args!("{name}: {}", Table(&inspection).to_string().trim_end())),
        Output::Json => line(serde_json::to_string_pretty(&document(&inspection))?),
    }
    Ok(if inspection.is_accepted() { ExitCode::SUCCESS } else { ExitCode::from(MODULE_MISBEHAVED) })
}

fn role(export: &ExportInfo) -> &'static str {
    match export.role {
        Role::Called => "called",
        Role::Masked => "never called: its main function is missing",
        Role::WrongSignature => "wrong signature",
        Role::Start => "called once",
        Role::Memory => "read and written",
        Role::Ignored => "ignored",
    }
}

fn offer(import: &ImportInfo) -> String {
    match &import.offer {
        Offer::Offered => "offered".to_owned(),
        Offer::OtherSignature(signature) => format!("offered as {signature}"),
        Offer::NoSuchName => "no such function".to_owned(),
        Offer::NoSuchModule => "no such host module".to_owned(),
    }
}

fn document(inspection: &Inspection) -> Value {
    let exports = inspection
        .exports
        .iter()
        .map(|export| json!({"name": export.name, "signature": export.signature, "host": role(export)}));
    let imports = inspection.imports.iter().map(|import| {
        json!({
            "module": import.module,
            "name": import.name,
            "signature": import.signature,
            "offered": import.offer == Offer::Offered,
            "host": offer(import),
        })
    });
    json!({
        "schemaVersion": "v1",
        "size": inspection.size,
        "accepted": inspection.is_accepted(),
        "refusals": inspection.refusals,
        "keepsOneInstance": inspection.keeps_one_instance,
        "warnings": inspection.warnings,
        "exports": exports.collect::<Vec<_>>(),
        "imports": imports.collect::<Vec<_>>(),
    })
}

struct Table<'a>(&'a Inspection);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inspection = self.0;
        writeln!(f, "{} bytes", inspection.size)?;
        let verdict = if inspection.is_accepted() { "taken by the stock host" } else { "refused by the stock host" };
        writeln!(f, "  {verdict}")?;
        for refusal in &inspection.refusals {
            writeln!(f, "    {refusal}")?;
        }
        let instances = if inspection.keeps_one_instance {
            "one instance serves every cycle, its memory is shared state"
        } else {
            "permit and bind move instances away, memory is not shared from cycle to cycle"
        };
        writeln!(f, "  {instances}")?;
        for warning in &inspection.warnings {
            writeln!(f, "  warning: {warning}")?;
        }
        let exports = inspection
            .exports
            .iter()
            .map(|export| [export.name.clone(), export.signature.clone(), role(export).to_owned()]);
        let imports = inspection
            .imports
            .iter()
            .map(|import| [format!("{} {}", import.module, import.name), import.signature.clone(), offer(import)]);
        f.write_str(&columns(["EXPORT", "SIGNATURE", "HOST"], exports))?;
        f.write_str(&columns(["IMPORT", "SIGNATURE", "HOST"], imports))
    }
}

/// A table with a heading, after an empty line.
fn columns(heading: [&str; 3], rows: impl Iterator<Item = [String; 3]>) -> String {
    let rows: Vec<_> = std::iter::once(heading.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let (first, second) = (width(0), width(1));
    let mut text = String::from("\n");
    for [name, signature, host] in &rows {
        let _ = writeln!(text, "{name:first$}  {signature:second$}  {host}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspection() -> Inspection {
        let module = "(module
            (import \"k8s.io/klog\" \"severity\" (func (result i32)))
            (import \"env\" \"now\" (func))
            (memory (export \"memory\") 2)
            (func (export \"filter\") (result i32) (i32.const 0))
            (func (export \"prescore\") (result i32) (i32.const 0))
            (func (export \"enqueue\")))";
        Inspection::of(&wat::parse_str(module).expect("WAT")).expect("a module")
    }

    #[test]
    fn a_table_names_verdict_exports_and_imports() {
        let size = inspection().size;
        let expected = format!(
            "{size} bytes
  refused by the stock host
    module[env] not instantiated
  one instance serves every cycle, its memory is shared state

EXPORT    SIGNATURE                   HOST
memory    memory of at least 2 pages  read and written
filter    () -> (i32)                 called
prescore  () -> (i32)                 never called: its main function is missing
enqueue   () -> ()                    called

IMPORT                SIGNATURE    HOST
k8s.io/klog severity  () -> (i32)  offered
env now               () -> ()     no such host module
"
        );
        assert_eq!(Table(&inspection()).to_string(), expected);
    }

    #[test]
    fn json_says_the_same() {
        let document = document(&inspection());
        assert_eq!(document["schemaVersion"], "v1");
        assert_eq!(document["accepted"], false);
        assert_eq!(document["refusals"], json!(["module[env] not instantiated"]));
        assert_eq!(document["keepsOneInstance"], true);
        assert_eq!(document["exports"][1], json!({"name": "filter", "signature": "() -> (i32)", "host": "called"}));
        assert_eq!(document["imports"][1]["offered"], false);
    }
}
