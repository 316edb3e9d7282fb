//! Which of several gangs starts, on the real module: by priority, then by age, whatever order they came in.

use proptest::prelude::*;
use serde_json::json;
use stowage_host::simulation::{BindFault, Change};

use super::invariants::random_cases;
use super::world::{Spec, World, node};

/// Creation of gangs, the oldest first.
const CREATED: [&str; 5] = [
    "2025-12-31T11:00:00Z",
    "2025-12-31T11:10:00Z",
    "2025-12-31T11:20:00Z",
    "2025-12-31T11:30:00Z",
    "2025-12-31T11:40:00Z",
];

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

/// Gangs wait for a node.
#[derive(Clone, Debug)]
struct Case {
    /// The oldest first.
    gangs: Vec<Gang>,
    /// The order in which their members come.
    arrivals: Vec<(usize, u32)>,
    /// GPUs of the node.
    gpus: i64,
    failed_bindings: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let gang = (1..5_u32, 1..4_i64, 0..3_i32).prop_map(|(members, gpus, priority)| Gang { members, gpus, priority });
    let gangs = prop::collection::vec(gang, 2..=CREATED.len());
    gangs.prop_flat_map(|gangs| {
        let arrivals: Vec<(usize, u32)> =
            gangs.iter().enumerate().flat_map(|(at, gang)| (0..gang.members).map(move |index| (at, index))).collect();
        (Just(gangs), Just(arrivals).prop_shuffle(), 1..17_i64, 0..3_u32)
            .prop_map(|(gangs, arrivals, gpus, failed_bindings)| Case { gangs, arrivals, gpus, failed_bindings })
    })
}

impl Case {
    fn check(&self) {
        let mut world = World::new([node("cpu", 0)], json!({}));
        let name = |at: usize| format!("gang{at}");
        for (at, index) in &self.arrivals {
            let gang = self.gangs[*at];
            let spec = Spec::member(&name(*at), *index, gang.members, gang.gpus);
            world.submit(&spec.priority(gang.priority).created(CREATED[*at]));
        }
        world.run();
        for _ in 0..self.failed_bindings {
            world.then(Change::FailBindings(BindFault { pod: None, count: 1 }));
        }
        world.set_node(node("gpu", self.gpus));
        world.run();
        // I8: each in turn, if there is room for it beside those before it.
        let mut order: Vec<usize> = (0..self.gangs.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.gangs[*at].priority));
        let mut free = self.gpus;
        for at in order {
            let gang = self.gangs[at];
            let fits = gang.needs() <= free;
            let expected = if fits { gang.members } else { 0 };
            assert_eq!(world.running(&name(at)), expected as usize, "gang{at}{}", world.story());
            free -= if fits { gang.needs() } else { 0 };
        }
    }
}

#[test]
fn priority_then_age_counts_in_random_histories() {
    proptest!(random_cases(200), |(case in case())| case.check());
}
