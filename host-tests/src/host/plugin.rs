//! A module as a scheduling plugin.

use std::rc::Rc;

use anyhow::anyhow;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;

use super::call::{Call, Shared};
use super::engine::Limits;
use super::exports::Export;
use super::fault::Fault;
use super::guest::Guest;
use super::imports::structured;
use super::module::Module;
use super::pool::Pool;
use crate::framework::{ClusterEvent, Code, EventResource, Handle, Interfaces, Plugin, Status, action};
use crate::object::{NodeObject, PodObject};

/// Settings of a plugin beside the guest's configuration.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// klog severity of the plugin configuration: 0 info, 1 warning, 2 error, 3 fatal.
    pub log_severity: i32,
    /// The guest's program arguments; upstream has them for tests.
    pub args: Vec<String>,
    /// Limits of this harness.
    pub limits: Limits,
}

/// What the calls of one export cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    /// How often it was called.
    pub calls: u64,
    /// Fuel used by all of them, for metered modules.
    pub fuel: u64,
}

/// A module as a scheduling plugin, with the instances it has at the moment.
pub struct WasmPlugin {
    module: Module,
    shared: Rc<Shared>,
    limits: Limits,
    pool: Pool<Guest>,
    /// How many instances there have been since the start.
    started: u64,
    /// Whether an instance failed to start.
    closed: bool,
    stats: [CallStats; Export::ALL.len()],
    /// For the order that Go's maps give to normalised scores.
    map_order: SmallRng,
}

impl WasmPlugin {
    /// A plugin with its first instance.
    ///
    /// # Errors
    /// When the instance does not start; with upstream's message, which holds what the guest printed.
    pub fn new(module: &Module, guest_config: &str, handle: Rc<dyn Handle>, options: Options) -> anyhow::Result<Self> {
        let Options { log_severity, args, limits } = options;
        let shared = Rc::new(Shared { config: guest_config.to_owned(), handle, log_severity, args });
        Ok(Self {
            pool: Self::new_pool(module, &shared, limits)?,
            module: module.clone(),
            shared,
            limits,
            started: 1,
            closed: false,
            stats: Default::default(),
            map_order: SmallRng::seed_from_u64(0),
        })
    }

    fn new_pool(module: &Module, shared: &Rc<Shared>, limits: Limits) -> anyhow::Result<Pool<Guest>> {
        let first = Guest::new(module, shared, limits, 1);
        Ok(Pool::new(first.map_err(|error| anyhow!("failed to create a guest pool: {error}"))?))
    }

    /// Drops every instance and begins with a new one, as when the scheduler restarts.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.pool = Self::new_pool(&self.module, &self.shared, self.limits)?;
        (self.started, self.closed) = (1, false);
        Ok(())
    }

    /// How many instances there are.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.pool.guests().count()
    }

    /// Guest memory of all instances in bytes.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        self.pool.guests().map(Guest::memory_size).sum()
    }

    /// What the calls of `export` cost so far.
    #[must_use]
    pub fn stats(&self, export: Export) -> CallStats {
        self.stats[export as usize]
    }

    /// Calls the instance of the scheduling cycle.
    fn schedule(&mut self, export: Export, fill: impl FnOnce(&mut Call)) -> Result<(u64, &mut Call), String> {
        let Self { module, shared, limits, pool, started, closed, stats, .. } = self;
        check_open(*closed, export)?;
        let guest = pool.scheduling(|| new_guest(module, shared, *limits, started, closed))?;
        run(guest, export, module, stats, fill)
    }

    /// Calls the instance that binds the pod.
    fn bind_with(&mut self, export: Export, pod: &Rc<PodObject>, node: &str) -> Result<(u64, &mut Call), String> {
        let Self { module, pool, closed, stats, .. } = self;
        check_open(*closed, export)?;
        let guest = pool.binding(pod.uid()).map_err(|_| UNEXPECTED_POD.to_owned())?;
        run(guest, export, module, stats, |call| on_node(call, pod, node))
    }

    fn status_of(called: Result<(u64, &mut Call), String>) -> Status {
        match called {
            Ok((answer, call)) => status(answer as i32, call),
            Err(error) => Status::failure(error),
        }
    }

    fn has(&self, export: Export) -> bool {
        self.module.exports.contains(export)
    }

    /// `klog.FromContext(ctx).Error(err, message)`.
    fn log_error(&self, message: &str, error: &str) {
        const ERROR: i32 = 2;
        self.shared.handle.log(ERROR, &structured(message, &[("err", error)]));
    }
}

const UNEXPECTED_POD: &str = "unexpected podUID: a binding cycle without a scheduling cycle; the scheduler would crash";

/// An instance that fails to start takes all the others with it: upstream closes its runtime.
fn new_guest(
    module: &Module,
    shared: &Rc<Shared>,
    limits: Limits,
    started: &mut u64,
    closed: &mut bool,
) -> Result<Guest, String> {
    *started += 1;
    let guest = Guest::new(module, shared, limits, *started);
    *closed = guest.is_err();
    guest
}

fn check_open(closed: bool, export: Export) -> Result<(), String> {
    if closed { Err(format!("wasm: {} error: {}", export.name(), Fault::Exit(0))) } else { Ok(()) }
}

fn run<'g>(
    guest: &'g mut Guest,
    export: Export,
    module: &Module,
    stats: &mut [CallStats],
    fill: impl FnOnce(&mut Call),
) -> Result<(u64, &'g mut Call), String> {
    let call = guest.call_data();
    call.reset();
    fill(call);
    let answer = guest.call(export, module);
    let stats = &mut stats[export as usize];
    stats.calls += 1;
    stats.fuel += guest.fuel_used();
    Ok((answer?, guest.call_data()))
}

fn on_node(call: &mut Call, pod: &Rc<PodObject>, node: &str) {
    call.pod = Some(Rc::clone(pod));
    call.node.push_str(node);
}

/// The status behind a code and the reason that the guest gave. Codes that the framework does not know count as errors.
fn status(code: i32, call: &mut Call) -> Status {
    match Code::from_i32(code) {
        Some(Code::Success) => Status::success(),
        Some(code) => Status::new(code, std::mem::take(&mut call.reason)),
        None => Status::failure(format!("unknown status code {code}: {}", call.reason)),
    }
}

fn high(answer: u64) -> i32 {
    (answer >> 32) as i32
}

/// Upstream's event resources by number: Pod, Node, eight others and the wildcard.
fn cluster_event((resource, action): (u32, u32)) -> ClusterEvent {
    const WILDCARD: u32 = 10;
    let resource = match resource {
        0 => EventResource::Pod,
        1 => EventResource::Node,
        WILDCARD => EventResource::Any,
        other => EventResource::Other(other),
    };
    ClusterEvent { resource, action }
}

/// What upstream registers for a guest that names no events: Pod, Node, CSINode, volumes, claims, storage classes.
fn all_events() -> Vec<ClusterEvent> {
    [0, 1, 7, 2, 3, 6].map(|resource| cluster_event((resource, action::ALL))).to_vec()
}

impl Plugin for WasmPlugin {
    fn interfaces(&self) -> Interfaces {
        self.module.interfaces
    }

    fn events_to_register(&mut self) -> anyhow::Result<Vec<ClusterEvent>> {
        if !self.has(Export::Enqueue) {
            return Ok(all_events());
        }
        let Self { module, shared, limits, pool, started, closed, stats, .. } = self;
        check_open(*closed, Export::Enqueue).map_err(anyhow::Error::msg)?;
        let new = || new_guest(module, shared, *limits, started, closed);
        let events = pool.outside(new, |guest| {
            run(guest, Export::Enqueue, module, stats, |_| ()).map(|(_, call)| std::mem::take(&mut call.events))
        });
        // Upstream panics here: the scheduler does not start.
        let events = events.and_then(|called| called).map_err(anyhow::Error::msg)?;
        Ok(if events.is_empty() { all_events() } else { events.into_iter().map(cluster_event).collect() })
    }

    fn pre_filter(&mut self, pod: &Rc<PodObject>) -> (Option<Vec<String>>, Status) {
        if !self.has(Export::PreFilter) {
            return (None, Status::success());
        }
        match self.schedule(Export::PreFilter, |call| call.pod = Some(Rc::clone(pod))) {
            Ok((answer, call)) => (call.node_names.take(), status(answer as i32, call)),
            Err(error) => (None, Status::failure(error)),
        }
    }

    fn add_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        if !self.module.interfaces.pre_filter_extensions {
            return Status::success();
        }
        Self::status_of(self.schedule(Export::AddPod, |call| {
            on_node(call, pod, node);
            call.target = Some(Rc::clone(target));
        }))
    }

    fn remove_pod(&mut self, pod: &Rc<PodObject>, target: &Rc<PodObject>, node: &str) -> Status {
        if !self.module.interfaces.pre_filter_extensions {
            return Status::success();
        }
        Self::status_of(self.schedule(Export::RemovePod, |call| {
            on_node(call, pod, node);
            call.target = Some(Rc::clone(target));
        }))
    }

    fn filter(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        if !self.module.interfaces.filter {
            return Status::success();
        }
        Self::status_of(self.schedule(Export::Filter, |call| on_node(call, pod, node)))
    }

    fn post_filter(&mut self, pod: &Rc<PodObject>, statuses: &[(String, Code)]) -> (Option<String>, Status) {
        const OVERRIDE: i32 = 1;
        if !self.has(Export::PostFilter) {
            return (None, Status::success());
        }
        let called = self.schedule(Export::PostFilter, |call| {
            call.pod = Some(Rc::clone(pod));
            call.statuses.extend_from_slice(statuses);
        });
        match called {
            Ok((answer, call)) => {
                let nominated = (high(answer) == OVERRIDE).then(|| std::mem::take(&mut call.nominated_node));
                (nominated, status(answer as i32, call))
            }
            Err(error) => (None, Status::failure(error)),
        }
    }

    fn pre_score(&mut self, pod: &Rc<PodObject>, nodes: &[Rc<NodeObject>]) -> Status {
        if !self.has(Export::PreScore) {
            return Status::success();
        }
        Self::status_of(self.schedule(Export::PreScore, |call| {
            call.pod = Some(Rc::clone(pod));
            call.filtered_nodes.extend_from_slice(nodes);
        }))
    }

    fn score(&mut self, pod: &Rc<PodObject>, node: &str) -> (i64, Status) {
        if !self.module.interfaces.score {
            return (0, Status::success());
        }
        match self.schedule(Export::Score, |call| on_node(call, pod, node)) {
            Ok((answer, call)) => (high(answer).into(), status(answer as i32, call)),
            Err(error) => (0, Status::failure(error)),
        }
    }

    /// Upstream reads the guest's answer into a map and copies it back by index, so the scores land on nodes in an
    /// order that changes from run to run; here it is random too, from a fixed seed.
    fn normalize_score(&mut self, pod: &Rc<PodObject>, scores: &mut Vec<(String, i64)>) -> Status {
        if !self.module.interfaces.normalize_score {
            return Status::success();
        }
        let called = self.schedule(Export::NormalizeScore, |call| {
            call.pod = Some(Rc::clone(pod));
            call.scores.extend_from_slice(scores);
        });
        let (status, mut updated) = match called {
            Ok((answer, call)) => (status(answer as i32, call), std::mem::take(&mut call.normalized_scores)),
            Err(error) => return Status::failure(format!("{error}; the scheduler would crash")),
        };
        if updated.is_empty() {
            return status;
        }
        if updated.len() != scores.len() {
            let message = format!(
                "size mismatch: scores has {} elements, but updatedScores has {} elements; the scheduler would crash",
                scores.len(),
                updated.len()
            );
            return Status::failure(message);
        }
        updated.shuffle(&mut self.map_order);
        *scores = updated;
        status
    }

    fn reserve(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        if !self.module.interfaces.reserve {
            return Status::success();
        }
        Self::status_of(self.schedule(Export::Reserve, |call| on_node(call, pod, node)))
    }

    /// Runs on the scheduling instance, and then gives back the one that binds the pod, if any.
    fn unreserve(&mut self, pod: &Rc<PodObject>, node: &str) {
        if !self.module.interfaces.reserve {
            return;
        }
        let error = self.schedule(Export::Unreserve, |call| on_node(call, pod, node)).err();
        if let Some(error) = error {
            self.log_error("failed unreserve", &error);
        }
        self.pool.free_from_binding(pod.uid());
    }

    fn permit(&mut self, pod: &Rc<PodObject>, node: &str) -> (Status, u32) {
        if !self.module.interfaces.permit {
            return (Status::success(), 0);
        }
        let answer = match self.schedule(Export::Permit, |call| on_node(call, pod, node)) {
            Ok((answer, call)) => (status(high(answer), call), answer as u32),
            Err(error) => (Status::failure(error), 0),
        };
        match self.pool.binding(pod.uid()) {
            Ok(_) => answer,
            Err(_) => (Status::failure(UNEXPECTED_POD), 0),
        }
    }

    fn pre_bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        if !self.module.interfaces.pre_bind || !self.has(Export::PreBind) {
            return Status::success();
        }
        Self::status_of(self.bind_with(Export::PreBind, pod, node))
    }

    fn bind(&mut self, pod: &Rc<PodObject>, node: &str) -> Status {
        if !self.module.interfaces.bind {
            return Status::success();
        }
        Self::status_of(self.bind_with(Export::Bind, pod, node))
    }

    fn post_bind(&mut self, pod: &Rc<PodObject>, node: &str) {
        if !self.module.interfaces.post_bind || !self.has(Export::PostBind) {
            return;
        }
        let error = self.bind_with(Export::PostBind, pod, node).err();
        if let Some(error) = error {
            self.log_error("failed postbind", &error);
        }
        self.pool.free_from_binding(pod.uid());
    }
}
