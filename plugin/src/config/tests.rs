use super::*;

fn faults(text: &str) -> String {
    Policy::parse(text).expect_err("the document has a fault").to_string()
}

#[test]
fn an_empty_document_is_the_default_policy() {
    for text in ["", "  \n", "{}", "\u{feff}{}"] {
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
}

#[test]
fn faults_name_the_field_and_what_is_allowed() {
    let typo = faults(r#"{"binpack":{"scoringStrategy":{"type":"MostAlocated"}}}"#);
    assert!(typo.starts_with("policy: binpack.scoringStrategy.type: unknown variant `MostAlocated`"), "{typo}");
    assert!(typo.contains("`MostAllocated`") && typo.contains("line 1 column"), "{typo}");

    let unknown = faults("{\n \"binpak\": {}}");
    assert!(unknown.contains("unknown field `binpak`, expected one of") && unknown.contains("line 2"), "{unknown}");

    assert_eq!(
        faults(r#"{"weights":{"binpack":101},"cluster":{"verifyPerCycle":0}}"#),
        "policy: weights.binpack: 101 is out of range, allowed are 0 to 100\n\
         policy: cluster.verifyPerCycle: 0 is out of range, allowed are 1 to 1000"
    );
    let kind = faults(r#"{"cluster":{"refreshPerCycle":"many"}}"#);
    assert!(kind.starts_with("policy: cluster.refreshPerCycle: invalid type: string \"many\""), "{kind}");
    assert!(faults("{} {}").contains("trailing characters"));
    assert!(faults("{").contains("EOF"));
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
            .contains("shape[1].utilization: 5 does not increase")
    );
    assert!(faults(&ratio(r#"[{"utilization":5,"score":11}]"#)).contains("shape[0].score: 11 is out of range"));
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
