//! Annotations with which pods ask another scheduler to pack them.
//!
//! Whoever moves from one scheduler to another takes them along and expects them to count. They are no error, since a pod
//! may be meant for both, but whoever reads of them knows why the result is another.

use std::collections::BTreeMap;

use crate::object::PodObject;

/// Keys, and whose they are.
const KEYS: [(&str, &str); 3] = [
    ("hami.io/node-scheduler-policy", "HAMi"),
    ("hami.io/gpu-scheduler-policy", "HAMi"),
    ("hami.io/device-scoring-weights", "HAMi"),
];

/// Most values of a key, and most letters of a value, that are shown.
const MOST: usize = 3;
const LONGEST: usize = 40;

/// A note for each of the keys that some pods have, with their values.
pub fn notes<'a>(pods: impl Iterator<Item = &'a PodObject>) -> Vec<String> {
    let mut values: [BTreeMap<&str, usize>; KEYS.len()] = Default::default();
    for annotations in pods.filter_map(|pod| pod.pod.metadata.annotations.as_ref()) {
        for ((key, _), values) in KEYS.iter().zip(&mut values) {
            if let Some(value) = annotations.get(*key) {
                *values.entry(value).or_default() += 1;
            }
        }
    }
    let found = KEYS.iter().zip(&values).filter(|(_, values)| !values.is_empty());
    found
        .map(|((key, origin), values)| {
            let pods: usize = values.values().sum();
            let shown = |(value, pods): (&&str, &usize)| {
                let value: String = value.chars().take(LONGEST).collect();
                format!("{value:?} x {pods}")
            };
            let shown: Vec<String> = values.iter().map(shown).take(MOST).collect();
            let (shown, more) = (shown.join(", "), if values.len() > MOST { ", ..." } else { "" });
            format!("{pods} pod(s) have {origin}'s annotation {key} ({shown}{more}), which nothing here reads: the policy packs")
        })
        .collect()
}
