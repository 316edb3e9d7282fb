//! Koordinator's groups of gangs, on the real module in random clusters: all gangs of a group start, or none does.

use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{BindFault, Change, Options};

use super::history::NodeState;
use super::invariants::random_cases;
use super::world::{Spec, World, lag, node};

/// Groups wait for room.
#[derive(Clone, Debug)]
struct Case {
    /// GPUs of the nodes at the start.
    nodes: Vec<i64>,
    groups: Vec<Group>,
    /// Pods by themselves, in everybody's way.
    singles: Vec<i64>,
    node_state: NodeState,
    /// Milliseconds from one pod to the next.
    pace: u16,
    /// In which order pods come.
    order: u64,
    /// What happens meanwhile, so many times the pace into it.
    meanwhile: Vec<(u16, Event)>,
    seed: u64,
}

#[derive(Clone, Debug)]
struct Group {
    gangs: Vec<Gang>,
    priority: i32,
    /// Koordinator's annotations of all members, if they have any.
    mode: Option<&'static str>,
    match_policy: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct Gang {
    /// May be fewer than its minimum.
    members: u32,
    min: u32,
    gpus: i64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    BindingFails,
    NodeAdded(i64),
}

fn case() -> impl Strategy<Value = Case> {
    // Others wait for one that is too small for good.
    let more = prop_oneof![3 => Just(0), 2 => Just(1), 1 => Just(-1)];
    let gang = (1..4_u32, more, prop_oneof![2 => Just(1), 1 => 1..4_i64]).prop_map(|(min, more, gpus)| Gang {
        members: min.saturating_add_signed(more),
        min,
        gpus,
    });
    let mode = prop_oneof![3 => Just(None), 1 => Just(Some("NonStrict"))];
    let match_policy = prop_oneof![
        2 => Just(None),
        1 => Just(Some("waiting-and-running")),
        1 => Just(Some("only-waiting")),
    ];
    let group = (prop::collection::vec(gang, 2..4), 0..2_i32, mode, match_policy)
        .prop_map(|(gangs, priority, mode, match_policy)| Group { gangs, priority, mode, match_policy });
    let node_state = prop_oneof![
        3 => Just(NodeState::Exact),
        3 => (1..30_000_u16).prop_map(NodeState::Lag),
        1 => Just(NodeState::None),
    ];
    let event = prop_oneof![Just(Event::BindingFails), (1..9_i64).prop_map(Event::NodeAdded)];
    (
        prop::collection::vec(0..9_i64, 1..5),
        prop::collection::vec(group, 1..3),
        prop::collection::vec(1..4_i64, 0..3),
        node_state,
        prop_oneof![2 => Just(1), 1 => 1..3_000_u16],
        any::<u64>(),
        prop::collection::vec((0..40_u16, event), 0..4),
        any::<u64>(),
    )
        .prop_map(|(nodes, groups, singles, node_state, pace, order, meanwhile, seed)| Case {
            nodes,
            groups,
            singles,
            node_state,
            pace,
            order,
            meanwhile,
            seed,
        })
}

fn name(group: usize, gang: usize) -> String {
    format!("group{group}-gang{gang}")
}

impl Case {
    fn arrivals(&self) -> Vec<Spec> {
        let mut arrivals: Vec<Spec> =
            self.singles.iter().enumerate().map(|(at, gpus)| Spec::single(&format!("single{at}"), *gpus)).collect();
        for (at, group) in self.groups.iter().enumerate() {
            let names: Vec<String> = (0..group.gangs.len()).map(|gang| format!("ml/{}", name(at, gang))).collect();
            for (index, gang) in group.gangs.iter().enumerate() {
                let mut annotations = vec![
                    ("name", name(at, index)),
                    ("min-available", gang.min.to_string()),
                    ("groups", json!(names).to_string()),
                ];
                annotations.extend(group.mode.map(|mode| ("mode", mode.to_owned())));
                annotations.extend(group.match_policy.map(|policy| ("match-policy", policy.to_owned())));
                arrivals.extend((0..gang.members).map(|member| {
                    // Preemption takes no group as a whole.
                    let spec = Spec::single(&format!("{}-{member}", name(at, index)), gang.gpus)
                        .priority(group.priority)
                        .with(json!({"preemptionPolicy": "Never"}));
                    annotations.iter().fold(spec, |spec, (key, value)| {
                        spec.annotation(&format!("gang.scheduling.koordinator.sh/{key}"), value)
                    })
                }));
            }
        }
        let mut order = self.order;
        for at in (1..arrivals.len()).rev() {
            order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            arrivals.swap(at, (order >> 33) as usize % (at + 1));
        }
        arrivals
    }

    fn run(&self) -> World {
        let node_state = match self.node_state {
            NodeState::Exact => NodeStateMode::Exact,
            NodeState::Lag(ms) => lag(Duration::from_millis(ms.into())),
            NodeState::None => NodeStateMode::None,
        };
        let on_cycle = Rc::new(|cycles| assert!(cycles < 3_000, "pods are tried again and again"));
        let options = Options { seed: self.seed, node_state, on_cycle, ..Options::default() };
        let nodes = self.nodes.iter().enumerate().map(|(at, gpus)| node(&format!("gpu-{at}"), *gpus));
        let mut world = World::with_options(nodes, json!({}), options);
        for spec in self.arrivals() {
            world.clock += Duration::from_millis((self.pace - 1).into());
            world.submit(&spec);
        }
        for (at, event) in &self.meanwhile {
            let change = match event {
                Event::BindingFails => Change::FailBindings(BindFault { pod: None, count: 1 }),
                Event::NodeAdded(gpus) => Change::SetNode(Box::new(node(&format!("new-{at}"), *gpus).node)),
            };
            world.sim.at(Duration::from_millis(u64::from(*at) * u64::from(self.pace)), change);
        }
        world.run_until_slots_end();
        world
    }

    fn check(&self) {
        let world = self.run();
        for (at, group) in self.groups.iter().enumerate() {
            let gangs = || group.gangs.iter().enumerate();
            let running = |gang: usize| world.running(&name(at, gang));
            let all_start = gangs().all(|(gang, it)| running(gang) >= it.min as usize);
            let none_starts = gangs().all(|(gang, _)| running(gang) == 0);
            assert!(all_start || none_starts, "a part of group {at} runs{}", world.story());
            let complete = group.gangs.iter().all(|gang| gang.members >= gang.min);
            let small = group.gangs.iter().all(|gang| gang.gpus == 1);
            if !all_start && complete && small {
                let needs: u32 = group.gangs.iter().map(|gang| gang.min).sum();
                let room = self.room(&world);
                assert!(room < needs.into(), "group {at} needs {needs} GPUs of {room} and waits{}", world.story());
            }
        }
    }

    /// Members with a GPU each for which there is room. Without node state a node counts for one.
    fn room(&self, world: &World) -> i64 {
        let free = world.free();
        let one_each = matches!(self.node_state, NodeState::None);
        free.values().map(|free| if one_each { (*free).min(1) } else { *free }).sum()
    }
}

#[test]
fn start_as_a_whole_in_random_histories() {
    proptest!(random_cases(2_000), |(case in case())| case.check());
}

/// The clock had stood still for half a minute when a binding failed. With its next move the member seemed to have stayed away
/// for that long, and lost its place.
#[test]
fn a_quiet_time_is_no_absence() {
    let gang = |members, min, gpus| Gang { members, min, gpus };
    let group = Group {
        gangs: vec![gang(3, 3, 1), gang(4, 3, 3), gang(3, 2, 1)],
        priority: 0,
        mode: None,
        match_policy: Some("only-waiting"),
    };
    Case {
        nodes: vec![5, 4],
        groups: vec![group],
        singles: vec![1],
        node_state: NodeState::Exact,
        pace: 1_223,
        order: 9_884_923_816_760_791_275,
        meanwhile: vec![(3, Event::BindingFails), (30, Event::NodeAdded(4)), (27, Event::NodeAdded(7))],
        seed: 8_145_762_131_422_239_038,
    }
    .check();
}
