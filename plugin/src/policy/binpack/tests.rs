use proptest::prelude::*;

use super::*;

fn amounts(cpu: i64, memory: i64) -> Resources {
    [(ResourceId::CPU, cpu), (ResourceId::MEMORY, memory)].into_iter().collect()
}

fn term(resource: ResourceId, request: i64) -> Term {
    Term { resource, request, weight: 1 }
}

#[test]
fn a_shape_is_linear_between_its_points_and_constant_outside() {
    // The in-tree plugin's own table for its piecewise function.
    type Table<'a> = (&'a [(i64, i64)], &'a [(i64, i64)]);
    let tables: [Table; 3] = [
        (
            &[(10, 1), (90, 9)],
            &[(-10, 1), (0, 1), (9, 1), (10, 1), (15, 1), (19, 1), (20, 2), (89, 8), (90, 9), (99, 9), (110, 9)],
        ),
        (&[(0, 2), (40, 10), (100, 0)], &[(-10, 2), (0, 2), (20, 6), (30, 8), (40, 10), (70, 5), (100, 0), (110, 0)]),
        (&[(0, 2), (40, 2), (100, 2)], &[(-10, 2), (0, 2), (20, 2), (40, 2), (100, 2), (110, 2)]),
    ];
    for (points, expected) in tables {
        let shape = Shape::new(points.iter().copied());
        for (utilization, score) in expected {
            assert_eq!(shape.at(*utilization) / 10, *score, "{points:?} at {utilization}");
        }
    }
    assert_eq!(Shape::new([]).at(50), 0);
}

#[test]
fn huge_amounts_are_exact() {
    let terms = [term(ResourceId::MEMORY, 1 << 61)];
    let formula = Formula::MostAllocated;
    assert_eq!(score(&formula, &terms, &amounts(0, 1 << 62), &amounts(0, 0)), 50);
    assert_eq!(score(&formula, &terms, &amounts(0, i64::MAX), &amounts(0, i64::MAX)), 100);
}

#[test]
fn a_gpu_decides_and_cpu_breaks_ties() {
    // Default weights on 8-GPU nodes: 7 GPUs used at 5 % cpu against none used at 80 %.
    let mut names = crate::object::ResourceNames::default();
    let gpu = names.intern("nvidia.com/gpu").expect("room");
    let mut gpus = GpuNames::default();
    gpus.learn(&names);
    let rest = ["cpu", "memory"].map(|name| (Counted::Named(name.into()), 1));
    let mut weighing = Weighing::new([(Counted::AnyGpu, 20)].into_iter().chain(rest).collect());
    weighing.learn(&names, &gpus);
    let pod: Resources = [(gpu, 1), (ResourceId::CPU, 100), (ResourceId::MEMORY, 1)].into_iter().collect();
    let terms = weighing.terms(&pod);
    let allocatable: Resources = [(gpu, 8), (ResourceId::CPU, 10_000), (ResourceId::MEMORY, 100)].into_iter().collect();
    let at = |gpus, cpu| {
        let used: Resources = [(gpu, gpus), (ResourceId::CPU, cpu)].into_iter().collect();
        score(&Formula::MostAllocated, &terms, &allocatable, &used)
    };
    assert!(at(7, 500) > at(0, 8_000));
    assert!(at(3, 0) > at(2, 9_900), "one GPU outweighs all of cpu and memory");
    assert!(at(3, 5_000) > at(3, 0), "cpu breaks the tie");
}

#[test]
fn a_pattern_counts_each_resource_it_matches_and_only_what_is_asked_for() {
    let mut names = crate::object::ResourceNames::default();
    let small = names.intern("nvidia.com/mig-1g.5gb").expect("room");
    let counted = [("nvidia.com/mig-*", 5), ("cpu", 1)].map(|(name, weight)| (Counted::Named(name.into()), weight));
    let mut weighing = Weighing::new(counted.to_vec());
    weighing.learn(&names, &GpuNames::default());
    let large = names.intern("nvidia.com/mig-3g.20gb").expect("room");
    weighing.learn(&names, &GpuNames::default());
    let pod: Resources = [(large, 1)].into_iter().collect();
    let terms = weighing.terms(&pod);
    assert!(terms.contains(&Term { resource: large, request: 1, weight: 5 }), "a name met later counts too");
    assert!(terms.iter().all(|term| term.resource != small));
}

fn formulas() -> impl Strategy<Value = Formula> {
    let shape = proptest::collection::btree_map(0i64..=100, 0i64..=10, 1..6);
    prop_oneof![
        Just(Formula::LeastAllocated),
        Just(Formula::MostAllocated),
        shape.prop_map(|points| Formula::RequestedToCapacityRatio(Shape::new(points))),
    ]
}

proptest! {
    #[test]
    fn scores_stay_within_0_and_100(
        formula in formulas(),
        requests in proptest::collection::vec((0u8..4, any::<i64>(), 1i64..=100), 0..6),
        allocatable in (any::<i64>(), any::<i64>()),
        requested in (any::<i64>(), any::<i64>()),
    ) {
        let ids = [ResourceId::CPU, ResourceId::MEMORY, ResourceId::EPHEMERAL_STORAGE, ResourceId::PODS];
        let terms: Vec<Term> = requests
            .into_iter()
            .map(|(id, request, weight)| Term { resource: ids[usize::from(id)], request, weight })
            .collect();
        let score = score(&formula, &terms, &amounts(allocatable.0, allocatable.1), &amounts(requested.0, requested.1));
        prop_assert!((0..=100).contains(&score));
    }

    #[test]
    fn the_fuller_node_never_scores_less_when_packing(
        rising in proptest::collection::vec((1i64..20, 0i64..4), 1..5),
        pod in (0i64..1000, 0i64..1000),
        allocatable in (1i64..4000, 1i64..4000),
        used in (0i64..4000, 0i64..4000),
        more in (0i64..500, 0i64..500),
    ) {
        // A shape that rises, or stays: never a zero score behind a positive one, where in-tree drops the weight.
        let (mut utilization, mut score_at) = (-1, 1);
        let points: Vec<(i64, i64)> = rising
            .into_iter()
            .map(|(step, rise)| {
                utilization += step;
                score_at = (score_at + rise).min(10);
                (utilization, score_at)
            })
            .collect();
        let terms = [term(ResourceId::CPU, pod.0), term(ResourceId::MEMORY, pod.1)];
        for formula in [Formula::MostAllocated, Formula::RequestedToCapacityRatio(Shape::new(points))] {
            let at = |used: (i64, i64)| score(&formula, &terms, &amounts(allocatable.0, allocatable.1), &amounts(used.0, used.1));
            prop_assert!(at((used.0 + more.0, used.1 + more.1)) >= at(used), "{formula:?}");
        }
    }
}
