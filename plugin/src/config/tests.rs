use super::*;
use crate::object::GpuUnit;

fn faults(text: &str) -> String {
    Policy::parse(text).expect_err("the document has a fault").to_string()
}

#[test]
fn an_empty_document_is_the_default_policy() {
    for text in ["", "  \n", "{}", "\u{feff}{}", r#"{"binpack":null,"weights":{"binpack":null}}"#] {
        assert_eq!(Policy::parse(text).expect("valid"), Policy::default(), "{text:?}");
    }
}

#[test]
fn an_in_tree_scoring_strategy_is_taken_as_it_is() {
    let policy = Policy::parse(
        r#"{"binpack":{"scoringStrategy":{"type":"RequestedToCapacityRatio","resources":[{"name":"cpu"}],
        "requestedToCapacityRatio":{"shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}]}}}}"#,
    )
    .expect("valid");
    let strategy = policy.binpack.scoring_strategy.expect("given");
    assert_eq!(strategy.kind, ScoringStrategyType::RequestedToCapacityRatio);
    assert_eq!(strategy.resources, [ResourceWeight { name: "cpu".into(), weight: 1 }]);
    let points = strategy.requested_to_capacity_ratio.expect("given").shape;
    assert_eq!(points.iter().map(|point| (point.utilization, point.score)).collect::<Vec<_>>(), [(0, 0), (100, 10)]);
}

#[test]
fn a_list_replaces_the_default() {
    let gpu =
        Policy::parse(r#"{"gpu":{"resources":[{"name":"a/b"},{"name":"a/c*","unit":"milli"}]}}"#).expect("valid").gpu;
    let resource = |name: &str, unit| GpuResource { name: name.into(), unit };
    assert_eq!(gpu.resources, [resource("a/b", GpuUnit::Device), resource("a/c*", GpuUnit::Milli)]);
    assert_eq!(gpu.model_labels, Gpu::default().model_labels);
}

#[test]
fn every_fault_is_found_where_it_stands() {
    assert_eq!(
        faults(
            r#"{
  "weights": {"binpack": 101, "gpuNodeAvoidance": -1},
  "cluster": {"verifyPerCycle": 0, "refreshPerCycle": "many", "ledgerSeconds": 1e2},
  "binpak": {},
  "binpack": {"scoringStrategy": {
    "type": "MostAlocated",
    "resources": [{"name": "cpu"}, {"weight": 1.5}, 7]
  }},
  "explain": true, "podLevelResources": "yes", "explain": null
}"#
        ),
        "policy: line 2 column 15: weights.binpack: 101 is out of range, allowed are 0 to 100\n\
         policy: line 2 column 31: weights.gpuNodeAvoidance: -1 is out of range, allowed are 0 to 100\n\
         policy: line 3 column 15: cluster.verifyPerCycle: 0 is out of range, allowed are 1 to 1000\n\
         policy: line 3 column 36: cluster.refreshPerCycle: is a string, expected a number\n\
         policy: line 3 column 63: cluster.ledgerSeconds: is no whole number, allowed are 10 to 3600\n\
         policy: line 4 column 3: binpak: unknown field `binpak`, expected one of `binpack`, `weights`, `packing`, `gang`, `gpu`, \
         `qos`, `cluster`, `podLevelResources`, `explain`\n\
         policy: line 6 column 5: binpack.scoringStrategy.type: unknown variant `MostAlocated`, expected one of \
         `LeastAllocated`, `MostAllocated`, `RequestedToCapacityRatio`\n\
         policy: line 7 column 36: binpack.scoringStrategy.resources[1].name: is missing\n\
         policy: line 7 column 37: binpack.scoringStrategy.resources[1].weight: is no whole number, allowed are 1 to \
         100\n\
         policy: line 7 column 53: binpack.scoringStrategy.resources[2]: is a number, expected an object\n\
         policy: line 9 column 20: podLevelResources: is a string, expected true or false\n\
         policy: line 9 column 48: explain: is given twice"
    );
}

#[test]
fn what_is_no_json_has_a_place_too() {
    assert_eq!(faults("{\n} {}"), "policy: line 2 column 3: trailing characters");
    assert_eq!(faults("{"), "policy: line 1 column 2: the document ends too early");
    assert_eq!(faults("\n [1]"), "policy: line 2 column 2: is a list, expected an object");
    assert!(faults(&"[".repeat(1000)).contains("more than 128 levels"));
    assert!(faults(r#"{"a\nb":1}"#).starts_with("policy: line 1 column 2: a b: unknown field `a b`"));
}

#[test]
fn a_hopeless_document_has_an_end() {
    let fields: Vec<String> = (0..1000).map(|at| format!("\"{at}\":[]")).collect();
    let faults = Policy::parse(&format!("{{{}}}", fields.join(","))).expect_err("a fault");
    assert_eq!(faults.iter().count(), 50);
}

#[test]
fn impossible_strategies_are_faults() {
    let ratio = |shape: &str| {
        format!(
            r#"{{"binpack":{{"scoringStrategy":{{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{{"shape":{shape}}}}}}}}}"#
        )
    };
    assert!(faults(&ratio("[]")).contains("shape: is empty"));
    assert!(faults(&ratio(r#"[{"utilization":101,"score":0}]"#)).contains("shape[0].utilization: 101 is out of range"));
    assert!(
        faults(&ratio(r#"[{"utilization":5,"score":0},{"utilization":5,"score":1}]"#))
            .contains("shape[1].utilization: 5 does not increase, the point before it has 5")
    );
    assert!(faults(&ratio(r#"[{"utilization":5,"score":11}]"#)).contains("shape[0].score: 11 is out of range"));
    assert!(faults(&ratio(r#"[{"utilization":5}]"#)).contains("shape[0].score: is missing"));
    assert!(
        faults(r#"{"binpack":{"scoringStrategy":{"type":"RequestedToCapacityRatio"}}}"#)
            .contains("requestedToCapacityRatio: is missing")
    );
    assert!(
        faults(
            r#"{"binpack":{"scoringStrategy":{"type":"MostAllocated","requestedToCapacityRatio":{"shape":[{"utilization":5,"score":1}]}}}}"#
        )
        .contains("only allowed with type RequestedToCapacityRatio")
    );
    assert!(
        faults(r#"{"binpack":{"scoringStrategy":{"type":"MostAllocated","resources":[]}}}"#)
            .contains("resources: is empty")
    );
    assert!(
        faults(r#"{"binpack":{"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"cpu","weight":101}]}}}"#)
            .contains("resources[0].weight: 101 is out of range")
    );
}
