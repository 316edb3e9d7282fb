//! Scheduling cycles on whatever bytes a host may hand over.

use stowage::cycle::Module;
use stowage::host::{Code, Host, Severity};

/// A scheduler that answers every question with the same few things.
struct Hostile<'a> {
    policy: &'a str,
    pod: &'a [u8],
    node: &'a [u8],
    list: Vec<u8>,
    names: &'a [u8],
}

impl Host for Hostile<'_> {
    fn config(&mut self) -> String {
        self.policy.to_owned()
    }
    fn current_pod(&mut self) -> &[u8] {
        self.pod
    }
    fn target_pod(&mut self) -> &[u8] {
        self.pod
    }
    fn current_node_name(&mut self) -> &str {
        "a"
    }
    fn filtered_node_list(&mut self) -> &[u8] {
        self.names
    }
    fn node(&mut self, _: &str) -> &[u8] {
        self.node
    }
    fn node_list(&mut self) -> &[u8] {
        &self.list
    }
    fn status_reason(&mut self, reason: &str) {
        // It ends up in the pod's condition, for people: a paragraph at most, on one line.
        assert!(reason.len() < 20_000 && !reason.contains('\n'), "{reason}");
    }
    fn node_names(&mut self, _: &[&str]) {}
    fn cluster_events(&mut self, _: &[(u32, u32)]) {}
    fn log(&mut self, _: Severity, _: &str) {}
}

/// The policies under which more of the module is at work.
const POLICIES: [&str; 3] = [
    "",
    r#"{"explain":true,"podLevelResources":true,"weights":{"qos":1},"binpack":{"scoringStrategy":{"type":"LeastAllocated",
        "resources":[{"name":"*","weight":100}]}}}"#,
    r#"{"binpack":{"scoringStrategy":{"type":"RequestedToCapacityRatio","resources":[{"name":"cpu"},{"name":"nvidia.com/gpu"}],
        "requestedToCapacityRatio":{"shape":[{"utilization":0,"score":10},{"utilization":100,"score":0}]}}}}"#,
];

/// Schedules `pod` on `node`, lets its binding fail, and schedules it again; every score is one. Answers the highest.
pub fn cycle(pod: &[u8], node: &[u8]) -> i32 {
    let mut highest = 0;
    for policy in POLICIES {
        for names in [&br#"["a"]"#[..], br#"["a","b","a"]"#, node] {
            let list = list_of(node);
            let mut host = Hostile { policy, pod, node, list, names };
            let mut module = Module::start(&mut host).expect("the policy is valid");
            module.enqueue(&mut host);
            for _ in 0..2 {
                module.pre_filter(&mut host);
                module.add_pod(&mut host);
                module.remove_pod(&mut host);
                module.filter(&mut host);
                let scored = module.pre_score(&mut host);
                let score = module.score(&mut host);
                assert!((0..=100).contains(&score), "{score}");
                highest = highest.max(score);
                assert!(scored == Code::Success || score == 0, "no opinion is no score");
                module.reserve(&mut host);
                module.unreserve(&mut host);
                module.reserve(&mut host);
            }
        }
    }
    highest
}

/// A node list of this node, twice.
fn list_of(node: &[u8]) -> Vec<u8> {
    let mut length = node.len();
    let mut item = vec![0x12];
    while length >= 0x80 {
        item.push(length as u8 | 0x80);
        length >>= 7;
    }
    item.push(length as u8);
    item.extend_from_slice(node);
    item.repeat(2)
}
