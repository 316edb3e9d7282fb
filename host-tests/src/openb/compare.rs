//! Several policies, workloads and seeds side by side, on as many cores as there are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result};

use super::formula;
use super::module::ModulePolicy;
use super::read::Trace;
use super::replay::{Options, Outcome, replay};
use crate::host::Module;

/// What places the pods of a replay.
#[derive(Clone)]
pub enum Contestant {
    /// A formula of [`formula::NAMES`], native.
    Formula(&'static str),
    /// A module with its policy document.
    Module(Module, String),
}

/// One replay that is wanted.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Nodes and pods.
    pub trace: &'a Trace,
    /// Who places them.
    pub contestant: &'a Contestant,
    /// How.
    pub options: Options,
}

impl Job<'_> {
    fn run(&self, step: &dyn Fn()) -> Result<(Outcome, Vec<String>)> {
        let Self { trace, contestant, options } = self;
        match contestant {
            Contestant::Formula(name) => {
                let mut policy = formula::named(name, trace, options.seed)?;
                Ok((replay(trace, &mut *policy, *options, step)?, Vec::new()))
            }
            Contestant::Module(module, document) => {
                let mut policy = ModulePolicy::new(module, document, trace).context("the module does not start")?;
                Ok((replay(trace, &mut policy, *options, step)?, policy.log()))
            }
        }
    }
}

/// Runs all jobs; their outcomes, in the same order, with what modules logged. `step` is called once a pod.
///
/// # Errors
/// The first that a job ends with.
pub fn run(jobs: &[Job], step: &(dyn Fn() + Sync)) -> Result<Vec<(Outcome, Vec<String>)>> {
    let next = AtomicUsize::new(0);
    let results: Vec<_> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < jobs.len()) {
            let result = jobs[at].run(step);
            if let Ok(mut slot) = results[at].lock() {
                *slot = Some(result);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let done = results.into_iter().map(|slot| slot.into_inner().ok().flatten().context("a replay ended early")?);
    done.collect()
}
