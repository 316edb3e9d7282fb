//! Scenario folders: a cluster, a workload, a policy, and what is expected of them.
//!
//! A folder holds `cluster.yaml`, `workload.yaml`, `policy.json` (default: `{}`) and one or more files `expect*.yaml`, each
//! of which is a case. If it also holds `golden.json`, the outcome of `expect.yaml` must be exactly that; setting
//! `STOWAGE_BLESS=1` rewrites it.

mod check;
mod expect;
mod pattern;
mod timeline;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

pub use expect::{Case, Expectations};

use crate::host::Module;
use crate::simulation::{Options, Simulation};
use crate::trial::{Outcome, Trial};

/// Set in the environment, asks for goldens to be rewritten.
pub const BLESS: &str = "STOWAGE_BLESS";

/// What to do with golden outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goldens {
    /// Compare with them.
    Check,
    /// Rewrite them.
    Write,
}

impl Goldens {
    /// As [`BLESS`] says.
    #[must_use]
    pub fn from_environment() -> Self {
        if std::env::var_os(BLESS).is_some() { Self::Write } else { Self::Check }
    }
}

/// One case and what came of it.
#[derive(Debug)]
pub struct Report {
    /// The file of the case.
    pub file: PathBuf,
    /// With how many seeds it was run.
    pub seeds: u64,
    /// What was not as expected; empty if the case holds.
    pub failures: Vec<String>,
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
    let policy = folder.join(&case.policy);
    let policy = policy.exists().then_some(policy);
    let workload = folder.join(&case.workload);
    let workload: Vec<PathBuf> = workload.exists().then_some(workload).into_iter().collect();
    let trial = Trial::read(&[folder.join(&case.cluster)], &workload, policy.as_deref(), module.clone())?;
    let mut failures = Vec::new();
    for seed in 0..case.seeds {
        let failed = run_seed(&case, &trial, folder, seed).with_context(|| format!("{}", file.display()))?;
        failures.extend(failed.into_iter().map(|failure| format!("seed {seed}: {failure}")));
    }
    if file.ends_with("expect.yaml") {
        failures.extend(golden(folder, &trial, &case, goldens)?);
    }
    Ok(Report { file: file.to_owned(), seeds: case.seeds, failures })
}

fn simulation(case: &Case, trial: &Trial, folder: &Path, seed: u64) -> anyhow::Result<Simulation> {
    let options = Options { seed, node_state: case.node_state, ..Options::default() };
    let mut simulation = trial.simulation(options)?;
    timeline::schedule(&mut simulation, &case.timeline, trial, folder)?;
    Ok(simulation)
}

fn run_seed(case: &Case, trial: &Trial, folder: &Path, seed: u64) -> anyhow::Result<Vec<String>> {
    let mut simulation = simulation(case, trial, folder, seed)?;
    let mut failures = Vec::new();
    for step in &case.timeline {
        if let Some(expected) = &step.expect {
            simulation.run_until(step.at)?;
            let failed = check::check(expected, &simulation);
            failures.extend(failed.into_iter().map(|failure| format!("at {:?}: {failure}", step.at)));
        }
    }
    let rest = simulation.run_until_idle()?;
    failures.extend(check::check(&case.expected, &simulation));
    if !rest.settled {
        failures.push("pods were still being tried in vain when the run was ended".to_owned());
    }
    failures.extend(simulation.plugin_errors().iter().map(|error| format!("the module misbehaved: {error}")));
    Ok(failures)
}

/// Compares with the golden outcome, or writes it.
fn golden(folder: &Path, trial: &Trial, case: &Case, goldens: Goldens) -> anyhow::Result<Option<String>> {
    let file = folder.join("golden.json");
    if !file.exists() {
        return Ok(None);
    }
    let mut simulation = simulation(case, trial, folder, 0)?;
    let rest = simulation.run_until_idle()?;
    let outcome = serde_json::to_string_pretty(&Outcome::of(&simulation, rest))? + "\n";
    if goldens == Goldens::Write {
        std::fs::write(&file, outcome)?;
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
