//! Simulated clusters with gangs.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use stowage_host::framework::{Handle, Plugin, Status};
use stowage_host::host::{self, Module, WasmPlugin};
use stowage_host::object::{NodeObject, PodObject};
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{Change, Options, PluginFactory, Rest, Simulation, StoredPod};

use super::recorder::{Answers, Recorder};

thread_local! {
    /// Compiled once for all tests of a thread.
    static MODULE: Module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
}

/// GPUs of nodes and pods.
pub const GPU: &str = "nvidia.com/gpu";

/// A cluster under test.
pub struct World {
    pub sim: Simulation,
    /// Changes so far; the next comes a little later.
    pub clock: Duration,
    /// What the module answered.
    answers: Answers,
}

/// A pod to be.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: String,
    pub gpus: i64,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub priority: i32,
    /// Creation, by default when the pod is submitted.
    pub created: Option<&'static str>,
    pub extra: Value,
}

impl Spec {
    pub fn single(name: &str, gpus: i64) -> Self {
        Self {
            name: name.to_owned(),
            gpus,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            priority: 0,
            created: None,
            extra: json!({}),
        }
    }

    /// Member `index` of `ml/gang`.
    pub fn member(gang: &str, index: u32, min: u32, gpus: i64) -> Self {
        Self::single(&format!("{gang}-{index}"), gpus)
            .annotation("stowage.dev/gang", gang)
            .annotation("stowage.dev/gang-min", &min.to_string())
    }

    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    pub fn created(mut self, timestamp: &'static str) -> Self {
        self.created = Some(timestamp);
        self
    }

    /// Further fields of the spec.
    pub fn with(mut self, extra: Value) -> Self {
        self.extra = extra;
        self
    }

    pub fn object(&self) -> PodObject {
        let mut requests = json!({"cpu": "100m"});
        if self.gpus > 0 {
            requests[GPU] = json!(self.gpus.to_string());
        }
        let mut spec = json!({
            "schedulerName": "stowage",
            "priority": self.priority,
            "containers": [{"name": "main", "resources": {"requests": requests.clone(), "limits": requests}}],
        });
        for (key, value) in self.extra.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let pod = json!({
            "metadata": {"name": self.name, "namespace": "ml", "labels": self.labels, "annotations": self.annotations,
                "creationTimestamp": self.created},
            "spec": spec,
        });
        PodObject::from_json(&pod).expect("a pod")
    }
}

pub fn node(name: &str, gpus: i64) -> NodeObject {
    labelled_node(name, gpus, &json!({}))
}

pub fn labelled_node(name: &str, gpus: i64, labels: &Value) -> NodeObject {
    let amounts = json!({"cpu": "64", "memory": "256Gi", "pods": "110", GPU: gpus.to_string()});
    NodeObject::new(
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": amounts, "capacity": amounts},
        }))
        .expect("a node"),
    )
}

fn factory(policy: Value, answers: Answers) -> PluginFactory {
    Box::new(move |handle: Rc<dyn Handle>| {
        let module =
            MODULE.with(|module| WasmPlugin::new(module, &policy.to_string(), handle, host::Options::default()))?;
        Ok(Box::new(Recorder { module, answers: answers.clone() }) as Box<dyn Plugin>)
    })
}

impl World {
    /// Nodes called `gpu-1`, `gpu-2`, … with so many GPUs.
    pub fn of(gpus: &[i64]) -> Self {
        Self::new(gpus.iter().enumerate().map(|(at, gpus)| node(&format!("gpu-{}", at + 1), *gpus)), json!({}))
    }

    pub fn new(nodes: impl IntoIterator<Item = NodeObject>, policy: Value) -> Self {
        Self::with_options(nodes, policy, Options::default())
    }

    pub fn with_options(nodes: impl IntoIterator<Item = NodeObject>, policy: Value, options: Options) -> Self {
        let answers = Answers::default();
        let sim = Simulation::new(nodes, [], factory(policy, answers.clone()), options).expect("the module starts");
        Self { sim, clock: Duration::ZERO, answers }
    }

    /// Lets it happen a millisecond after what came before.
    pub fn then(&mut self, change: Change) {
        self.clock = self.clock.max(self.sim.now()) + Duration::from_millis(1);
        self.sim.at(self.clock, change);
    }

    pub fn submit(&mut self, spec: &Spec) {
        self.then(Change::CreatePod(spec.object()));
    }

    pub fn gang(&mut self, gang: &str, members: u32, gpus: i64) {
        for index in 0..members {
            self.submit(&Spec::member(gang, index, members, gpus));
        }
    }

    pub fn set_node(&mut self, node: NodeObject) {
        self.then(Change::SetNode(Box::new(node.node)));
    }

    pub fn delete(&mut self, pod: &str) {
        self.then(Change::DeletePod(format!("ml/{pod}")));
    }

    pub fn run(&mut self) -> Rest {
        let rest = self.sim.run_until_idle().expect("the module restarts");
        assert_eq!(self.sim.plugin_errors(), [""; 0], "the module failed");
        rest
    }

    /// A quiet cluster has no clock. Pods that come and go let it pass the time after which slots end that nobody comes for.
    pub fn run_until_slots_end(&mut self) {
        self.run();
        for _ in 0..4 {
            self.clock = self.sim.now() + Duration::from_secs(40);
            self.submit(&Spec::single("tick", 0));
            self.clock += Duration::from_secs(1);
            self.delete("tick");
            self.run();
        }
    }

    pub fn pod(&self, name: &str) -> Option<&StoredPod> {
        self.sim.pod(&format!("ml/{name}"))
    }

    pub fn node_of(&self, name: &str) -> Option<String> {
        self.pod(name)?.info.node_name().map(str::to_owned)
    }

    /// The message of the last attempt.
    pub fn reason(&self, name: &str) -> String {
        let last = self.pod(name).and_then(|pod| pod.attempts.last());
        match last.map(|attempt| &attempt.result) {
            Some(Err(message)) => message.to_string(),
            Some(Ok(node)) => format!("bound to {node}"),
            None => "never tried".to_owned(),
        }
    }

    /// What an extension point answered about a pod, in order.
    pub fn answers_of(&self, pod: &str, point: &str) -> Vec<Status> {
        let answers = self.answers.borrow();
        let of_pod = answers.iter().filter(|answer| answer.pod == pod && answer.point == point);
        of_pod.map(|answer| answer.status.clone()).collect()
    }

    /// Members of a gang, with those that are on nodes.
    pub fn members(&self, gang: &str) -> Vec<&StoredPod> {
        let prefix = format!("ml/{gang}-");
        self.sim.pods().into_iter().filter(|pod| pod.info.key.starts_with(&prefix)).collect()
    }

    pub fn running(&self, gang: &str) -> usize {
        self.members(gang).into_iter().filter(|pod| pod.info.node_name().is_some()).count()
    }

    /// Nodes that a gang runs on, each once.
    pub fn nodes_of(&self, gang: &str) -> Vec<String> {
        let mut nodes: Vec<String> =
            self.members(gang).iter().filter_map(|pod| pod.info.node_name().map(str::to_owned)).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    pub fn attempts(&self, gang: &str) -> usize {
        self.members(gang).iter().map(|pod| pod.attempts.len()).sum()
    }

    /// Every attempt in order, for failures.
    pub fn story(&self) -> String {
        let mut attempts: Vec<(Duration, String)> = Vec::new();
        for pod in self.sim.pods() {
            attempts.extend(pod.attempts.iter().map(|attempt| {
                let result = match &attempt.result {
                    Ok(node) => format!("bound to {node}"),
                    Err(message) => message.split(" preemption:").next().unwrap_or_default().to_owned(),
                };
                (attempt.time, format!("{:?} {}: {result}", attempt.time, pod.info.key))
            }));
        }
        attempts.sort();
        let lines: Vec<String> = attempts.into_iter().map(|(_, line)| line).take(400).collect();
        format!("\n{}\nfree: {:?}", lines.join("\n"), self.free())
    }

    /// GPUs that are free on each node, whatever the module thinks.
    pub fn free(&self) -> BTreeMap<String, i64> {
        let cluster = self.sim.cluster();
        let names = self.sim.resource_names();
        let gpu = names.get(GPU);
        cluster
            .nodes()
            .iter()
            .map(|node| {
                let of = |amounts: &stowage::object::Resources| gpu.map_or(0, |gpu| amounts.get(gpu));
                (node.name.to_string(), of(&node.allocatable) - of(&node.requested))
            })
            .collect()
    }
}

pub fn lag(duration: Duration) -> NodeStateMode {
    if duration.is_zero() { NodeStateMode::Exact } else { NodeStateMode::Lag(duration) }
}
