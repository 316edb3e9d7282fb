//! A module as the policy of a replay: called as the scheduler calls it, pod by pod.
//!
//! PreFilter, Filter (unless PreFilter says Skip), PreScore, Score per node (unless PreScore says Skip) and Reserve go
//! through the harness, on objects in Kubernetes' encoding; node state is published before the next pod's cycle. What a
//! replay leaves out of scheduling is in [`super::replay`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{
    Affinity, Container, Node as KubeNode, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    NodeStatus, Pod as KubePod, PodSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stowage::cluster::{NodeState, node_state};
use stowage::object::{self, PodInfo, RequestOptions, ResourceNames};

use super::cluster::{Cluster, Node};
use super::read::{NodeRow, Trace};
use super::replay::Policy;
use super::workload::Pod;
use crate::framework::{Code, Handle, Plugin as _, Status};
use crate::host::{self, Module, WasmPlugin};
use crate::object::{NodeObject, PodObject};

/// Whole devices and shares go by one name, as they are the same devices.
const GPU: &str = "stowage.dev/gpu-milli";
const MODEL: &str = "stowage.dev/gpu-model";

/// A module that places the pods of one replay.
pub struct ModulePolicy<'t> {
    trace: &'t Trace,
    plugin: WasmPlugin,
    snapshot: Rc<Snapshot>,
    states: Vec<NodeState>,
    names: ResourceNames,
    /// Pods that have arrived.
    arrived: usize,
    /// The pod of this cycle and what PreFilter said of it.
    pod: Rc<PodObject>,
    pre_filter: Status,
}

impl<'t> ModulePolicy<'t> {
    /// Starts the module with a policy document on the empty cluster.
    ///
    /// # Errors
    /// When it does not start.
    pub fn new(module: &Module, policy: &str, trace: &'t Trace) -> Result<Self> {
        let states: Vec<NodeState> = trace.nodes.iter().map(|_| NodeState::empty(1)).collect();
        let empty = Cluster::new(&trace.nodes).nodes;
        let nodes: Vec<Rc<NodeObject>> =
            (0..empty.len()).map(|at| node_object(trace, at, &empty[at], &states[at])).collect();
        let by_name = trace.nodes.iter().enumerate().map(|(at, row)| (row.name.clone(), at)).collect();
        let snapshot = Rc::new(Snapshot { by_name, nodes: RefCell::new(nodes), log: RefCell::default() });
        let handle = Rc::clone(&snapshot) as Rc<dyn Handle>;
        let mut plugin = WasmPlugin::new(module, policy, handle, host::Options::default())?;
        plugin.events_to_register()?;
        Ok(Self {
            trace,
            plugin,
            snapshot,
            states,
            names: ResourceNames::default(),
            arrived: 0,
            pod: Rc::new(PodObject::new(KubePod::default())),
            pre_filter: Status::success(),
        })
    }

    /// What the module logged, each line once.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.snapshot.log.borrow().iter().cloned().collect()
    }

    fn name(&self, at: usize) -> &'t str {
        &self.trace.nodes[at].name
    }
}

/// The module failed where no sound module does.
#[derive(Debug)]
pub struct Misbehaved(String);

impl std::fmt::Display for Misbehaved {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Misbehaved {}

/// An error of the module ends the replay; of the other answers only `expected` mean that it goes on.
fn check(step: &str, status: &Status, expected: &[Code]) -> Result<bool> {
    if status.code == Code::Error {
        return Err(Misbehaved(format!("the module failed in {step}: {}", status.reason)).into());
    }
    Ok(expected.contains(&status.code))
}

impl Policy for ModulePolicy<'_> {
    fn arrives(&mut self, pod: &Pod) -> Result<()> {
        self.arrived += 1;
        self.pod = Rc::new(pod_object(self.trace, pod, self.arrived));
        let (nodes, status) = self.plugin.pre_filter(&self.pod);
        ensure!(nodes.is_none(), "the module names nodes in PreFilter, which a replay does not follow");
        self.pre_filter = status;
        Ok(())
    }

    fn filter(&mut self, candidates: &mut Vec<usize>) -> Result<()> {
        if !check("PreFilter", &self.pre_filter, &[Code::Success, Code::Skip])? {
            candidates.clear();
        }
        if self.pre_filter.code == Code::Skip {
            return Ok(());
        }
        let mut accepted = Vec::with_capacity(candidates.len());
        for &at in &*candidates {
            let status = self.plugin.filter(&self.pod, self.name(at));
            if check("Filter", &status, &[Code::Success])? {
                accepted.push(at);
            }
        }
        *candidates = accepted;
        Ok(())
    }

    fn score(&mut self, _: &Cluster, _: &Pod, candidates: &[usize], scores: &mut Vec<i64>) -> Result<()> {
        let nodes = self.snapshot.some(candidates);
        let status = self.plugin.pre_score(&self.pod, &nodes);
        if !check("PreScore", &status, &[Code::Success])? {
            ensure!(status.code == Code::Skip, "PreScore answers {:?}: {}", status.code, status.reason);
            scores.resize(candidates.len(), 0);
            return Ok(());
        }
        for &at in candidates {
            let (score, status) = self.plugin.score(&self.pod, self.name(at));
            ensure!(check("Score", &status, &[Code::Success])?, "Score answers {:?}: {}", status.code, status.reason);
            ensure!((0..=100).contains(&score), "the module scores {score}, allowed are 0 to 100");
            scores.push(score);
        }
        Ok(())
    }

    fn placed(&mut self, cluster: &Cluster, _: &Pod, index: Option<usize>) -> Result<()> {
        let Some(at) = index else { return Ok(()) };
        let status = self.plugin.reserve(&self.pod, self.name(at));
        ensure!(check("Reserve", &status, &[Code::Success])?, "Reserve answers {:?}: {}", status.code, status.reason);
        let state = &mut self.states[at];
        let pod = object::Pod::parse(self.pod.protobuf())?;
        state.count(&PodInfo::of(&pod, &mut self.names, &RequestOptions::default())?, &self.names, None, None);
        state.seal();
        state.at += 1;
        let object = node_object(self.trace, at, &cluster.nodes[at], state);
        self.snapshot.nodes.borrow_mut()[at] = object;
        Ok(())
    }
}

/// What the module sees of the cluster.
struct Snapshot {
    by_name: BTreeMap<String, usize>,
    nodes: RefCell<Vec<Rc<NodeObject>>>,
    log: RefCell<BTreeSet<String>>,
}

impl Snapshot {
    fn some(&self, rows: &[usize]) -> Vec<Rc<NodeObject>> {
        let nodes = self.nodes.borrow();
        rows.iter().map(|at| Rc::clone(&nodes[*at])).collect()
    }
}

impl Handle for Snapshot {
    fn node(&self, name: &str) -> Option<Rc<NodeObject>> {
        self.by_name.get(name).map(|at| Rc::clone(&self.nodes.borrow()[*at]))
    }
    fn nodes(&self) -> Vec<Rc<NodeObject>> {
        self.nodes.borrow().clone()
    }
    fn image_states(&self, _: &str) -> String {
        "null".to_owned()
    }
    fn reject_waiting_pod(&self, _: &str) -> bool {
        false
    }
    fn waiting_pod(&self, _: &str) -> Option<Rc<PodObject>> {
        None
    }
    fn record_event(&self, _: &str) {}
    fn log(&self, _: i32, message: &str) {
        self.log.borrow_mut().insert(message.to_owned());
    }
}

fn amounts(cpu: i64, memory: i64, gpu: i64) -> BTreeMap<String, Quantity> {
    let mut amounts = BTreeMap::from([
        ("cpu".to_owned(), Quantity(format!("{cpu}m"))),
        ("memory".to_owned(), Quantity(format!("{memory}Mi"))),
    ]);
    if gpu > 0 {
        amounts.insert(GPU.to_owned(), Quantity(gpu.to_string()));
    }
    amounts
}

/// Pods are drawn more than once: the number makes each draw another pod.
fn pod_object(trace: &Trace, pod: &Pod, number: usize) -> PodObject {
    let affinity = pod.models.map(|models| {
        let values = (0_u8..).zip(&trace.models).filter(|(model, _)| models.contains(super::Model(*model)));
        let only = NodeSelectorRequirement {
            key: MODEL.to_owned(),
            operator: "In".to_owned(),
            values: Some(values.map(|(_, name)| name.clone()).collect()),
        };
        let term = NodeSelectorTerm { match_expressions: Some(vec![only]), ..NodeSelectorTerm::default() };
        let required = NodeSelector { node_selector_terms: vec![term] };
        let node_affinity = NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(required),
            ..NodeAffinity::default()
        };
        Affinity { node_affinity: Some(node_affinity), ..Affinity::default() }
    });
    let requests = amounts(pod.cpu, pod.memory, pod.gpu_milli());
    let container = Container {
        name: "main".to_owned(),
        resources: Some(ResourceRequirements { requests: Some(requests), ..ResourceRequirements::default() }),
        ..Container::default()
    };
    let name = format!("{}-{number}", pod.name);
    PodObject::new(KubePod {
        metadata: ObjectMeta {
            uid: Some(name.clone()),
            name: Some(name),
            namespace: Some("openb".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec { affinity, containers: vec![container], ..PodSpec::default() }),
        status: None,
    })
}

fn node_object(trace: &Trace, at: usize, node: &Node, state: &NodeState) -> Rc<NodeObject> {
    let NodeRow { name, cpu, memory, gpus, model } = &trace.nodes[at];
    let state = NodeState {
        gpu_free: node.devices.iter().map(|free| u16::try_from(*free).unwrap_or(u16::MAX)).collect(),
        ..state.clone()
    };
    let model = model.and_then(|model| trace.models.get(usize::from(model.0)));
    let mut allocatable = amounts(*cpu, *memory, i64::from(*gpus) * 1000);
    allocatable.insert("pods".to_owned(), Quantity("1000".to_owned()));
    Rc::new(NodeObject::new(KubeNode {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: model.map(|model| BTreeMap::from([(MODEL.to_owned(), model.clone())])),
            annotations: Some(BTreeMap::from([(node_state::ANNOTATION.to_owned(), state.to_json())])),
            ..ObjectMeta::default()
        },
        spec: None,
        status: Some(NodeStatus { allocatable: Some(allocatable), ..NodeStatus::default() }),
    }))
}
