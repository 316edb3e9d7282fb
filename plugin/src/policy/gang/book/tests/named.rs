//! Which member a reason names.

use super::world::{Outcome, World};
use crate::policy::gang::membership::Startup;

/// What each pod says after everyone has been tried again.
fn told(world: &mut World, pods: &[&str]) -> Vec<String> {
    world.event();
    world.run();
    pods.iter().map(|pod| world.reason(pod).to_owned()).collect()
}

#[test]
fn of_several_kinds_one_that_finds_no_place_is_named() {
    let mut world = World::of(&[4, 4, 2]);
    world.member("ray", 0, 4, 0);
    for index in 1..4 {
        world.member("ray", index, 4, 4);
    }
    world.run();
    let named = |name: &str| {
        format!("gang ml/ray: 4 of 4 members, needs 3 x 4 nvidia.com/gpu ({name}), room for 2 (gpu-3 has 2 free)")
    };
    for _ in 0..3 {
        assert_eq!(told(&mut world, &["ray-0", "ray-1", "ray-3"]), [(); 3].map(|()| named("ray-1")));
    }
    // As long as it may be there it stays the one; once it is known to be gone it is another.
    world.delete("ray-1");
    world.member("ray", 4, 4, 4);
    world.run();
    assert!(world.reason("ray-4").contains("(ray-1)"), "{}", world.reason("ray-4"));
    for _ in 0..6 {
        told(&mut world, &[]);
    }
    for _ in 0..3 {
        assert_eq!(told(&mut world, &["ray-0", "ray-2", "ray-4"]), [(); 3].map(|()| named("ray-2")));
    }
}

#[test]
fn whoever_has_found_a_place_is_not_named() {
    let mut world = World::of(&[2, 1]);
    for (index, gpus) in [(0, 2), (1, 2), (2, 0)] {
        let pod = world.member("ray", index, 3, gpus);
        let membership = pod.membership.as_mut().expect("a member");
        (membership.startup, membership.is_leader) = (Startup::LeaderFirst, index == 0);
    }
    // On its way, and of the same kind as the one that finds no place.
    world.queue.clear();
    assert_eq!(world.reserve("ray-0"), Outcome::Bound(0));
    told(&mut world, &[]);
    let expected = "gang ml/ray: 3 of 3 members, needs 1 x 2 nvidia.com/gpu (ray-1), room for 0 (gpu-2 has 1 free)";
    assert_eq!(told(&mut world, &["ray-1", "ray-2"]), [expected; 2]);
}

#[test]
fn of_a_long_name_the_beginning_is_told() {
    let mut world = World::of(&[2]);
    world.member("ray", 0, 2, 1);
    let name = "n".repeat(253);
    let membership = world.find("ray-0").membership.clone();
    world.pod(&name, 4).membership = membership;
    world.run();
    let expected = format!("needs 1 x 4 nvidia.com/gpu ({}), room for 0", "n".repeat(63));
    assert!(world.reason(&name).contains(&expected), "{}", world.reason(&name));
}
