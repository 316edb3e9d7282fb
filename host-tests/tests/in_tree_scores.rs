//! The binpack score equals the in-tree `NodeResourcesFit` plugin's: its recorded scores (`testdata/scoring`), natively and
//! through the module.

mod common;

use std::rc::Rc;

use serde_json::{Value, json};
use stowage::cluster::{NodeState, node_state};
use stowage::config::Policy;
use stowage::object::{GpuNames, PodInfo, RequestOptions, ResourceNames};
use stowage::policy::binpack::{self, Counted, Formula, Shape, Weighing};
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::host::Module;

/// One recorded score.
struct Case {
    name: String,
    strategy: Value,
    node: Value,
    existing: Vec<Value>,
    pod: Value,
    /// `None` where the in-tree plugin refuses the strategy.
    score: Option<i64>,
}

#[test]
fn recorded_scores_of_the_in_tree_plugin() {
    let cases: Vec<Case> = include_str!("../testdata/scoring/golden-1.33.4.jsonl").lines().map(recorded).collect();
    assert_eq!(cases.len(), 31);
    check(&cases);
}

#[test]
fn public_test_tables_of_the_in_tree_plugin() {
    for (table, expected) in [
        (include_str!("../testdata/scoring/requested_to_capacity_ratio.json"), 11),
        (include_str!("../testdata/scoring/most_allocated.json"), 11),
    ] {
        let table: Value = serde_json::from_str(table).expect("the table is JSON");
        let cases = table["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), expected);
        for case in cases {
            check(&tabulated(case));
        }
        for case in table["invalidConfigs"].as_array().into_iter().flatten() {
            let strategy = json!({"type": "MostAllocated", "resources": case["resources"]});
            let faults = Policy::parse(&policy(&strategy)).expect_err("invalid").to_string();
            let field = case["invalidField"].as_str().expect("a field");
            assert!(faults.contains(&format!("binpack.{field}")), "{case}: {faults}");
        }
    }
}

fn check(cases: &[Case]) {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    for case in cases {
        match case.score {
            None => {
                let faults = Policy::parse(&policy(&case.strategy)).expect_err(&case.name).to_string();
                assert!(faults.contains("binpack.scoringStrategy"), "{}: {faults}", case.name);
            }
            Some(score) => {
                assert_eq!(native(case), score, "{} natively", case.name);
                assert_eq!(through_the_module(case, &module), score, "{} through the module", case.name);
            }
        }
    }
}

fn native(case: &Case) -> i64 {
    let mut names = ResourceNames::default();
    let options = RequestOptions::default();
    let pod = PodInfo::read(common::pod(&case.pod).protobuf(), &mut names, &options).expect("a pod");
    let mut requested = stowage::object::Resources::new();
    for existing in &case.existing {
        let existing = PodInfo::read(common::pod(existing).protobuf(), &mut names, &options).expect("a pod");
        requested.add_all(&existing.requests);
        for id in [stowage::object::ResourceId::CPU, stowage::object::ResourceId::MEMORY] {
            requested.add(id, existing.placed.get(id) - existing.requests.get(id));
        }
    }
    let node = common::node(&case.node);
    let allocatable =
        stowage::object::Node::parse(node.protobuf()).expect("a node").allocatable(&mut names).expect("quantities");
    let formula = match case.strategy["type"].as_str().expect("a type") {
        "LeastAllocated" => Formula::LeastAllocated,
        "MostAllocated" => Formula::MostAllocated,
        _ => {
            let shape = case.strategy["requestedToCapacityRatio"]["shape"].as_array().expect("a shape");
            Formula::RequestedToCapacityRatio(Shape::new(shape.iter().map(|point| {
                (point["utilization"].as_i64().expect("a number"), point["score"].as_i64().expect("a number"))
            })))
        }
    };
    let resources = case.strategy["resources"].as_array().expect("resources");
    let counted = resources.iter().map(|resource| {
        let name = resource["name"].as_str().expect("a name").into();
        (Counted::Named(name), resource["weight"].as_i64().expect("a weight"))
    });
    let mut weighing = Weighing::new(counted.collect());
    weighing.learn(&names, &GpuNames::default());
    binpack::score(&formula, &weighing.terms(&pod.scoring), &allocatable, &requested)
}

fn through_the_module(case: &Case, module: &Module) -> i64 {
    let mut names = ResourceNames::default();
    let mut state = NodeState::empty(1);
    for existing in &case.existing {
        let pod =
            PodInfo::read(common::pod(existing).protobuf(), &mut names, &RequestOptions::default()).expect("a pod");
        state.count(&pod, &names, None, None);
    }
    state.seal();
    let mut with_state = case.node.clone();
    with_state["metadata"]["annotations"][node_state::ANNOTATION] = state.to_json().into();
    let node = Rc::new(common::node(&with_state));
    let name = node.name().to_owned();

    let snapshot = common::Snapshot::new([common::node(&with_state)]);
    let mut plugin = snapshot.plugin(module, &policy(&case.strategy));
    let pod = Rc::new(common::pod(&case.pod));
    plugin.pre_filter(&pod);
    match plugin.pre_score(&pod, &[node]).code {
        // Nothing that the strategy weighs: the in-tree plugin gives 0 to every node.
        Code::Skip => 0,
        Code::Success => plugin.score(&pod, &name).0,
        code => panic!("{}: PreScore answers {code:?}", case.name),
    }
}

/// The policy that is nothing but the in-tree strategy. QoS rules are off: they would refuse a node that has promised
/// more batch resources than it has, which some of the recorded nodes have.
fn policy(strategy: &Value) -> String {
    let weights = json!({"binpack": 1, "gpuNodeAvoidance": 0, "qos": 0});
    json!({"weights": weights, "binpack": {"scoringStrategy": strategy}, "qos": {"enabled": false}}).to_string()
}

fn recorded(line: &str) -> Case {
    let row: Value = serde_json::from_str(line).expect("a row is JSON");
    let mut strategy = json!({"type": row["strategy"], "resources": row["resources"]});
    if row["shape"].is_array() {
        strategy["requestedToCapacityRatio"] = json!({"shape": row["shape"]});
    }
    Case {
        name: row["name"].as_str().expect("a name").to_owned(),
        strategy,
        node: row["node"].clone(),
        existing: row["existingPods"].as_array().cloned().unwrap_or_default(),
        pod: row["pod"].clone(),
        score: row["err"].is_null().then(|| row["score"].as_i64().expect("a score")),
    }
}

/// A row of the public tables: amounts are plain numbers (milli-CPU, bytes, devices), and there are several nodes.
fn tabulated(case: &Value) -> Vec<Case> {
    let mut strategy = json!({"type": case["strategy"], "resources": case["resources"]});
    if case["shape"].is_array() {
        strategy["requestedToCapacityRatio"] = json!({"shape": case["shape"]});
    }
    let nodes = case["nodes"].as_array().expect("nodes");
    nodes
        .iter()
        .map(|node| {
            let name = node["name"].as_str().expect("a name");
            let existing = case["existingPods"].as_array().into_iter().flatten().filter(|pod| pod["node"] == name);
            Case {
                name: format!("{} on {name}", case["id"].as_str().expect("an id")),
                strategy: strategy.clone(),
                node: json!({"metadata": {"name": name}, "status": {"allocatable": quantities(&node["allocatable"])}}),
                existing: existing.map(tabulated_pod).collect(),
                pod: tabulated_pod(&case["pod"]),
                score: case["expectedStatus"]
                    .is_null()
                    .then(|| case["expectedScores"][name].as_i64().expect("a score")),
            }
        })
        .collect()
}

fn tabulated_pod(pod: &Value) -> Value {
    let containers = pod["containers"].as_array().expect("containers").iter();
    let empty = json!({});
    let without_requests = pod["containersWithoutRequests"].as_u64().unwrap_or(0);
    let containers: Vec<Value> = containers
        .chain((0..without_requests).map(|_| &empty))
        .enumerate()
        .map(|(at, amounts)| json!({"name": format!("c{at}"), "resources": {"requests": quantities(amounts)}}))
        .collect();
    json!({"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "spec": {"containers": containers}})
}

fn quantities(amounts: &Value) -> Value {
    let amounts = amounts.as_object().expect("amounts").iter();
    amounts
        .map(|(name, amount)| (name.clone(), Value::from(format!("{amount}{}", if name == "cpu" { "m" } else { "" }))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
