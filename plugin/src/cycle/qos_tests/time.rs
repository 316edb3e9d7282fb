//! What is fresh, by the clocks that there are.

use super::*;

#[test]
fn usage_goes_stale_by_the_clock_of_the_cluster() {
    let (mut module, mut host) = start("");
    let state = NodeState { usage: Some(Usage { at: NOW - 179_999, ..usage(10, 10) }), ..NodeState::empty(NOW) };
    host.set_node("node-7", node("node-7", &with_class(state, "LSR", 1), &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("p", BE), "node-7"), Ok(Code::Success));
    // Another node tells that time has passed.
    host.set_node("other", node("other", &NodeState { at: NOW + 1, ..measured(0, 0) }, &[]));
    assert_eq!(verdict(&mut module, &mut host, pod("p", BE), "other"), Ok(Code::Success));
    assert_eq!(
        verdict(&mut module, &mut host, pod("p", BE), "node-7"),
        Err("node-7: usage older than 180 s beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
}

#[test]
fn crane_measures_where_node_state_does_not() {
    let crane = |cpu: &str, time: &str| {
        let (cpu, memory) = (format!("{cpu},{time}"), format!("0.10000,{time}"));
        let annotations = [("cpu_usage_avg_5m", cpu.as_str()), ("mem_usage_avg_5m", memory.as_str())];
        node("node-7", &with_class(NodeState::empty(NOW), "LSE", 1), &annotations)
    };
    assert_eq!(one_node("", BE, crane("0.64000", CRANE_NOW)), Ok(Code::Success));
    assert_eq!(
        one_node("", BE, crane("0.70000", CRANE_NOW)),
        Err("node-7: cpu 70 + 0 estimated > 65 percent (BE threshold)".to_owned())
    );
    assert_eq!(one_node("", BE, crane("0.10000", "2025-11-24T23:52:01Z")), Ok(Code::Success));
    let stale = one_node("", BE, crane("0.10000", "2025-11-24T23:52:00Z")).expect_err("eight minutes");
    assert!(stale.contains("usage older than 480 s"), "{stale}");
    // Taken for UTC, the same text lies eight hours ahead.
    let utc = r#"{"qos":{"usage":{"crane":{"utcOffset":"Z"}}}}"#;
    let ahead = one_node(utc, BE, crane("0.10000", CRANE_NOW)).expect_err("in the future");
    assert!(ahead.contains("usage dated in the future (time zone?)"), "{ahead}");
    let off = r#"{"qos":{"usage":{"crane":{"enabled":false}}}}"#;
    assert!(one_node(off, BE, crane("0.10000", CRANE_NOW)).expect_err("not read").contains("usage unknown"));
    // Without a publisher crane's own times are the clock.
    let (cpu, memory) = (format!("0.70000,{CRANE_NOW}"), format!("0.10000,{CRANE_NOW}"));
    let bare = [("cpu_usage_avg_5m", cpu.as_str()), ("mem_usage_avg_5m", memory.as_str())];
    let alone = one_node("", BE, testing::node("node-7", &[], &bare, ALLOCATABLE)).expect_err("hot");
    assert!(alone.contains("cpu 70 + 0 estimated"), "{alone}");
}

/// A node measured at `measured`, by a document written at `written`.
fn dated(name: &str, measured: i64, written: i64) -> Vec<u8> {
    let state = NodeState { usage: Some(Usage { at: measured, ..usage(10, 10) }), ..NodeState::empty(written) };
    node(name, &with_class(state, "LSR", 1), &[])
}

#[test]
fn a_publisher_that_is_gone_leaves_no_fresh_measurement_behind() {
    let (mut module, mut host) = start("");
    host.set_node("node-7", dated("node-7", NOW, NOW));
    let created = |seconds| PodSpec { created: NOW / 1000 + seconds, ..BE };
    assert_eq!(verdict(&mut module, &mut host, pod("a", created(900)), "node-7"), Ok(Code::Success), "clocks differ");
    assert_eq!(
        verdict(&mut module, &mut host, pod("b", created(901)), "node-7"),
        Err("node-7: usage older than 180 s beside 1 LSE/LSR pods (BE usage rule)".to_owned())
    );
    assert!(verdict(&mut module, &mut host, pod("a", created(0)), "node-7").is_err(), "time does not go back for it");
    // Crane goes on measuring, and nobody takes its time for the future.
    let crane =
        [("cpu_usage_avg_5m", "0.10000,2025-11-25T00:20:00Z"), ("mem_usage_avg_5m", "0.10000,2025-11-25T00:20:00Z")];
    let state = NodeState { usage: Some(usage(90, 10)), ..NodeState::empty(NOW) };
    host.set_node("node-7", node("node-7", &with_class(state, "LSR", 1), &crane));
    assert_eq!(verdict(&mut module, &mut host, pod("c", created(1200)), "node-7"), Ok(Code::Success));
}

#[test]
fn one_node_alone_does_not_tell_the_time() {
    let (mut module, mut host) = start("");
    for name in ["node-6", "node-7"] {
        host.set_node(name, dated(name, NOW, NOW));
        assert_eq!(verdict(&mut module, &mut host, pod("p", BE), name), Ok(Code::Success));
    }
    host.set_node("mad", dated("mad", i64::MAX, i64::MAX));
    let mad = verdict(&mut module, &mut host, pod("p", BE), "mad").expect_err("a measurement of the year 292 million");
    assert!(mad.contains("usage dated in the future (time zone?)"), "{mad}");
    assert_eq!(
        verdict(&mut module, &mut host, pod("p", BE), "node-7"),
        Ok(Code::Success),
        "its usage is no older for that"
    );
}

#[test]
fn a_clock_that_is_set_right_again_is_believed() {
    let (mut module, mut host) = start("");
    let nodes = ["node-6", "node-7", "node-8"];
    // For a while the publisher's clock is an hour ahead, but not the metrics source's.
    let ahead = NOW + 3_600_000;
    for (name, written) in nodes.into_iter().zip([ahead, ahead, NOW]) {
        host.set_node(name, dated(name, NOW, written));
        drop(verdict(&mut module, &mut host, pod("p", BE), name));
    }
    let stale = verdict(&mut module, &mut host, pod("p", BE), "node-8").expect_err("an hour old, it seems");
    assert!(stale.contains("usage older than 180 s"), "{stale}");
    for name in nodes {
        host.set_node(name, dated(name, NOW, NOW));
        module.cluster.read(&mut host, name);
    }
    assert_eq!(verdict(&mut module, &mut host, pod("p", BE), "node-8"), Ok(Code::Success));
}

#[test]
fn estimates_end_when_crane_has_measured_the_pods() {
    // Nobody publishes node state, so nothing but crane's next measurements tells that a pod has been counted.
    let (mut module, mut host) = start("");
    let at = |minute: u32| {
        let text = format!("0.20000,2025-11-25T00:{minute:02}:00Z");
        let crane = [("cpu_usage_avg_5m", text.as_str()), ("mem_usage_avg_5m", text.as_str())];
        testing::node("node-7", &[], &crane, ALLOCATABLE)
    };
    let heavy = PodSpec { requests: &[("cpu", "40"), ("memory", "1Gi")], ..BE };
    host.set_node("node-7", at(0));
    assert!(verdict(&mut module, &mut host, pod("a", heavy), "node-7").is_ok());
    assert_eq!(module.reserve(&mut host), Code::Success);
    let hot = Err("node-7: cpu 20 + 68 estimated > 65 percent (BE threshold)".to_owned());
    for (minute, expected) in [(0, &hot), (4, &hot), (5, &Ok(Code::Success))] {
        host.set_node("node-7", at(minute));
        assert_eq!(&verdict(&mut module, &mut host, pod("b", heavy), "node-7"), expected, "minute {minute}");
    }
}

#[test]
fn crane_in_a_wrong_time_zone_contains_no_pods() {
    let (mut module, mut host) = start(r#"{"qos":{"usage":{"crane":{"utcOffset":"Z"}}}}"#);
    let with = |value: &str| {
        let text = format!("{value},{CRANE_NOW}");
        let crane = [("cpu_usage_avg_5m", text.as_str()), ("mem_usage_avg_5m", text.as_str())];
        node("node-7", &measured(60, 0), &crane)
    };
    let heavy = PodSpec { requests: &[("cpu", "5")], ..BE };
    host.set_node("node-7", with("0.1"));
    assert!(verdict(&mut module, &mut host, pod("a", heavy), "node-7").is_ok());
    assert_eq!(module.reserve(&mut host), Code::Success);
    host.set_node("node-7", with("0.2"));
    assert_eq!(
        verdict(&mut module, &mut host, pod("b", heavy), "node-7"),
        Err("node-7: cpu 60 + 9 estimated > 65 percent (BE threshold)".to_owned())
    );
}
