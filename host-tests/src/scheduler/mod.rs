//! A scheduling loop that follows kube-scheduler 1.33 around one plugin.
//!
//! What decides where pods go is followed closely: the queue with its backoff and event-driven retries, the order of
//! extension points, in-tree filters before the module's, sampling of large clusters, random ties, assumed pods,
//! preemption. Goroutines are not: one cycle runs at a time and time is simulated, so that a run depends on its inputs
//! and seed alone. Scores of in-tree plugins are off, as in the profile that Stowage deploys.
//!
//! This module decides about one pod at a time; [`crate::simulation`] has the clock, the API server and the kubelets.

mod bind;
pub mod cache;
mod cycle;
mod diagnosis;
pub mod event;
mod filter;
pub mod gpu;
pub mod handle;
pub mod node;
mod nominator;
pub mod plugin;
pub mod pod;
mod preemption;
mod queue;
pub mod report;
mod requests;
mod select;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use stowage::object::ResourceNames;

pub use bind::rejected_while_waiting;
pub use cycle::Outcome;
pub use filter::unmodelled;
pub use preemption::Preemption;
pub use queue::{QueuedPod, SchedulingQueue};
pub use requests::allocatable;
pub use select::{Sampling, Ties};

use self::handle::SchedulerHandle;
use self::nominator::Nominator;
use self::plugin::{Failure, Nomination, PluginId};
use self::pod::PodInfo;
use self::report::{CycleReport, ReportSink};
use crate::framework::{Code, Interfaces, Plugin, Status};

/// Simulated time since the start of the run.
pub type Time = Duration;

/// The scheduler's configuration as far as it is not the module's.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Share of the nodes that is scored.
    pub sampling: Sampling,
    /// Which of several best nodes is taken.
    pub ties: Ties,
    /// Seed of everything random.
    pub seed: u64,
    /// Keep a report of every cycle of the pod with this key.
    pub explain: Option<String>,
    /// Is told of every cycle, whichever pod it was for.
    pub on_report: Option<ReportSink>,
}

/// The scheduler: its queue, its plugin, and what it remembers from cycle to cycle.
pub struct Scheduler {
    /// Who is next.
    pub queue: SchedulingQueue,
    /// Every cycle of the pod that [`Profile::explain`] names.
    pub reports: Vec<CycleReport>,
    /// How the plugin failed. That it answers with an error in PreFilter or Reserve, by which a pod is tried again without
    /// an event, is no failure.
    pub plugin_errors: Vec<String>,
    /// The report of the current cycle.
    report: Option<CycleReport>,
    handle: Rc<SchedulerHandle>,
    plugin: Box<dyn Plugin>,
    interfaces: Interfaces,
    names: Rc<RefCell<ResourceNames>>,
    nominator: Nominator,
    profile: Profile,
    random: SmallRng,
    /// Where the next search starts, so that all nodes get their turn.
    next_start: usize,
}

impl Scheduler {
    /// A scheduler that has just started.
    ///
    /// # Errors
    /// When the plugin cannot say which events it wants.
    pub fn new(
        handle: Rc<SchedulerHandle>,
        mut plugin: Box<dyn Plugin>,
        names: Rc<RefCell<ResourceNames>>,
        profile: Profile,
    ) -> anyhow::Result<Self> {
        let registered = plugin.events_to_register()?;
        Ok(Self {
            queue: SchedulingQueue::new(&registered, names.clone()),
            reports: Vec::new(),
            report: None,
            plugin_errors: Vec::new(),
            interfaces: plugin.interfaces(),
            random: SmallRng::seed_from_u64(profile.seed),
            handle,
            plugin,
            names,
            nominator: Nominator::default(),
            profile,
            next_start: 0,
        })
    }

    /// Remembers or forgets a pod's nominated node after a failed attempt.
    pub fn nominate(&mut self, pod: &Rc<PodInfo>, nomination: Option<&Nomination>) {
        match nomination {
            Some(Nomination::Node(node)) => self.nominator.nominate(pod.clone(), node.clone()),
            Some(Nomination::Clear) => self.nominator.forget(&pod.uid),
            None => {
                if let Some(node) = pod.nominated_node_name() {
                    self.nominator.nominate(pod.clone(), node.into());
                }
            }
        }
    }

    /// Forgets the pod's nominated node: it is assumed, or gone.
    pub fn forget_nomination(&mut self, uid: &str) {
        self.nominator.forget(uid);
    }

    /// What becomes of a pod whose plugin answered with an error, with what is no answer, or not at all.
    fn error_answer(&mut self, point: &str, status: &Status) -> Failure {
        let message = format!("running {point} plugin \"wasm\": {}", status.reason);
        if status.failed || status.code != Code::Error {
            return self.plugin_error(message);
        }
        Failure::error(message)
    }

    /// Notes that the plugin failed, and makes a failure of it.
    fn plugin_error(&mut self, message: String) -> Failure {
        self.plugin_errors.push(message.clone());
        Failure::error(message)
    }
}
