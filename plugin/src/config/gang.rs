//! `gang`: pods that start together or not at all.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::fields::{Fields, Section};
use crate::gather::Gather;
use crate::policy::gang::membership::{LONGEST_WAIT_SECONDS, MatchPolicy};
use crate::policy::gang::planner::Topology;
use crate::policy::gang::recognise;
use crate::sort::sort_by_key;
use crate::sorted_map::SortedMap;
use crate::text::boxed;

/// Pods that start together or not at all.
///
/// Pods say so by their labels and annotations: `stowage.dev/gang` and `stowage.dev/gang-min`, or the keys of
/// scheduler-plugins, Koordinator, Volcano, Kueue, YuniKorn, KAI, LeaderWorkerSet and JobSet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, rename_all = "camelCase", deny_unknown_fields))]
pub struct Gang {
    /// Whether pods are held back until their gang is complete. Default true.
    pub enabled: bool,
    /// Minimum members of gangs whose pods do not tell, by `namespace/name`; `*` stands for any run of characters. Pods
    /// that name no gang are not made one, except those of a JobSet.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "alloc::collections::BTreeMap<String, u32>", extend("additionalProperties" = {"type": "integer", "minimum": 1, "maximum": 100_000}))
    )]
    pub sizes: SortedMap<Box<str>, u32>,
    /// Take sizes from the environment of training containers (`TF_CONFIG`, `PET_NNODES`, `WORLD_SIZE`, `VC_*_NUM`) where
    /// nothing else tells, and take pods of Kubeflow training jobs for a gang then. Default false.
    pub infer_size_from_env: bool,
    /// What to do with members of a gang whose size nobody tells. Default `Reject`.
    pub unknown_size: UnknownSize,
    /// Node label whose value is the topology domain that members should share, such as `topology.kubernetes.io/zone`.
    /// Default: none.
    pub topology_key: Option<String>,
    /// How much the topology domain matters. Default `Preferred`.
    pub topology: TopologyPolicy,
    /// For how many seconds the places of a starting gang are kept for members that do not come, 1 to 900. A pod may ask
    /// for another time (`gang.scheduling.koordinator.sh/waiting-time`). Default 60.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 900)))]
    pub slot_seconds: u32,
    /// Which members count towards the minimum, for pods that do not tell. Default `OnceSatisfied`.
    pub default_match_policy: CountedMembers,
    /// Gangs, by the same patterns as in `sizes`, whose leader starts first, since the others are created only then.
    pub leader_first: Vec<String>,
    /// Roles that are part of no gang, such as the submitter of a job.
    pub excluded_roles: Vec<String>,
}

/// What to do with members of a gang whose size nobody tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum UnknownSize {
    /// They wait until the size is known: from another member, or from the publisher, which reads PodGroup objects.
    #[default]
    Reject,
    /// They are scheduled like pods by themselves.
    Ignore,
}

/// How much topology domains matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum TopologyPolicy {
    /// Of placements on equally few nodes, the one within a domain is taken.
    #[default]
    Preferred,
    /// All members run in one domain.
    Required,
}

/// Which members count towards the minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum CountedMembers {
    /// Pending ones only.
    OnlyWaiting,
    /// Pending and running ones.
    WaitingAndRunning,
    /// Pending and running ones; once the gang has started, late and replaced members need not wait for others.
    #[default]
    OnceSatisfied,
}

impl Default for Gang {
    fn default() -> Self {
        Self {
            enabled: true,
            sizes: SortedMap::default(),
            infer_size_from_env: false,
            unknown_size: UnknownSize::default(),
            topology_key: None,
            topology: TopologyPolicy::default(),
            slot_seconds: 60,
            default_match_policy: CountedMembers::default(),
            leader_first: Vec::new(),
            excluded_roles: Vec::new(),
        }
    }
}

impl Gang {
    /// How pods are recognised. Of two patterns in `sizes` that match, the longer counts.
    #[must_use]
    pub fn recognition(&self) -> recognise::Options {
        let mut sizes: Vec<(Box<str>, u32)> = self.sizes.iter().map(|(pattern, min)| (pattern.clone(), *min)).gather();
        sort_by_key(&mut sizes, |(pattern, _)| core::cmp::Reverse(pattern.len()));
        recognise::Options {
            sizes,
            leader_first: boxed(&self.leader_first),
            excluded_roles: boxed(&self.excluded_roles),
            infer_size_from_env: self.infer_size_from_env,
        }
    }

    /// How domains count in planning.
    #[must_use]
    pub fn planned_topology(&self) -> Topology {
        match (&self.topology_key, self.topology) {
            (None, _) => Topology::Ignored,
            (Some(_), TopologyPolicy::Preferred) => Topology::Preferred,
            (Some(_), TopologyPolicy::Required) => Topology::Required,
        }
    }

    /// Which members count if the pod does not tell.
    #[must_use]
    pub fn match_policy(&self) -> MatchPolicy {
        match self.default_match_policy {
            CountedMembers::OnlyWaiting => MatchPolicy::OnlyWaiting,
            CountedMembers::WaitingAndRunning => MatchPolicy::WaitingAndRunning,
            CountedMembers::OnceSatisfied => MatchPolicy::OnceSatisfied,
        }
    }
}

impl Section for Gang {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.flag("enabled", &mut self.enabled);
        fields.numbers("sizes", &mut self.sizes, 1..=100_000);
        for pattern in self.sizes.iter().map(|(pattern, _)| pattern) {
            check_pattern(pattern, &say!("sizes[", pattern, "]"), fields);
        }
        fields.flag("inferSizeFromEnv", &mut self.infer_size_from_env);
        let unknown = [("Reject", UnknownSize::Reject), ("Ignore", UnknownSize::Ignore)];
        fields.choice("unknownSize", &mut self.unknown_size, &unknown);
        fields.text("topologyKey", &mut self.topology_key);
        let topology = [("Preferred", TopologyPolicy::Preferred), ("Required", TopologyPolicy::Required)];
        fields.choice("topology", &mut self.topology, &topology);
        if self.topology == TopologyPolicy::Required && !fields.has("topologyKey") {
            fields.fault("topology", "Required needs gang.topologyKey");
        }
        // kube-scheduler ends longer waits.
        fields.number("slotSeconds", &mut self.slot_seconds, 1..=LONGEST_WAIT_SECONDS);
        let counted = [
            ("OnlyWaiting", CountedMembers::OnlyWaiting),
            ("WaitingAndRunning", CountedMembers::WaitingAndRunning),
            ("OnceSatisfied", CountedMembers::OnceSatisfied),
        ];
        fields.choice("defaultMatchPolicy", &mut self.default_match_policy, &counted);
        if fields.texts("leaderFirst", &mut self.leader_first) {
            for (at, pattern) in self.leader_first.iter().enumerate() {
                check_pattern(pattern, &say!("leaderFirst[", at, "]"), fields);
            }
        }
        fields.texts("excludedRoles", &mut self.excluded_roles);
    }
}

/// A pattern without `/` matches no gang at all unless a star stands for it.
fn check_pattern(pattern: &str, path: &str, fields: &mut Fields<'_>) {
    if !pattern.bytes().any(|byte| byte == b'/' || byte == b'*') {
        fields.fault(path, say!("`", pattern, "` is no gang, allowed are namespace/name and patterns with *"));
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Policy;

    fn faults(text: &str) -> String {
        Policy::parse(text).expect_err("the document has a fault").to_string()
    }

    #[test]
    fn faults_name_the_field() {
        for (document, fault) in [
            (r#"{"gang":{"sizes":{"bert":5}}}"#, "gang.sizes[bert]: `bert` is no gang"),
            (r#"{"gang":{"sizes":{"ml/bert":0}}}"#, "gang.sizes[ml/bert]: 0 is out of range"),
            (r#"{"gang":{"leaderFirst":["mpi"]}}"#, "gang.leaderFirst[0]: `mpi` is no gang"),
            (r#"{"gang":{"slotSeconds":2000}}"#, "gang.slotSeconds: 2000 is out of range, allowed are 1 to 900"),
            (r#"{"gang":{"topology":"Required"}}"#, "gang.topology: Required needs gang.topologyKey"),
            (r#"{"gang":{"topologyKey":""}}"#, "gang.topologyKey: is empty"),
            (r#"{"gang":{"unknownSize":"Wait"}}"#, "gang.unknownSize: unknown variant `Wait`"),
            (r#"{"gang":{"minMember":3}}"#, "unknown field `minMember`"),
        ] {
            let faults = faults(document);
            assert!(faults.contains(fault), "{document}: {faults}");
        }
    }

    #[test]
    fn the_longer_pattern_counts() {
        let policy = Policy::parse(r#"{"gang":{"sizes":{"*":2,"ml/*":3,"ml/bert":4}}}"#).expect("valid");
        let sizes = policy.gang.recognition().sizes;
        assert_eq!(sizes.iter().map(|(_, min)| *min).collect::<Vec<_>>(), [4, 3, 2]);
    }
}
