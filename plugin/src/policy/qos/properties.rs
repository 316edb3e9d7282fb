//! What holds for every policy, pod and node.

use proptest::option;
use proptest::prelude::*;

use super::budget::budget;
use super::class::{Band, PodClass, QosClass};
use super::crane;
use super::estimate::{Estimation, Factors};
use super::filter::{Node, NodeThresholds, Pod, Reclaimed, filter};
use super::load::{Load, Percents};
use super::rules::{ClassRules, IllegalPairs, ReclaimedRules, Rules, Undeclared, WithoutUsage};
use super::score::score;
use super::usage::{Measurement, Usage};

fn percents() -> impl Strategy<Value = Percents> {
    (option::of(1_u8..=100), option::of(1_u8..=100)).prop_map(|(cpu, memory)| Percents { cpu, memory })
}

fn load(most: i64) -> impl Strategy<Value = Load> {
    (0..=most, 0..=most).prop_map(|(cpu, memory)| Load { cpu, memory })
}

fn without_usage() -> impl Strategy<Value = WithoutUsage> {
    prop_oneof![Just(WithoutUsage::Allow), Just(WithoutUsage::DenyBesideProtected), Just(WithoutUsage::Deny)]
}

fn class_rules() -> impl Strategy<Value = ClassRules> {
    (percents(), without_usage(), without_usage(), any::<bool>()).prop_map(
        |(usage_thresholds, unknown_usage, stale_usage, beside_protected)| ClassRules {
            usage_thresholds,
            unknown_usage,
            stale_usage,
            beside_protected,
        },
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    let undeclared = prop_oneof![Just(Undeclared::Ignore), Just(Undeclared::Known), Just(Undeclared::All)];
    let reclaimed = (any::<bool>(), 0_u8..=100);
    (undeclared, proptest::array::uniform5(class_rules()), percents(), reclaimed, percents(), percents()).prop_map(
        |(undeclared, classes, best_effort_share, (deny_overdrawn, reserve), hot, evicts_at)| Rules {
            illegal_pairs: IllegalPairs::Log,
            undeclared,
            classes,
            best_effort_share,
            reclaimed: ReclaimedRules { deny_overdrawn, reserve },
            estimation: Estimation::default(),
            hot,
            evicts_at,
            eviction_margin: 5,
        },
    )
}

/// Rules at least as strict in every field.
fn stricter(than: &Rules, by: &Rules) -> Rules {
    let tighter = |a: Option<u8>, b: Option<u8>| a.into_iter().chain(b).min();
    let both = |a: Percents, b: Percents| Percents { cpu: tighter(a.cpu, b.cpu), memory: tighter(a.memory, b.memory) };
    let mut classes = than.classes;
    for (row, other) in classes.iter_mut().zip(by.classes) {
        row.usage_thresholds = both(row.usage_thresholds, other.usage_thresholds);
        row.unknown_usage = row.unknown_usage.max(other.unknown_usage);
        row.stale_usage = row.stale_usage.max(other.stale_usage);
        row.beside_protected &= other.beside_protected;
    }
    Rules {
        undeclared: than.undeclared.max(by.undeclared),
        classes,
        best_effort_share: both(than.best_effort_share, by.best_effort_share),
        evicts_at: both(than.evicts_at, by.evicts_at),
        reclaimed: ReclaimedRules {
            deny_overdrawn: than.reclaimed.deny_overdrawn || by.reclaimed.deny_overdrawn,
            reserve: than.reclaimed.reserve.max(by.reclaimed.reserve),
        },
        ..than.clone()
    }
}

fn pod() -> impl Strategy<Value = Pod> {
    let qos = prop_oneof![
        Just(QosClass::System),
        Just(QosClass::Lse),
        Just(QosClass::Lsr),
        Just(QosClass::Ls),
        Just(QosClass::Be)
    ];
    let band = option::of(prop_oneof![Just(Band::Prod), Just(Band::Mid), Just(Band::Batch), Just(Band::Free)]);
    let class = (qos, band, any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(qos, band, declared, daemon_set)| PodClass { qos, band, declared, daemon_set });
    (class, load(600), load(600)).prop_map(|(class, estimate, requests)| Pod { class, estimate, requests })
}

fn usage() -> impl Strategy<Value = Usage> {
    prop_oneof![
        4 => load(1500).prop_map(|load| Usage::Known(Measurement { at: 0, load })),
        1 => Just(Usage::Stale { after: 180 }),
        1 => Just(Usage::Ahead),
        1 => Just(Usage::Unknown),
    ]
}

fn node() -> impl Strategy<Value = Node<'static>> {
    let reclaimed =
        (0_i64..1000, option::of(0_i64..1500), 0_i64..500).prop_map(|(allocatable, allocated, requested)| {
            &*Box::leak(Box::new([Reclaimed { name: "kubernetes.io/batch-cpu", allocatable, allocated, requested }]))
        });
    let thresholds =
        (option::of(percents()), any::<bool>()).prop_map(|(usage, prod_apart)| NodeThresholds { usage, prod_apart });
    let thresholds = prop_oneof![2 => Just(NodeThresholds::default()), 1 => thresholds];
    let evicts_at = prop_oneof![2 => Just(Percents::NONE), 1 => percents()];
    (load(1000), usage(), load(500), option::of(0_u32..3), option::of(load(1000)), thresholds, evicts_at, reclaimed)
        .prop_map(|(allocatable, usage, placed_since, protected, best_effort, thresholds, evicts_at, reclaimed)| Node {
            allocatable,
            usage,
            placed_since,
            protected,
            best_effort,
            thresholds,
            evicts_at,
            reclaimed,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn more_usage_never_turns_a_no_into_a_yes(
        rules in rules(), pod in pod(), node in node(), more in load(500), later in load(500),
    ) {
        let mut busier = node;
        if let Usage::Known(measured) = &mut busier.usage {
            measured.load = measured.load.plus(more);
        }
        busier.placed_since = busier.placed_since.plus(later);
        busier.best_effort = busier.best_effort.map(|requested| requested.plus(more));
        busier.protected = busier.protected.map(|hosted| hosted.saturating_add(1));
        if filter(&rules, &pod, &node).is_err() {
            prop_assert!(filter(&rules, &pod, &busier).is_err());
        }
        prop_assert!(score(&rules, &pod, &busier) <= score(&rules, &pod, &node));
    }

    #[test]
    fn a_larger_pod_is_never_easier_to_place(rules in rules(), pod in pod(), node in node(), more in load(500)) {
        let larger = Pod { estimate: pod.estimate.plus(more), requests: pod.requests.plus(more), ..pod };
        if filter(&rules, &pod, &node).is_err() {
            prop_assert!(filter(&rules, &larger, &node).is_err());
        }
    }

    #[test]
    fn a_stricter_policy_never_says_yes_more_often(loose in rules(), by in rules(), pod in pod(), node in node()) {
        if filter(&loose, &pod, &node).is_err() {
            prop_assert!(filter(&stricter(&loose, &by), &pod, &node).is_err());
        }
    }

    #[test]
    fn a_pod_that_no_rule_concerns_passes_everywhere(rules in rules(), pod in pod(), node in node()) {
        let own = node.thresholds.usage.is_some_and(|usage| !usage.is_none());
        let requests = node.reclaimed.iter().any(|resource| resource.requested > 0);
        if !rules.concern(pod.class, requests, own) {
            prop_assert_eq!(filter(&rules, &pod, &node), Ok(()));
        }
    }

    #[test]
    fn a_budget_is_what_the_rules_allow(rules in rules(), pod in pod(), node in node()) {
        // A reserve of batch and mid resources is about the resource itself, which planning counts anyway.
        let rules = Rules { reclaimed: ReclaimedRules { reserve: 0, ..rules.reclaimed }, ..rules };
        let fits = budget(&rules, pod.class, &node).is_some_and(|budget| budget.takes(&pod));
        prop_assert_eq!(filter(&rules, &pod, &node).is_ok(), fits);
    }

    #[test]
    fn scores_are_within_0_to_100(rules in rules(), pod in pod(), node in node()) {
        if let Some(score) = score(&rules, &pod, &node) {
            prop_assert!((0..=100).contains(&score));
        }
    }

    #[test]
    fn absurd_amounts_are_judged_without_overflow(
        rules in rules(), pod in pod(), node in node(), cpu in any::<i64>(), memory in any::<i64>(), used in any::<i64>(),
    ) {
        let absurd = Load { cpu, memory };
        let node = Node {
            allocatable: absurd,
            usage: Usage::Known(Measurement { at: used, load: Load { cpu: used, memory: used } }),
            placed_since: absurd,
            ..node
        };
        let pod = Pod { estimate: absurd, requests: absurd, ..pod };
        let _ = filter(&rules, &pod, &node);
        prop_assert!(score(&rules, &pod, &node).is_none_or(|score| (0..=100).contains(&score)));
    }

    #[test]
    fn estimates_grow_with_the_request_and_stop_at_the_limit(
        request in load(i64::MAX), more in load(1_000_000), limit in load(i64::MAX), cpu in 1_u16..1000, memory in 1_u16..1000,
    ) {
        let estimation = Estimation { scaling: Factors { cpu, memory }, default: Load::default() };
        let small = estimation.of(request, limit);
        let large = estimation.of(request.plus(more), limit);
        prop_assert!(large.cpu >= small.cpu && large.memory >= small.memory);
        prop_assert!(limit.cpu == 0 || small.cpu <= limit.cpu);
        prop_assert!(limit.memory == 0 || small.memory <= limit.memory);
    }

    #[test]
    fn annotations_are_read_or_refused(
        cpu in "[0-9.eE+,-]{0,24}|[0-9]{1,4}\\.[0-9]{0,9},[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z|.*",
        allocatable in any::<i64>(),
        offset in any::<i32>(),
    ) {
        let node = Load { cpu: allocatable, memory: allocatable };
        if let Some(measured) = crane::measurement(&cpu, &cpu, node, offset) {
            prop_assert!(allocatable < 0 || measured.load.cpu >= 0);
            prop_assert_eq!(measured.load.cpu, measured.load.memory);
        }
    }
}
