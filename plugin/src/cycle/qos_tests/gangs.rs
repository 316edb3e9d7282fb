//! Gangs within what the rules leave.

use super::*;

#[test]
fn a_gang_is_planned_within_what_the_rules_leave() {
    let labels = |size: &'static str| {
        [
            ("koordinator.sh/qosClass", "BE"),
            ("koordinator.sh/priority-class", "koord-batch"),
            ("pod-group.scheduling.sigs.k8s.io/name", "sweep"),
            ("pod-group.scheduling.sigs.k8s.io/min-available", size),
        ]
    };
    // A member is expected to use 8.5 percent of a node: one fits on warm, two on cool.
    let requests = &[("cpu", "10"), ("memory", "1Gi")];
    let run = |size: &'static str, members: usize| {
        let (mut module, mut host) = start("");
        for (name, percent) in [("hot", 70), ("warm", 50), ("cool", 40)] {
            host.set_node(name, node(name, &measured(percent, 0), &[]));
        }
        let labels = labels(size);
        let spec = PodSpec { labels: &labels, requests, ..BE };
        let mut waiting: Vec<String> = (0..members).map(|at| format!("sweep-{at}")).collect();
        let (mut placed, mut reasons) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            waiting.retain(|name| match schedule(&mut module, &mut host, pod(name, spec)) {
                Ok(node) => {
                    placed.push(node);
                    false
                }
                Err(reason) => {
                    reasons.push(reason);
                    true
                }
            });
        }
        placed.sort();
        (placed, reasons)
    };
    assert_eq!(run("3", 3).0, ["cool", "cool", "warm"]);
    let (placed, reasons) = run("4", 4);
    assert!(placed.is_empty(), "each alone would be accepted: {placed:?}");
    let last = reasons.last().expect("a reason");
    assert!(last.starts_with("gang ns/sweep: 4 of 4 members, needs 4 x "), "{last}");
    assert!(last.contains("8500 milli-CPU below the BE threshold, room for 3"), "{last}");
}

#[test]
fn a_gang_leaves_the_reserve_of_batch_resources_free() {
    let labels = [
        ("koordinator.sh/qosClass", "BE"),
        ("koordinator.sh/priority-class", "koord-batch"),
        ("pod-group.scheduling.sigs.k8s.io/name", "sweep"),
        ("pod-group.scheduling.sigs.k8s.io/min-available", "3"),
    ];
    let spec = PodSpec { labels: &labels, requests: &[("kubernetes.io/batch-cpu", "2000")], ..BE };
    // Three members would fit into the node, but 10 percent are to stay free.
    let run = |reserve: &str| {
        let (mut module, mut host) = start(&format!(r#"{{"qos":{{"reclaimed":{{"reserve":{reserve}}}}}}}"#));
        let json = measured(10, 10).to_json();
        let allocatable = [ALLOCATABLE, &[("kubernetes.io/batch-cpu", "6000")]].concat();
        host.set_node("node-7", testing::node("node-7", &[], &[(node_state::ANNOTATION, &json)], &allocatable));
        let mut results = Vec::new();
        for _ in 0..2 {
            results = (0..3).map(|at| schedule(&mut module, &mut host, pod(&format!("sweep-{at}"), spec))).collect();
        }
        (results, module.cluster.placed())
    };
    assert_eq!(run("0").1, 3);
    let (results, placed) = run("10");
    assert_eq!(placed, 0, "none starts where the last would be refused: {results:?}");
    let last = results.last().expect("three").as_ref().expect_err("refused");
    assert!(last.contains("kubernetes.io/batch-cpu"), "{last}");
}

#[test]
fn a_gang_of_several_classes_is_planned_by_the_rules_of_each() {
    let labels =
        [("pod-group.scheduling.sigs.k8s.io/name", "mpi"), ("pod-group.scheduling.sigs.k8s.io/min-available", "3")];
    // Workers with guaranteed requests, and a launcher that asks for nothing and so is taken for best effort.
    let amounts = &[("cpu", "1"), ("memory", "1Gi")];
    let worker = PodSpec { labels: &labels, requests: amounts, limits: amounts, ..PodSpec::default() };
    let launcher = PodSpec { labels: &labels, ..PodSpec::default() };
    let run = |percents: &[(&str, i64)]| {
        let (mut module, mut host) = start("");
        for (name, percent) in percents {
            host.set_node(name, node(name, &measured(*percent, 0), &[]));
        }
        let mut waiting = vec![("mpi-launcher", launcher), ("mpi-worker-0", worker), ("mpi-worker-1", worker)];
        let mut placed = Vec::new();
        for _ in 0..3 {
            waiting.retain(|(name, spec)| match schedule(&mut module, &mut host, pod(name, *spec)) {
                Ok(node) => {
                    placed.push((*name, node));
                    false
                }
                Err(_) => true,
            });
        }
        placed
    };
    assert_eq!(run(&[("hot-1", 80), ("hot-2", 90)]), [], "no worker starts where the launcher never could");
    let placed = run(&[("hot-1", 80), ("cool", 10)]);
    assert_eq!(placed.len(), 3, "{placed:?}");
    assert!(placed.contains(&("mpi-launcher", "cool".to_owned())), "{placed:?}");
}
