//! Events: whatever can let a gang start is registered, and nothing that would bring its members back for nothing.

use std::time::Duration;

use serde_json::{Value, json};
use stowage_host::framework::{ClusterEvent, EventResource, Plugin as _, action};
use stowage_host::host::Module;
use stowage_host::object::NodeObject;
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{Change, Options};

use super::common;
use super::world::{Spec, World, labelled_node, node};

#[test]
fn registers_what_can_let_a_gang_start_and_nothing_else() {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let events = |policy: Value| {
        let mut plugin = common::Snapshot::new([]).plugin(&module, &policy.to_string());
        plugin.events_to_register().expect("the policy is valid")
    };
    let event = |resource, action| ClusterEvent { resource, action };
    let node = action::ADD | action::UPDATE_NODE_ALLOCATABLE | action::UPDATE_NODE_LABEL | action::UPDATE_NODE_TAINT;
    assert_eq!(
        events(json!({})),
        [
            event(EventResource::Pod, action::ADD | action::DELETE | action::UPDATE_POD_LABEL),
            event(EventResource::Node, node | action::UPDATE_NODE_ANNOTATION),
        ]
    );
    // Without gangs and QoS nobody is turned away.
    let neither = json!({"gang": {"enabled": false}, "qos": {"enabled": false}});
    assert_eq!(
        events(neither),
        [event(EventResource::Pod, action::ADD | action::DELETE), event(EventResource::Node, node)]
    );
}

/// A gang of two that waits, and the one event that lets it start.
struct Case {
    event: &'static str,
    nodes: Vec<NodeObject>,
    node_state: NodeStateMode,
    /// Runs from the start.
    other: Option<Spec>,
    members: fn(u32) -> Spec,
    change: Change,
}

fn tainted(gpus: i64) -> NodeObject {
    let mut node = node("gpu", gpus);
    let taints = json!({"taints": [{"key": "maintenance", "effect": "NoSchedule"}]});
    node.node.spec = serde_json::from_value(taints).expect("a spec");
    node
}

fn cases() -> Vec<Case> {
    let member = |index| Spec::member("a", index, 2, 1);
    let set = |node: NodeObject| Change::SetNode(Box::new(node.node));
    let case = |event, nodes, change| Case {
        event,
        nodes,
        node_state: NodeStateMode::Exact,
        other: None,
        members: member,
        change,
    };
    vec![
        case("Node Add", vec![node("cpu", 0)], set(node("gpu", 2))),
        case("Node UpdateAllocatable", vec![node("gpu", 0)], set(node("gpu", 2))),
        Case {
            members: |index| Spec::member("a", index, 2, 1).with(json!({"nodeSelector": {"pool": "spot"}})),
            ..case("Node UpdateLabel", vec![node("gpu", 2)], set(labelled_node("gpu", 2, &json!({"pool": "spot"}))))
        },
        case("Node UpdateTaint", vec![tainted(2)], set(node("gpu", 2))),
        // What the deleted pod had is free at once for the scheduler, and for the module when node state says so.
        Case {
            node_state: NodeStateMode::Lag(Duration::from_secs(5)),
            other: Some(Spec::single("other", 2)),
            ..case("Pod Delete, Node UpdateAnnotation", vec![node("gpu", 2)], Change::DeletePod("ml/other".to_owned()))
        },
        Case {
            members: |index| Spec::single(&format!("a-{index}"), 1).label("scheduling.x-k8s.io/pod-group", "a"),
            ..case(
                "Pod UpdateLabel",
                vec![node("gpu", 2)],
                Change::UpdatePod(
                    Spec::single("a-0", 1)
                        .label("scheduling.x-k8s.io/pod-group", "a")
                        .label("stowage.dev/gang-size", "2")
                        .object(),
                ),
            )
        },
    ]
}

#[test]
fn each_event_lets_a_waiting_gang_start() {
    for case in cases() {
        let options = Options { node_state: case.node_state, ..Options::default() };
        let mut world = World::with_options(case.nodes, json!({}), options);
        if let Some(other) = &case.other {
            world.submit(other);
            world.run();
        }
        for index in 0..2 {
            world.submit(&(case.members)(index));
        }
        // Between two of the scheduler's own retries, which come every five minutes.
        world.sim.run_until(world.clock + Duration::from_secs(60)).expect("the module works");
        assert_eq!(world.running("a"), 0, "{}", case.event);
        let change = world.sim.now();
        world.sim.at(change, case.change);
        world.sim.run_until(change + Duration::from_secs(30)).expect("the module works");
        assert_eq!(world.running("a"), 2, "{}{}", case.event, world.story());
    }
}
