//! Measured usage of nodes: from the resource metrics API, and from Koordinator's agents.

mod koordinator;
mod metrics;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use stowage::cluster::node_state::Usage;
use stowage::object::Quantity;

pub use koordinator::{koordinator, node_of};
pub use metrics::poll;

/// Who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// The resource metrics API, `metrics.k8s.io`: means of some seconds.
    Metrics,
    /// Koordinator's `NodeMetric`: means of some minutes.
    Koordinator,
}

/// What was measured on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The node's name.
    pub node: String,
    /// What it used, and when.
    pub usage: Usage,
}

/// Amounts as the API writes them.
type Amounts = BTreeMap<String, Text>;

fn usage(at: &Time, amounts: &Amounts) -> Result<Usage> {
    let amount = |name: &str| {
        let Text(text) = amounts.get(name).with_context(|| format!("no usage of {name}"))?;
        Quantity::parse(text).map_err(|error| anyhow::anyhow!("usage of {name} is {text:?}, {error}"))
    };
    let (cpu, memory) = (amount("cpu")?.milli_value(), amount("memory")?.value());
    Ok(Usage { at: at.0.as_millisecond(), cpu, memory })
}
