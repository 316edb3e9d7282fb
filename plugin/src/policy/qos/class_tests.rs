use super::super::pairs::IllegalPair;
use super::*;

fn silent() -> Marks<'static> {
    Marks {
        koordinator_class: "",
        koordinator_band: "",
        volcano_level: "",
        priority: None,
        native: NativeQos::Burstable,
        requests_batch: false,
        cpu_request: 1000,
        daemon_set: false,
    }
}

#[test]
fn the_label_counts_before_the_level_and_the_level_before_the_native_class() {
    let both = Marks { koordinator_class: "BE", volcano_level: "LC", native: NativeQos::Guaranteed, ..silent() };
    assert_eq!(PodClass::of(&both).qos, QosClass::Be);
    let level = Marks { koordinator_class: "", ..both };
    assert_eq!(PodClass::of(&level).qos, QosClass::Lse);
    let nothing = Marks { volcano_level: "0", ..level };
    assert_eq!(PodClass::of(&nothing), PodClass { qos: QosClass::Lsr, band: None, declared: false, daemon_set: false });
}

#[test]
fn a_band_says_more_than_requests_do() {
    let of = |native, band| PodClass::of(&Marks { native, koordinator_band: band, ..silent() });
    for (native, band, row) in [
        (NativeQos::Guaranteed, "", Class::Lsr),
        (NativeQos::Guaranteed, "koord-prod", Class::Lsr),
        (NativeQos::Guaranteed, "koord-mid", Class::Ls),
        (NativeQos::Guaranteed, "koord-batch", Class::Batch),
        (NativeQos::Guaranteed, "koord-free", Class::Batch),
        (NativeQos::Burstable, "koord-batch", Class::Batch),
        (NativeQos::BestEffort, "koord-prod", Class::Be),
    ] {
        let class = of(native, band);
        assert_eq!(class.row(), Some(row), "{native:?} {band}");
        assert_eq!(class.qos.is_protected(), row == Class::Lsr, "{native:?} {band}");
    }
    let named = Marks { koordinator_class: "LSR", koordinator_band: "koord-batch", ..silent() };
    assert_eq!(PodClass::of(&named).row(), Some(Class::Lsr), "what is named counts, contradictory as it is");
}

#[test]
fn every_name_is_read() {
    for (label, expected) in [
        ("LSE", QosClass::Lse),
        ("LSR", QosClass::Lsr),
        ("LS", QosClass::Ls),
        ("BE", QosClass::Be),
        ("SYSTEM", QosClass::System),
    ] {
        assert_eq!(QosClass::from_koordinator(label), Some(expected));
        assert_eq!(expected.name(), label);
    }
    for (level, expected) in [
        ("LC", Some(QosClass::Lse)),
        ("HLS", Some(QosClass::Lsr)),
        ("2", Some(QosClass::Lsr)),
        ("LS", Some(QosClass::Ls)),
        ("1", Some(QosClass::Ls)),
        ("BE", Some(QosClass::Be)),
        ("-1", Some(QosClass::Be)),
        ("0", None),
        ("be", None),
    ] {
        assert_eq!(QosClass::from_volcano(level), expected, "{level}");
    }
    for (native, expected) in [
        (NativeQos::Guaranteed, QosClass::Lsr),
        (NativeQos::Burstable, QosClass::Ls),
        (NativeQos::BestEffort, QosClass::Be),
    ] {
        assert_eq!(QosClass::from_native(native), expected);
    }
}

#[test]
fn bands_end_where_koordinator_ends_them() {
    for (priority, expected) in [
        (2999, None),
        (3000, Some(Band::Free)),
        (3999, Some(Band::Free)),
        (4000, None),
        (4999, None),
        (5000, Some(Band::Batch)),
        (5999, Some(Band::Batch)),
        (6000, None),
        (7000, Some(Band::Mid)),
        (7999, Some(Band::Mid)),
        (8999, None),
        (9000, Some(Band::Prod)),
        (9999, Some(Band::Prod)),
        (10_000, None),
        (2_000_001_000, None),
        (-1, None),
    ] {
        assert_eq!(Band::from_priority(priority), expected, "{priority}");
    }
    let labelled = Marks { koordinator_band: "koord-mid", priority: Some(5000), ..silent() };
    assert_eq!(PodClass::of(&labelled).band, Some(Band::Mid), "the label counts before the number");
}

#[test]
fn rows() {
    let row = |qos, band| PodClass { qos, band, declared: true, daemon_set: false }.row();
    assert_eq!(row(QosClass::Ls, None), Some(Class::Ls));
    assert_eq!(row(QosClass::Ls, Some(Band::Prod)), Some(Class::Ls));
    assert_eq!(row(QosClass::Ls, Some(Band::Mid)), Some(Class::Ls));
    assert_eq!(row(QosClass::Ls, Some(Band::Batch)), Some(Class::Batch));
    assert_eq!(row(QosClass::Ls, Some(Band::Free)), Some(Class::Batch));
    assert_eq!(row(QosClass::Be, Some(Band::Mid)), Some(Class::Be));
    assert_eq!(row(QosClass::Lse, Some(Band::Batch)), Some(Class::Lse));
    assert_eq!(row(QosClass::System, None), None);
    let daemon = PodClass { qos: QosClass::Be, band: None, declared: true, daemon_set: true };
    assert_eq!(daemon.row(), None, "DaemonSet pods pass, whatever their class");
    for class in Class::ALL {
        assert_eq!(PodClass::in_row(class).row(), Some(class));
    }
}

#[test]
fn illegal_pairs_have_names() {
    let be = Marks { koordinator_class: "BE", koordinator_band: "koord-batch", ..silent() };
    let lsr = Marks { koordinator_class: "LSR", koordinator_band: "koord-prod", ..silent() };
    let cases = [
        (silent(), None),
        (Marks { native: NativeQos::BestEffort, priority: Some(9500), ..silent() }, None),
        (be, None),
        (Marks { koordinator_band: "koord-mid", ..be }, None),
        (Marks { koordinator_band: "koord-free", ..be }, None),
        (Marks { koordinator_band: "", priority: Some(5500), ..be }, None),
        (Marks { requests_batch: true, ..be }, None),
        (
            Marks { koordinator_band: "koord-prod", ..be },
            Some("QoS class BE with koord-prod (rule be-needs-mid-batch-or-free)"),
        ),
        (
            Marks { koordinator_band: "", ..be },
            Some("QoS class BE with no priority band (rule be-needs-mid-batch-or-free)"),
        ),
        (lsr, None),
        (Marks { koordinator_band: "koord-mid", ..lsr }, Some("QoS class LSR with koord-mid (rule lsr-needs-prod)")),
        (Marks { koordinator_band: "", ..lsr }, Some("QoS class LSR with no priority band (rule lsr-needs-prod)")),
        (
            Marks { cpu_request: 1500, ..lsr },
            Some("QoS class LSR without a whole number of CPUs (rule lse-lsr-need-whole-cpus)"),
        ),
        (
            Marks { koordinator_class: "LSE", cpu_request: 0, ..lsr },
            Some("QoS class LSE without a whole number of CPUs (rule lse-lsr-need-whole-cpus)"),
        ),
        (Marks { koordinator_class: "LS", cpu_request: 1500, ..lsr }, None),
        (
            Marks { requests_batch: true, ..silent() },
            Some("batch-cpu or batch-memory with QoS class LS (rule batch-resources-need-be)"),
        ),
        (Marks { requests_batch: true, native: NativeQos::BestEffort, ..silent() }, None),
    ];
    for (marks, expected) in cases {
        assert_eq!(IllegalPair::of(&marks).map(|pair| pair.to_string()).as_deref(), expected, "{marks:?}");
    }
    for (marks, rule) in [
        (Marks { koordinator_class: "besteffort", ..silent() }, "known-qos-class"),
        (Marks { koordinator_band: "batch", ..silent() }, "known-priority-class"),
        (Marks { volcano_level: "3", ..silent() }, "known-qos-level"),
    ] {
        assert_eq!(IllegalPair::of(&marks).map(IllegalPair::rule), Some(rule));
    }
}
