//! PostFilter: who makes room for whom.

use std::rc::Rc;

use super::double::{Double, unschedulable};
use super::*;
use crate::framework::{Code, Status};

fn priority(value: i32) -> serde_json::Value {
    json!({"priority": value})
}

#[test]
fn the_cheapest_node_is_cleared() {
    let mut double = Double::default();
    double.interfaces.pre_filter_extensions = true;
    let double = Rc::new(double);
    let mut simulation = simulation(vec![node("a", 4), node("b", 4)], &double);
    *double.score.borrow_mut() = Box::new(|pod, node| i64::from(pod.name().starts_with('a') == (node == "a")));
    simulation.submit(pod_with("a-important", 4, &priority(50)));
    simulation.submit(pod_with("b-small", 2, &priority(10)));
    simulation.submit(pod_with("b-cheap", 2, &priority(5)));
    simulation.run_until_idle().unwrap();
    assert_eq!(placed(&simulation).len(), 3);
    double.take_calls();

    simulation.submit(pod_with("vip", 2, &priority(100)));
    simulation.run_until_idle().unwrap();
    assert!(simulation.pod("default/b-cheap").is_none(), "evicted");
    assert!(simulation.pod("default/b-small").is_some(), "reprieved");
    assert!(placed(&simulation).contains(&"default/vip b".to_owned()));
    let calls = double.take_calls();
    assert!(calls.contains(&"removepod b-cheap b".to_owned()) && calls.contains(&"addpod b-small b".to_owned()));
}

#[test]
fn unresolvable_refusals_evict_nobody() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod("low", 4));
    simulation.run_until_idle().unwrap();
    *double.pre_filter.borrow_mut() = Box::new(|_| Status::new(Code::UnschedulableAndUnresolvable, "gang x: 1 of 2"));
    simulation.submit(pod_with("vip", 4, &priority(100)));
    simulation.run_until_idle().unwrap();
    assert!(simulation.pod("default/low").is_some());
    assert_eq!(
        reason(&simulation, "default/vip"),
        "0/1 nodes are available: gang x: 1 of 2. preemption: 0/1 nodes are available: 1 Preemption is not helpful \
         for scheduling."
    );
}

#[test]
fn preemption_asks_the_module_too() {
    let double = Rc::new(Double::default());
    *double.filter.borrow_mut() =
        Box::new(|pod, _| if pod.name() == "vip" { unschedulable("slots held") } else { Status::success() });
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod("low", 4));
    simulation.run_until_idle().unwrap();
    simulation.submit(pod_with("vip", 4, &priority(100)));
    simulation.run_until_idle().unwrap();
    assert!(simulation.pod("default/low").is_some());
    let expected = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 slots held.";
    assert_eq!(reason(&simulation, "default/vip"), expected);
}

#[test]
fn never_means_never() {
    let double = Rc::new(Double::default());
    let mut simulation = simulation(vec![node("a", 4)], &double);
    simulation.submit(pod("low", 4));
    simulation.submit(pod_with("vip", 4, &json!({"priority": 9, "preemptionPolicy": "Never"})));
    simulation.run_until_idle().unwrap();
    // `vip` comes first, `low` has nobody below it.
    assert_eq!(placed(&simulation), ["default/vip a"]);
    simulation.submit(pod_with("other", 4, &json!({"priority": 10, "preemptionPolicy": "Never"})));
    simulation.run_until_idle().unwrap();
    assert!(reason(&simulation, "default/other").ends_with("preemption: not eligible due to preemptionPolicy=Never."));
}
