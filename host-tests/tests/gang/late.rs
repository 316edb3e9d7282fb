//! Node state that is late: what is known of pods meanwhile, also after a restart.

use std::time::Duration;

use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{Change, Options};

use super::world::{Spec, World, node};

const LAG: Duration = Duration::from_secs(10);

fn world(gpus: i64) -> World {
    let options = Options { node_state: NodeStateMode::Lag(LAG), ..Options::default() };
    World::with_options([node("gpu", gpus)], serde_json::json!({}), options)
}

/// Lets this much time pass, in which what was submitted happens.
fn pass(world: &mut World, time: Duration) {
    world.clock = world.clock.max(world.sim.now()) + time;
    world.sim.run_until(world.clock).expect("the module works");
}

#[test]
fn a_pod_that_went_before_it_was_counted_is_in_nobody_s_way() {
    let mut world = world(2);
    world.submit(&Spec::single("short", 2));
    pass(&mut world, Duration::from_secs(1));
    world.delete("short");
    world.gang("a", 2, 1);
    pass(&mut world, LAG / 2);
    assert_eq!(world.running("a"), 0, "nobody has told that it is gone");
    pass(&mut world, LAG);
    assert_eq!(world.running("a"), 2, "{}", world.story());
}

/// One member of `b` waits for the other while `a` takes three GPUs of four; then the scheduler restarts, and the other
/// comes before node state tells of `a`.
fn restarted() -> World {
    let mut world = world(4);
    world.submit(&Spec::member("b", 0, 2, 1));
    world.gang("a", 3, 1);
    pass(&mut world, Duration::from_secs(1));
    assert_eq!(world.running("a"), 3);
    world.then(Change::RestartScheduler);
    world.submit(&Spec::member("b", 1, 2, 1));
    pass(&mut world, Duration::from_secs(1));
    assert_eq!(world.running("b"), 0, "{}", world.story());
    let expected = "gang ml/b: 2 of 2 members, needs 2 x (100m cpu, 1 nvidia.com/gpu), room for 1; \
        1 node(s) with node state from before the start count for one member each";
    assert!(world.reason("b-1").contains(expected), "{}", world.reason("b-1"));
    world
}

#[test]
fn after_a_restart_no_gang_starts_on_what_another_module_gave_away() {
    let mut world = restarted();
    pass(&mut world, 2 * LAG);
    assert_eq!(world.running("b"), 0, "{}", world.story());
    // What happens later than node state is ever late is believed.
    pass(&mut world, Duration::from_secs(30));
    world.delete("a-0");
    pass(&mut world, 2 * LAG);
    assert_eq!(world.running("b"), 2, "{}", world.story());
}

#[test]
fn where_nothing_is_written_doubts_end_after_some_rounds() {
    let mut world = restarted();
    world.delete("a-0");
    // Retries come of themselves, after backoffs of ten seconds at most.
    pass(&mut world, 5 * LAG);
    assert_eq!(world.running("b"), 0, "{}", world.story());
    pass(&mut world, 10 * LAG);
    assert_eq!(world.running("b"), 2, "{}", world.story());
}

#[test]
fn node_state_that_counts_a_pod_of_the_new_module_is_believed() {
    let mut world = restarted();
    world.submit(&Spec::single("one", 0));
    world.delete("a-0");
    pass(&mut world, 3 * LAG);
    assert_eq!(world.running("b"), 2, "{}", world.story());
}
