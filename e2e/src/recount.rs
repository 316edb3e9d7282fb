//! What every node's annotation should say, counted from the API by other means than the publisher's.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use kube::api::ListParams;
use stowage::cluster::node_state::{NodeState, short_uid};

use crate::cluster::{Cluster, state};

/// The part of a node's state that tests vary.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    pods: u32,
    /// Milli-CPU, bytes, GPUs.
    requested: [i64; 3],
    nonzero: [i64; 2],
    gangs: BTreeMap<String, u32>,
    uids: Vec<u32>,
}

const RESOURCES: [&str; 3] = ["cpu", "memory", "nvidia.com/gpu"];
/// What the scheduler takes a container for that does not ask: 100m and 200Mi.
const DEFAULTS: [i64; 2] = [100, 200 << 20];

/// Fails unless every node's annotation equals a recount.
///
/// # Errors
/// See above, with the first node that differs, or when the API server does not answer.
pub async fn compare(cluster: &Cluster) -> Result<()> {
    let pods = cluster.pods.list(&ListParams::default()).await?;
    let mut counts: HashMap<String, Count> = HashMap::new();
    for pod in &pods {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if let (Some(node), false) = (node, matches!(phase, Some("Succeeded" | "Failed"))) {
            counts.entry(node).or_default().add(pod);
        }
    }
    for node in &cluster.nodes.list(&ListParams::default()).await? {
        let name = node.name_any();
        let mut expected = counts.remove(&name).unwrap_or_default();
        expected.uids.sort_unstable();
        let found = Count::published(&state(node)?);
        ensure!(found == expected, "{name} says {found:?} and has {expected:?}");
    }
    Ok(())
}

impl Count {
    fn published(state: &NodeState) -> Self {
        let amounts = RESOURCES.map(|name| state.requested.get(name).copied().unwrap_or(0));
        Self {
            pods: state.pods,
            requested: amounts,
            nonzero: [0, 1].map(|at: usize| state.nonzero.get(RESOURCES[at]).copied().unwrap_or(0)),
            gangs: state.gangs.iter().map(|(gang, members)| (gang.to_string(), *members)).collect(),
            uids: state.uids.clone(),
        }
    }

    /// Enough of the scheduler's arithmetic for the pods that tests make: one container, at most one before it.
    fn add(&mut self, pod: &Pod) {
        let spec = pod.spec.as_ref();
        let main = spec.map(|spec| spec.containers.as_slice()).unwrap_or_default();
        let init = spec.and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
        let most = |of: &dyn Fn(&Container) -> i64| main.iter().chain(init).map(of).max().unwrap_or(0);
        for (at, name) in RESOURCES.into_iter().enumerate() {
            self.requested[at] += most(&|container| amount(container, name).unwrap_or(0));
        }
        for (at, default) in DEFAULTS.into_iter().enumerate() {
            self.nonzero[at] += most(&|container| amount(container, RESOURCES[at]).unwrap_or(default));
        }
        if let Some(gang) = pod.labels().get("stowage.dev/gang") {
            *self.gangs.entry(format!("default/{gang}")).or_default() += 1;
        }
        self.pods += 1;
        self.uids.push(short_uid(pod.metadata.uid.as_deref().unwrap_or_default()));
    }
}

/// A request of a container in the spellings that tests use: `2`, `500m`, `64Mi`, `1Gi`.
fn amount(container: &Container, name: &str) -> Option<i64> {
    let text = &container.resources.as_ref()?.requests.as_ref()?.get(name)?.0;
    let number = |text: &str| text.parse::<i64>().ok();
    let units = if name == "cpu" { 1000 } else { 1 };
    if let Some(text) = text.strip_suffix('m') {
        return number(text);
    }
    for (suffix, shift) in [("Mi", 20), ("Gi", 30)] {
        if let Some(text) = text.strip_suffix(suffix) {
            return Some(number(text)? << shift);
        }
    }
    Some(number(text)? * units)
}
