//! Which of several gangs starts, on the real module: by priority, then by age, whatever order they came in.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use stowage_host::publisher::NodeStateMode;
use stowage_host::simulation::{BindFault, Change, Options};

use super::invariants::random_cases;
use super::world::{Spec, World, node};

/// Creation of gangs, the oldest first.
const CREATED: [&str; 4] =
    ["2025-12-31T11:00:00Z", "2025-12-31T11:10:00Z", "2025-12-31T11:20:00Z", "2025-12-31T11:30:00Z"];

/// Longer than a gang takes to start, with the backoffs of members whose bindings fail.
const LAG: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
struct Gang {
    members: u32,
    gpus: i64,
    priority: i32,
}

impl Gang {
    fn needs(self) -> i64 {
        i64::from(self.members) * self.gpus
    }
}

/// What the module learns of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    AtOnce,
    /// After [`LAG`].
    Late,
    Never,
}

/// Gangs wait for nodes, which come one after another, each when all is quiet.
#[derive(Clone, Debug)]
struct Case {
    /// The oldest first.
    gangs: Vec<Gang>,
    /// The order in which their members come.
    arrivals: Vec<(usize, u32)>,
    /// GPUs of the nodes. With several, all members are alike: else it would matter which nodes are chosen.
    nodes: Vec<i64>,
    known: Known,
    failed_bindings: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let gang = (1..4_u32, 1..4_i64, 0..3_i32).prop_map(|(members, gpus, priority)| Gang { members, gpus, priority });
    let gangs = prop::collection::vec(gang, 2..=CREATED.len());
    let known = prop_oneof![2 => Just(Known::AtOnce), 1 => Just(Known::Late), 1 => Just(Known::Never)];
    let one = ((1..13_i64).prop_map(|gpus| vec![gpus]), known);
    let several = (prop::collection::vec(1..7_i64, 2..5), Just(Known::AtOnce));
    (gangs, prop_oneof![one, several], 0..3_u32).prop_flat_map(|(mut gangs, (nodes, known), failed_bindings)| {
        if nodes.len() > 1 {
            let alike = gangs[0].gpus;
            gangs.iter_mut().for_each(|gang| gang.gpus = alike);
        }
        let arrivals: Vec<(usize, u32)> =
            gangs.iter().enumerate().flat_map(|(at, gang)| (0..gang.members).map(move |index| (at, index))).collect();
        Just(arrivals).prop_shuffle().prop_map(move |arrivals| Case {
            gangs: gangs.clone(),
            arrivals,
            nodes: nodes.clone(),
            known,
            failed_bindings,
        })
    })
}

/// What should have come of a case so far.
struct Expected<'a> {
    gangs: &'a [Gang],
    runs: Vec<bool>,
    /// GPUs that members can be given.
    free: i64,
}

impl Expected<'_> {
    /// I8: each gang of up to so many members in turn, if there is room for it beside those before it.
    fn start(&mut self, most_members: u32) {
        let mut order: Vec<usize> = (0..self.gangs.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.gangs[*at].priority));
        for at in order {
            let gang = self.gangs[at];
            if !self.runs[at] && gang.members <= most_members && gang.needs() <= self.free {
                self.runs[at] = true;
                self.free -= gang.needs();
            }
        }
    }
}

impl Case {
    fn check(&self) {
        let node_state = match self.known {
            Known::AtOnce => NodeStateMode::Exact,
            Known::Late => NodeStateMode::Lag(LAG),
            Known::Never => NodeStateMode::None,
        };
        let options = Options { node_state, ..Options::default() };
        let mut world = World::with_options([node("cpu", 0)], json!({}), options);
        let name = |at: usize| format!("gang{at}");
        for (at, index) in &self.arrivals {
            let gang = self.gangs[*at];
            let spec = Spec::member(&name(*at), *index, gang.members, gang.gpus);
            let spec = spec.priority(gang.priority).created(CREATED[*at]);
            // What runs stays: this is about who is let through.
            world.submit(&spec.with(json!({"preemptionPolicy": "Never"})));
        }
        world.run();
        for _ in 0..self.failed_bindings {
            world.then(Change::FailBindings(BindFault { pod: None, count: 1 }));
        }
        let mut expected = Expected { gangs: &self.gangs, runs: vec![false; self.gangs.len()], free: 0 };
        for (at, gpus) in self.nodes.iter().enumerate() {
            world.set_node(node(&format!("gpu-{at}"), *gpus));
            world.run();
            // What is too small for a member is of no use where all are alike.
            expected.free += if self.nodes.len() > 1 { gpus - gpus % self.gangs[0].gpus } else { *gpus };
            if self.known != Known::AtOnce {
                // It counts for one member.
                expected.start(1);
            }
            if self.known != Known::Never {
                expected.start(u32::MAX);
            }
            for (at, gang) in self.gangs.iter().enumerate() {
                let running = if expected.runs[at] { gang.members } else { 0 };
                assert_eq!(world.running(&name(at)), running as usize, "gang{at}{}", world.story());
            }
        }
    }
}

#[test]
fn priority_then_age_counts_in_random_histories() {
    proptest!(random_cases(2_000), |(case in case())| case.check());
}
