//! Each rule once, with the words that a user reads.

use std::time::Duration;

use serde_json::json;
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{BindFault, Change, Options};

use super::world::{Spec, World, labelled_node, node};

#[test]
fn all_start_when_the_last_has_come() {
    let mut world = World::of(&[4, 4]);
    for index in 0..3 {
        world.submit(&Spec::member("bert", index, 4, 1));
    }
    world.run();
    assert_eq!(world.running("bert"), 0);
    assert!(
        world.reason("bert-1").starts_with("0/2 nodes are available: gang ml/bert: 3 of 4 members."),
        "{}",
        world.reason("bert-1")
    );
    world.submit(&Spec::member("bert", 3, 4, 1));
    let rest = world.run();
    assert_eq!(world.running("bert"), 4);
    assert_eq!(world.nodes_of("bert").len(), 1, "on as few nodes as possible");
    assert!(rest.settled);
    world.gang("gpt", 4, 1);
    world.run();
    assert_eq!(world.running("gpt"), 4);
    assert!(world.attempts("gpt") <= 8, "{} attempts", world.attempts("gpt"));
}

#[test]
fn four_of_five_fit_and_none_starts() {
    let mut world = World::of(&[2, 2]);
    world.submit(&Spec::member("tf", 0, 5, 0));
    for index in 1..5 {
        world.submit(&Spec::member("tf", index, 5, 1));
    }
    world.run();
    assert_eq!(world.running("tf"), 5, "a server without GPU and four workers");

    let mut world = World::of(&[2, 2]);
    world.gang("tf", 5, 1);
    world.run();
    assert_eq!(world.running("tf"), 0);
    assert!(
        world.reason("tf-4").contains("gang ml/tf: 5 of 5 members, needs 5 x 1 nvidia.com/gpu, room for 4"),
        "{}",
        world.reason("tf-4")
    );
    world.submit(&Spec::single("waiting", 1));
    world.run();
    assert!(world.node_of("waiting").is_some(), "nothing is held: {}", world.reason("waiting"));
    world.set_node(node("gpu-3", 2));
    world.run();
    assert_eq!(world.running("tf"), 5);
}

#[test]
fn a_full_cluster_names_the_gang_too() {
    let mut world = World::of(&[1]);
    world.submit(&Spec::single("other", 1));
    world.gang("bert", 2, 1);
    world.run();
    assert!(
        world
            .reason("bert-1")
            .contains("gang ml/bert: 2 of 2 members, needs 2 x 1 nvidia.com/gpu, room for 0 (gpu-1 has 0 free)"),
        "{}",
        world.reason("bert-1")
    );
    world.delete("other");
    world.set_node(node("gpu-2", 1));
    world.run();
    assert_eq!(world.running("bert"), 2);
}

#[test]
fn members_that_select_other_nodes_are_planned_there() {
    let pool = |name: &str, gpus, pool: &str| labelled_node(name, gpus, &json!({"pool": pool}));
    let mut world = World::new([pool("a", 8, "spot"), pool("b", 2, "reserved"), pool("c", 0, "cpu")], json!({}));
    let selecting = |spec: Spec, pool: &str| spec.with(json!({"nodeSelector": {"pool": pool}}));
    world.submit(&selecting(Spec::member("bert", 0, 3, 0), "cpu"));
    world.submit(&selecting(Spec::member("bert", 1, 3, 1), "reserved"));
    world.submit(&selecting(Spec::member("bert", 2, 3, 1), "reserved"));
    world.run();
    assert_eq!(world.nodes_of("bert"), ["b", "c"]);
    for index in 0..3 {
        world.submit(&selecting(Spec::member("gpt", index, 3, 1), "reserved"));
    }
    world.run();
    assert!(
        world.reason("gpt-2").contains("needs 3 x 1 nvidia.com/gpu, room for 0 (b has 0 free)"),
        "{}",
        world.reason("gpt-2")
    );
}

#[test]
fn taints_keep_the_server_off_gpu_nodes() {
    let mut tainted = node("gpu", 4);
    tainted.node.spec =
        serde_json::from_value(json!({"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]})).expect("a spec");
    let mut world = World::new([tainted, node("cpu", 0)], json!({}));
    world.submit(&Spec::member("tf", 0, 3, 0));
    for index in 1..3 {
        let tolerant = json!({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]});
        world.submit(&Spec::member("tf", index, 3, 1).with(tolerant));
    }
    world.run();
    assert_eq!((world.node_of("tf-0"), world.node_of("tf-1")), (Some("cpu".into()), Some("gpu".into())));
    assert!(world.attempts("tf") <= 6);
}

#[test]
fn workers_that_shun_each_other_need_a_node_each() {
    let shy = |index| {
        Spec::member("mpi", index, 3, 1).label("job", "mpi").with(json!({"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"job": "mpi"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }}}))
    };
    let named = |name: &str| labelled_node(name, 8, &json!({"kubernetes.io/hostname": name}));
    let mut world = World::new([named("a"), named("b")], json!({}));
    for index in 0..3 {
        world.submit(&shy(index));
    }
    world.run();
    assert_eq!(world.running("mpi"), 0);
    assert!(world.reason("mpi-2").contains("room for 2"), "{}", world.reason("mpi-2"));
    world.set_node(named("c"));
    world.run();
    assert_eq!(world.nodes_of("mpi"), ["a", "b", "c"]);
}

#[test]
fn one_domain_if_the_policy_requires_it() {
    let zone = |name: &str, gpus, zone: &str| labelled_node(name, gpus, &json!({"zone": zone}));
    let policy = json!({"gang": {"topologyKey": "zone", "topology": "Required"}});
    let mut world = World::new([zone("a1", 2, "a"), zone("b1", 2, "b"), zone("b2", 1, "b")], policy);
    world.gang("big", 4, 1);
    world.run();
    assert!(
        world.reason("big-3").contains("needs 4 x 1 nvidia.com/gpu in one domain, room for 3 in b"),
        "{}",
        world.reason("big-3")
    );
    world.gang("small", 3, 1);
    world.run();
    assert_eq!(world.nodes_of("small"), ["b1", "b2"]);
}

#[test]
fn without_a_publisher_a_node_takes_one_member() {
    let options = Options { node_state: NodeStateMode::None, ..Options::default() };
    let mut world = World::with_options([node("gpu-1", 8), node("gpu-2", 8)], json!({}), options);
    world.gang("a", 3, 1);
    world.run();
    assert!(
        world.reason("a-2").contains("room for 2; 2 node(s) without node state count for one member each"),
        "{}",
        world.reason("a-2")
    );
    world.gang("b", 2, 1);
    world.run();
    assert_eq!(world.nodes_of("b"), ["gpu-1", "gpu-2"]);
}

#[test]
fn a_binding_that_fails_is_tried_again_on_its_place() {
    let mut world = World::of(&[3]);
    world.then(Change::FailBindings(BindFault { pod: None, count: 1 }));
    world.gang("a", 3, 1);
    world.run();
    assert_eq!(world.running("a"), 3);
}

#[test]
fn a_restart_in_the_middle_goes_on() {
    let mut world = World::of(&[8]);
    world.gang("a", 6, 1);
    // While the first member is being bound.
    world.sim.at(world.clock + Duration::from_millis(5), Change::RestartScheduler);
    world.run();
    assert_eq!(world.running("a"), 6);
}

#[test]
fn higher_priority_goes_first() {
    let mut world = World::of(&[]);
    world.set_node(node("cpu", 0));
    for (gang, priority) in [("low", 0), ("high", 10)] {
        for index in 0..2 {
            world.submit(&Spec::member(gang, index, 2, 1).priority(priority));
        }
    }
    world.run();
    world.set_node(node("gpu", 2));
    world.run();
    assert_eq!((world.running("high"), world.running("low")), (2, 0));
}

#[test]
fn bad_values_are_told() {
    let mut world = World::of(&[1]);
    world.submit(&Spec::single("p", 1).annotation("stowage.dev/gang", "a").annotation("stowage.dev/gang-min", "many"));
    world.run();
    assert!(
        world.reason("p").contains("stowage.dev/gang-min is \"many\", allowed is a whole number from 1 to 100000"),
        "{}",
        world.reason("p")
    );
}

#[test]
fn native_groups_are_left_to_the_scheduler() {
    let mut world = World::of(&[4]);
    let native = json!({"schedulingGroup": {"podGroupName": "train"}});
    world.submit(&Spec::single("p", 1).label("scheduling.x-k8s.io/pod-group", "train").with(native));
    world.run();
    assert!(world.node_of("p").is_some(), "{}", world.reason("p"));
}

#[test]
fn a_size_that_is_told_later_is_enough() {
    let mut world = World::of(&[4]);
    let member = |index: u32| Spec::single(&format!("x-{index}"), 1).label("scheduling.x-k8s.io/pod-group", "x");
    for index in 0..2 {
        world.submit(&member(index));
    }
    world.run();
    assert!(world.reason("x-0").contains("gang ml/x: 2 members, size unknown"), "{}", world.reason("x-0"));
    for index in 0..2 {
        world.then(Change::UpdatePod(member(index).label("stowage.dev/gang-size", "2").object()));
    }
    let before = world.sim.now();
    let rest = world.run();
    assert_eq!(world.running("x"), 2);
    assert!(rest.time - before < Duration::from_secs(1), "the label is an event");
}
