//! What happens while a case runs.

use std::path::Path;
use std::time::Duration;

use anyhow::{bail, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use stowage::object::Quantity;

use super::expect::{Case, Expectations, at};
use super::pattern;
use crate::hint::did_you_mean;
use crate::load::{self, PodGroup, Workload};
use crate::publisher::Usage;
use crate::scheduler::pod::key_of;
use crate::simulation::{BindFault, Change, Simulation, milliseconds};
use crate::trial::{Trial, copy};

/// One moment of a timeline, with one or more things that happen then.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// When.
    #[serde(deserialize_with = "at")]
    pub at: Duration,
    /// Submit the objects in this file.
    #[serde(default)]
    create: Option<String>,
    /// Delete a pod.
    #[serde(default)]
    delete_pod: Option<String>,
    /// A pod has run to its end.
    #[serde(default)]
    finish_pod: Option<String>,
    /// Add a node or change one.
    #[serde(default, deserialize_with = "node")]
    set_node: Option<Box<Node>>,
    /// Lose a node.
    #[serde(default)]
    delete_node: Option<String>,
    /// A node is measured.
    #[serde(default)]
    usage: Option<Measured>,
    /// Bindings begin to fail.
    #[serde(default)]
    fail_bindings: Option<Faults>,
    /// Node state begins to come otherwise: `exact`, `none`, `lag=200ms`.
    #[serde(default)]
    node_state: Option<String>,
    /// The scheduler starts again, with a fresh module.
    #[serde(default)]
    restart: bool,
    /// What must hold at this moment, before what else happens at it.
    #[serde(default)]
    pub(super) expect: Option<Expectations>,
}

/// What a metrics source says of a node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    node: String,
    cpu: Text,
    memory: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Faults {
    pod: Option<String>,
    count: u32,
}

/// A node that is set is checked and completed like those of a cluster file. It replaces the one of its name as a whole, so
/// it must say what it has.
fn node<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Node>>, D::Error> {
    let mut node = Box::<Node>::deserialize(deserializer)?;
    let fault = |node: &Node, why: &str| {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        D::Error::custom(format!("setNode {name}: {why}"))
    };
    if !node.status.as_ref().is_some_and(|status| status.allocatable.is_some() || status.capacity.is_some()) {
        return Err(fault(&node, "status.allocatable is missing"));
    }
    load::check_node(&mut node).map_err(|why| fault(&node, &why))?;
    Ok(Some(node))
}

/// What a case names beyond its own words must be there: an expectation of what never was holds always, and an event that
/// concerns nobody proves nothing.
///
/// # Errors
/// The first name that is nowhere, or what a file that a step creates holds in vain.
pub fn check_names(case: &Case, trial: &Trial, folder: &Path) -> anyhow::Result<()> {
    let steps = || case.timeline.iter();
    let added = steps().filter_map(|step| step.set_node.as_ref());
    let nodes: Vec<&str> = trial
        .cluster
        .nodes
        .iter()
        .chain(added.map(AsRef::as_ref))
        .filter_map(|node| node.metadata.name.as_deref())
        .collect();
    let kept_off = case.expectations().flat_map(|expected| expected.none_of.values().flatten());
    let named = steps().filter_map(|step| step.delete_node.as_ref());
    let measured = steps().filter_map(|step| Some(&step.usage.as_ref()?.node));
    for node in kept_off.chain(named).chain(measured) {
        if !nodes.contains(&node.as_str()) {
            bail!("there is no node {node}{}", did_you_mean(node, nodes.iter().copied()));
        }
    }
    let mut pods: Vec<String> =
        trial.cluster.pods.iter().chain(&trial.workload.pods).map(|pod| key_of(&pod.pod)).collect();
    let at_first = pods.len();
    for file in steps().filter_map(|step| step.create.as_ref()) {
        let created = created(file, trial, folder)?;
        if let Some(group) = created.pod_groups.first() {
            let PodGroup { namespace, name, .. } = group;
            bail!(
                "{file}: PodGroup {namespace}/{name} comes too late: put it into the workload's or the cluster's file"
            );
        }
        pods.extend(created.pods.iter().map(|pod| key_of(&pod.pod)));
    }
    let check = |name: &str, pods: &[String], is_meant: &dyn Fn(&str) -> bool| {
        let hint = || did_you_mean(&pattern::full(name), pods.iter().map(String::as_str));
        ensure!(pods.iter().any(|pod| is_meant(pod)), "there is no pod {name}{}", hint());
        Ok(())
    };
    for name in case.expectations().flat_map(|expected| &expected.gone) {
        check(name, &pods, &|pod| pattern::pod(name, pod))?;
    }
    for name in steps().flat_map(|step| step.delete_pod.iter().chain(&step.finish_pod)) {
        let is_meant = |pod: &str| pattern::pod(name, pod);
        // A pattern does not mean pods that are yet to come.
        let (known, to_come) = if name.contains('*') { pods.split_at(at_first) } else { (&*pods, &[][..]) };
        if to_come.iter().any(|pod| is_meant(pod)) && !known.iter().any(|pod| is_meant(pod)) {
            bail!("{name} fits pods that come by create alone, which are to be named in full");
        }
        check(name, known, &is_meant)?;
    }
    for name in steps().filter_map(|step| step.fail_bindings.as_ref()?.pod.as_ref()) {
        check(name, &pods, &|pod| pattern::full(name) == pod)?;
    }
    Ok(())
}

/// What a step creates.
fn created(file: &str, trial: &Trial, folder: &Path) -> anyhow::Result<Workload> {
    let source = load::read(&folder.join(file))?;
    Ok(load::workload(&[source], &trial.cluster.priorities)?)
}

/// What is to be said of the files that steps create.
///
/// # Errors
/// When one cannot be read.
pub fn notes(case: &Case, trial: &Trial, folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut notes = Vec::new();
    for file in case.timeline.iter().filter_map(|step| step.create.as_ref()) {
        notes.extend(created(file, trial, folder)?.notes);
    }
    Ok(notes)
}

/// Puts the steps into the simulation's own timeline.
pub fn schedule(simulation: &mut Simulation, steps: &[Step], trial: &Trial, folder: &Path) -> anyhow::Result<()> {
    for step in steps {
        for change in changes(step, trial, folder)? {
            simulation.at(step.at, change);
        }
    }
    Ok(())
}

fn changes(step: &Step, trial: &Trial, folder: &Path) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    if let Some(file) = &step.create {
        changes.extend(created(file, trial, folder)?.pods.iter().map(|pod| Change::CreatePod(copy(pod))));
    }
    let known = || trial.cluster.pods.iter().chain(&trial.workload.pods).map(|pod| key_of(&pod.pod));
    let meant = |name: &String| {
        // A pattern means every pod of the files that it fits; a name may be of a pod that is yet to come.
        let pods: Vec<String> = known().filter(|key| pattern::pod(name, key)).collect();
        if pods.is_empty() { vec![pattern::full(name).into()] } else { pods }
    };
    changes.extend(step.delete_pod.iter().flat_map(meant).map(Change::DeletePod));
    changes.extend(step.finish_pod.iter().flat_map(meant).map(Change::FinishPod));
    changes.extend(step.set_node.iter().cloned().map(Change::SetNode));
    changes.extend(step.delete_node.iter().cloned().map(Change::DeleteNode));
    if let Some(measured) = &step.usage {
        let amount = |text: &Text| Quantity::parse(&text.0).map_err(|error| anyhow::anyhow!("{}: {error}", text.0));
        let (cpu, memory) = (amount(&measured.cpu)?.milli_value(), amount(&measured.memory)?.value());
        let usage = Some(Usage { at: milliseconds(step.at), cpu, memory });
        changes.push(Change::Usage { node: measured.node.clone(), usage });
    }
    if let Some(faults) = &step.fail_bindings {
        changes.push(Change::FailBindings(BindFault {
            pod: faults.pod.as_deref().map(|pod| pattern::full(pod).into()),
            count: faults.count,
        }));
    }
    if let Some(mode) = &step.node_state {
        changes.push(Change::NodeState(mode.parse().map_err(anyhow::Error::msg)?));
    }
    if step.restart {
        changes.push(Change::RestartScheduler);
    }
    Ok(changes)
}
