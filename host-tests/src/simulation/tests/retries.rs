//! When a rejected pod is tried again.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::double::{Double, unschedulable};
use super::*;
use crate::framework::{ClusterEvent, Code, EventResource, Status, action};
use crate::simulation::{BindFault, Change};

#[test]
fn one_cycle_calls_the_points_in_order() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 1), node("b", 8), node("c", 8)], &double);
    *double.score.borrow_mut() = Box::new(|_, node| if node == "c" { 70 } else { 30 });
    simulation.submit(pod("p", 4));
    let rest = simulation.run_until_idle().unwrap();
    let calls = "prefilter p|filter p b|filter p c|prescore p|score p b|score p c|reserve p c";
    assert_eq!(double.take_calls().join("|"), calls);
    assert_eq!(placed(&simulation), ["default/p c"]);
    assert_eq!((rest.cycles, rest.settled, rest.time), (1, true, Duration::from_micros(3150)));
}

#[test]
fn a_single_fitting_node_is_not_scored() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 1), node("b", 8)], &double);
    simulation.submit(pod("p", 4));
    simulation.run_until_idle().unwrap();
    assert_eq!(double.take_calls().join("|"), "prefilter p|filter p b|reserve p b");
}

#[test]
fn priority_then_age_decides_who_is_first() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 1)], &double);
    simulation.submit(pod("first", 0));
    simulation.submit(pod("second", 0));
    simulation.submit(pod_with("urgent", 0, &json!({"priority": 5})));
    simulation.run_until_idle().unwrap();
    let order: Vec<String> = double.take_calls().into_iter().filter(|call| call.starts_with("prefilter")).collect();
    assert_eq!(order, ["prefilter urgent", "prefilter first", "prefilter second"]);
}

/// The measured behaviour of the unmodified scheduler: a module that answers Unschedulable from Reserve for the first 19
/// of 20 pods and Success from then on has all 20 bound within 30 ms, in 39 attempts.
#[test]
fn a_gang_held_in_reserve_starts_within_milliseconds() {
    let double = Rc::new(Double::default());
    let seen = Cell::new(0);
    *double.reserve.borrow_mut() = Box::new(move |_, _| {
        seen.set(seen.get() + 1);
        if seen.get() < 20 { unschedulable("gang default/g: not complete") } else { Status::success() }
    });
    let mut simulation = simulation(vec![node("a", 64), node("b", 64)], &double);
    for index in 0..20 {
        simulation.at(Duration::from_millis(index), Change::CreatePod(pod(&format!("p{index}"), 1)));
    }
    let rest = simulation.run_until_idle().unwrap();
    assert_eq!(simulation.placements().len(), 20);
    assert_eq!((rest.cycles, double.count("reserve"), double.count("unreserve")), (39, 39, 19));
    assert!(rest.time < Duration::from_millis(19 + 30), "{:?}", rest.time);
}

#[test]
fn a_new_unscheduled_pod_brings_nobody_back() {
    let double = Rc::new(Double::default());
    *double.pre_filter.borrow_mut() = Box::new(|_| Status::new(Code::UnschedulableAndUnresolvable, "wait"));
    let mut simulation = simulation(vec![node("a", 64)], &double);
    simulation.submit(pod("p", 1));
    simulation.at(Duration::from_millis(10), Change::CreatePod(pod("q", 1)));
    simulation.run_until_idle().unwrap();
    // One attempt each, and one more after five minutes.
    assert_eq!(double.count("prefilter"), 4);
    assert!(simulation.now() > Duration::from_secs(300));
}

#[test]
fn what_happens_during_a_cycle_is_not_lost() {
    let double = Rc::new(Double::default());
    let refused = Cell::new(false);
    *double.filter.borrow_mut() = Box::new(move |pod, _| {
        if pod.name() == "p" && !refused.replace(true) { unschedulable("not yet") } else { Status::success() }
    });
    let mut simulation = simulation(vec![node("a", 64)], &double);
    simulation.submit(pod("p", 1));
    // Lands while the cycle of `p` is under way; `p` is in no queue then.
    let labelled = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "status": {"allocatable": {"cpu": "64", "pods": "110"}}});
    simulation.at(Duration::from_micros(100), Change::SetNode(serde_json::from_value(labelled).unwrap()));
    let rest = simulation.run_until_idle().unwrap();
    assert_eq!((rest.cycles, placed(&simulation)), (2, vec!["default/p a".to_owned()]));
    assert!(rest.time < Duration::from_millis(10));
}

#[test]
fn in_tree_filters_have_their_own_events() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 1)], &double);
    simulation.submit(pod("p", 4));
    simulation.at(Duration::from_secs(1), Change::SetNode(Box::new(node("small", 2).node)));
    simulation.at(Duration::from_secs(2), Change::SetNode(Box::new(node("large", 8).node)));
    let rest = simulation.run_until_idle().unwrap();
    assert_eq!((rest.cycles, placed(&simulation)), (2, vec!["default/p large".to_owned()]));
}

#[test]
fn reasons_are_the_scheduler_s_own() {
    let double = Rc::new(Double::default());
    let cordoned = json!({"metadata": {"name": "c"}, "spec": {"unschedulable": true}, "status": {"allocatable": {"cpu": "64", "pods": "110"}}});
    let nodes = vec![node("a", 1), node("b", 1), NodeObject::new(serde_json::from_value(cordoned).unwrap())];
    let mut simulation = simulation(nodes, &double);
    simulation.submit(pod("p", 4));
    simulation.run_until_idle().unwrap();
    assert_eq!(
        reason(&simulation, "default/p"),
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: 0/3 nodes are \
         available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    );
}

#[test]
fn errors_back_off_and_end_when_patience_does() {
    let double = Rc::new(Double::default());
    *double.filter.borrow_mut() = Box::new(|_, _| Status::new(Code::Error, "trap"));
    let mut simulation = simulation(vec![node("a", 64)], &double);
    simulation.submit(pod("p", 1));
    let rest = simulation.run_until_idle().unwrap();
    assert!(!rest.settled);
    // Backoff of 1, 2, 4, 8, 10, 10 ... seconds in ten minutes.
    assert!((50..70).contains(&rest.cycles), "{rest:?}");
    assert_eq!(reason(&simulation, "default/p"), "running \"wasm\" filter plugin: trap");
    assert_eq!(simulation.plugin_errors().len(), usize::try_from(rest.cycles).unwrap());
}

/// Measured: a module that registers every Pod update is retried because of the scheduler's own status patch.
#[test]
fn registering_pod_updates_is_a_trap() {
    let mut double = Double::default();
    double.events.push(ClusterEvent { resource: EventResource::Pod, action: action::ALL });
    let double = Rc::new(double);
    let count = Cell::new(0);
    *double.pre_filter.borrow_mut() = Box::new(move |_| {
        count.set(count.get() + 1);
        unschedulable(&format!("attempt {}", count.get()))
    });
    let mut simulation = simulation(vec![node("a", 64)], &double);
    simulation.submit(pod("p", 1));
    let rest = simulation.run_until_idle().unwrap();
    assert!(!rest.settled && rest.cycles > 1000, "{rest:?}");
}

#[test]
fn a_failed_binding_returns_the_pod() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 64)], &double);
    simulation.at(Duration::ZERO, Change::FailBindings(BindFault { pod: None, count: 1 }));
    simulation.submit(pod("p", 1));
    simulation.run_until_idle().unwrap();
    assert_eq!(placed(&simulation), ["default/p a"]);
    assert_eq!((double.count("reserve"), double.count("unreserve")), (2, 1));
    assert_eq!(simulation.pod("default/p").unwrap().attempts.len(), 2);
    assert!(simulation.now() >= Duration::from_secs(2), "after its backoff");
}

#[test]
fn permit_waits_and_times_out() {
    let mut double = Double::default();
    double.interfaces.permit = true;
    let double = Rc::new(double);
    *double.permit.borrow_mut() = Box::new(|_, _| (Status::new(Code::Wait, ""), 500));
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod("p", 3));
    simulation.run_until_idle().unwrap();
    assert!(placed(&simulation).is_empty());
    assert!(double.count("permit") >= 2);
    assert_eq!(double.count("permit"), double.count("unreserve"));
    assert!(reason(&simulation, "default/p").starts_with("0/1 nodes are available: 1 rejected due to timeout"));
}

#[test]
fn gated_pods_wait_for_their_gates() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod_with("p", 1, &json!({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})));
    simulation.at(Duration::from_secs(3), Change::UpdatePod(pod("p", 1)));
    let rest = simulation.run_until_idle().unwrap();
    assert_eq!((rest.cycles, placed(&simulation)), (1, vec!["default/p a".to_owned()]));
    assert!(rest.time > Duration::from_secs(3));
}
