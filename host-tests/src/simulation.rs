//! A cluster in simulated time: the scheduling loop together with everything that it talks to.
//!
//! An API server that stores pods and hands out UIDs, bindings that take a while and can fail, pods that come, finish
//! and are deleted, nodes that change, and the publisher of node state. Everything happens in an order that depends on
//! the inputs and the seed alone.

mod admission;
mod binding;
mod change;
mod store;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use stowage::object::ResourceNames;

pub use self::admission::{milliseconds, timestamp};
pub use self::change::{BindFault, Change};
pub use self::store::{Attempt, StoredPod};

use self::binding::Binding;
use self::store::Store;
use crate::framework::{Handle, Plugin};
use crate::load::PodGroup;
use crate::object::{NodeObject, PodObject};
use crate::publisher::{NodeStateMode, Publisher};
use crate::scheduler::handle::{LogSink, SchedulerHandle};
use crate::scheduler::pod::{PodInfo, Uid};
use crate::scheduler::report::{CycleReport, ReportSink};
use crate::scheduler::{Outcome, Preemption, Profile, Sampling, Scheduler, Ties, Time, unmodelled};

/// Makes the scheduler's plugin, at the start and after every restart.
pub type PluginFactory = Box<dyn FnMut(Rc<dyn Handle>) -> anyhow::Result<Box<dyn Plugin>>>;

/// How a run goes.
#[derive(Clone)]
pub struct Options {
    /// Seed of everything random.
    pub seed: u64,
    /// Share of the nodes that is scored.
    pub sampling: Sampling,
    /// Which of several best nodes is taken.
    pub ties: Ties,
    /// When node state shows what happened.
    pub node_state: NodeStateMode,
    /// Sizes of gangs, of which the publisher tells the members.
    pub pod_groups: Vec<PodGroup>,
    /// Keep reports about the pod with this `namespace/name`.
    pub explain: Option<String>,
    /// Is told of every scheduling cycle.
    pub on_report: Option<ReportSink>,
    /// Time that a scheduling cycle takes.
    pub cycle_time: Duration,
    /// Time from the end of a cycle until the pod is bound and everyone knows.
    pub bind_latency: Duration,
    /// Time that a pod takes to leave its node after it is told to.
    pub termination: Duration,
    /// Takes the module's log lines.
    pub log: LogSink,
    /// Told the number of cycles after each.
    pub on_cycle: Rc<dyn Fn(u64)>,
}

impl Default for Options {
    /// Times as measured on the unmodified scheduler with a local API server.
    fn default() -> Self {
        Self {
            seed: 0,
            sampling: Sampling::default(),
            ties: Ties::default(),
            node_state: NodeStateMode::default(),
            pod_groups: Vec::new(),
            explain: None,
            on_report: None,
            cycle_time: Duration::from_micros(150),
            bind_latency: Duration::from_millis(3),
            termination: Duration::from_secs(1),
            log: Rc::new(|_, _| {}),
            on_cycle: Rc::new(|_| {}),
        }
    }
}

/// A run ends, however little it has settled, when this much time passed without anything being achieved.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// The same by number of cycles, for modules that bring their own pods back at once.
const PATIENCE_CYCLES: u64 = 1000;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Scheduling cycles so far.
    pub cycles: u64,
    /// When the last thing happened that changed the cluster.
    pub time: Time,
    /// False if pods were still being tried in vain when patience ended.
    pub settled: bool,
}

/// Something that is to happen at its time.
enum Action {
    Change(Box<Change>),
    Bind(Uid),
    PermitTimeout(Uid),
    PatchStatus { pod: Rc<PodInfo>, reason: &'static str, message: Rc<str>, nominated: Option<Rc<str>> },
    Publish { node: Rc<str>, document: String },
    Gone(Rc<PodInfo>),
}

/// The simulated cluster.
pub struct Simulation {
    options: Options,
    factory: PluginFactory,
    handle: Rc<SchedulerHandle>,
    names: Rc<RefCell<ResourceNames>>,
    scheduler: Scheduler,
    store: Store,
    publisher: Publisher,
    timeline: BTreeMap<(Time, u64), Action>,
    /// Pods on their way to their nodes.
    bindings: HashMap<Uid, Binding>,
    faults: Vec<BindFault>,
    now: Time,
    scheduled_actions: u64,
    cycles: u64,
    restarts: u64,
    progress: Progress,
}

/// When something last changed for good.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    time: Time,
    cycles: u64,
    /// Set by every change, cleared when unschedulable pods get their periodic try.
    since_timeout: bool,
}

impl Simulation {
    /// A cluster of these nodes and pods; pods that name a node are bound to it, others are submitted.
    ///
    /// # Errors
    /// When the plugin does not start.
    pub fn new(
        nodes: impl IntoIterator<Item = NodeObject>,
        pods: impl IntoIterator<Item = Rc<PodObject>>,
        mut factory: PluginFactory,
        options: Options,
    ) -> anyhow::Result<Self> {
        let handle = Rc::new(SchedulerHandle::new(options.log.clone()));
        let names = Rc::new(RefCell::new(ResourceNames::default()));
        let plugin = factory(handle.clone())?;
        let scheduler = Scheduler::new(handle.clone(), plugin, names.clone(), profile(&options))?;
        let mut simulation = Self {
            publisher: Publisher::new(options.node_state, options.pod_groups.clone()),
            options,
            factory,
            handle,
            names,
            scheduler,
            store: Store::default(),
            timeline: BTreeMap::new(),
            bindings: HashMap::new(),
            faults: Vec::new(),
            now: Time::ZERO,
            scheduled_actions: 0,
            cycles: 0,
            restarts: 0,
            progress: Progress { since_timeout: true, ..Progress::default() },
        };
        for node in nodes {
            simulation.handle.cache.borrow_mut().set_node(Rc::new(node), &mut simulation.names.borrow_mut());
        }
        for pod in pods {
            simulation.create_pod(pod, true);
        }
        simulation.publish_all();
        Ok(simulation)
    }

    /// Creates a pod now.
    pub fn submit(&mut self, pod: PodObject) {
        self.create_pod(Rc::new(pod), false);
    }

    /// Lets something happen at its time, or at once if that has passed.
    pub fn at(&mut self, time: Time, change: Change) {
        self.schedule(time, Action::Change(Box::new(change)));
    }

    /// Runs until nothing can move any more: no event is due, no pod waits for its turn, and another try of the
    /// unschedulable pods changed nothing.
    ///
    /// # Errors
    /// When the plugin does not start again after a restart.
    pub fn run_until_idle(&mut self) -> anyhow::Result<Rest> {
        self.progress = Progress { time: self.now, cycles: self.cycles, since_timeout: true };
        loop {
            self.deliver()?;
            if self.out_of_patience() {
                return Ok(self.rest(false));
            }
            if self.scheduler.queue.can_pop() {
                self.run_cycle()?;
                continue;
            }
            match self.next_time(Time::MAX) {
                Some(time) => self.now = time.max(self.now),
                None => return Ok(self.rest(true)),
            }
        }
    }

    /// Runs until this time, without what happens at it.
    ///
    /// # Errors
    /// When the plugin does not start again after a restart.
    pub fn run_until(&mut self, time: Time) -> anyhow::Result<()> {
        while self.now < time {
            self.deliver()?;
            if self.scheduler.queue.can_pop() && !self.out_of_patience() {
                self.run_cycle()?;
                continue;
            }
            match self.next_time(time) {
                Some(next) => self.now = next.max(self.now),
                None => self.now = time,
            }
        }
        Ok(())
    }

    /// The submitted pods that are bound, in order of creation: `namespace/name` and node.
    #[must_use]
    pub fn placements(&self) -> Vec<(String, String)> {
        let pods = self.store.in_order().into_iter().filter(|pod| !pod.initial);
        pods.filter_map(|pod| Some((pod.info.key.to_string(), pod.info.node_name()?.to_owned()))).collect()
    }

    /// The pods that are not bound, in order of creation.
    #[must_use]
    pub fn pending(&self) -> Vec<&StoredPod> {
        self.store.in_order().into_iter().filter(|pod| pod.info.node_name().is_none() && !pod.finished).collect()
    }

    /// The pod with this `namespace/name`.
    #[must_use]
    pub fn pod(&self, key: &str) -> Option<&StoredPod> {
        self.store.get(key)
    }

    /// All pods in order of creation.
    #[must_use]
    pub fn pods(&self) -> Vec<&StoredPod> {
        self.store.in_order()
    }

    /// What the scheduler knows: nodes with the pods bound or assumed on them.
    #[must_use]
    pub fn cluster(&self) -> std::cell::Ref<'_, crate::scheduler::cache::Cache> {
        self.handle.cache.borrow()
    }

    /// The resource names behind the numbers in [`Simulation::cluster`].
    #[must_use]
    pub fn resource_names(&self) -> std::cell::Ref<'_, ResourceNames> {
        self.names.borrow()
    }

    /// Every cycle of the pod that [`Options::explain`] names.
    #[must_use]
    pub fn reports(&self) -> &[CycleReport] {
        &self.scheduler.reports
    }

    /// Errors that the module answered with. None is expected from a sound module.
    #[must_use]
    pub fn plugin_errors(&self) -> &[String] {
        &self.scheduler.plugin_errors
    }

    /// What pods ask for that the loop does not model.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let pods = self.store.in_order().into_iter().filter(|pod| !pod.initial);
        let fields: BTreeSet<&str> = pods.flat_map(|pod| unmodelled(&pod.info)).collect();
        fields.into_iter().map(|field| format!("pods use {field}, which this scheduling loop ignores")).collect()
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Scheduling cycles so far.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    fn rest(&self, settled: bool) -> Rest {
        Rest { cycles: self.cycles, time: self.progress.time, settled }
    }

    fn out_of_patience(&self) -> bool {
        let waiting = u64::try_from(self.scheduler.queue.len()).unwrap_or(u64::MAX);
        let in_vain = self.now.saturating_sub(self.progress.time) > PATIENCE
            || self.cycles - self.progress.cycles > PATIENCE_CYCLES.max(waiting.saturating_mul(20));
        // What is still to come from outside may help.
        in_vain && !self.timeline.values().any(|action| matches!(action, Action::Change(_)))
    }

    fn made_progress(&mut self) {
        self.progress = Progress { time: self.now, cycles: self.cycles, since_timeout: true };
    }

    /// The next moment before `end` at which something happens by itself.
    fn next_time(&mut self, end: Time) -> Option<Time> {
        let event = self.timeline.keys().next().map(|(time, _)| *time);
        if let Some(time) = [event, self.scheduler.queue.next_backoff_end()].into_iter().flatten().min() {
            return Some(time).filter(|time| *time < end);
        }
        // Unschedulable pods get another try after five minutes. Once is enough if it changes nothing.
        let timeout = self.scheduler.queue.next_timeout().filter(|timeout| *timeout < end)?;
        std::mem::take(&mut self.progress.since_timeout).then_some(timeout)
    }

    /// Lets everything happen that is due.
    fn deliver(&mut self) -> anyhow::Result<()> {
        while let Some(entry) = self.timeline.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Action::Change(change) => {
                    self.made_progress();
                    self.apply(*change)?;
                }
                Action::Bind(uid) => self.bind(&uid),
                Action::PermitTimeout(uid) => self.permit_timeout(&uid),
                Action::PatchStatus { pod, reason, message, nominated } => {
                    self.patch_status(&pod, reason, &message, nominated);
                }
                Action::Publish { node, document } => self.annotate(&node, document),
                Action::Gone(pod) => self.delete_pod(&pod),
            }
        }
        self.scheduler.queue.flush_backoff(self.now);
        self.scheduler.queue.flush_unschedulable(self.now);
        Ok(())
    }

    /// One scheduling cycle. What happens while it runs is delivered before its outcome is acted upon.
    fn run_cycle(&mut self) -> anyhow::Result<()> {
        let Some(queued) = self.scheduler.queue.pop() else { return Ok(()) };
        if queued.info.is_terminating() {
            self.scheduler.queue.done(&queued.info.uid);
            return Ok(());
        }
        self.cycles += 1;
        (self.options.on_cycle)(self.cycles);
        let outcome = self.scheduler.schedule(&queued, self.now);
        self.now += self.options.cycle_time;
        let restarts = self.restarts;
        self.deliver()?;
        if self.restarts > restarts {
            // The scheduler ended in the middle of the cycle: nothing came of it, and the pod is queued again.
            if let Outcome::Assumed { pod, .. } = outcome {
                self.handle.cache.borrow_mut().remove_pod(&pod.uid);
            }
            return Ok(());
        }
        match outcome {
            Outcome::Assumed { pod, wait } => self.start_binding(queued, pod, wait),
            Outcome::Failed { failure, preemption } => {
                if let Some(preemption) = preemption {
                    self.preempt(&preemption);
                }
                self.handle_failure(queued, &failure);
            }
        }
        self.reject_waiting();
        Ok(())
    }

    fn preempt(&mut self, preemption: &Preemption) {
        for victim in &preemption.victims {
            if self.handle.reject_waiting_pod(&victim.uid) {
                continue;
            }
            self.terminate(victim);
        }
        for uid in &preemption.displaced {
            self.scheduler.forget_nomination(uid);
        }
    }

    fn schedule(&mut self, time: Time, action: Action) {
        self.scheduled_actions += 1;
        self.timeline.insert((time, self.scheduled_actions), action);
    }
}

fn profile(options: &Options) -> Profile {
    Profile {
        sampling: options.sampling,
        ties: options.ties,
        seed: options.seed,
        explain: options.explain.clone(),
        on_report: options.on_report.clone(),
    }
}
