//! What `deploy/` says, as far as it can be told without a cluster.

use std::path::Path;

use serde_json::{Value, json};

/// Each of them pulls away from full nodes, and together they can outweigh packing: a policy says MostAllocated, and pods are
/// spread all the same. What is left (taints, affinity, spreading that a pod asks for) is the pods' own wish.
#[test]
fn in_tree_scores_that_spread_pods_are_off() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/scheduler-config.yaml");
    let config: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let profiles = config["profiles"].as_array().unwrap();
    assert!(!profiles.is_empty());
    for profile in profiles {
        let mut disabled: Vec<&str> = profile["plugins"]["score"]["disabled"]
            .as_array()
            .unwrap()
            .iter()
            .map(|plugin| plugin["name"].as_str().unwrap())
            .collect();
        disabled.sort_unstable();
        assert_eq!(disabled, ["ImageLocality", "NodeResourcesBalancedAllocation", "NodeResourcesFit"]);
        let args = |name: &str| {
            let configs = profile["pluginConfig"].as_array().unwrap();
            let config = configs.iter().find(|config| config["name"] == name);
            config.unwrap_or_else(|| panic!("no pluginConfig of {name}"))["args"].clone()
        };
        // Without a list of its own each pod is spread over nodes and zones.
        assert_eq!(args("PodTopologySpread"), json!({"defaultingType": "List", "defaultConstraints": []}));
        let ours = &profile["plugins"]["multiPoint"]["enabled"];
        assert_eq!(*ours, json!([{"name": "stowage", "weight": 10}]));
        assert!(args("stowage")["guestConfig"].is_string());
    }
}
