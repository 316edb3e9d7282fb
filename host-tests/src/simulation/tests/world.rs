//! Nodes, pods and node state that change while the loop runs.

use std::rc::Rc;
use std::time::Duration;

use stowage::cluster::node_state::{Expected, NodeState, short_uid};

use super::double::Double;
use super::*;
use crate::publisher::{ANNOTATION, NodeStateMode, Usage};
use crate::simulation::Change;

fn state(simulation: &Simulation, node: &str) -> Option<NodeState> {
    let cluster = simulation.cluster();
    let annotations = cluster.node(node)?.node().metadata.annotations.clone()?;
    Some(NodeState::parse(annotations.get(ANNOTATION)?).unwrap())
}

#[test]
fn node_state_counts_bound_pods_at_once() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    assert_eq!(state(&simulation, "a").unwrap().pods, 0);
    simulation.submit(pod("p", 3));
    simulation.run_until_idle().unwrap();
    let counted = state(&simulation, "a").unwrap();
    assert_eq!((counted.pods, counted.requested.get("cpu").copied(), counted.at), (1, Some(3000), 1_767_225_600_003));
    simulation.at(Duration::from_secs(5), Change::FinishPod("default/p".into()));
    let usage = Usage { at: 7, cpu: 100, memory: 1 << 30 };
    simulation.at(Duration::from_secs(6), Change::Usage { node: "a".into(), usage: Some(usage.clone()) });
    simulation.run_until_idle().unwrap();
    let counted = state(&simulation, "a").unwrap();
    assert_eq!((counted.pods, counted.usage), (0, Some(usage)));
}

#[test]
fn node_state_tells_for_a_while_who_has_left() {
    let double = Rc::new(Double::default());
    let runs = |name| Rc::new(pod_with(name, 1, &json!({"nodeName": "a"})));
    let factory = {
        let double = double.clone();
        Box::new(move |handle| Ok(double.plugin(handle)))
    };
    let mut simulation = Simulation::new([node("a", 4)], [runs("old")], factory, Options::default()).unwrap();
    let delete = |name: &str| Change::DeletePod(format!("default/{name}"));
    simulation.at(Duration::from_secs(1), Change::CreatePod(pod("p", 1)));
    simulation.run_until_idle().unwrap();
    let expected = vec![short_uid(&simulation.pod("default/p").unwrap().info.uid)];
    simulation.at(Duration::from_secs(2), delete("p"));
    simulation.at(Duration::from_secs(3), delete("old"));
    simulation.run_until_idle().unwrap();
    assert_eq!(state(&simulation, "a").unwrap().left, expected, "the other has been there for long");
    for (at, expected) in [(300, expected), (302, vec![])] {
        simulation.at(Duration::from_secs(at), Change::CreatePod(pod(&format!("q{at}"), 1)));
        simulation.run_until_idle().unwrap();
        assert_eq!(state(&simulation, "a").unwrap().left, expected, "{at} s");
    }
    // Another node of that name knows nothing of it.
    simulation.at(Duration::from_secs(304), Change::DeleteNode("a".into()));
    simulation.at(Duration::from_secs(305), Change::SetNode(Box::new(node("a", 4).node)));
    simulation.run_until_idle().unwrap();
    assert!(state(&simulation, "a").unwrap().left.is_empty());
}

#[test]
fn node_state_tells_of_members_that_are_deleted_while_they_wait() {
    let double = Rc::new(Double::default());
    let factory = {
        let double = double.clone();
        Box::new(move |handle| Ok(double.plugin(handle)))
    };
    let mut simulation = Simulation::new([node("b", 1), node("a", 1)], [], factory, Options::default()).unwrap();
    for name in ["member", "single"] {
        let mut waiting = pod(name, 2);
        if name == "member" {
            waiting = waiting.with_pod(|pod| {
                let labels = pod.metadata.labels.get_or_insert_default();
                labels.insert("scheduling.x-k8s.io/pod-group".to_owned(), "g".to_owned());
            });
        }
        simulation.at(Duration::from_secs(1), Change::CreatePod(waiting));
    }
    simulation.run_until_idle().unwrap();
    let expected = vec![short_uid(&simulation.pod("default/member").unwrap().info.uid)];
    for name in ["member", "single"] {
        simulation.at(Duration::from_secs(2), Change::DeletePod(format!("default/{name}")));
    }
    simulation.run_until_idle().unwrap();
    assert_eq!(state(&simulation, "a").unwrap().left, expected);
    assert_eq!(state(&simulation, "b").unwrap().left, [0; 0]);
}

#[test]
fn usage_keeps_its_age_and_new_pods_are_unmeasured() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4), node("b", 1)], &double);
    let start = 1_767_225_600_000;
    // Measured half a minute before it shows.
    let usage = Usage { at: start - 30_000, cpu: 100, memory: 0 };
    let measure = |usage| Change::Usage { node: "a".into(), usage: Some(usage) };
    simulation.at(Duration::ZERO, measure(usage.clone()));
    simulation.at(Duration::from_secs(1), Change::CreatePod(pod("p", 3)));
    simulation.run_until_idle().unwrap();
    let counted = state(&simulation, "a").unwrap();
    assert_eq!(counted.at - counted.usage.unwrap().at, 30_000);
    // The larger of request and limit, scaled as LoadAware scales; no memory is asked for.
    assert_eq!(counted.unmeasured, Some(Expected { cpu: 2550, memory: 200 << 20 }));
    assert_eq!(counted.qos.get("LS").map(|class| class.cpu), Some(3000));
    // Something happens elsewhere, later.
    simulation.at(Duration::from_secs(200), Change::CreatePod(pod("q", 1)));
    simulation.run_until_idle().unwrap();
    let counted = state(&simulation, "a").unwrap();
    assert_eq!(counted.usage.unwrap().at, start + 170_003);
    // The next measurement contains the pod.
    simulation.at(Duration::from_secs(300), measure(Usage { at: start + 300_000, ..usage }));
    simulation.run_until_idle().unwrap();
    assert_eq!(state(&simulation, "a").unwrap().unmeasured, None);
}

#[test]
fn node_state_can_lag_or_be_missing() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.at(Duration::ZERO, Change::NodeState(NodeStateMode::Lag(Duration::from_secs(1))));
    simulation.at(Duration::from_millis(1), Change::CreatePod(pod("p", 3)));
    simulation.at(Duration::from_millis(900), Change::CreatePod(pod("q", 9)));
    simulation.run_until_idle().unwrap();
    assert_eq!(state(&simulation, "a").unwrap().pods, 1);

    let factory = Box::new(move |handle| Ok(double.plugin(handle)));
    let options = Options { node_state: NodeStateMode::None, ..Options::default() };
    let unknown = Simulation::new([node("a", 4)], [], factory, options).unwrap();
    assert!(state(&unknown, "a").is_none());
}

#[test]
fn gpus_are_shared_by_device() {
    let double = Rc::new(Double::default());
    let gpu_node = json!({"metadata": {"name": "g"}, "status": {"allocatable": {"cpu": "64", "pods": "110", "stowage.dev/gpu-milli": "2000"}}});
    let mut simulation = simulation(vec![NodeObject::new(serde_json::from_value(gpu_node).unwrap())], &double);
    let shared = |name: &str, milli: u32| {
        let containers =
            json!({"containers": [{"name": "c", "resources": {"limits": {"stowage.dev/gpu-milli": milli}}}]});
        pod_with(name, 0, &containers)
    };
    simulation.submit(shared("a", 600));
    simulation.submit(shared("b", 600));
    simulation.submit(shared("c", 400));
    simulation.submit(shared("d", 500));
    simulation.run_until_idle().unwrap();
    assert_eq!(placed(&simulation).len(), 3);
    assert!(reason(&simulation, "default/d").contains("1 Insufficient stowage.dev/gpu-milli"));
    assert_eq!(state(&simulation, "g").unwrap().gpu_free, [0, 400]);
}

#[test]
fn a_node_s_pods_go_with_it() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4), node("b", 1)], &double);
    simulation.submit(pod("p", 4));
    simulation.at(Duration::from_secs(1), Change::DeleteNode("a".into()));
    simulation.at(Duration::from_secs(2), Change::CreatePod(pod("p", 1)));
    simulation.run_until_idle().unwrap();
    assert_eq!(placed(&simulation), ["default/p b"]);
    assert_eq!(simulation.cluster().nodes().len(), 1);
}

#[test]
fn a_restart_queues_again_what_was_being_bound() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod("p", 4));
    // After the cycle, before the binding.
    simulation.at(Duration::from_millis(1), Change::RestartScheduler);
    let rest = simulation.run_until_idle().unwrap();
    assert_eq!((*double.instances.borrow(), rest.cycles), (2, 2));
    assert_eq!(placed(&simulation), ["default/p a"]);
}

#[test]
fn a_deleted_pod_leaves_nothing_behind() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod("p", 4));
    // While it is being bound: the binding fails, the pod is not queued again.
    simulation.at(Duration::from_millis(1), Change::DeletePod("default/p".into()));
    simulation.at(Duration::from_millis(2), Change::CreatePod(pod("q", 4)));
    let rest = simulation.run_until_idle().unwrap();
    assert!(rest.settled);
    assert_eq!(placed(&simulation), ["default/q a"]);
    assert_eq!(double.count("unreserve"), 1);
}
