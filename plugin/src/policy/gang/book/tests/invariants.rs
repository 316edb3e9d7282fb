//! Random clusters, gangs and orders of events; after each step what must never happen is checked.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::world::{GPU, Outcome, World};
use crate::policy::gang::book::{Book, Options};
use crate::policy::gang::planner::Topology;

/// Members of a gang that run or have a place, on nodes where all of them fit beside everything else.
fn places(world: &World, gang: &str) -> usize {
    let slots = world.book.slots().filter(|(_, holder)| *holder == format!("ml/{gang}")).count();
    world.running(gang) + slots
}

fn check_slots(world: &World) {
    let mut slots: BTreeMap<u32, i64> = BTreeMap::new();
    for (node, gang) in world.book.slots() {
        let name = gang.trim_start_matches("ml/");
        let member = world.cluster.pods.iter().find(|pod| pod.gang() == gang);
        let gpus = member.map_or(0, |pod| pod.request.get(GPU));
        *slots.entry(node).or_default() += gpus;
        assert!(!name.is_empty());
    }
    for (node, held) in slots {
        let free = world.cluster.really_free(node, GPU);
        assert!(free >= held, "node {node}: {held} held, {free} free");
    }
}

#[derive(Clone, Debug)]
struct Plan {
    nodes: Vec<i64>,
    /// Members, minimum, GPUs each, priority.
    gangs: Vec<(u32, u32, i64, i32)>,
    singles: Vec<i64>,
    seed: u64,
    failures: Vec<bool>,
    restarts: Vec<bool>,
    topology: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let gang = (1..6_u32, 0..3_u32, 1..4_i64, 0..2_i32)
        .prop_map(|(members, spare, gpus, priority)| (members, members.saturating_sub(spare).max(1), gpus, priority));
    (
        prop::collection::vec(0..9_i64, 1..5),
        prop::collection::vec(gang, 1..4),
        prop::collection::vec(1..4_i64, 0..4),
        1..u64::MAX,
        prop::collection::vec(prop::bool::weighted(0.15), 32),
        prop::collection::vec(prop::bool::weighted(0.05), 32),
        any::<bool>(),
    )
        .prop_map(|(nodes, gangs, singles, seed, failures, restarts, topology)| Plan {
            nodes,
            gangs,
            singles,
            seed,
            failures,
            restarts,
            topology,
        })
}

fn next(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % below.max(1)
}

fn run(plan: &Plan) {
    let topology = if plan.topology { Topology::Preferred } else { Topology::Ignored };
    let options = Options { topology, ..Options::default() };
    let mut world = World::new(options);
    world.random = plan.seed;
    let mut seed = plan.seed;
    for (at, gpus) in plan.nodes.iter().enumerate() {
        world.node(*gpus).domain = Some(at as u32 % 2);
    }
    // Arrival in random order.
    let mut arrivals: Vec<(Option<usize>, u32, i64)> = Vec::new();
    for (at, (members, _, gpus, _)) in plan.gangs.iter().enumerate() {
        arrivals.extend((0..*members).map(|index| (Some(at), index, *gpus)));
    }
    arrivals.extend(plan.singles.iter().enumerate().map(|(at, gpus)| (None, at as u32, *gpus)));
    for at in (1..arrivals.len()).rev() {
        arrivals.swap(at, next(&mut seed, at + 1));
    }
    let name = |gang: usize| ["a", "b", "c", "d"][gang];
    let mut arrivals = arrivals.into_iter();
    let mut step = 0;
    let mut restarted = false;
    let mut idle = 0;
    while idle < 3 {
        step += 1;
        assert!(step < 5_000, "no end");
        if let Some((gang, index, gpus)) = arrivals.next() {
            match gang {
                Some(gang) => {
                    let (_, min, _, priority) = plan.gangs[gang];
                    world.member(name(gang), index, min, gpus).priority = priority;
                }
                None => drop(world.pod(&format!("single-{index}"), gpus)),
            }
        }
        if plan.restarts[step % 32] && step < 100 {
            world.book = Book::new(options);
            restarted = true;
            world.event();
        }
        let Some(pod) = world.queue.pop_front() else {
            // A periodic flush.
            idle += 1;
            world.event();
            if world.queue.is_empty() {
                break;
            }
            continue;
        };
        let before: Vec<usize> = (0..plan.gangs.len()).map(|gang| world.running(name(gang))).collect();
        let slots_before = places_per_node(&world);
        let outcome = world.reserve(&pod);
        if let Outcome::Bound(node) = outcome {
            idle = 0;
            if let Some(gang) =
                (0..plan.gangs.len()).find(|gang| world.find(&pod).gang() == format!("ml/{}", name(*gang)))
            {
                // I1: whoever starts has places for all that are needed.
                let min = plan.gangs[gang].1 as usize;
                if before[gang] == 0 && !restarted {
                    assert!(places(&world, name(gang)) >= min, "{pod} started without the others");
                }
            } else {
                // I2: singles leave slots alone.
                let held = slots_before.get(&node).copied().unwrap_or(0);
                assert!(world.cluster.really_free(node, GPU) >= held, "{pod} took a slot on node {node}");
            }
            check_slots(&world);
            if plan.failures[step % 32] && step < 100 {
                let gang = world.find(&pod).gang().to_owned();
                world.unbind(&pod);
                // I7: the place is still there for the member.
                assert!(gang.is_empty() || world.book.slots().any(|slot| slot == (node, gang.as_str())));
            } else {
                world.bound(&pod);
            }
        } else if !matches!(outcome, Outcome::NoNode) {
            // I9
            let reason = world.reason(&pod);
            let gang = world.find(&pod).gang().to_owned();
            assert!(reason.starts_with(&format!("gang {gang}: ")) && reason.contains(" of "), "{reason}");
        }
    }
    // At rest: nothing is held (I4), and whoever fits alone is running (I3).
    assert_eq!(world.book.slots().count(), 0, "held at rest");
    for (gang, (members, min, gpus, _)) in plan.gangs.iter().enumerate() {
        let running = world.running(name(gang));
        if !restarted {
            assert!(running == 0 || running >= *min as usize, "{} runs {running} of {min}", name(gang));
        }
        let room: i64 =
            (0..world.cluster.nodes.len()).map(|node| world.cluster.really_free(node as u32, GPU) / gpus).sum();
        if running == 0 {
            assert!(room < i64::from(*min), "{} fits and does not run", name(gang));
        } else if running < *members as usize {
            assert_eq!(room, 0, "{} has room for more", name(gang));
        }
    }
}

fn places_per_node(world: &World) -> BTreeMap<u32, i64> {
    let mut held = BTreeMap::new();
    for (node, gang) in world.book.slots() {
        let gpus = world.cluster.pods.iter().find(|pod| pod.gang() == gang).map_or(0, |pod| pod.request.get(GPU));
        *held.entry(node).or_default() += gpus;
    }
    held
}

#[test]
fn invariants_hold_in_random_histories() {
    let cases = std::env::var("STOWAGE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2_000);
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() };
    proptest!(config, |(plan in plan())| run(&plan));
}
