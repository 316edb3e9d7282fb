use std::time::Instant;

use super::membership;
use super::world::World;

#[test]
fn thousands_of_pending_members_stay_small() {
    let mut world = World::of(&[]);
    let request = world.pod("template", 1).request.clone();
    world.queue.clear();
    for gang in 0..1_000 {
        let membership = membership(&format!("ml/gang-{gang}"), 64);
        for member in 0..64 {
            let name = format!("gang-{gang}-worker-{member}");
            let pod = super::super::Pod {
                membership: &membership,
                name: &name,
                uid: gang * 64 + member,
                request: &request,
                rules: 0,
                per_node: u32::MAX,
                priority: 0,
                created: 0,
                nominated: None,
            };
            let verdict = world.book.begin_member(&pod, &world.cluster, 0);
            drop(verdict.unwrap_or_else(|| world.book.decide_surveyed(&pod, &world.cluster)));
        }
    }
    assert_eq!(world.book.len(), 1_000);
    let bytes = std::mem::size_of::<super::super::Member>() * 64_000;
    assert!(bytes <= 6 << 20, "{bytes} bytes of members");
}

#[test]
fn large_gangs_start_in_two_cycles_a_member() {
    for members in [8, 64, 512] {
        let mut world = World::of(&[8; 1_000]);
        world.gang("big", members, 8);
        let begin = Instant::now();
        world.run();
        assert_eq!(world.running("big"), members as usize);
        assert!(world.cycles <= 2 * members, "{} cycles for {members} members", world.cycles);
        println!("gang of {members} on 1000 nodes: {} cycles, {:?}", world.cycles, begin.elapsed());
    }
}
