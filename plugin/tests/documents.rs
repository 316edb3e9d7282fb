//! Whatever stands in an annotation or in the policy, reading it ends in a value or in a fault.

mod walk;

use proptest::prelude::*;
use stowage::cluster::NodeState;

const STATE: &str = r#"{"v":1,"at":1764460800000,"pods":2,"requested":{"cpu":4000,"nvidia.com/gpu":1},"nonzero":{"cpu":4000},
    "qos":{"BE":{"pods":2,"cpu":1,"memory":2}},"usage":{"at":1,"cpu":2,"memory":3},"gangs":{"ns/a":1},"gpuFree":[1000,0],
    "uids":"0123456789abcdef"}"#;

const POLICY: &str = r#"{"weights":{"binpack":1,"gpuNodeAvoidance":0},"cluster":{"refreshPerCycle":3},"explain":true,
    "binpack":{"scoringStrategy":{"type":"RequestedToCapacityRatio","resources":[{"name":"cpu","weight":2}],
    "requestedToCapacityRatio":{"shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}]}}},
    "gpu":{"modelLabels":["a"]},"qos":{"enabled":true}}"#;

/// A document with some bytes replaced by others that JSON is made of.
fn changed(document: &str, changes: Vec<(prop::sample::Index, u8)>) -> Vec<u8> {
    let mut bytes = document.as_bytes().to_vec();
    for (at, byte) in changes {
        let at = at.index(bytes.len());
        bytes[at] = byte;
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let byte = prop::sample::select(&br#"{}[]",:0123456789-.eEtfn\ a"#[..]);
    prop::collection::vec((any::<prop::sample::Index>(), byte), 0..6)
}

#[test]
fn the_documents_are_valid_before_they_are_changed() {
    NodeState::parse(STATE).unwrap();
    stowage::config::Policy::parse(POLICY).unwrap();
}

#[test]
fn documents_cut_short_anywhere() {
    for length in 0..STATE.len() {
        assert!(NodeState::parse(&STATE[..length]).is_err());
    }
    for length in 1..POLICY.len() {
        assert!(stowage::config::Policy::parse(&POLICY[..length]).is_err());
    }
}

#[test]
fn deep_nesting_is_a_fault() {
    let deep = "[".repeat(100_000);
    for document in [deep.clone(), format!("{{\"binpack\":{deep}"), format!("{{\"v\":1,\"at\":{deep}")] {
        walk::config(document.as_bytes());
        walk::node_state(document.as_bytes());
        assert!(stowage::config::Policy::parse(&document).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_documents(state in changes(), policy in changes()) {
        let (state, policy) = (changed(STATE, state), changed(POLICY, policy));
        walk::node_state(&state);
        walk::config(&policy);
        walk::json(&state);
        walk::json(&policy);
    }

    #[test]
    fn any_text(text in "\\PC{0,60}") {
        walk::node_state(text.as_bytes());
        walk::config(text.as_bytes());
    }
}
