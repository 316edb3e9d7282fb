//! Preemption: only for gangs that it lets start, and with no more victims than that takes.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use stowage_host::framework::{Code, Plugin as _, Status};
use stowage_host::host::{Module, WasmPlugin};
use stowage_host::object::PodObject;
use stowage_host::simulation::{BindFault, Change};

use super::common;
use super::world::{GPU, Spec, World, node};

/// A reason to turn a member away while pods of lower priority take all GPUs, one each.
struct Case {
    reason: &'static str,
    /// GPUs per node.
    nodes: &'static [i64],
    /// The members; the last is asked about.
    members: Vec<Spec>,
    /// What PreFilter answers. With `Unschedulable` the scheduler tries preemption.
    code: Code,
    victims: usize,
}

fn member(index: u32, min: u32) -> Spec {
    Spec::member("a", index, min, 1)
}

fn cases() -> Vec<Case> {
    use Code::{Unschedulable, UnschedulableAndUnresolvable};
    let of_koordinator = |key: &str| format!("gang.scheduling.koordinator.sh/{key}");
    let with_partner = member(0, 1).annotation(&of_koordinator("groups"), r#"["ml/a", "ml/b"]"#);
    vec![
        Case {
            reason: "gang ml/a: 1 members, size unknown",
            nodes: &[1],
            members: vec![Spec::single("a-0", 1).label("scheduling.x-k8s.io/pod-group", "a")],
            code: UnschedulableAndUnresolvable,
            victims: 0,
        },
        Case {
            reason: "gang ml/a: stowage.dev/gang-min is \"many\", allowed is",
            nodes: &[1],
            members: vec![member(0, 1).annotation("stowage.dev/gang-min", "many")],
            code: UnschedulableAndUnresolvable,
            victims: 0,
        },
        Case {
            reason: "gang ml/a: 1 of 2 members",
            nodes: &[2],
            members: vec![member(0, 2)],
            code: UnschedulableAndUnresolvable,
            victims: 0,
        },
        Case {
            reason: "gang ml/a: 1 of 1 members, starts together with gang ml/b: 0 members",
            nodes: &[1],
            members: vec![with_partner],
            code: UnschedulableAndUnresolvable,
            victims: 0,
        },
        Case {
            reason: "gang ml/a: 3 of 3 members, needs 3 x 1 nvidia.com/gpu, room for 0",
            nodes: &[2],
            members: vec![member(0, 3), member(1, 3), member(2, 3)],
            code: UnschedulableAndUnresolvable,
            victims: 0,
        },
        // An empty cluster would do, but preemption empties one node at a time.
        Case {
            reason: "gang ml/a: 2 of 2 members, needs 2 x 1 nvidia.com/gpu, room for 0",
            nodes: &[1, 1],
            members: vec![member(0, 2), member(1, 2)],
            code: Unschedulable,
            victims: 0,
        },
        Case {
            reason: "gang ml/a: 2 of 2 members, needs 2 x 1 nvidia.com/gpu, room for 0",
            nodes: &[4],
            members: vec![member(0, 2), member(1, 2)],
            code: Unschedulable,
            victims: 2,
        },
    ]
}

#[test]
fn each_reason_has_its_code_and_its_victims() {
    for case in cases() {
        let mut world = World::of(case.nodes);
        let low = case.nodes.iter().sum::<i64>();
        for at in 0..low {
            world.submit(&Spec::single(&format!("low-{at}"), 1));
        }
        world.run();
        assert_eq!(world.running("low"), low as usize);
        for spec in &case.members {
            world.submit(&spec.clone().priority(10));
        }
        let last = case.members.last().map(|spec| spec.name.clone()).unwrap_or_default();
        // Before any victim has gone.
        let soon = world.clock + Duration::from_millis(2);
        world.sim.run_until(soon).expect("the module works");
        let answer = world.answers_of(&last, "PreFilter").into_iter().next().expect("tried when it came");
        assert!(answer.reason.starts_with(case.reason), "{:?}, expected {}", answer.reason, case.reason);
        assert_eq!(answer.code, case.code, "{}", case.reason);
        world.run();
        let victims = low as usize - world.members("low").len();
        assert_eq!(victims, case.victims, "{}{}", case.reason, world.story());
        let started = if case.victims > 0 { case.members.len() } else { 0 };
        assert_eq!(world.running("a"), started, "{}{}", case.reason, world.story());
    }
}

#[test]
fn whoever_lets_others_go_first_evicts_nobody() {
    let mut world = World::new([node("cpu", 0)], json!({}));
    // The younger gang is tried first.
    for (gang, created) in [("young", "2025-12-31T12:00:00Z"), ("old", "2025-12-31T11:00:00Z")] {
        for index in 0..2 {
            world.submit(&Spec::member(gang, index, 2, 1).priority(10).created(created));
        }
    }
    world.run();
    world.set_node(node("gpu", 2));
    world.run();
    assert_eq!((world.running("old"), world.running("young")), (2, 0));
    let answers: Vec<Status> = ["young-0", "young-1"].map(|pod| world.answers_of(pod, "PreFilter")).concat();
    let after = answers.iter().find(|status| status.reason.contains("gang ml/old goes first"));
    assert_eq!(after.map(|status| status.code), Some(Code::UnschedulableAndUnresolvable), "{answers:?}");
}

#[test]
fn a_place_that_is_held_may_be_made_up_for_by_victims_beside_it() {
    let mut world = World::of(&[3]);
    world.submit(&Spec::single("low", 1).priority(-1));
    world.run();
    // The second member's binding fails again and again: its place is kept.
    world.then(Change::FailBindings(BindFault { pod: Some("ml/a-1".to_owned()), count: 3 }));
    world.gang("a", 2, 1);
    let soon = world.clock + Duration::from_millis(20);
    world.sim.run_until(soon).expect("the module works");
    assert_eq!(world.running("a"), 1);
    world.submit(&Spec::single("high", 1).priority(10));
    world.run();
    let refused = world.answers_of("high", "Filter").into_iter().find(|status| !status.is_success());
    let refused = refused.expect("the only free GPU is held");
    assert_eq!(refused.code, Code::Unschedulable);
    assert_eq!(refused.reason, "gpu-1: 1 nvidia.com/gpu held for gang ml/a");
    assert_eq!((world.running("a"), world.node_of("high").is_some()), (2, true), "{}", world.story());
    assert!(world.pod("low").is_none(), "the victim is another than the member");
}

/// A node whose node state counts two pods of two GPUs each; the module on it, and the pods.
fn tried_by_hand() -> (WasmPlugin, [Rc<PodObject>; 2]) {
    let state = json!({"v": 1, "at": 1, "requested": {GPU: 4, "cpu": 200}});
    let amounts = json!({"cpu": "64", "memory": "256Gi", "pods": "110", GPU: "4"});
    let node = common::node(&json!({
        "metadata": {"name": "n", "annotations": {"stowage.dev/node-state": state.to_string()}},
        "status": {"allocatable": amounts, "capacity": amounts},
    }));
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let plugin = common::Snapshot::new([node]).plugin(&module, "");
    let low = |name: &str| Rc::new(common::a_pod(name, &json!({"cpu": "100m", GPU: "2"})));
    (plugin, [low("low-0"), low("low-1")])
}

#[test]
fn facts_stay_right_while_victims_are_tried() {
    let (mut plugin, [first, second]) = tried_by_hand();
    let member = |index| {
        Rc::new(Spec::member("a", index, 2, 1).priority(10).object().with_pod(|pod| {
            pod.metadata.uid = Some(format!("a-{index}"));
        }))
    };
    let (one, other) = (member(0), member(1));
    assert_eq!(plugin.pre_filter(&one).1.code, Code::UnschedulableAndUnresolvable);
    for cycle in 0..2 {
        assert_eq!(plugin.pre_filter(&other).1.code, Code::Unschedulable, "cycle {cycle} knows of no victims");
        let no = |status: Status| assert_eq!(status.code, Code::Unschedulable);
        // Both victims gone, then one at a time let stay.
        plugin.remove_pod(&other, &first, "n");
        plugin.remove_pod(&other, &second, "n");
        assert!(plugin.filter(&other, "n").is_success());
        plugin.add_pod(&other, &first, "n");
        assert!(plugin.filter(&other, "n").is_success(), "one victim is enough");
        // The scheduler adds a nominated pod before each Filter and never takes it out.
        for _ in 0..5 {
            plugin.add_pod(&other, &one, "n");
            assert!(plugin.filter(&other, "n").is_success(), "a nominated pod is counted by the scheduler");
        }
        plugin.add_pod(&other, &second, "n");
        no(plugin.filter(&other, "n"));
        plugin.remove_pod(&other, &second, "n");
        assert!(plugin.filter(&other, "n").is_success());
        plugin.add_pod(&other, &second, "n");
        no(plugin.filter(&other, "n"));
    }
}
