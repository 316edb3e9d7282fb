//! What large and many gangs cost.

use std::rc::Rc;

use serde_json::json;
use stowage_host::framework::{Code, Plugin as _};
use stowage_host::host::Module;

use super::common;
use super::world::{Spec, World};

/// Guest memory that may be used, whatever comes: there is no limit in the host.
const MOST_MEMORY: usize = 16 << 20;

#[test]
fn large_gangs_take_two_cycles_a_member() {
    for members in [8, 64, 512] {
        let mut world = World::of(&[8; 1_000]);
        world.gang("big", members, 8);
        world.run();
        assert_eq!(world.running("big"), members as usize);
        let cycles = world.attempts("big");
        println!("gang of {members} on 1,000 nodes: {cycles} cycles");
        assert!(cycles <= 2 * members as usize, "{cycles} cycles for {members} members");
    }
}

#[test]
fn a_thousand_pending_gangs_stay_small() {
    let module = Module::from_bytes(stowage_host::builtin_module()).expect("our own module loads");
    let mut plugin = common::Snapshot::new(common::gpu_nodes(200)).plugin(&module, "");
    let begin = plugin.memory_size();
    for gang in 0..1_000 {
        let name = format!("gang-{gang}");
        for index in 0..8 {
            // Complete, and too large for the nodes.
            let pod = Spec::member(&name, index, 8, 9).object().with_pod(|pod| {
                pod.metadata.uid = Some(format!("{name}-{index}"));
            });
            let (_, status) = plugin.pre_filter(&Rc::new(pod));
            assert_eq!(status.code, Code::UnschedulableAndUnresolvable, "{}", status.reason);
        }
    }
    let pod = Rc::new(common::a_pod("single", &json!({"cpu": "1"})));
    assert!(matches!(plugin.pre_filter(&pod).1.code, Code::Skip | Code::Success));
    let bytes = plugin.memory_size();
    println!("1,000 pending gangs of 8 on 200 nodes: {bytes} bytes of guest memory, {begin} at the start");
    assert!(bytes <= MOST_MEMORY, "{bytes} bytes");
    assert_eq!(plugin.instances(), 1);
}
