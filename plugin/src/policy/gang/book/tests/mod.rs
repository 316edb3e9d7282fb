mod invariants;
mod named;
mod scale;
mod world;

use super::{Options, Rejection};
use crate::object::Resources;
use crate::policy::gang::membership::{MatchPolicy, Membership, Mode, Startup};
use crate::policy::gang::planner::Topology;
use world::{GPU, Outcome, World};

fn nodes_of(world: &World, gang: &str) -> Vec<u32> {
    let gang = format!("ml/{gang}");
    let mut nodes: Vec<u32> =
        world.cluster.pods.iter().filter(|pod| pod.gang() == gang).filter_map(|pod| pod.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[test]
fn the_last_member_brings_all_in_two_cycles_each() {
    let mut world = World::of(&[4, 4]);
    world.gang("a", 4, 1);
    for (index, have) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(world.reserve(&format!("a-{index}")), Outcome::Rejected(false));
        assert_eq!(world.reason(&format!("a-{index}")), format!("gang ml/a: {have} of 4 members"));
    }
    world.queue.clear();
    assert_eq!(world.reserve("a-3"), Outcome::Bound(0));
    assert_eq!(world.book.slots().count(), 3);
    world.bound("a-3");
    world.run();
    assert_eq!((world.running("a"), nodes_of(&world, "a")), (4, vec![0]));
    assert!(!world.book.holds_slots());
    assert!(world.cycles <= 8, "{} cycles", world.cycles);
    world.gang("b", 1, 1);
    world.run();
    assert_eq!(world.running("b"), 1);
}

#[test]
fn a_gang_without_room_holds_nothing() {
    let mut world = World::of(&[2, 2]);
    world.gang("a", 5, 1);
    world.run();
    assert_eq!(world.running("a"), 0);
    assert!(!world.book.holds_slots());
    assert_eq!(world.reason("a-4"), "gang ml/a: 5 of 5 members, needs 5 x 1 nvidia.com/gpu, room for 4");
    world.pod("single", 1);
    world.run();
    assert!(world.find("single").node.is_some());
    // The event woke the members: they say the same, but for the numbers.
    assert_eq!(world.reason("a-0"), "gang ml/a: 5 of 5 members, needs 5 x 1 nvidia.com/gpu, room for 3");
    let attempts = world.cycles;
    world.event();
    world.run();
    assert_eq!(world.cycles, attempts + 5);
    world.node(2);
    world.event();
    world.run();
    assert_eq!(world.running("a"), 5);
}

#[test]
fn the_shortage_names_the_nearest_node() {
    let mut world = World::of(&[4, 3, 1]);
    world.gang("a", 3, 2);
    world.run();
    assert_eq!(world.running("a"), 3);
    world.gang("b", 2, 2);
    world.run();
    assert_eq!(
        world.reason("b-1"),
        "gang ml/b: 2 of 2 members, needs 2 x 2 nvidia.com/gpu, room for 0 (gpu-2 has 1 free)"
    );
}

#[test]
fn of_two_gangs_that_fit_alone_one_starts() {
    // Members arrive in turn; each gang fits alone, not both.
    let mut world = World::of(&[8, 8]);
    for index in 0..2 {
        world.member("a", index, 2, 8);
        world.member("b", index, 2, 8);
    }
    world.run();
    let (a, b) = (world.running("a"), world.running("b"));
    assert!((a, b) == (2, 0) || (a, b) == (0, 2), "{a} {b}");
    assert!(!world.book.holds_slots());
}

#[test]
fn slots_are_kept_from_others() {
    let mut world = World::of(&[2]);
    world.gang("a", 2, 1);
    world.queue.clear();
    assert_eq!(world.reserve("a-0"), Outcome::Rejected(false));
    assert_eq!(world.reserve("a-1"), Outcome::Bound(0));
    world.pod("single", 1);
    assert_eq!(world.reserve("single"), Outcome::NoNode);
    assert_eq!(world.reason("single"), "gpu-1: 1 nvidia.com/gpu held for gang ml/a");
    // Who wants nothing of what is held is not in the way.
    world.pod("cpu-only", 0);
    assert_eq!(world.reserve("cpu-only"), Outcome::Bound(0));
    assert_eq!(world.reserve("a-0"), Outcome::Bound(0));
}

#[test]
fn a_failed_bind_gives_the_place_back() {
    let mut world = World::of(&[2]);
    world.gang("a", 2, 1);
    world.queue.clear();
    assert_eq!(world.reserve("a-0"), Outcome::Rejected(false));
    assert_eq!(world.reserve("a-1"), Outcome::Bound(0));
    world.unbind("a-1");
    assert_eq!(world.book.slots().count(), 2);
    world.pod("single", 1);
    assert_eq!(world.reserve("single"), Outcome::NoNode);
    world.run();
    assert_eq!(world.running("a"), 2);
    assert_eq!(world.find("single").node, None);
}

#[test]
fn a_restart_goes_on_with_a_gang_that_runs_in_part() {
    let mut world = World::of(&[8]);
    world.gang("a", 5, 1);
    for index in 0..2 {
        let pod = world.find_mut(&format!("a-{index}"));
        (pod.node, pod.counted) = (Some(0), true);
    }
    world.queue.retain(|name| name != "a-0" && name != "a-1");
    world.run();
    assert_eq!(world.running("a"), 5);
}

#[test]
fn late_and_replaced_members_do_not_wait() {
    let mut world = World::of(&[8]);
    world.gang("a", 3, 1);
    world.run();
    world.member("a", 3, 3, 1);
    world.run();
    assert_eq!(world.running("a"), 4);
    for index in 0..3 {
        world.delete(&format!("a-{index}"));
    }
    // One of four runs, and one comes back.
    world.member("a", 0, 3, 1);
    world.run();
    assert_eq!(world.running("a"), 2);
    // All gone: a new start.
    world.delete("a-0");
    world.delete("a-3");
    world.member("a", 0, 3, 1);
    world.run();
    assert_eq!((world.running("a"), world.reason("a-0")), (0, "gang ml/a: 1 of 3 members"));
}

#[test]
fn match_policies_count_differently() {
    // Koordinator's three: with three running and one waiting, and once with a running and a waiting member of four.
    for (policy, running, starts) in [
        (MatchPolicy::OnlyWaiting, 3, false),
        (MatchPolicy::WaitingAndRunning, 3, true),
        (MatchPolicy::OnceSatisfied, 3, true),
        (MatchPolicy::OnlyWaiting, 2, false),
        (MatchPolicy::WaitingAndRunning, 2, false),
        (MatchPolicy::OnceSatisfied, 2, true),
    ] {
        let mut world = World::of(&[8]);
        for index in 0..=running {
            let pod = world.member("a", index, 4, 1);
            pod.membership.as_mut().unwrap().match_policy = Some(policy);
            if index < running {
                (pod.node, pod.counted) = (Some(0), true);
            }
        }
        let last = format!("a-{running}");
        assert_eq!(matches!(world.reserve(&last), Outcome::Bound(_)), starts, "{policy:?} {running}");
    }
    // Starting does not change what is counted in the middle of it.
    let mut world = World::of(&[8]);
    for index in 0..4 {
        world.member("a", index, 4, 1).membership.as_mut().unwrap().match_policy = Some(MatchPolicy::OnlyWaiting);
    }
    world.run();
    assert_eq!(world.running("a"), 4);
}

#[test]
fn the_largest_minimum_counts() {
    let mut world = World::of(&[8]);
    world.member("a", 0, 2, 1);
    world.member("a", 1, 3, 1);
    world.run();
    assert_eq!(world.reason("a-1"), "gang ml/a: 2 of 3 members");
    world.member("a", 2, 2, 1);
    world.run();
    assert_eq!(world.running("a"), 3);
}

#[test]
fn a_size_that_nobody_tells() {
    let mut world = World::of(&[8]);
    world.member("a", 0, 1, 1).membership.as_mut().unwrap().min = None;
    world.run();
    assert_eq!(
        world.reason("a-0"),
        "gang ml/a: 1 members, size unknown: neither pods nor policy (gang.sizes) nor publisher \
         (stowage.dev/gang-size) tell"
    );
    // A sibling tells.
    world.member("a", 1, 2, 1);
    world.run();
    assert_eq!(world.running("a"), 2);

    let mut world = World::new(Options { reject_unknown_size: false, ..Options::default() });
    world.node(8);
    world.member("a", 0, 1, 1).membership.as_mut().unwrap().min = None;
    world.run();
    assert_eq!(world.running("a"), 1);
}

#[test]
fn gangs_that_start_together() {
    let mut world = World::of(&[4]);
    let together = |world: &mut World, gang: &str, other: &str, index: u32| {
        let pod = world.member(gang, index, 2, 1);
        pod.membership.as_mut().unwrap().together_with = vec![format!("ml/{other}").into()];
    };
    together(&mut world, "a", "b", 0);
    together(&mut world, "a", "b", 1);
    world.run();
    assert_eq!(world.reason("a-1"), "gang ml/a: 2 of 2 members, starts together with gang ml/b: 0 members");
    together(&mut world, "b", "a", 0);
    world.run();
    assert_eq!((world.running("a"), world.running("b")), (0, 0));
    assert_eq!(world.reason("b-0"), "gang ml/b: 1 of 2 members");
    together(&mut world, "b", "a", 1);
    world.run();
    assert_eq!((world.running("a"), world.running("b")), (2, 2));

    // Room for one of them is not enough.
    let mut world = World::of(&[3]);
    for (gang, other) in [("a", "b"), ("b", "a")] {
        for index in 0..2 {
            together(&mut world, gang, other, index);
        }
    }
    world.run();
    assert_eq!((world.running("a"), world.running("b")), (0, 0));
}

#[test]
fn a_leader_that_the_others_wait_for_goes_alone() {
    let mut world = World::of(&[8]);
    let leader_first = |world: &mut World, index: u32, is_leader: bool| {
        let pod = world.member("a", index, 3, 1);
        let membership = pod.membership.as_mut().unwrap();
        (membership.startup, membership.is_leader) = (Startup::LeaderFirst, is_leader);
    };
    leader_first(&mut world, 0, true);
    world.run();
    assert_eq!(world.running("a"), 1);
    leader_first(&mut world, 1, false);
    world.run();
    assert_eq!((world.running("a"), world.reason("a-1")), (1, "gang ml/a: 2 of 3 members"));
    leader_first(&mut world, 2, false);
    world.run();
    assert_eq!(world.running("a"), 3);
}

#[test]
fn mixed_roles_share_nodes() {
    let mut world = World::of(&[0, 4, 4]);
    world.member("tf", 0, 5, 0);
    for index in 1..5 {
        world.member("tf", index, 5, 1);
    }
    world.run();
    assert_eq!((world.running("tf"), nodes_of(&world, "tf").len()), (5, 1));
}

#[test]
fn one_topology_domain_if_it_must_be() {
    let mut world = World::new(Options { topology: Topology::Required, ..Options::default() });
    for (gpus, domain) in [(2, 0), (2, 1), (1, 1)] {
        world.node(gpus).domain = Some(domain);
    }
    world.gang("a", 4, 1);
    world.run();
    assert_eq!(
        world.reason("a-3"),
        "gang ml/a: 4 of 4 members, needs 4 x 1 nvidia.com/gpu in one domain, room for 3 in zone-b"
    );
    world.gang("b", 3, 1);
    world.random = 7;
    world.run();
    assert_eq!(nodes_of(&world, "b"), [1, 2]);
}

#[test]
fn a_node_of_unknown_allocation_takes_one_member() {
    let mut world = World::of(&[8, 8]);
    for node in &mut world.cluster.nodes {
        node.known = false;
    }
    world.gang("a", 3, 1);
    world.run();
    assert_eq!(
        world.reason("a-2"),
        "gang ml/a: 3 of 3 members, needs 3 x (1 cpu, 1 nvidia.com/gpu), room for 2; \
         2 node(s) without node state count for one member each"
    );
    world.gang("b", 2, 1);
    world.run();
    assert_eq!(nodes_of(&world, "b"), [0, 1]);
}

#[test]
fn nothing_is_presumed_of_unknown_nodes() {
    // The second node is full, and only the scheduler knows: the member at hand fits on the first, and that proves
    // nothing for the other.
    let mut world = World::of(&[8, 8]);
    for node in &mut world.cluster.nodes {
        node.known = false;
    }
    world.pod("hidden", 8).node = Some(1);
    world.queue.clear();
    world.gang("a", 2, 1);
    world.run();
    assert_eq!(world.running("a"), 0);
    assert_eq!(
        world.reason("a-1"),
        "gang ml/a: 2 of 2 members, needs 1 x 1 nvidia.com/gpu, room for 0; 2 node(s) without node state count for one \
         member each, if this pod fits there and the member asks for no more"
    );
    assert!(!world.book.holds_slots());
}

#[test]
fn nodes_that_other_plugins_refuse() {
    let mut world = World::of(&[2, 2, 2]);
    world.cluster.refused = vec![(1, 0)];
    world.gang("a", 4, 1);
    world.run();
    assert_eq!((world.running("a"), nodes_of(&world, "a")), (4, vec![1, 2]));
    world.gang("b", 2, 1);
    world.run();
    assert_eq!(world.running("b"), 0);
    assert!(!world.book.holds_slots());
}

#[test]
fn a_place_that_other_plugins_refuse_is_found_elsewhere() {
    // The server comes first and is never filtered before the worker completes the gang; its place is a guess.
    for mode in [Mode::Strict, Mode::NonStrict] {
        let mut world = World::of(&[2, 2]);
        world.cluster.refused = vec![(0, 0)];
        world.member("a", 0, 2, 0).membership.as_mut().unwrap().mode = mode;
        world.member("a", 1, 2, 2).membership.as_mut().unwrap().mode = mode;
        world.run();
        // The event of the worker's binding finds the server refused where it was to go; the next event helps.
        world.event();
        world.run();
        assert_eq!(world.running("a"), 2, "{mode:?}");
    }
}

#[test]
fn a_place_is_kept_while_a_nominated_pod_is_counted_in() {
    let mut world = World::of(&[3]);
    world.gang("a", 3, 1);
    world.run_until_first_bound();
    world.queue.clear();
    let rules = world.find("a-1").rules;
    for _ in 0..3 {
        world.cluster.refused.push((rules, 0));
        assert_eq!(world.reserve("a-1"), Outcome::NoNode);
        world.book.note_nominated(0);
        world.cluster.refused.clear();
        world.pod("single", 1);
        assert_eq!(world.reserve("single"), Outcome::NoNode);
        world.delete("single");
    }
    assert_eq!(world.reserve("a-1"), Outcome::Bound(0));
}

#[test]
fn a_place_that_others_refused_for_a_moment_is_good_again() {
    let mut world = World::of(&[3]);
    world.pod("leaving", 1).node = Some(0);
    world.queue.clear();
    world.gang("a", 2, 1);
    world.step();
    world.step();
    // Something keeps the second member off its place, and the first is lost.
    world.cluster.refused = vec![(1, 0)];
    world.step();
    world.delete("a-1");
    world.event();
    world.run();
    assert_eq!(world.running("a"), 0);
    world.cluster.refused.clear();
    world.member("a", 1, 2, 1);
    world.run();
    assert_eq!(world.running("a"), 0, "the refusal is believed for a while");
    world.delete("leaving");
    world.event();
    world.run();
    assert_eq!(world.running("a"), 2, "{}", world.reason("a-0"));
}

#[test]
fn one_per_node() {
    let mut world = World::of(&[8, 8]);
    world.gang("a", 3, 1);
    for pod in &mut world.cluster.pods {
        pod.per_node = 1;
    }
    world.run();
    assert_eq!(world.reason("a-2"), "gang ml/a: 3 of 3 members, needs 3 x (1 cpu, 1 nvidia.com/gpu), room for 2");
    world.node(1);
    world.event();
    world.run();
    assert_eq!(nodes_of(&world, "a"), [0, 1, 2]);
}

#[test]
fn deleted_members_are_forgotten() {
    let mut world = World::of(&[8]);
    world.member("a", 0, 3, 1);
    world.member("a", 1, 3, 1);
    world.run();
    world.delete("a-1");
    // Events wake those that are still there; after a few the other has missed too many.
    for _ in 0..6 {
        world.event();
        world.run();
    }
    assert_eq!(world.reason("a-0"), "gang ml/a: 1 of 3 members");
    world.member("a", 2, 3, 1);
    world.run();
    assert_eq!((world.running("a"), world.reason("a-2")), (0, "gang ml/a: 2 of 3 members"));
    // A new pod of the same name is not a further member.
    world.delete("a-2");
    world.member("a", 2, 3, 1);
    world.run();
    assert_eq!(world.running("a"), 0);
}

#[test]
fn slots_end_when_nobody_comes() {
    let start = || {
        let mut world = World::of(&[3]);
        world.clock_ms = 1_000_000;
        world.gang("a", 3, 1);
        world.run_until_first_bound();
        world.delete("a-0");
        world.delete("a-1");
        world.queue.clear();
        world.pod("single", 1);
        world.queue.clear();
        world
    };
    // By the clock, which starts to run when it is first seen to move.
    let mut world = start();
    assert_eq!(world.reserve("single"), Outcome::NoNode);
    world.clock_ms += 3_600_000;
    assert_eq!(world.reserve("single"), Outcome::NoNode);
    world.clock_ms += 60_000;
    assert_eq!(world.reserve("single"), Outcome::Bound(0));
    // Without a clock, because the same pod comes again and again; and if the clock stands still after a while.
    for moves in 0..3 {
        let mut world = start();
        for _ in 0..moves {
            world.clock_ms += 1_000;
            for _ in 0..4 {
                assert_eq!(world.reserve("single"), Outcome::NoNode);
            }
        }
        world.clock_ms += moves;
        for _ in 0..5 {
            assert_eq!(world.reserve("single"), Outcome::NoNode);
        }
        assert_eq!(world.reserve("single"), Outcome::Bound(0), "the clock moved {moves} times");
    }
}

impl World {
    fn run_until_first_bound(&mut self) {
        while let Some((_, outcome)) = self.step() {
            if let Outcome::Bound(_) = outcome {
                return;
            }
        }
    }
}

#[test]
fn the_older_gang_goes_first() {
    let mut world = World::of(&[]);
    world.gang("young", 2, 1);
    world.gang("old", 2, 1);
    for pod in &mut world.cluster.pods {
        pod.created = if pod.gang() == "ml/old" { 1 } else { 2 };
    }
    world.run();
    world.node(2);
    world.event();
    // The younger one is tried first.
    assert_eq!(world.step().unwrap(), ("young-0".into(), Outcome::Rejected(false)));
    assert_eq!(world.reason("young-0"), "gang ml/young: 2 of 2 members, gang ml/old goes first");
    world.run();
    assert_eq!((world.running("old"), world.running("young")), (2, 0));
}

#[test]
fn gangs_that_are_gone_are_not_waited_for_in_turns() {
    let mut world = World::of(&[]);
    for (created, gang) in [(3, "young"), (2, "old"), (1, "older")] {
        for index in 0..2 {
            world.member(gang, index, 2, 1).created = created;
        }
    }
    world.run();
    for pod in ["old-0", "old-1", "older-0", "older-1"] {
        world.delete(pod);
    }
    world.node(2);
    // Once for each that is gone.
    for _ in 0..2 {
        world.event();
        world.run();
        assert_eq!(world.running("young"), 0);
    }
    world.event();
    world.run();
    assert_eq!(world.running("young"), 2);
}

#[test]
fn those_that_fit_beside_each_other_go_before_a_younger_one() {
    let mut world = World::of(&[]);
    for (created, gang, members) in [(3, "young", 2), (2, "old", 1), (1, "older", 1)] {
        for index in 0..members {
            world.member(gang, index, members, 1).created = created;
        }
    }
    world.run();
    // Beside either there is room for the young one, beside both there is none.
    world.node(3);
    world.event();
    world.run();
    assert_eq!((world.running("older"), world.running("old"), world.running("young")), (1, 1, 0));
}

#[test]
fn higher_priority_takes_slots_that_are_not_in_use() {
    let mut world = World::of(&[3]);
    world.gang("low", 3, 1);
    world.queue.clear();
    world.reserve("low-0");
    world.reserve("low-1");
    assert_eq!(world.reserve("low-2"), Outcome::Bound(0));
    world.unbind("low-2");
    world.queue.clear();
    assert_eq!(world.book.slots().count(), 3);
    world.gang("high", 2, 1);
    for index in 0..2 {
        world.find_mut(&format!("high-{index}")).priority = 10;
    }
    world.run();
    assert_eq!((world.running("high"), world.running("low")), (2, 0));
    assert!(!world.book.holds_slots());
}

#[test]
fn equal_gangs_keep_the_slots_of_those_that_run() {
    let mut world = World::of(&[3]);
    world.gang("a", 3, 1);
    world.run_until_first_bound();
    world.queue.clear();
    world.gang("b", 2, 1);
    for index in 0..2 {
        world.find_mut(&format!("b-{index}")).created = -1;
    }
    world.run();
    assert_eq!((world.running("a"), world.running("b")), (1, 0));
    world.event();
    world.run();
    assert_eq!(world.running("a"), 3);
}

#[test]
fn preemption_is_tried_only_for_the_whole_gang() {
    let mut world = World::of(&[2, 2]);
    world.pod("low", 2).node = Some(0);
    world.pod("lower", 2).node = Some(1);
    world.queue.clear();
    world.gang("a", 2, 1);
    assert_eq!(world.reserve("a-0"), Outcome::Rejected(false), "incomplete");
    assert_eq!(world.reserve("a-1"), Outcome::Rejected(true), "complete, and it fits on emptier nodes");
    let freed: Resources = [(GPU, 2)].into_iter().collect();
    assert_eq!(world.book.filter(0, Some(&freed), &world.cluster), Ok(()));
    let too_little: Resources = [(GPU, 1)].into_iter().collect();
    assert_eq!(
        world.book.filter(0, Some(&too_little), &world.cluster),
        Err("gang ml/a: room for one member would not start it".into())
    );
    world.gang("b", 5, 1);
    for index in 0..5 {
        assert_eq!(world.reserve(&format!("b-{index}")), Outcome::Rejected(false), "it never fits");
    }
}

#[test]
fn room_made_by_preemption_is_believed() {
    // Node state lags: it still counts the victims. The nomination says that they are gone.
    let mut world = World::of(&[2]);
    world.pod("victim", 2).node = Some(0);
    world.queue.clear();
    world.gang("a", 1, 1);
    assert_eq!(world.reserve("a-0"), Outcome::Rejected(true));
    world.find_mut("a-0").nominated = Some(0);
    assert_eq!(world.reserve("a-0"), Outcome::NoNode, "the scheduler does not accept it yet");
    world.delete("victim");
    assert_eq!(world.reserve("a-0"), Outcome::Bound(0));
}

#[test]
fn hostile_members_are_harmless() {
    let mut world = World::of(&[1]);
    for index in 0..100 {
        let pod = world.member("a", index, u32::MAX, i64::MAX - i64::from(index));
        pod.membership.as_mut().unwrap().together_with = (0..32).map(|at| format!("ml/{at}").into()).collect();
    }
    world.run();
    assert_eq!(world.running("a"), 0);
    let rejection = Rejection::incomplete("", 0, 0);
    assert!(!rejection.preemption_may_help);
    let mut world = World::of(&[64]);
    for index in 0..60 {
        world.member("b", index, 60, 1).rules = index.into();
    }
    world.run();
    assert_eq!(world.running("b"), 0, "more kinds than are planned together");
}

fn membership(gang: &str, min: u32) -> Membership {
    Membership { gang: gang.into(), min: Some(min), ..Membership::default() }
}
