//! Random clusters with random histories.

use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{BindFault, Change, Options};

use super::world::{Spec, World, lag, node};

/// A random history.
#[derive(Clone, Debug)]
pub struct History {
    pub nodes: Vec<i64>,
    pub gangs: Vec<Gang>,
    pub singles: Vec<i64>,
    /// Whether these go before all gangs, or after.
    pub singles_first: bool,
    pub node_state: NodeState,
    /// How long a victim of preemption takes to leave, in seconds.
    pub leaving: u8,
    /// Milliseconds from one pod to the next.
    pub pace: u16,
    pub disturbances: Vec<(u16, Disturbance)>,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Gang {
    pub members: u32,
    pub min: u32,
    pub gpus: i64,
    /// How many more every second member asks for.
    pub more: i64,
    /// A leader that asks for no GPU.
    pub has_server: bool,
    pub priority: i32,
}

#[derive(Clone, Copy, Debug)]
pub enum NodeState {
    Exact,
    Lag(u16),
    None,
}

/// What disturbs a history, so many times its pace into it.
#[derive(Clone, Copy, Debug)]
pub enum Disturbance {
    BindingFails,
    Restart,
    MemberDeleted(u8),
    NodeLost(u8),
    NodeAdded(u8),
}

pub fn history() -> impl Strategy<Value = History> {
    let more = prop_oneof![3 => Just(0), 1 => 1..3_i64];
    let gang = (1..6_u32, 0..3_u32, 1..4_i64, more, any::<bool>(), 0..2_i32).prop_map(
        |(members, spare, gpus, more, has_server, priority)| Gang {
            members,
            min: members.saturating_sub(spare).max(1),
            gpus,
            more,
            has_server,
            priority,
        },
    );
    let node_state = prop_oneof![
        4 => Just(NodeState::Exact),
        3 => (1..30_000_u16).prop_map(NodeState::Lag),
        1 => Just(NodeState::None),
    ];
    let disturbance = prop_oneof![
        3 => Just(Disturbance::BindingFails),
        1 => Just(Disturbance::Restart),
        1 => any::<u8>().prop_map(Disturbance::MemberDeleted),
        1 => any::<u8>().prop_map(Disturbance::NodeLost),
        2 => any::<u8>().prop_map(Disturbance::NodeAdded),
    ];
    (
        prop::collection::vec(0..9_i64, 1..5),
        prop::collection::vec(gang, 1..4),
        prop::collection::vec(1..4_i64, 0..4),
        prop::bool::weighted(0.2),
        node_state,
        1..31_u8,
        prop_oneof![2 => Just(1), 1 => 1..3_000_u16],
        prop::collection::vec((0..60_u16, disturbance), 0..4),
        any::<u64>(),
    )
        .prop_map(|(nodes, gangs, singles, singles_first, node_state, leaving, pace, disturbances, seed)| {
            History { nodes, gangs, singles, singles_first, node_state, leaving, pace, disturbances, seed }
        })
}

impl Gang {
    /// What a member asks for.
    pub fn gpus_of(&self, index: u32) -> i64 {
        if self.has_server && index == 0 { 0 } else { self.gpus + self.more * i64::from(index % 2) }
    }
}

pub fn name(gang: usize) -> &'static str {
    ["a", "b", "c"][gang]
}

impl History {
    /// When a disturbance comes.
    fn time(&self, at: u16) -> Duration {
        Duration::from_millis(u64::from(at) * u64::from(self.pace))
    }

    /// When disturbances of a kind come.
    pub fn times(&self, is: fn(&Disturbance) -> bool) -> impl Iterator<Item = Duration> + Clone {
        self.disturbances.iter().filter(move |(_, it)| is(it)).map(|(at, _)| self.time(*at))
    }

    pub fn has(&self, is: fn(&Disturbance) -> bool) -> bool {
        self.times(is).next().is_some()
    }

    pub fn run(&self) -> World {
        let node_state = match self.node_state {
            NodeState::Exact => NodeStateMode::Exact,
            NodeState::Lag(ms) => lag(Duration::from_millis(ms.into())),
            NodeState::None => NodeStateMode::None,
        };
        let termination = Duration::from_secs(self.leaving.into());
        let on_cycle = Rc::new(|cycles| assert!(cycles < 3_000, "pods are tried again and again"));
        let options = Options { seed: self.seed, node_state, termination, on_cycle, ..Options::default() };
        let nodes = self.nodes.iter().enumerate().map(|(at, gpus)| node(&format!("gpu-{at}"), *gpus));
        // Without any node the scheduler asks nobody.
        let nodes = nodes.chain([node("cpu", 0)]);
        let mut world = World::with_options(nodes, json!({}), options);
        let mut arrivals: Vec<Spec> = Vec::new();
        for (at, gang) in self.gangs.iter().enumerate() {
            arrivals.extend(
                (0..gang.members)
                    .map(|index| Spec::member(name(at), index, gang.min, gang.gpus_of(index)).priority(gang.priority)),
            );
        }
        let singles = self.singles.iter().enumerate();
        let priority = if self.singles_first { 2 } else { 0 };
        arrivals.extend(singles.map(|(at, gpus)| Spec::single(&format!("single{at}"), *gpus).priority(priority)));
        let mut seed = self.seed;
        while !arrivals.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % arrivals.len();
            world.clock += Duration::from_millis((self.pace - 1).into());
            world.submit(&arrivals.swap_remove(at));
        }
        for (at, disturbance) in &self.disturbances {
            let change = match disturbance {
                Disturbance::BindingFails => Change::FailBindings(BindFault { pod: None, count: 1 }),
                Disturbance::Restart => Change::RestartScheduler,
                Disturbance::MemberDeleted(which) => {
                    let gang = usize::from(*which) % self.gangs.len();
                    let index = u32::from(*which) / 3 % self.gangs[gang].members;
                    Change::DeletePod(format!("ml/{}-{index}", name(gang)))
                }
                Disturbance::NodeLost(which) => {
                    Change::DeleteNode(format!("gpu-{}", usize::from(*which) % self.nodes.len()))
                }
                Disturbance::NodeAdded(gpus) => {
                    Change::SetNode(Box::new(node(&format!("new-{at}"), i64::from(gpus % 9)).node))
                }
            };
            world.sim.at(self.time(*at), change);
        }
        world.run_until_slots_end();
        world
    }
}
