//! `stowage test`: scenario folders against their expectations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

use super::output::{line, say};
use super::watch::watch;
use super::{BAD_INPUT, EXPECTATION_FAILED, MODULE_MISBEHAVED};
use crate::scenario::{self, Explanation, Goldens};
use crate::trial::load_module;

/// Check scenario folders against their expectations
///
/// A folder holds cluster.yaml, workload.yaml, policy.json and expect.yaml. Folders in folders are found. Under a failure
/// stands what the nodes were to the pods that it is about. Exits with 1 if an expectation does not hold, with 2 if a file
/// is faulty, with 3 if the module misbehaves.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario folders, or folders of such
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Any module made for kube-scheduler-wasm-extension [default: Stowage]
    #[arg(short, long, value_name = "MODULE.wasm")]
    module: Option<PathBuf>,
    /// Only cases whose path contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write each golden.json as the outcome is now, instead of comparing with it. Where there is none a new one is written if
    /// the folder itself is named, not one around it
    #[arg(long)]
    bless: bool,
    /// Run again whenever a file of the folders, or the module, changes
    #[arg(long)]
    watch: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// JUnit's XML, which most CI systems show
    Junit,
    /// Annotations of GitHub Actions
    Github,
}

/// A case and what came of it.
struct Done {
    file: PathBuf,
    took: Duration,
    failures: Vec<String>,
    explanations: Vec<Explanation>,
    /// Why it could not be run at all.
    fault: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When a folder cannot be read, no case is left to run or the module cannot be loaded.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let files: Vec<PathBuf> = args.folders.iter().chain(&args.module).cloned().collect();
    if args.watch { watch(&files, || run_once(args)) } else { run_once(args) }
}

fn run_once(args: &Args) -> anyhow::Result<ExitCode> {
    let module = load_module(args.module.as_deref())?;
    let mut cases = Vec::new();
    for folder in &args.folders {
        cases.extend(scenario::find(folder)?);
    }
    if let Some(text) = &args.filter {
        cases.retain(|case| case.to_string_lossy().contains(text));
        anyhow::ensure!(!cases.is_empty(), "no case has {text:?} in its path");
    }
    let mut done = Vec::new();
    let mut misbehaved = false;
    let mut noted = BTreeSet::new();
    for file in cases {
        let start = Instant::now();
        let (report, fault) = match scenario::run(&file, &module, goldens(args, &file)) {
            Ok(report) => (Some(report), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        misbehaved |= report.as_ref().is_some_and(|report| report.misbehaved);
        // Variants share their files, and so what is to be said of them.
        let folder = file.parent().unwrap_or(&file).display().to_string();
        for note in report.iter().flat_map(|report| &report.notes) {
            if noted.insert((folder.clone(), note.clone())) {
                say(format_args!("note: {folder}: {note}"));
            }
        }
        let (failures, explanations) = report.map(|report| (report.failures, report.explanations)).unwrap_or_default();
        let case = Done { file, took: start.elapsed(), failures, explanations, fault };
        if args.output == Format::Table {
            print(&case);
        }
        done.push(case);
    }
    let faulty = done.iter().filter(|case| case.fault.is_some()).count();
    let failed = done.iter().filter(|case| !case.failures.is_empty()).count();
    match args.output {
        Format::Table => line(format_args!("{} of {} cases hold", done.len() - failed - faulty, done.len())),
        Format::Json => line(serde_json::to_string_pretty(&summary(&done))?),
        Format::Junit => line(junit(&done)?),
        Format::Github => done.iter().for_each(annotate),
    }
    Ok(ExitCode::from(match (faulty, failed) {
        (0, 0) => 0,
        (0, _) if misbehaved => MODULE_MISBEHAVED,
        (0, _) => EXPECTATION_FAILED,
        _ => BAD_INPUT,
    }))
}

/// Of the folders in a folder, those have a golden outcome that are meant to; a folder that is named gets one.
fn goldens(args: &Args, case: &Path) -> Goldens {
    let named = || args.folders.iter().any(|folder| case.parent() == Some(folder));
    match args.bless {
        false => Goldens::from_environment(),
        true if named() => Goldens::Write,
        true => Goldens::Rewrite,
    }
}

impl Done {
    /// The folder, and the file if it is not the usual one.
    fn name(&self) -> String {
        let folder = self.file.parent().filter(|_| self.file.ends_with("expect.yaml"));
        folder.unwrap_or(&self.file).display().to_string()
    }

    /// Everything that is wrong with it.
    fn complaints(&self) -> impl Iterator<Item = &String> {
        self.failures.iter().chain(&self.fault)
    }

    /// What the nodes were to the pods concerned, line by line.
    fn background(&self) -> Vec<String> {
        let texts = self.explanations.iter().map(Explanation::to_string);
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

fn print(case: &Done) {
    let verdict = match (&case.fault, case.failures.is_empty()) {
        (Some(_), _) => "FAULTY",
        (None, false) => "FAILED",
        (None, true) => "ok",
    };
    line(format_args!("{verdict:<8}{}", case.name()));
    case.complaints().for_each(|complaint| line(format_args!("        {complaint}")));
    case.background().iter().for_each(|text| line(format_args!("          {text}")));
}

fn summary(done: &[Done]) -> Value {
    let cases = done.iter().map(|case| {
        json!({
            "name": case.name(),
            "holds": case.failures.is_empty() && case.fault.is_none(),
            "failures": case.failures,
            "explanations": case.explanations,
            "fault": case.fault,
        })
    });
    json!({ "schemaVersion": "v1", "cases": cases.collect::<Vec<_>>() })
}

fn junit(done: &[Done]) -> anyhow::Result<String> {
    let mut suite = TestSuite::new("stowage");
    for case in done {
        let status = match &case.fault {
            Some(fault) => broken(NonSuccessKind::Error, fault),
            None if !case.failures.is_empty() => {
                let lines = case.failures.iter().cloned().chain(case.background());
                broken(NonSuccessKind::Failure, &lines.collect::<Vec<_>>().join("\n"))
            }
            None => TestCaseStatus::success(),
        };
        let mut test = TestCase::new(case.name(), status);
        test.set_time(case.took);
        suite.add_test_case(test);
    }
    let mut report = quick_junit::Report::new("stowage");
    report.add_test_suite(suite);
    Ok(report.to_string()?.trim_end().to_owned())
}

fn broken(kind: NonSuccessKind, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(text.lines().next().unwrap_or_default()).set_description(text);
    status
}

/// `::error file=...::...`, see GitHub's workflow commands.
fn annotate(case: &Done) {
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |path: &Path| escaped(&path.display().to_string()).replace(':', "%3A").replace(',', "%2C");
    for complaint in case.complaints() {
        line(format_args!("::error file={}::{}", property(&case.file), escaped(complaint)));
    }
}
