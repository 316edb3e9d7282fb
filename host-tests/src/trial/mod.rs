//! A trial: a cluster, a workload and a policy, put together and run.

mod dates;
mod digest;
mod facts;
mod outcome;

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::bail;

pub use digest::{Digest, ScoreLine, explain_line};
pub use facts::{Before, Candidate, Change as PodChange, Explained, PodFacts, PodOnNode, Refusals, is_in_gang};
pub use outcome::{NodeOutcome, Outcome, Pending, Placement, amount, reason};

use crate::framework::Handle;
use crate::host::{self, Module, WasmPlugin};
use crate::load::{self, Cluster, Workload};
use crate::object::{NodeObject, PodObject};
use crate::publisher::Usage;
use crate::simulation::{Change, Options, PluginFactory, Simulation, milliseconds, timestamp};

/// Time between two pods that a controller creates.
const CREATION_INTERVAL: Duration = Duration::from_millis(1);

/// What is tried.
#[derive(Clone)]
pub struct Trial {
    /// Nodes and what is on them.
    pub cluster: Rc<Cluster>,
    /// What is submitted.
    pub workload: Rc<Workload>,
    /// The policy module.
    pub module: Module,
    /// The module's configuration; empty for its defaults.
    pub policy: String,
}

/// Compiles a module; without a path, the one that was built with this program.
///
/// # Errors
/// When it cannot be read, or is not a module that the host takes.
pub fn load_module(path: Option<&Path>) -> anyhow::Result<Module> {
    match path {
        Some(path) => Module::load(path),
        None => Module::from_bytes(crate::builtin_module()),
    }
}

/// Reads a policy document, by itself or in a scheduler's configuration.
///
/// # Errors
/// When it cannot be read, is not the only one of its file, or is faulty and the module is ours. The module says the same of
/// a faulty policy, but among the stack of its end.
pub fn read_policy(path: &Path, module: &Module) -> anyhow::Result<String> {
    let source = load::read(path)?;
    let mut policies = load::policies(&source)?;
    let Some(policy) = policies.pop().filter(|_| policies.is_empty()) else {
        bail!("{} configures several plugins of guests; the policy can only be that of one", source.name());
    };
    let faults = policy.faults();
    if module.is_builtin() && !faults.is_empty() {
        bail!("{}: {}", source.name(), faults.join("\n"));
    }
    Ok(policy.text)
}

impl Trial {
    /// Reads the files of a trial.
    ///
    /// # Errors
    /// When a file is missing or faulty.
    pub fn read(
        cluster: &[impl AsRef<Path>],
        workload: &[impl AsRef<Path>],
        policy: Option<&Path>,
        module: Module,
    ) -> anyhow::Result<Self> {
        let sources = |paths: Vec<&Path>| paths.into_iter().map(load::read).collect::<anyhow::Result<Vec<_>>>();
        let cluster = load::cluster(&sources(cluster.iter().map(AsRef::as_ref).collect())?)?;
        let mut workload =
            load::workload(&sources(workload.iter().map(AsRef::as_ref).collect())?, &cluster.priorities)?;
        if let Some(pod) = cluster.pods_again(&workload.pods).next() {
            bail!("pod {pod} of the workload is in the cluster already; take it out of one of them");
        }
        let notes = cluster.leave_out_strays(&mut workload.pods);
        workload.notes.extend(notes);
        let policy = policy.map(|path| read_policy(path, &module)).transpose()?.unwrap_or_default();
        Ok(Self { cluster: Rc::new(cluster), workload: Rc::new(workload), module, policy })
    }

    /// The same trial with a policy that has the module log the parts of its scores. None if the policy is no JSON
    /// object; modules other than ours may refuse such a policy.
    #[must_use]
    pub fn asking_for_parts(&self) -> Option<Self> {
        let policy = if self.policy.trim().is_empty() { "{}" } else { &self.policy };
        let mut policy: serde_json::Map<String, serde_json::Value> = serde_json::from_str(policy).ok()?;
        policy.insert("explain".to_owned(), true.into());
        Some(Self { policy: serde_json::Value::Object(policy).to_string(), ..self.clone() })
    }

    /// The simulation of this trial, ready to run.
    ///
    /// # Errors
    /// When the module does not start, for instance because of its policy.
    pub fn simulation(&self, options: Options) -> anyhow::Result<Simulation> {
        self.simulation_of(self.factory(), options)
    }

    /// The same with another plugin than the module alone.
    ///
    /// # Errors
    /// When the plugin does not start.
    pub fn simulation_of(&self, factory: PluginFactory, options: Options) -> anyhow::Result<Simulation> {
        let mut nodes = self.cluster.nodes.clone();
        let start = timestamp(Duration::ZERO).0;
        dates::redate(&mut nodes, start, &self.policy);
        let nodes = nodes.into_iter().map(NodeObject::new);
        let pods = self.cluster.pods.iter().filter(|pod| pod.is_bound()).cloned();
        let pod_groups = self.cluster.pod_groups.iter().chain(&self.workload.pod_groups).cloned().collect();
        let options = Options { pod_groups, ..options };
        let mut simulation = Simulation::new(nodes, pods, factory, options)?;
        for (node, usage) in self.usage() {
            simulation.at(Duration::ZERO, Change::Usage { node, usage: Some(usage) });
        }
        let waiting = self.cluster.pods.iter().filter(|pod| !pod.is_bound());
        let submitted = waiting.chain(&self.workload.pods);
        let later = dates::age(submitted.clone().map(|pod| &pod.pod), start);
        let mut time = Duration::ZERO;
        for pod in submitted {
            simulation.at(time, Change::CreatePod(pod.with_pod(|pod| dates::recreate(pod, later))));
            time += CREATION_INTERVAL;
        }
        Ok(simulation)
    }

    /// Oddities of the files that do not keep them from being used.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.cluster.notes.iter().chain(&self.workload.notes)
    }

    /// Makes the module, as the scheduler does when it starts.
    #[must_use]
    pub fn factory(&self) -> PluginFactory {
        let (module, policy) = (self.module.clone(), self.policy.clone());
        Box::new(move |handle: Rc<dyn Handle>| {
            Ok(Box::new(WasmPlugin::new(&module, &policy, handle, host::Options::default())?))
        })
    }

    /// Measured usage. A dump is as old as its newest measurement: that one counts as made when the run starts.
    fn usage(&self) -> Vec<(String, Usage)> {
        let start = milliseconds(Duration::ZERO);
        let newest = self.cluster.measured.iter().filter_map(|measured| measured.at).max().unwrap_or(start);
        let measured = self.cluster.measured.iter();
        measured
            .map(|measured| {
                let at = measured.at.map_or(start, |at| start.saturating_sub(newest.saturating_sub(at)));
                (measured.node.clone(), Usage { at, cpu: measured.cpu, memory: measured.memory })
            })
            .collect()
    }
}

/// The same pod, to be submitted: the files' own stay as they are for the next run.
pub(crate) fn copy(pod: &PodObject) -> PodObject {
    pod.with_pod(|_| ())
}
