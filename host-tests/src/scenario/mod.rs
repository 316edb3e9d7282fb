//! Scenario folders: a cluster, a workload, a policy, and what is expected of them.
//!
//! A folder holds `cluster.yaml`, `workload.yaml`, `policy.json` (without it, or with `policy: default`, the module's
//! defaults) and one or more files `expect*.yaml`, each of which is a case. If it also holds `golden.json`, the outcome of `expect.yaml` must be exactly that; setting
//! `STOWAGE_BLESS=1` rewrites it.

mod check;
mod expect;
mod explain;
mod pattern;
mod timeline;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, bail};

pub use expect::{Case, Expectations};
pub use explain::Explanation;

use check::Failure;

use crate::host::Module;
use crate::simulation::{Options, Simulation};
use crate::trial::{Outcome, Trial};

/// Set in the environment, asks for goldens to be rewritten.
pub const BLESS: &str = "STOWAGE_BLESS";

/// Stands for the module's defaults where a case names its policy.
const DEFAULT_POLICY: &str = "default";

/// What to do with golden outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goldens {
    /// Compare with them.
    Check,
    /// Rewrite those that are there.
    Rewrite,
    /// Write them, there or not.
    Write,
}

impl Goldens {
    /// As [`BLESS`] says.
    #[must_use]
    pub fn from_environment() -> Self {
        if std::env::var_os(BLESS).is_some() { Self::Rewrite } else { Self::Check }
    }
}

/// One case and what came of it.
#[derive(Debug)]
pub struct Report {
    /// The file of the case.
    pub file: PathBuf,
    /// With how many seeds it was run.
    pub seeds: u64,
    /// Oddities of its files that do not keep it from being run.
    pub notes: Vec<String>,
    /// What was not as expected; empty if the case holds.
    pub failures: Vec<String>,
    /// Whether the module answered with an error where no sound module does.
    pub misbehaved: bool,
    /// What the nodes were to some of the pods that the first failures are about.
    pub explanations: Vec<Explanation>,
}

/// What failed at one moment of a run.
struct Failed {
    seed: u64,
    /// The moment; none at the end.
    at: Option<Duration>,
    failures: Vec<Failure>,
    misbehaved: bool,
}

/// The cases of `folder` and of the folders in it.
///
/// # Errors
/// When there are none, or a folder cannot be read.
pub fn find(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut cases = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with("expect") && name.ends_with(".yaml") {
                cases.push(path);
            }
        }
    }
    if cases.is_empty() {
        bail!("{} holds no expect.yaml", folder.display());
    }
    cases.sort();
    Ok(cases)
}

/// Runs the case in `file` with every seed that it asks for.
///
/// # Errors
/// When a file of the case is faulty. That an expectation does not hold is no error.
pub fn run(file: &Path, module: &Module, goldens: Goldens) -> anyhow::Result<Report> {
    let case = Case::read(file)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    // A case can do without these files; one that it names must be there.
    let usual = Case::default();
    let given = |name: &str, usual: &str| {
        let file = folder.join(name);
        (name != usual || file.exists()).then_some(file)
    };
    let policy = given(&case.policy, &usual.policy).filter(|_| case.policy != DEFAULT_POLICY);
    let workload: Vec<PathBuf> = given(&case.workload, &usual.workload).into_iter().collect();
    let trial = Trial::read(&[folder.join(&case.cluster)], &workload, policy.as_deref(), module.clone())?;
    timeline::check_names(&case, &trial, folder).with_context(|| file.display().to_string())?;
    let mut failures = Vec::new();
    let mut explanations = Vec::new();
    let mut misbehaved = false;
    for seed in 0..case.seeds {
        let run = Run { case: &case, trial: &trial, folder, seed };
        for failed in run.failed().with_context(|| format!("{}", file.display()))? {
            misbehaved |= failed.misbehaved;
            if explanations.is_empty() {
                explanations = explain::explain(&run, &failed)?;
            }
            failures.extend(failed.failures.iter().map(|failure| match failed.at {
                Some(at) => format!("seed {seed}: at {at:?}: {}", failure.what),
                None => format!("seed {seed}: {}", failure.what),
            }));
        }
    }
    if file.ends_with("expect.yaml") {
        failures.extend(golden(folder, &trial, &case, goldens)?);
    }
    let notes = trial.notes().cloned().chain(timeline::notes(&case, &trial, folder)?).collect();
    Ok(Report { file: file.to_owned(), seeds: case.seeds, notes, failures, misbehaved, explanations })
}

/// A case with one seed.
struct Run<'a> {
    case: &'a Case,
    trial: &'a Trial,
    folder: &'a Path,
    seed: u64,
}

impl Run<'_> {
    fn simulation(&self, options: Options) -> anyhow::Result<Simulation> {
        let options = Options { seed: self.seed, node_state: self.case.node_state, ..options };
        let mut simulation = self.trial.simulation(options)?;
        timeline::schedule(&mut simulation, &self.case.timeline, self.trial, self.folder)?;
        Ok(simulation)
    }

    /// The moments at which something is not as expected.
    fn failed(&self) -> anyhow::Result<Vec<Failed>> {
        let log = Rc::new(RefCell::new(Vec::new()));
        let lines = log.clone();
        let listening = Options {
            log: Rc::new(move |_, line: &str| lines.borrow_mut().push(line.to_owned())),
            ..Options::default()
        };
        let mut simulation = self.simulation(listening)?;
        let mut failed = Vec::new();
        let mut add = |at, failures: Vec<Failure>, misbehaved| {
            if !failures.is_empty() {
                failed.push(Failed { seed: self.seed, at, failures, misbehaved });
            }
        };
        for step in &self.case.timeline {
            if let Some(expected) = &step.expect {
                simulation.run_until(step.at)?;
                add(Some(step.at), check::check(expected, &simulation, &log.borrow()), false);
            }
        }
        let rest = simulation.run_until_idle()?;
        let mut failures = check::check(&self.case.expected, &simulation, &log.borrow());
        if !rest.settled {
            let waiting = simulation.pending().into_iter().map(|pod| pod.info.key.to_string());
            let what = "pods were still being tried in vain when the run was ended".to_owned();
            failures.push(Failure { what, pods: waiting.collect() });
        }
        let errors = simulation.plugin_errors().iter().map(|error| format!("the module misbehaved: {error}"));
        failures.extend(errors.map(|what| Failure { what, pods: Vec::new() }));
        add(None, failures, !simulation.plugin_errors().is_empty());
        Ok(failed)
    }
}

/// Compares with the golden outcome, or writes it.
fn golden(folder: &Path, trial: &Trial, case: &Case, goldens: Goldens) -> anyhow::Result<Option<String>> {
    let file = folder.join("golden.json");
    if !file.exists() && goldens != Goldens::Write {
        return Ok(None);
    }
    let mut simulation = Run { case, trial, folder, seed: 0 }.simulation(Options::default())?;
    let rest = simulation.run_until_idle()?;
    let outcome = serde_json::to_string_pretty(&Outcome::of(&simulation, rest))? + "\n";
    if goldens != Goldens::Check {
        std::fs::write(&file, outcome).with_context(|| format!("cannot write {}", file.display()))?;
        return Ok(None);
    }
    let expected = std::fs::read_to_string(&file)?;
    let different = expected.lines().zip(outcome.lines()).position(|(expected, line)| expected != line);
    let different = different.or_else(|| (expected.lines().count() != outcome.lines().count()).then_some(0));
    Ok(different.map(|line| {
        let shown = |text: &str| text.lines().nth(line).unwrap_or_default().trim().to_owned();
        let (expected, outcome, file) = (shown(&expected), shown(&outcome), file.display());
        format!("{file}, line {}: expected {expected}, is {outcome} (rewrite with --bless or {BLESS}=1)", line + 1)
    }))
}
