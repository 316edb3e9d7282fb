//! Node state that is late: what is known of pods meanwhile.

use std::time::Duration;

use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::Options;

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
