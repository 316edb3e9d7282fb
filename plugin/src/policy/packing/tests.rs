use proptest::prelude::*;

use super::*;

const GPU: Kind = Kind(0);

fn pod(devices: u32, milli: u32, cpu: i64) -> PodShape {
    PodShape { kind: GPU, models: Models::ANY, devices, milli, cpu, memory: 0 }
}

fn node(cpu_free: i64, free_milli: &[i64]) -> NodeCapacity {
    NodeCapacity {
        allocatable: Free { cpu: 64_000, memory: 1 << 38 },
        free: Free { cpu: cpu_free, memory: 1 << 37 },
        models: NodeModels::default(),
        pools: vec![Pool::by_device(GPU, 1000, free_milli.iter().copied())],
    }
}

fn packing(pods: &[(PodShape, u32)], nodes: &[NodeCapacity]) -> Packing {
    let mut packing = Packing::new(10_000);
    pods.iter().for_each(|(shape, pods)| packing.expect(shape, *pods));
    nodes.iter().enumerate().for_each(|(at, node)| packing.update_node(at, node.clone()));
    packing
}

fn regrets(packing: &mut Packing, pod: &PodShape, nodes: usize) -> Vec<Option<f64>> {
    let mut all = vec![None; nodes];
    packing.regrets(pod, 0..nodes, |at, regret| all[at] = Some(regret));
    all
}

/// Nodes from least to most regret; those that cannot take the pod are left out.
fn ranking(packing: &mut Packing, pod: &PodShape, nodes: usize) -> Vec<usize> {
    let mut ranked: Vec<_> =
        regrets(packing, pod, nodes).into_iter().enumerate().filter_map(|(at, r)| Some((at, r?))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked.into_iter().map(|(at, _)| at).collect()
}

#[test]
fn a_large_pod_keeps_its_room() {
    // Typical pods take one GPU or four; the half-used node serves a pod of one without breaking up the empty one.
    let nodes = [node(64_000, &[1000; 4]), node(32_000, &[1000, 1000, 0, 0])];
    let mut packing = packing(&[(pod(1, 1000, 4000), 10), (pod(4, 1000, 16_000), 10)], &nodes);
    assert_eq!(ranking(&mut packing, &pod(1, 1000, 4000), 2), [1, 0]);
    assert_eq!(ranking(&mut packing, &pod(4, 1000, 16_000), 2), [0], "does not fit on the other");
}

#[test]
fn a_pod_that_needs_cpu_leaves_gpus_with_what_their_pods_need() {
    let nodes = [node(64_000, &[1000; 4]), node(32_000, &[1000; 4]), NodeCapacity { pools: vec![], ..node(8000, &[]) }];
    let mut packing = packing(&[(pod(1, 1000, 8000), 10)], &nodes);
    let found = regrets(&mut packing, &pod(0, 0, 8000), 3);
    assert_eq!(found, [Some(0.0), Some(1000.0), Some(0.0)], "cpu to spare, cpu for four GPUs, no GPU");
}

#[test]
fn what_nobody_else_can_use_is_taken_first() {
    // On the second node there is cpu for no typical pod, but for this one.
    let nodes = [node(64_000, &[1000; 4]), node(1000, &[1000; 4])];
    let mut packing = packing(&[(pod(1, 1000, 8000), 10)], &nodes);
    assert_eq!(regrets(&mut packing, &pod(1, 1000, 1000), 2), [Some(0.0), Some(-1000.0)]);
}

#[test]
fn one_of_eight_devices_is_missed_as_much_as_one_of_four() {
    let nodes = [node(64_000, &[1000; 8]), node(64_000, &[&[0; 4][..], &[1000; 4]].concat()), node(64_000, &[1000; 7])];
    let mut packing = packing(&[(pod(4, 1000, 4000), 10), (pod(1, 1000, 4000), 10)], &nodes);
    let found: Vec<f64> = regrets(&mut packing, &pod(1, 1000, 4000), 3).into_iter().flatten().collect();
    assert_eq!(found[0], found[1], "either ends the room of a pod of four");
    assert!(found[1] > found[2] + 500.0, "three of the seven are of no use to pods of four: {found:?}");
}

#[test]
fn members_of_a_gang_count_as_what_they_take_of_a_node_together() {
    let nodes = [node(64_000, &[1000; 8]), node(64_000, &[&[0; 6][..], &[1000; 2]].concat())];
    let small = pod(1, 1000, 1000);
    let mut packing = packing(&[], &nodes);
    (0..16).for_each(|_| packing.observe(&small, 8));
    assert_eq!(ranking(&mut packing, &small, 2), [1, 0], "room for eight is kept");
    let loser = packing.explain(&small, 0).and_then(|explained| explained.loser);
    assert_eq!(loser, Some((small.times(8), 8000.0)));
}

#[test]
fn models_that_are_asked_for_are_spared() {
    let (old, new) = (Model::new(0).unwrap(), Model::new(1).unwrap());
    let nodes =
        [old, new].map(|model| NodeCapacity { models: [model].into_iter().collect(), ..node(64_000, &[1000; 4]) });
    let picky = PodShape { models: Models::ANY.only([new]), ..pod(1, 1000, 4000) };
    let mut packing = packing(&[(pod(1, 1000, 4000), 10), (picky, 10)], &nodes);
    assert_eq!(ranking(&mut packing, &pod(1, 1000, 4000), 2), [0, 1]);
    assert!(!picky.models.admit(NodeModels::default()), "an unknown model serves only those who take any");
}

#[test]
fn kinds_of_devices_do_not_stand_for_each_other() {
    let slice = Kind(1);
    let pools = vec![Pool::by_device(GPU, 1000, [1000; 2]), Pool::filled(slice, 143, 7, 3000)];
    let nodes = [NodeCapacity { pools, ..node(64_000, &[]) }, node(64_000, &[1000; 2])];
    let on_slice = |devices| PodShape { kind: slice, ..pod(devices, 1000, 1000) };
    let mut packing = packing(&[(pod(1, 1000, 4000), 10), (on_slice(1), 10)], &nodes);
    let found = regrets(&mut packing, &on_slice(1), 2);
    assert!(found[0].is_some_and(|regret| regret <= 0.0) && found[1].is_none(), "{found:?}");
    assert!(regrets(&mut packing, &on_slice(5), 2)[0].is_none(), "four are left");
}

#[test]
fn there_is_no_opinion_before_a_gpu_pod_was_seen_or_without_a_gpu() {
    let mut nothing_seen = packing(&[], &[node(64_000, &[1000; 4])]);
    nothing_seen.observe(&pod(0, 0, 1000), 1);
    assert!(!nothing_seen.regrets(&pod(0, 0, 1000), 0..1, |_, _| panic!("found something")));
    let mut no_gpu = packing(&[(pod(1, 1000, 0), 1)], &[NodeCapacity { pools: vec![], ..node(64_000, &[]) }]);
    assert!(!no_gpu.regrets(&pod(0, 0, 1000), 0..1, |_, _| panic!("found something")));
}

#[test]
fn unknown_and_removed_nodes_get_no_opinion() {
    let mut packing = packing(&[(pod(1, 1000, 0), 1)], &[node(64_000, &[1000]), node(64_000, &[1000])]);
    packing.remove_node(0);
    assert_eq!(regrets(&mut packing, &pod(1, 1000, 0), 3), [None, Some(0.0), None]);
}

#[test]
fn explain_names_what_is_lost() {
    let nodes = [node(64_000, &[1000; 4])];
    let mut packing = packing(&[(pod(1, 500, 1000), 5), (pod(4, 1000, 16_000), 1)], &nodes);
    let found = regrets(&mut packing, &pod(1, 500, 1000), 1);
    let explained = packing.explain(&pod(1, 500, 1000), 0).unwrap();
    assert!((explained.regret - found[0].unwrap()).abs() < 0.01);
    assert_eq!(explained.loser, Some((pod(4, 1000, 16_000), 4000.0)), "the last place for four GPUs is gone");
    assert_eq!(explained.value, Some((4000, 3485)));
}

#[test]
fn scores_are_relative_to_the_best() {
    assert_eq!([-300.0, -299.0, -200.0, 0.0, 1e9].map(|regret| score(regret, -300.0)), [100, 99, 50, 25, 0]);
    assert_eq!([5000.0, 5100.0].map(|regret| score(regret, 5000.0)), [100, 50]);
}

prop_compose! {
    fn any_pod()(kind in 0..2_u16, devices in 0..9_u32, milli in 1..100_u32, cpu in 0..20_000_i64, models in 0..8_u64)
        -> PodShape
    {
        let some = Models::ANY.only((0..3).filter(|bit| models & (1 << bit) != 0).filter_map(Model::new));
        PodShape {
            kind: Kind(kind),
            models: if models == 0 { Models::ANY } else { some },
            milli: if devices == 1 { milli * 10 } else { DEVICE },
            devices,
            cpu,
            memory: cpu << 20,
        }
    }
}

prop_compose! {
    fn any_node()(
        cpu in -1000..64_000_i64,
        memory in 0..64_i64,
        model in 0..4_usize,
        gpus in prop::collection::vec(0..=100_i64, 0..9),
        slices in 0..8_u32,
        used in 0..9000_i64,
    ) -> NodeCapacity {
        NodeCapacity {
            allocatable: Free { cpu: 64_000, memory: 64 << 30 },
            free: Free { cpu, memory: memory << 30 },
            models: Model::new(model).into_iter().collect(),
            pools: vec![
                Pool::by_device(Kind(0), 1000, gpus.into_iter().map(|free| free * 10)),
                Pool::filled(Kind(1), 143, slices, used),
            ],
        }
    }
}

fn any_pods() -> impl Strategy<Value = Vec<(PodShape, u32)>> {
    prop::collection::vec((any_pod(), 1..50_u32), 1..12)
}

proptest! {
    #[test]
    fn no_placement_gains_more_than_the_pod_uses(
        pods in any_pods(), nodes in prop::collection::vec(any_node(), 1..12), pod in any_pod(),
    ) {
        let uses = pod.volume() as f64;
        for regret in regrets(&mut packing(&pods, &nodes), &pod, nodes.len()).into_iter().flatten() {
            prop_assert!(regret >= -uses - 0.1, "{regret} of {uses}");
            prop_assert!(regret.is_finite());
        }
    }

    #[test]
    fn the_order_of_nodes_and_pods_means_nothing(
        pods in any_pods(), nodes in prop::collection::vec(any_node(), 1..12), pod in any_pod(), turn in 0..12_usize,
    ) {
        let one = regrets(&mut packing(&pods, &nodes), &pod, nodes.len());
        let (mut pods, mut nodes) = (pods, nodes);
        let turn = turn % nodes.len();
        nodes.rotate_left(turn);
        pods.reverse();
        let mut other = regrets(&mut packing(&pods, &nodes), &pod, nodes.len());
        let turn = turn.min(other.len());
        other.rotate_right(turn);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn what_is_kept_is_what_would_be_found_again(
        pods in any_pods(),
        nodes in prop::collection::vec(any_node(), 1..8),
        steps in prop::collection::vec((any_pod(), 0..8_usize, any_node(), any::<bool>()), 1..12),
    ) {
        let mut kept = packing(&pods, &nodes);
        for (pod, at, node, remove) in steps {
            if remove { kept.remove_node(at) } else { kept.update_node(at, node) }
            let found = regrets(&mut kept, &pod, 8);
            for (at, regret) in found.into_iter().enumerate() {
                let again = kept.explain(&pod, at).map(|explained| explained.regret);
                prop_assert_eq!(regret.is_some(), again.is_some());
                prop_assert!(regret.zip(again).is_none_or(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0)));
            }
        }
    }

    #[test]
    fn an_exact_hole_is_filled_before_a_device_is_opened(pods in any_pods(), milli in 1..100_u32, used in 0..7_usize) {
        // The nodes differ by the hole only; cpu and memory are no matter.
        let pods: Vec<_> = pods.into_iter().map(|(p, n)| (pod(p.devices, p.milli, 0), n)).collect();
        let with = |free: i64| node(64_000, &[vec![0; used], vec![free]].concat());
        let mut packing = packing(&pods, &[with(i64::from(milli * 10)), with(1000)]);
        let found = regrets(&mut packing, &pod(1, milli * 10, 0), 2);
        // No opinion if no typical pod can use either node.
        if let [Some(hole), Some(opened)] = found[..] {
            // Values of holes are whole thousandths.
            prop_assert!(hole <= opened + 1.0, "{hole} {opened}");
        }
    }
}
