use super::super::class::{Band, PodClass, QosClass};
use super::super::filter::NodeThresholds;
use super::super::usage::{Measurement, Usage};
use super::*;
use crate::config::Qos;

fn pod(qos: QosClass) -> Pod {
    Pod {
        class: PodClass { qos, band: None, declared: true, daemon_set: false },
        estimate: Load::default(),
        requests: Load::default(),
    }
}

fn node(cpu: i64, memory: i64) -> Node<'static> {
    Node {
        allocatable: Load { cpu: 1000, memory: 1000 },
        usage: Usage::Known(Measurement { at: 0, load: Load { cpu: cpu * 10, memory: memory * 10 } }),
        placed_since: Load::default(),
        protected: Some(0),
        best_effort: Some(Load::default()),
        thresholds: NodeThresholds::default(),
        evicts_at: Percents::NONE,
        reclaimed: &[],
    }
}

fn scored(pod: &Pod, node: &Node<'_>) -> Option<i64> {
    score(&Qos::default().rules().expect("on by default"), pod, node)
}

#[test]
fn batch_goes_to_the_emptiest_node() {
    let be = pod(QosClass::Be);
    assert_eq!(scored(&be, &node(0, 0)), Some(100));
    assert_eq!(scored(&be, &node(13, 0)), Some(80), "13 of 65 percent are in use");
    assert_eq!(scored(&be, &node(0, 30)), Some(50), "30 of 60 percent of memory");
    assert_eq!(scored(&be, &node(65, 0)), Some(0));
    assert_eq!(scored(&be, &node(90, 0)), Some(0));
    let batch = Pod { class: PodClass { band: Some(Band::Batch), ..pod(QosClass::Ls).class }, ..be };
    assert_eq!(scored(&batch, &node(0, 40)), Some(50), "40 of 80 percent of memory");
    let own = NodeThresholds { usage: Some(Percents { cpu: Some(26), memory: None }), prod_apart: false };
    assert_eq!(scored(&be, &Node { thresholds: own, ..node(13, 0) }), Some(50), "by the node's own threshold");
}

#[test]
fn services_keep_away_from_hot_nodes_only() {
    let ls = pod(QosClass::Ls);
    for (cpu, memory, expected) in
        [(0, 0, 100), (65, 80, 100), (72, 0, 80), (100, 0, 0), (120, 0, 0), (0, 90, 50), (72, 90, 50)]
    {
        assert_eq!(scored(&ls, &node(cpu, memory)), Some(expected), "cpu {cpu} memory {memory}");
    }
    let burst = Node { placed_since: Load { cpu: 70, memory: 0 }, ..node(65, 0) };
    assert_eq!(scored(&ls, &burst), Some(80), "a burst warms a node before it is measured");
}

#[test]
fn unknown_is_not_empty() {
    for qos in [QosClass::Ls, QosClass::Be] {
        for usage in [Usage::Unknown, Usage::Stale { after: 180 }, Usage::Ahead] {
            assert_eq!(scored(&pod(qos), &Node { usage, ..node(0, 0) }), Some(0));
        }
    }
}

#[test]
fn no_opinion_on_the_platform() {
    assert_eq!(scored(&pod(QosClass::System), &node(0, 0)), None);
    let daemon = Pod { class: PodClass { daemon_set: true, ..pod(QosClass::Be).class }, ..pod(QosClass::Be) };
    assert_eq!(scored(&daemon, &node(0, 0)), None);
}
