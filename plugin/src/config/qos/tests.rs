use super::*;
use crate::config::Policy;

fn faults(qos: &str) -> String {
    Policy::parse(&format!(r#"{{"qos":{qos}}}"#)).expect_err("a fault").to_string()
}

fn rules(qos: &str) -> Rules {
    Policy::parse(&format!(r#"{{"qos":{qos}}}"#)).expect("a policy").qos.rules().expect("switched on")
}

#[test]
fn without_the_key_the_defaults_hold() {
    assert_eq!(Policy::parse("").expect("a policy").qos.rules(), Some(rules("{}")));
    let defaults = rules("{}");
    assert_eq!(defaults.class(Class::Be).usage_thresholds, Percents { cpu: Some(65), memory: Some(60) });
    assert_eq!(defaults.class(Class::Be).unknown_usage, WithoutUsage::DenyBesideProtected);
    for class in [Class::Lse, Class::Lsr, Class::Ls] {
        let row = defaults.class(class);
        assert!(row.usage_thresholds.is_none() && row.beside_protected && row.unknown_usage == WithoutUsage::Allow);
    }
    assert_eq!(defaults.estimation, Estimation::default());
    let half = rules(r#"{"estimation":{"defaultRequest":{"cpu":"0.5"}}}"#).estimation;
    assert_eq!(half.default, Load { cpu: 500, memory: 200 << 20 });
}

#[test]
fn it_can_be_switched_off() {
    assert_eq!(Policy::parse(r#"{"qos":{"enabled":false}}"#).expect("a policy").qos.rules(), None);
}

#[test]
fn what_is_said_replaces_the_default_of_that_field_only() {
    let given = rules(r#"{"classes":{"BE":{"usageThresholds":{"cpu":50}},"LS":{"usageThresholds":{"memory":95}}}}"#);
    assert_eq!(given.class(Class::Be).usage_thresholds, Percents { cpu: Some(50), memory: Some(60) });
    assert_eq!(given.class(Class::Ls).usage_thresholds, Percents { cpu: None, memory: Some(95) });
    assert_eq!(given.class(Class::Be).stale_usage, WithoutUsage::DenyBesideProtected);
    let off = rules(r#"{"classes":{"BE":{"usageThresholds":{"cpu":0}}}}"#);
    assert_eq!(off.class(Class::Be).usage_thresholds, Percents { cpu: None, memory: Some(60) });
}

#[test]
fn faults_name_the_field_and_what_is_allowed() {
    for (qos, expected) in [
        (
            r#"{"classes":{"BE":{"usageThresholds":{"cpu":101}}}}"#,
            "qos.classes.BE.usageThresholds.cpu: 101 is out of range, allowed are 0 to 100",
        ),
        (r#"{"reclaimed":{"reserve":101}}"#, "qos.reclaimed.reserve: 101 is out of range, allowed are 0 to 100"),
        (
            r#"{"usage":{"expirationSeconds":0}}"#,
            "qos.usage.expirationSeconds: 0 is out of range, allowed are 1 to 86400",
        ),
        (
            r#"{"usage":{"crane":{"utcOffset":"Asia/Shanghai"}}}"#,
            "qos.usage.crane.utcOffset: `Asia/Shanghai` is no offset such as +08:00, -05:30 or Z",
        ),
        (
            r#"{"estimation":{"scalingFactors":{"memory":0}}}"#,
            "qos.estimation.scalingFactors.memory: 0 is out of range, allowed are 1 to 1000",
        ),
        (
            r#"{"estimation":{"defaultRequest":{"cpu":"-1"}}}"#,
            "qos.estimation.defaultRequest.cpu: `-1` is no quantity such as 250m or 200Mi",
        ),
    ] {
        assert!(faults(qos).ends_with(expected), "{qos}");
    }
    assert!(faults(r#"{"undeclared":"some"}"#).contains("expected one of `Ignore`, `Known`, `All`"));
    assert!(faults(r#"{"classes":{"be":{}}}"#).contains("unknown field `be`, expected one of `LSE`"));
    assert!(faults(r#"{"classes":{"BE":{"unknownUsage":"denyBeside"}}}"#).contains("`DenyBesideProtected`"));
}

#[test]
fn thresholds_stay_below_the_point_of_eviction() {
    assert!(Policy::parse(r#"{"qos":{"evictionWatermarks":{"cpu":70,"memory":85}}}"#).is_ok());
    assert_eq!(
        faults(r#"{"evictionWatermarks":{"memory":65},"classes":{"Batch":{"usageThresholds":{"memory":61}}}}"#),
        "policy: line 1 column 83: qos.classes.Batch.usageThresholds.memory: 61 is above the eviction watermark 65 less the margin 5, \
         which is 60"
    );
    assert!(
        faults(r#"{"evictionWatermarks":{"cpu":90},"classes":{"BE":{"usageThresholds":{"cpu":0}}}}"#)
            .contains("qos.classes.BE.usageThresholds.cpu: no limit is above the eviction watermark 90")
    );
    assert!(
        faults(r#"{"evictionWatermarks":{"cpu":5},"classes":{"BE":{"usageThresholds":{"cpu":1}}}}"#)
            .contains("BE.usageThresholds.cpu: 1 is above the eviction watermark 5 less the margin 5, which is 0")
    );
}

#[test]
fn offsets() {
    let offset = |text: &str| Crane { utc_offset: text.into(), ..Crane::default() }.offset_seconds();
    assert_eq!(Crane::default().offset_seconds(), Some(8 * 3600));
    for (text, expected) in [
        ("Z", Some(0)),
        ("+00:00", Some(0)),
        ("-05:30", Some(-19_800)),
        ("+14:00", Some(50_400)),
        ("+15:00", None),
        ("+08:60", None),
        ("08:00", None),
        ("+8:00", None),
        ("+0800", None),
        ("++1:00", None),
        ("", None),
        ("é08:00", None),
    ] {
        assert_eq!(offset(text), expected, "{text:?}");
    }
}

#[test]
fn the_policies_to_start_from_are_valid() {
    for (name, text) in [
        ("training", include_str!("../../../../deploy/policies/training.json")),
        ("inference", include_str!("../../../../deploy/policies/inference.json")),
        ("colocation", include_str!("../../../../deploy/policies/colocation.json")),
    ] {
        let policy = Policy::parse(text).unwrap_or_else(|faults| panic!("{name}: {faults}"));
        assert!(policy.qos.enabled, "{name}");
    }
}
