//! Measurements, and what is expected of pods before there are any.

use super::*;
use stowage::cluster::node_state::Usage;

fn measure(account: &mut Account, meter: Meter, node: &str, at: i64, (now_ms, heartbeat_ms): (i64, i64)) {
    let measured = Measured { node: node.to_owned(), usage: Usage { at, cpu: 1, memory: 1 } };
    account.measured(meter, &measured, now_ms, heartbeat_ms);
}

/// When what is published was measured.
fn measured_at(account: &mut Account) -> Option<i64> {
    state(account, 1_000_000).usage.map(|usage| usage.at)
}

#[test]
fn new_pods_are_expected_until_they_are_measured() {
    let mut account = account();
    account.pod_applied(&pod(&PodText { placed_seconds: 100, ..on("a", "p1") })).unwrap();
    let unmeasured = |account: &mut Account, now_ms| state(account, now_ms).unmeasured.map(|expected| expected.cpu);
    assert!(unmeasured(&mut account, 110_000).is_some_and(|cpu| cpu > 0));
    account.take_dirty();
    account.passed(399_000);
    assert_eq!(dirty(&mut account).len(), 0);
    account.passed(400_000);
    assert_eq!(dirty(&mut account), ["a"]);
    assert_eq!(unmeasured(&mut account, 400_000), None);

    // A measurement contains what was placed before it.
    for (at, expected) in [(99_000, true), (100_000, false)] {
        measure(&mut account, Meter::Metrics, "a", at, (400_000, 0));
        assert_eq!(unmeasured(&mut account, 400_000).is_some(), expected, "{at}");
    }
}

#[test]
fn a_measurement_alone_waits_for_the_heartbeat() {
    let mut account = account();
    measure(&mut account, Meter::Metrics, "a", 1, (1000, 60_000));
    assert_eq!(dirty(&mut account), ["a"], "the first is news");
    let draft = account.draft("a", 1000).unwrap();
    account.written("a", &draft, "11");
    measure(&mut account, Meter::Metrics, "a", 2, (60_999, 60_000));
    assert_eq!(dirty(&mut account).len(), 0);
    measure(&mut account, Meter::Metrics, "a", 2, (61_000, 60_000));
    assert_eq!(dirty(&mut account).len(), 0, "not a new measurement");
    measure(&mut account, Meter::Metrics, "a", 3, (61_000, 60_000));
    assert_eq!(dirty(&mut account), ["a"]);
    measure(&mut account, Meter::Metrics, "nowhere", 3, (61_000, 60_000));
    assert_eq!(dirty(&mut account).len(), 0);
}

#[test]
fn koordinators_mean_counts_unless_it_is_late() {
    let mut account = account();
    let now = (1_000_000, 0);
    measure(&mut account, Meter::Metrics, "a", 200_000, now);
    assert_eq!(measured_at(&mut account), Some(200_000));
    measure(&mut account, Meter::Koordinator, "a", 100_000, now);
    assert_eq!(measured_at(&mut account), Some(100_000));
    measure(&mut account, Meter::Metrics, "a", 280_000, now);
    assert_eq!(measured_at(&mut account), Some(100_000));
    measure(&mut account, Meter::Metrics, "a", 280_001, now);
    assert_eq!(measured_at(&mut account), Some(280_001));
    measure(&mut account, Meter::Koordinator, "a", 160_000, now);
    assert_eq!(measured_at(&mut account), Some(160_000));
    account.unmeasured(Meter::Koordinator, "a");
    assert_eq!(measured_at(&mut account), Some(280_001));
}

#[test]
fn a_clock_that_is_ahead_measures_nothing() {
    let mut account = account();
    let now = 1_000_000;
    measure(&mut account, Meter::Metrics, "a", now + 3_600_000, (now, 0));
    assert_eq!((dirty(&mut account).len(), measured_at(&mut account)), (0, None));
    // Nor does it hide what is measured when it is right again; a little ahead is nobody's fault.
    for at in [now, now + 1000] {
        measure(&mut account, Meter::Metrics, "a", at, (now, 0));
        assert_eq!(measured_at(&mut account), Some(at));
    }
}

#[test]
fn a_publisher_that_starts_keeps_what_was_measured() {
    let usage = Some(Usage { at: 1000, cpu: 5, memory: 6 });
    let text = NodeState { usage, ..NodeState::empty(2000) }.to_json();
    let mut restarted = Account::default();
    restarted.node_applied(&node("a", "u1", "10", Some(&text)), 3000).unwrap();
    assert_eq!(restarted.draft("a", 3000), None, "nothing is lost, so there is nothing to write");
    // Of the same node only: one that was made anew has used nothing.
    restarted.node_applied(&node("a", "u2", "11", None), 3000).unwrap();
    assert_eq!(measured_at(&mut restarted), None);
    // What somebody writes into it later is no measurement.
    restarted.node_applied(&node("a", "u2", "12", Some(&text)), 3000).unwrap();
    assert_eq!(measured_at(&mut restarted), None);
}
