//! What says nothing about anybody: keys, values, resources and kinds that mean the same in every cluster.
//!
//! All of it is lists of exact words. The end of a key is not enough: `acme.com/job-role` ends like the training
//! operator's key, and its values are its owner's.

use serde_json::{Map, Value};
use stowage::policy::qos::crane;

/// Domains whose keys mean the same everywhere. A key of any other is replaced.
const KEY_DOMAINS: [&str; 18] = [
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "habana.ai",
    "huawei.com",
    "cambricon.com",
    "koordinator.sh",
    "volcano.sh",
    "kubeflow.org",
    "ray.io",
    "yunikorn.apache.org",
    "stowage.dev",
    "cloud.google.com",
    "k8s.amazonaws.com",
    "karpenter.sh",
];
/// Keys without a domain that mean something to scheduling.
const BARE_KEYS: [&str; 5] = ["pod-group-name", "applicationId", "spark-app-selector", crane::CPU, crane::MEMORY];
/// Domains whose keys end in a word that is made up by whoever runs the cluster.
const OPEN_DOMAINS: [&str; 2] = ["node-role.kubernetes.io", "feature.node.kubernetes.io"];
/// Domains of annotations that scheduling reads.
const ANNOTATION_DOMAINS: [&str; 9] = [
    "stowage.dev",
    "koordinator.sh",
    "volcano.sh",
    "kueue.x-k8s.io",
    "yunikorn.apache.org",
    "scheduling.k8s.io",
    "scheduling.sigs.k8s.io",
    "leaderworkerset.sigs.k8s.io",
    "jobset.sigs.k8s.io",
];
/// Domains of resources that device plugins and schedulers of the public have.
const RESOURCE_DOMAINS: [&str; 14] = [
    "kubernetes.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "habana.ai",
    "huawei.com",
    "cambricon.com",
    "hygon.com",
    "metax-tech.com",
    "aliyun.com",
    "koordinator.sh",
    "volcano.sh",
    "google.com",
    "stowage.dev",
];
/// Groups of the kinds that own pods, besides those of Kubernetes itself.
const OWNER_GROUPS: [&str; 8] =
    ["k8s.io", "x-k8s.io", "kubeflow.org", "volcano.sh", "ray.io", "kserve.io", "argoproj.io", "koordinator.sh"];

/// Schedulers that are known by these names.
pub const SCHEDULERS: [&str; 7] =
    ["default-scheduler", "stowage", "koord-scheduler", "volcano", "yunikorn", "kai-scheduler", "kube-scheduler"];
/// Namespaces that every cluster has.
pub const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Priority classes that every cluster has.
pub const PRIORITY_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];
/// Conditions of pods that Kubernetes itself sets.
pub const CONDITIONS: [&str; 8] = [
    "PodScheduled",
    "Initialized",
    "ContainersReady",
    "Ready",
    "DisruptionTarget",
    "PodReadyToStartContainers",
    "PodResizePending",
    "PodResizeInProgress",
];

/// Reasons of conditions that tell whether a resize can still happen.
pub const REASONS: [&str; 2] = ["Infeasible", "Deferred"];

/// What the values of a known key are.
#[derive(Clone, Copy)]
enum Values {
    /// Some of these words.
    Words(&'static [&'static str]),
    /// Amounts, percents, indices, durations and times.
    Numbers,
    /// Models of GPUs.
    Models,
}

const ARCHITECTURES: Values = Values::Words(&["amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"]);
const SYSTEMS: Values = Values::Words(&["linux", "windows"]);
const MATCH_POLICIES: Values = Values::Words(&["only-waiting", "waiting-and-running", "once-satisfied"]);
/// Names of roles that systems give, and those that make a pod its gang's leader.
const ROLES: Values = Values::Words(&[
    "master",
    "leader",
    "launcher",
    "chief",
    "head",
    "driver",
    "worker",
    "ps",
    "evaluator",
    "executor",
    "server",
    "scheduler",
]);

/// Keys with values that are not names.
const KEYS: [(&str, Values); 46] = [
    ("kubernetes.io/arch", ARCHITECTURES),
    ("beta.kubernetes.io/arch", ARCHITECTURES),
    ("kubernetes.io/os", SYSTEMS),
    ("beta.kubernetes.io/os", SYSTEMS),
    ("nvidia.com/gpu.product", Values::Models),
    ("nvidia.com/gpu.family", Values::Words(&["volta", "turing", "ampere", "ada-lovelace", "hopper", "blackwell"])),
    ("nvidia.com/gpu.memory", Values::Numbers),
    ("nvidia.com/gpu.count", Values::Numbers),
    ("nvidia.com/gpu.replicas", Values::Numbers),
    ("amd.com/gpu.product-name", Values::Models),
    ("cloud.google.com/gke-accelerator", Values::Models),
    ("node.koordinator.sh/gpu-model", Values::Models),
    ("stowage.dev/gpu-model", Values::Models),
    ("koordinator.sh/qosClass", Values::Words(&["LSE", "LSR", "LS", "BE", "SYSTEM"])),
    ("koordinator.sh/priority-class", Values::Words(&["koord-prod", "koord-mid", "koord-batch", "koord-free"])),
    ("volcano.sh/qos-level", Values::Words(&["LC", "HLS", "LS", "BE", "2", "1", "0", "-1"])),
    ("gang.scheduling.koordinator.sh/mode", Values::Words(&["Strict", "NonStrict"])),
    ("gang.scheduling.koordinator.sh/match-policy", MATCH_POLICIES),
    ("pod-group.scheduling.sigs.k8s.io/match-policy", MATCH_POLICIES),
    ("gang.scheduling.koordinator.sh/waiting-time", Values::Numbers),
    ("gang.scheduling.koordinator.sh/min-available", Values::Numbers),
    ("gang.scheduling.koordinator.sh/total-number", Values::Numbers),
    ("pod-group.scheduling.sigs.k8s.io/min-available", Values::Numbers),
    ("stowage.dev/gang-startup", Values::Words(&["Together", "LeaderFirst"])),
    ("stowage.dev/gang-role", ROLES),
    ("stowage.dev/gang-min", Values::Numbers),
    ("stowage.dev/gang-size", Values::Numbers),
    ("volcano.sh/task-spec", ROLES),
    ("volcano.sh/jdb-min-available", Values::Numbers),
    ("scheduling.volcano.sh/group-min-member", Values::Numbers),
    ("kueue.x-k8s.io/pod-group-total-count", Values::Numbers),
    ("leaderworkerset.sigs.k8s.io/group-index", Values::Numbers),
    ("leaderworkerset.sigs.k8s.io/worker-index", Values::Numbers),
    ("leaderworkerset.sigs.k8s.io/size", Values::Numbers),
    ("jobset.sigs.k8s.io/replicatedjob-name", ROLES),
    ("jobset.sigs.k8s.io/job-index", Values::Numbers),
    ("training.kubeflow.org/replica-type", ROLES),
    ("training.kubeflow.org/replica-index", Values::Numbers),
    ("training.kubeflow.org/job-role", ROLES),
    ("ray.io/node-type", ROLES),
    ("batch.kubernetes.io/job-completion-index", Values::Numbers),
    ("apps.kubernetes.io/pod-index", Values::Numbers),
    ("volcano.sh/evicting-cpu-high-watermark", Values::Numbers),
    ("volcano.sh/evicting-memory-high-watermark", Values::Numbers),
    (crane::CPU, Values::Numbers),
    (crane::MEMORY, Values::Numbers),
];

/// What is known of a key.
pub enum Key<'a> {
    /// It means the same everywhere.
    Known,
    /// Its domain does; what follows the slash is a name.
    Open(&'a str, &'a str),
    /// It is somebody's own.
    Private,
}

/// What is known of a key of labels, annotations, taints and selectors.
pub fn key(key: &str) -> Key<'_> {
    const NODE_ROLES: [&str; 7] = ["control-plane", "master", "worker", "infra", "etcd", "gpu", "node"];
    match key.split_once('/') {
        Some((domain, name)) if OPEN_DOMAINS.contains(&domain) && !NODE_ROLES.contains(&name) => {
            Key::Open(domain, name)
        }
        Some((domain, _)) if within(domain, &KEY_DOMAINS) => Key::Known,
        None if BARE_KEYS.contains(&key) => Key::Known,
        _ => Key::Private,
    }
}

/// Whether scheduling reads this annotation.
pub fn is_read(annotation: &str) -> bool {
    match annotation.split_once('/') {
        Some((domain, _)) => within(domain, &ANNOTATION_DOMAINS),
        None => BARE_KEYS.contains(&annotation),
    }
}

/// Whether a key's value is a word of its system.
pub fn is_word(key: &str, value: &str) -> bool {
    if ["", "true", "false"].contains(&value) {
        return true;
    }
    KEYS.iter().find(|(known, _)| *known == key).is_some_and(|(_, values)| match values {
        Values::Words(words) => words.iter().any(|word| word.eq_ignore_ascii_case(value)),
        Values::Numbers => is_number(value),
        Values::Models => value.split(['-', '_', '.', ' ', '/']).all(is_of_a_model),
    })
}

/// Digits with the letters of units and times: `10m`, `1h30m`, `0.65300,2024-05-01T08:30:00Z`.
fn is_number(value: &str) -> bool {
    let apart = value.split(|letter: char| letter.is_ascii_digit() || ".,:+-".contains(letter));
    value.contains(|letter: char| letter.is_ascii_digit())
        && apart.into_iter().all(|unit| ["", "h", "m", "s", "ms", "T", "Z"].contains(&unit))
}

/// A word of a GPU's name: a maker or a series, or a number with a few letters, as in `80GB`, `SXM5` and `MI300X`.
fn is_of_a_model(word: &str) -> bool {
    const WORDS: [&str; 33] = [
        "",
        "nvidia",
        "amd",
        "intel",
        "tesla",
        "quadro",
        "geforce",
        "instinct",
        "radeon",
        "rtx",
        "gtx",
        "ti",
        "super",
        "ada",
        "generation",
        "pcie",
        "sxm",
        "nvl",
        "hbm",
        "mig",
        "shared",
        "graphics",
        "laptop",
        "gpu",
        "gpus",
        "max",
        "pro",
        "blackwell",
        "server",
        "workstation",
        "edition",
        "ascend",
        "gaudi",
    ];
    let with_digits = || {
        word.contains(|letter: char| letter.is_ascii_digit())
            && word.split(|letter: char| letter.is_ascii_digit()).all(|letters| letters.len() <= 3)
            && word.len() <= 7
    };
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)) || with_digits()
}

/// Whether a resource is Kubernetes' own or a public vendor's.
pub fn is_resource(name: &str) -> bool {
    name.split_once('/').is_none_or(|(domain, _)| within(domain, &RESOURCE_DOMAINS))
}

/// Whether an owner's kind is one of Kubernetes or of a public project.
pub fn is_owner(api_version: &str) -> bool {
    match api_version.split_once('/') {
        Some((group, _)) => ["apps", "batch"].contains(&group) || within(group, &OWNER_GROUPS),
        None => api_version == "v1",
    }
}

/// Koordinator's thresholds of a node with percents only; `None` if they are not read as such.
pub fn thresholds(text: &str) -> Option<String> {
    let given: Map<String, Value> = serde_json::from_str(text).ok()?;
    let mut kept = Map::new();
    for name in ["usageThresholds", "prodUsageThresholds"] {
        match given.get(name) {
            None => {}
            Some(Value::Null) => drop(kept.insert(name.to_owned(), Value::Null)),
            Some(percents) => {
                let percents = percents.as_object()?;
                if !percents.values().all(Value::is_number) {
                    return None;
                }
                let known = percents.iter().filter(|(resource, _)| ["cpu", "memory"].contains(&resource.as_str()));
                let known: Map<_, _> = known.map(|(resource, percent)| (resource.clone(), percent.clone())).collect();
                kept.insert(name.to_owned(), known.into());
            }
        }
    }
    Some(Value::Object(kept).to_string())
}

fn within(domain: &str, domains: &[&str]) -> bool {
    domains
        .iter()
        .any(|known| domain.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_under_their_own_key_only() {
        for (key, value) in [
            ("kubernetes.io/arch", "arm64"),
            ("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.5gb"),
            ("nvidia.com/gpu.product", "NVIDIA-RTX-6000-Ada-Generation"),
            ("amd.com/gpu.product-name", "AMD_Instinct_MI300X"),
            ("cloud.google.com/gke-accelerator", "nvidia-h100-80gb"),
            ("gang.scheduling.koordinator.sh/waiting-time", "1h30m"),
            ("training.kubeflow.org/replica-type", "Worker"),
            (crane::CPU, "0.65300,2024-05-01T08:30:00Z"),
            ("acme.com/any", "true"),
        ] {
            assert!(is_word(key, value), "{key}: {value}");
        }
        for (key, value) in [
            ("acme.com/arch", "arm64"),
            ("acme.com/job-role", "worker"),
            ("acme.com/account", "123456789012"),
            ("topology.kubernetes.io/zone", "123456789012"),
            ("nvidia.com/gpu.product", "NVIDIA-A100-apollo"),
            ("nvidia.com/gpu.count", "eight"),
            ("volcano.sh/task-spec", "merger-task"),
        ] {
            assert!(!is_word(key, value), "{key}: {value}");
        }
    }

    #[test]
    fn thresholds_are_percents() {
        let kept = r#"{"usageThresholds":{"cpu":65,"memory":95},"prodUsageThresholds":null}"#;
        assert_eq!(thresholds(kept).as_deref(), Some(kept));
        assert_eq!(
            thresholds(r#"{"apollo":1,"usageThresholds":{"apollo":1}}"#).as_deref(),
            Some(r#"{"usageThresholds":{}}"#)
        );
        for broken in ["apollo", r#"{"usageThresholds":{"cpu":"apollo"}}"#, r#"{"usageThresholds":"apollo"}"#] {
            assert_eq!(thresholds(broken), None, "{broken}");
        }
    }
}
