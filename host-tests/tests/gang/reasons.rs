//! What people read: the reason in the pod's condition, and `stowage explain`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use stowage_host::object::NodeObject;
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::Options;

use super::world::{GPU, Spec, World, node};

#[test]
fn reasons_stay_the_same_while_nothing_changes() {
    // Room for two of three; a single fits beside them, and nothing it does matters to the gang.
    let mut world = World::of(&[4, 4, 2]);
    world.gang("a", 3, 4);
    for round in 0..5 {
        let name = format!("passing-{round}");
        world.submit(&Spec::single(&name, 0));
        world.run();
        world.delete(&name);
        world.run();
    }
    let reasons: Vec<String> = world
        .members("a")
        .into_iter()
        .flat_map(|pod| {
            // Members that come before the last say how many had come.
            let when_complete = pod.attempts.iter().filter_map(|attempt| attempt.result.as_ref().err());
            when_complete.map(ToString::to_string).filter(|reason| reason.contains("3 of 3")).collect::<Vec<_>>()
        })
        .collect();
    assert!(reasons.len() > 15, "{} retries", reasons.len());
    let expected = "gang ml/a: 3 of 3 members, needs 3 x 4 nvidia.com/gpu, room for 2 (gpu-3 has 2 free).";
    for reason in &reasons {
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(*reason, reasons[0]);
    }
}

/// What a pod says when everything has been tried again, with nothing in the way having changed, several times.
fn reasons_of(world: &mut World, pods: &[&str]) -> Vec<String> {
    let mut said: Vec<Vec<String>> = Vec::new();
    for round in 0..4 {
        let name = format!("passing-{round}");
        world.submit(&Spec::single(&name, 0));
        world.run();
        world.delete(&name);
        world.run();
        said.push(pods.iter().map(|pod| world.reason(pod)).collect());
    }
    let last = said.pop().expect("some rounds");
    let attempts = |pod: &&str| world.pod(pod).map_or(0, |pod| pod.attempts.len());
    assert!(pods.iter().map(attempts).all(|attempts| attempts > 4), "all are tried again");
    assert!(said.iter().skip(1).all(|reasons| *reasons == last), "{said:#?}{last:#?}");
    last
}

#[test]
fn gangs_that_start_together_name_each_other_and_what_is_short() {
    // Each fits alone.
    let mut world = World::of(&[5]);
    let groups = r#"["ml/actors", "ml/learners"]"#;
    for (gang, gpus) in [("actors", 1), ("learners", 2)] {
        for index in 0..2 {
            let member = Spec::member(gang, index, 2, gpus);
            world.submit(&member.annotation("gang.scheduling.koordinator.sh/groups", groups));
        }
    }
    let reasons = reasons_of(&mut world, &["actors-1", "learners-1"]);
    let short = "needs 2 x 1 nvidia.com/gpu";
    let room = "room for 1 (gpu-1 has 0 free).";
    for (reason, expected) in reasons.iter().zip([
        format!("gang ml/actors: 2 of 2 members, starts together with gang ml/learners, {short}, {room}"),
        format!(
            "gang ml/learners: 2 of 2 members, starts together with gang ml/actors, which {short} (actors-0), {room}"
        ),
    ]) {
        assert!(reason.contains(&expected), "{reason}");
    }
}

#[test]
fn without_node_state_it_is_said_what_is_known_of_nodes() {
    let options = Options { node_state: NodeStateMode::None, ..Options::default() };
    let mut world = World::with_options([node("gpu-1", 8), node("gpu-2", 8)], json!({}), options);
    // Neither asks for less than the other.
    let server = json!({"containers": [{"name": "main", "resources": {"requests": {"cpu": "8"}}}]});
    world.submit(&Spec::member("tf", 0, 2, 0).with(server));
    world.submit(&Spec::member("tf", 1, 2, 1));
    let known = "room for 0; 2 node(s) without node state count for one member each, \
        if this pod fits there and the member asks for no more.";
    for (reason, short) in
        reasons_of(&mut world, &["tf-0", "tf-1"]).iter().zip(["1 nvidia.com/gpu (tf-1)", "8 cpu (tf-0)"])
    {
        let expected = format!("gang ml/tf: 2 of 2 members, needs 1 x {short}, {known}");
        assert!(reason.contains(&expected), "{reason}");
    }
}

#[test]
fn what_nothing_limits_is_not_listed() {
    // Best-effort pods have thresholds, and of the nodes' use nothing is known.
    let options = Options { node_state: NodeStateMode::None, ..Options::default() };
    let mut world = World::with_options([node("gpu-1", 8)], json!({}), options);
    for index in 0..2 {
        let amounts = json!({"requests": {GPU: "2"}, "limits": {GPU: "2"}});
        let best_effort = json!({"containers": [{"name": "main", "resources": amounts}]});
        world.submit(&Spec::member("a", index, 2, 2).with(best_effort));
    }
    let expected = "gang ml/a: 2 of 2 members, needs 2 x 2 nvidia.com/gpu, room for 1; 1 node(s) without node state";
    for reason in reasons_of(&mut world, &["a-0", "a-1"]) {
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn beyond_the_minimum_it_is_the_scheduler_that_says_why() {
    let mut world = World::of(&[3]);
    world.gang("a", 2, 1);
    world.run();
    assert_eq!(world.running("a"), 2);
    world.submit(&Spec::member("a", 2, 2, 2));
    let reasons = reasons_of(&mut world, &["a-2"]);
    assert!(reasons[0].starts_with("0/1 nodes are available: 1 Insufficient nvidia.com/gpu."), "{reasons:?}");
}

#[test]
fn members_that_ask_for_nothing_need_a_pod_s_place() {
    let amounts = json!({"cpu": "4", "memory": "4Gi", "pods": "2", GPU: "0"});
    let small = json!({"metadata": {"name": "small"}, "status": {"allocatable": amounts}});
    let small = NodeObject::new(serde_json::from_value(small).expect("a node"));
    let mut world = World::new([small], json!({}));
    for index in 0..3 {
        world.submit(&Spec::member("a", index, 3, 0).with(json!({"containers": [{"name": "main"}]})));
    }
    world.run();
    let reason = world.reason("a-2");
    assert!(reason.contains("gang ml/a: 3 of 3 members, needs 3 x 1 pod, room for 2."), "{reason}");
}

#[test]
fn a_bad_value_names_the_gang() {
    let bad = |key: &str, value: &str| Spec::member("a", 0, 2, 1).annotation(key, value);
    for (spec, expected) in [
        (bad("stowage.dev/gang-min", "many"), "gang ml/a: stowage.dev/gang-min is \"many\", allowed is a whole number"),
        (
            bad("gang.scheduling.koordinator.sh/mode", "Lax"),
            "gang ml/a: gang.scheduling.koordinator.sh/mode is \"Lax\", allowed is Strict or NonStrict",
        ),
        (bad("stowage.dev/gang", "a/b"), "stowage.dev/gang is \"a/b\", allowed is a name without slashes"),
    ] {
        let mut world = World::of(&[2]);
        world.submit(&spec);
        let reasons = reasons_of(&mut world, &["a-0"]);
        assert!(reasons[0].contains(expected), "{reasons:?}");
    }
}

#[test]
fn explain_names_the_gang_how_many_there_are_and_what_is_in_the_way() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/tfjob");
    let file = |name: &str| example.join(name).display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_stowage"))
        .args(["explain", "tf-smoke-gpu-worker-3", "-c", &file("cluster-small.yaml"), "-w", &file("workload.yaml")])
        .args(["-o", "json"])
        .output()
        .expect("the command runs");
    let explanation: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let expected = "gang default/tf-smoke-gpu: 5 of 5 members, needs 4 x 1 nvidia.com/gpu (tf-smoke-gpu-worker-0), \
        room for 3";
    for reason in [&explanation["reason"], &explanation["nodes"][0]["reason"]] {
        assert!(reason.as_str().is_some_and(|reason| reason.contains(expected)), "{explanation}");
    }
    assert_eq!(explanation["nodes"][0]["plugin"], "wasm", "{explanation}");
}
