//! The file `expect.yaml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Deserializer};

use super::timeline::Step;
use crate::hint::did_you_mean;
use crate::publisher::NodeStateMode;

/// What can stand in a case.
const KEYS: [&str; 17] = [
    "about",
    "cluster",
    "workload",
    "policy",
    "seeds",
    "nodeState",
    "timeline",
    "placements",
    "sameNode",
    "differentNodes",
    "noneOf",
    "allOrNone",
    "pending",
    "attempts",
    "gone",
    "placed",
    "logged",
];

/// Where the expectations begin in [`KEYS`].
const EXPECTATIONS: usize = 7;

/// A case: how to run, what happens meanwhile, what is expected in the end.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Case {
    /// What the case is about, for people.
    pub about: String,
    /// The cluster's file.
    pub cluster: String,
    /// The workload's file.
    pub workload: String,
    /// The policy's file.
    pub policy: String,
    /// The case must hold with seeds 0 to this.
    pub seeds: u64,
    /// When node state shows what happened.
    #[serde(deserialize_with = "node_state")]
    pub node_state: NodeStateMode,
    /// What happens, in order of time.
    pub timeline: Vec<Step>,
    /// What must hold at the end.
    #[serde(flatten)]
    pub expected: Expectations,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            about: String::new(),
            cluster: "cluster.yaml".to_owned(),
            workload: "workload.yaml".to_owned(),
            policy: "policy.json".to_owned(),
            seeds: 1,
            node_state: NodeStateMode::Exact,
            timeline: Vec::new(),
            expected: Expectations::default(),
        }
    }
}

/// What must hold. Pods are `namespace/name`, or `name` in the namespace `default`; `*` stands for anything.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Expectations {
    /// Pods, and the node or nodes that each of them must be on.
    pub placements: BTreeMap<String, OneOrMore>,
    /// Groups of pods that must be on one node.
    pub same_node: Vec<Vec<String>>,
    /// Groups of pods of which no two may be on one node.
    pub different_nodes: Vec<Vec<String>>,
    /// Pods, and nodes that none of them may be on.
    pub none_of: BTreeMap<String, Vec<String>>,
    /// Groups of pods of which all are bound or none is.
    pub all_or_none: Vec<Vec<String>>,
    /// Pods that must be pending, and what their reason must contain; `*` stands for anything.
    pub pending: BTreeMap<String, String>,
    /// Pods, and the most cycles that each of them may have taken.
    pub attempts: BTreeMap<String, usize>,
    /// Pods that must not exist any more.
    pub gone: Vec<String>,
    /// How many pods are placed and pending.
    pub placed: Option<usize>,
    /// What the module must have logged by then; `*` stands for anything.
    pub logged: Vec<String>,
    /// Whatever is not any of the above.
    #[serde(flatten)]
    pub(super) unknown: BTreeMap<String, serde_json::Value>,
}

impl std::fmt::Display for OneOrMore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(one) => f.write_str(one),
            Self::More(more) => f.write_str(&more.join(" or ")),
        }
    }
}

/// A node or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// This one.
    One(String),
    /// One of these.
    More(Vec<String>),
}

impl OneOrMore {
    /// Whether `node` is among them.
    #[must_use]
    pub fn contains(&self, node: &str) -> bool {
        match self {
            Self::One(one) => one == node,
            Self::More(more) => more.iter().any(|one| one == node),
        }
    }
}

impl Expectations {
    /// Whether nothing is expected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            placements,
            same_node,
            different_nodes,
            none_of,
            all_or_none,
            pending,
            attempts,
            gone,
            placed,
            logged,
            unknown: _,
        } = self;
        placements.is_empty()
            && same_node.is_empty()
            && different_nodes.is_empty()
            && none_of.is_empty()
            && all_or_none.is_empty()
            && pending.is_empty()
            && attempts.is_empty()
            && gone.is_empty()
            && placed.is_none()
            && logged.is_empty()
    }
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// When the file is not one.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let name = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
        let case: Self = serde_saphyr::from_str(&text).with_context(|| format!("{name}"))?;
        if let Some(key) = case.expectations().flat_map(|expected| expected.unknown.keys()).next() {
            let hint = did_you_mean(key, KEYS);
            bail!("{name}: unknown key {key}{hint}; known are {}", KEYS.join(", "));
        }
        if case.seeds == 0 {
            bail!("{name}: with seeds: 0 nothing is run");
        }
        let golden = file.ends_with("expect.yaml") && file.with_file_name("golden.json").exists();
        if !golden && case.expectations().all(Expectations::is_empty) {
            bail!("{name}: expects nothing; it can hold {}", KEYS[EXPECTATIONS..].join(", "));
        }
        if case.timeline.windows(2).any(|steps| steps[0].at > steps[1].at) {
            bail!("{name}: the timeline is not in order of time");
        }
        Ok(case)
    }

    /// What must hold in the end, and before.
    pub(super) fn expectations(&self) -> impl Iterator<Item = &Expectations> {
        self.timeline.iter().filter_map(|step| step.expect.as_ref()).chain([&self.expected])
    }
}

fn node_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NodeStateMode, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// When a step of a timeline happens.
pub(super) fn at<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    crate::duration::deserialize(deserializer)
}
