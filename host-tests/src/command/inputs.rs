//! The inputs that `run` and `explain` share.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::publisher::NodeStateMode;
use crate::scheduler::report::ReportSink;
use crate::simulation::{Options, Simulation};
use crate::trial::{Digest, Trial, load_module};
use anyhow::{Context as _, bail};

use super::output;

/// Cluster, workload, policy and module.
#[derive(Debug, clap::Args)]
pub struct Inputs {
    /// Nodes and their pods, as YAML or JSON, for example from `kubectl get nodes,pods -A -o json`; `-` is stdin
    #[arg(short, long, value_name = "FILE", required = true, num_args = 1..)]
    cluster: Vec<PathBuf>,
    /// What to submit: pods, or the jobs and services that controllers make pods of; `-` is stdin
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    workload: Vec<PathBuf>,
    /// The policy document (JSON) [default: the policy's defaults]
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Any module made for kube-scheduler-wasm-extension [default: Stowage]
    #[arg(short, long, value_name = "MODULE.wasm")]
    module: Option<PathBuf>,
    /// Seed of everything random, such as ties between nodes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// What the module is told of the pods on a node: `exact`, `none`, or `lag=200ms` (late)
    #[arg(long, value_name = "MODE", default_value = "exact")]
    node_state: NodeStateMode,
}

/// Lines that the module logged: severity and text.
pub type Log = Rc<RefCell<Vec<(i32, String)>>>;

/// Whose scheduling cycles are looked into.
#[derive(Clone, Debug, Default)]
pub enum Explain {
    /// Nobody's.
    #[default]
    Nobody,
    /// The pod's with this `namespace/name`.
    Pod(String),
    /// Everybody's; what they say is kept small.
    Everybody(Rc<Digest>),
}

impl Inputs {
    /// The files.
    pub fn files(&self) -> Vec<PathBuf> {
        self.cluster.iter().chain(&self.workload).chain(&self.policy).chain(&self.module).cloned().collect()
    }

    /// Whether a file to be written is none of these.
    ///
    /// # Errors
    /// When it is one of them, which would be lost.
    pub fn expect_other(&self, written: &Path) -> anyhow::Result<()> {
        // What is not there yet is no input.
        let Ok(written_to) = written.canonicalize() else { return Ok(()) };
        if self.files().iter().any(|file| file.canonicalize().is_ok_and(|file| file == written_to)) {
            bail!("{} is an input, and would be overwritten", written.display());
        }
        Ok(())
    }

    /// Reads the files.
    pub fn read(&self) -> anyhow::Result<Trial> {
        let stdin =
            self.cluster.iter().chain(&self.workload).chain(&self.policy).filter(|path| *path == Path::new("-"));
        if stdin.count() > 1 {
            bail!("only one input can come from stdin");
        }
        let reading = output::reading(self.files().len());
        let module = load_module(self.module.as_deref())?;
        let trial = Trial::read(&self.cluster, &self.workload, self.policy.as_deref(), module)?;
        drop(reading);
        if trial.cluster.nodes.is_empty() {
            let files: Vec<String> = self.cluster.iter().map(|path| path.display().to_string()).collect();
            bail!("there is no Node in {}", files.join(", "));
        }
        for note in trial.notes() {
            output::say(format_args!("note: {note}"));
        }
        Ok(trial)
    }

    /// How to run the trial so many times. What the module logs is not kept.
    pub fn options(&self, trial: &Trial, runs: u64) -> Options {
        let progress = output::progress(&format!("{} pods, {runs} runs", trial.workload.pods.len()));
        Options {
            seed: self.seed,
            node_state: self.node_state,
            on_cycle: Rc::new(move |_| progress.inc(1)),
            ..Options::default()
        }
    }

    /// A simulation of the trial. The module's log is kept for after the run, since progress is shown meanwhile.
    pub fn simulation(&self, trial: &Trial, whom: &Explain) -> anyhow::Result<(Simulation, Log)> {
        let log = Log::default();
        let sink = log.clone();
        let digest = if let Explain::Everybody(digest) = whom { Some(digest.clone()) } else { None };
        let on_report = digest.clone().map(|digest| ReportSink(Rc::new(move |report| digest.add(report))));
        let waiting = trial.cluster.pods.iter().filter(|pod| !pod.is_bound()).count();
        let progress = output::progress(&format!("{} pods", waiting + trial.workload.pods.len()));
        let options = Options {
            seed: self.seed,
            node_state: self.node_state,
            explain: if let Explain::Pod(key) = whom { Some(key.clone()) } else { None },
            on_report,
            log: Rc::new(move |severity, line: &str| {
                if !digest.as_ref().is_some_and(|digest| digest.hear(line)) {
                    sink.borrow_mut().push((severity, line.to_owned()));
                }
            }),
            on_cycle: Rc::new(move |cycles| progress.set_position(cycles)),
            ..Options::default()
        };
        let simulation = trial.simulation(options).with_context(|| match &self.module {
            Some(module) => format!("{} does not start", module.display()),
            None => "the policy module does not start".to_owned(),
        })?;
        Ok((simulation, log))
    }
}
