//! Retries: none without an event, and not more than one for each.

use std::time::Duration;

use serde_json::json;
use stowage_host::simulation::Change;

use super::world::{Spec, World, node};

#[test]
fn two_hundred_pending_members_wait_quietly() {
    let mut world = World::of(&[8; 10]);
    for gang in 0..20 {
        world.gang(&format!("big-{gang}"), 10, 9);
    }
    world.run();
    let attempts = |world: &World| -> Vec<usize> {
        let members = (0..20).flat_map(|gang| world.members(&format!("big-{gang}")));
        members.map(|pod| pod.attempts.len()).collect()
    };
    let before = attempts(&world);
    assert_eq!(before.len(), 200);
    // An hour in which every minute a pod comes and goes.
    let mut events = 0;
    for minute in 0..60 {
        let at = world.sim.now() + Duration::from_secs(60 * (minute + 1));
        let name = format!("passing-{minute}");
        world.sim.at(at, Change::CreatePod(Spec::single(&name, 0).object()));
        world.sim.at(at + Duration::from_secs(20), Change::DeletePod(format!("ml/{name}")));
        // Added and deleted, and node state for each.
        events += 4;
    }
    world.run();
    // The scheduler's own, every five minutes.
    let flushes = 60 / 5 + 1;
    let after = attempts(&world);
    let most = before.iter().zip(&after).map(|(before, after)| after - before).max().unwrap_or(0);
    println!("at most {most} retries of a pod in an hour of {events} events and {flushes} flushes");
    assert!(most > 0 && most <= events + flushes, "{most} retries, {events} events, {flushes} flushes");
    // Nothing changed for them, and neither did what they say.
    let mut reasons: Vec<String> = world
        .members("big-0")
        .iter()
        .flat_map(|pod| {
            pod.attempts.iter().skip(2).filter_map(|attempt| attempt.result.as_ref().err().map(ToString::to_string))
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    assert_eq!(reasons.len(), 1, "{reasons:#?}");
}

#[test]
fn a_new_node_is_noticed_at_once() {
    let mut world = World::new([node("cpu", 0)], json!({}));
    world.gang("a", 4, 2);
    world.run();
    let begin = world.sim.now();
    world.set_node(node("gpu", 8));
    let rest = world.run();
    assert_eq!(world.running("a"), 4);
    assert!(rest.time - begin < Duration::from_secs(2), "{:?}", rest.time - begin);
}
