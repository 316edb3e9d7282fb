//! What the calls of a module cost as the cluster grows.
//!
//! Fuel (about one unit per instruction) is the same on every machine; times are this machine's.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::framework::{Handle, Plugin};
use crate::host::{Export, Module, Options, WasmPlugin};
use crate::object::{NodeObject, PodObject};
use crate::snapshot::Snapshot;

/// The calls of a scheduling cycle that are measured.
const CALLS: [Export; 5] = [Export::PreFilter, Export::Filter, Export::PreScore, Export::Score, Export::Reserve];
/// Cycles behind a time; the quickest counts.
const REPEATS: usize = 5;

/// What a module costs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    schema_version: &'static str,
    /// Bytes of the module.
    pub size: usize,
    /// Seconds to compile it and start an instance.
    pub load_seconds: f64,
    /// By number of nodes.
    pub clusters: Vec<Cluster>,
}

/// What calls cost on a cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Its nodes.
    pub nodes: usize,
    /// Guest memory after the cycles, in bytes.
    pub memory: usize,
    /// By the name of the export.
    pub calls: BTreeMap<&'static str, Cost>,
}

/// What one call costs.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Fuel in the first cycle of a module that knows nothing yet.
    pub cold_fuel: u64,
    /// Fuel in a later cycle of an equal pod.
    pub fuel: u64,
    /// Microseconds of the same.
    pub microseconds: f64,
}

/// The most that a module may cost; what is absent may cost anything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Budget {
    /// Bytes of the module.
    pub size: Option<usize>,
    /// Seconds to load it.
    pub load_seconds: Option<f64>,
    /// Guest memory in bytes, on any of the clusters.
    pub memory: Option<usize>,
    /// Each call, by the name of its export, on any of the clusters.
    pub calls: BTreeMap<String, CallBudget>,
}

/// The most that a call may cost.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CallBudget {
    /// Fuel in the first cycle.
    pub cold_fuel: Option<u64>,
    /// Fuel in a later one.
    pub fuel: Option<u64>,
    /// Microseconds of the same.
    pub microseconds: Option<f64>,
}

impl Measurement {
    /// Measures a module with a policy on clusters of these sizes: nodes of 8 GPUs, half of them in use, and a pod that asks
    /// for one.
    ///
    /// # Errors
    /// When the module cannot be loaded or fails in a call.
    pub fn of(bytes: &[u8], policy: &str, sizes: &[usize]) -> anyhow::Result<Self> {
        let start = Instant::now();
        let module = Module::from_bytes(bytes)?;
        drop(plugin(&module, policy, 0)?);
        let load_seconds = start.elapsed().as_secs_f64();
        let metered = Module::metered_from_bytes(bytes)?;
        let clusters = sizes.iter().map(|nodes| Cluster::of(&module, &metered, policy, *nodes));
        Ok(Self {
            schema_version: "v1",
            size: bytes.len(),
            load_seconds,
            clusters: clusters.collect::<anyhow::Result<_>>()?,
        })
    }

    /// What is over the budget.
    #[must_use]
    pub fn over(&self, budget: &Budget) -> Vec<String> {
        let mut over = Vec::new();
        let mut check = |what: String, is: f64, most: Option<f64>| {
            if let Some(most) = most.filter(|most| is > *most) {
                over.push(format!("{what}: {is}, the budget is {most}"));
            }
        };
        let float = |count: u64| count as f64;
        check("size".to_owned(), self.size as f64, budget.size.map(|size| size as f64));
        check("loadSeconds".to_owned(), self.load_seconds, budget.load_seconds);
        for cluster in &self.clusters {
            let of = |what: &str| format!("{what} on {} nodes", cluster.nodes);
            check(of("memory"), cluster.memory as f64, budget.memory.map(|memory| memory as f64));
            for (call, cost) in &cluster.calls {
                let Some(most) = budget.calls.get(*call) else { continue };
                check(of(&format!("calls.{call}.coldFuel")), float(cost.cold_fuel), most.cold_fuel.map(float));
                check(of(&format!("calls.{call}.fuel")), float(cost.fuel), most.fuel.map(float));
                check(of(&format!("calls.{call}.microseconds")), cost.microseconds, most.microseconds);
            }
        }
        over
    }
}

impl Cluster {
    fn of(module: &Module, metered: &Module, policy: &str, count: usize) -> anyhow::Result<Self> {
        let (snapshot, mut counted) = plugin(metered, policy, count)?;
        let nodes = snapshot.nodes();
        let cycle = |plugin: &mut WasmPlugin| -> anyhow::Result<BTreeMap<&'static str, u64>> {
            let before = CALLS.map(|export| plugin.stats(export).fuel);
            for call in CALLS {
                ask(plugin, call, &nodes)?;
                put_back(plugin, call, &nodes);
            }
            let after = CALLS.map(|export| plugin.stats(export).fuel);
            let used = CALLS.iter().zip(after).zip(before).map(|((call, after), before)| (call.name(), after - before));
            Ok(used.collect())
        };
        let cold = cycle(&mut counted)?;
        let warm = cycle(&mut counted)?;
        let (snapshot, mut timed) = plugin(module, policy, count)?;
        let nodes = snapshot.nodes();
        let mut quickest: BTreeMap<&str, f64> = BTreeMap::new();
        for _ in 0..REPEATS {
            // Twice each: the first call also puts away what the call before it was about.
            for call in CALLS.into_iter().flat_map(|call| [call, call]) {
                let start = Instant::now();
                ask(&mut timed, call, &nodes)?;
                let took = start.elapsed().as_secs_f64() * 1e6;
                quickest.entry(call.name()).and_modify(|least| *least = least.min(took)).or_insert(took);
                put_back(&mut timed, call, &nodes);
            }
        }
        let cost = |call: &Export| {
            let name = call.name();
            let microseconds = (quickest.get(name).copied().unwrap_or(0.0) * 100.0).round() / 100.0;
            (name, Cost { cold_fuel: cold[name], fuel: warm[name], microseconds })
        };
        let exported = CALLS.iter().filter(|call| metered.exports().contains(**call));
        Ok(Self { nodes: count, memory: timed.memory_size(), calls: exported.map(cost).collect() })
    }
}

/// A module that has started on a cluster of so many nodes.
fn plugin(module: &Module, policy: &str, count: usize) -> anyhow::Result<(Rc<Snapshot>, WasmPlugin)> {
    let snapshot = Rc::new(Snapshot::new(Rc::new(|_, _| {})));
    (0..count).for_each(|number| snapshot.set(node(number)));
    let handle = Rc::clone(&snapshot) as Rc<dyn Handle>;
    let mut plugin = WasmPlugin::new(module, policy, handle, Options::default())?;
    plugin.events_to_register()?;
    Ok((snapshot, plugin))
}

fn ask(plugin: &mut WasmPlugin, call: Export, nodes: &[Rc<NodeObject>]) -> anyhow::Result<()> {
    let pod = pod();
    let name = nodes.first().map_or("none", |node| node.name());
    let status = match call {
        Export::PreFilter => plugin.pre_filter(&pod).1,
        Export::Filter => plugin.filter(&pod, name),
        Export::PreScore => plugin.pre_score(&pod, nodes),
        Export::Score => plugin.score(&pod, name).1,
        Export::Reserve => plugin.reserve(&pod, name),
        _ => return Ok(()),
    };
    let failed = status.code == crate::framework::Code::Error;
    anyhow::ensure!(!failed, "{} failed: {}", call.name(), status.reason);
    Ok(())
}

/// Takes a reservation back, so that the next cycle finds the cluster as it was.
fn put_back(plugin: &mut WasmPlugin, call: Export, nodes: &[Rc<NodeObject>]) {
    if call == Export::Reserve {
        plugin.unreserve(&pod(), nodes.first().map_or("none", |node| node.name()));
    }
}

/// A node about as large as real ones.
fn node(number: usize) -> NodeObject {
    let used = number % 8;
    let state = json!({"v": 1, "at": 1, "requested": {"nvidia.com/gpu": used, "cpu": used * 4000}});
    let labels = (0..30).map(|at| (format!("feature.node.example.com/property-{at}"), "true".into()));
    let amounts = json!({"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"});
    let images =
        (0..15).map(|at| json!({"names": [format!("images.example.com/team/image-{at}:v1")], "sizeBytes": at}));
    let node = json!({
        "metadata": {
            "name": format!("node-{number}"),
            "labels": labels.collect::<serde_json::Map<_, _>>(),
            "annotations": {stowage::cluster::node_state::ANNOTATION: state.to_string()},
        },
        "status": {"allocatable": amounts, "capacity": amounts, "images": images.collect::<Vec<_>>()},
    });
    NodeObject::new(serde_json::from_value(node).expect("this is a node"))
}

fn pod() -> Rc<PodObject> {
    let requests = json!({"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"});
    let pod = json!({
        "metadata": {"name": "measured", "namespace": "default", "uid": "measured"},
        "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
    });
    Rc::new(PodObject::from_json(&pod).expect("this is a pod"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_more_than_its_budget_is_named() {
        let measured = Measurement::of(crate::builtin_module(), "", &[10]).unwrap();
        let prescore = measured.clusters[0].calls["prescore"];
        assert!(prescore.fuel > 0 && prescore.cold_fuel > prescore.fuel, "{prescore:?}");
        assert!(measured.over(&Budget::default()).is_empty());
        let budget: Budget = serde_json::from_value(json!({
            "size": measured.size, "memory": 1, "calls": {"prescore": {"fuel": prescore.fuel - 1}, "score": {"fuel": 1_000_000}},
        }))
        .unwrap();
        let over = measured.over(&budget);
        assert_eq!(over.len(), 2, "{over:?}");
        assert!(over[0].starts_with("memory on 10 nodes: "), "{over:?}");
        assert!(over[1].starts_with("calls.prescore.fuel on 10 nodes: "), "{over:?}");
    }
}
