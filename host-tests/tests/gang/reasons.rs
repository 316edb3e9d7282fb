//! What people read: the reason in the pod's condition, and `stowage explain`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::world::{Spec, World};

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
    let expected = "gang default/tf-smoke-gpu: 5 of 5 members, needs 4 x 1 nvidia.com/gpu, room for 3";
    for reason in [&explanation["reason"], &explanation["nodes"][0]["reason"]] {
        assert!(reason.as_str().is_some_and(|reason| reason.contains(expected)), "{explanation}");
    }
    assert_eq!(explanation["nodes"][0]["plugin"], "wasm", "{explanation}");
}
