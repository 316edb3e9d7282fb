//! Gangs whose members name several schedulers.
//!
//! A file's pods are all scheduled here, whatever scheduler they name, so such a gang starts. On a cluster each scheduler sees
//! its own pods alone, and none of them ever sees the gang complete.

use std::collections::{BTreeMap, BTreeSet};

use stowage::cluster::pod_gang::Words;
use stowage::object::Pod;
use stowage::policy::gang::membership::Recognised;
use stowage::policy::gang::recognise::{Options, recognise};

use crate::object::PodObject;

/// The scheduler that the API server writes into pods that name none.
const DEFAULT: &str = "default-scheduler";

/// Most gangs that are named.
const MOST: usize = 3;

/// A note for each of the gangs of some pods that wait.
pub fn notes<'a>(pods: impl Iterator<Item = &'a PodObject>) -> Vec<String> {
    let mut gangs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for pod in pods {
        if let Some(gang) = gang(pod) {
            let named = pod.pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
            gangs.entry(gang).or_default().insert(named.filter(|name| !name.is_empty()).unwrap_or(DEFAULT));
        }
    }
    gangs.retain(|_, schedulers| schedulers.len() > 1);
    let named = gangs.iter().take(MOST).map(|(gang, schedulers)| {
        let schedulers: Vec<&str> = schedulers.iter().copied().collect();
        let schedulers = schedulers.join(", ");
        format!("members of gang {gang} name several schedulers ({schedulers}): on a cluster each sees its own alone")
    });
    let mut notes: Vec<String> = named.collect();
    if let Some(more) = gangs.len().checked_sub(MOST).filter(|more| *more > 0) {
        notes.push(format!("and so do those of {more} more gang(s)"));
    }
    notes
}

/// The gang of a pod that says so itself, whatever the policy adds.
fn gang(pod: &PodObject) -> Option<String> {
    let view = Pod::parse(pod.protobuf()).ok()?;
    let Ok(Recognised::Member(membership)) = recognise(&Words(&view), &Options::default()) else { return None };
    // Whoever names no namespace means this one.
    let namespace = if view.meta.namespace.is_empty() { "default" } else { "" };
    Some(format!("{namespace}{}", membership.gang))
}

#[cfg(test)]
mod tests {
    use super::super::{Priorities, Source, workload};

    fn member(gang: &str, name: &str, scheduler: &str) -> String {
        let metadata = format!(
            "metadata: {{name: {name}, annotations: {{stowage.dev/gang: {gang}, stowage.dev/gang-min: \"2\"}}}}"
        );
        let container = "{name: c, resources: {requests: {cpu: 1}}}";
        format!("---\napiVersion: v1\nkind: Pod\n{metadata}\nspec: {{{scheduler}containers: [{container}]}}\n")
    }

    fn notes(pods: &[String]) -> Vec<String> {
        workload(&[Source::new("w.yaml", pods.concat())], &Priorities::default()).unwrap().notes
    }

    #[test]
    fn gangs_of_several_schedulers_are_noted() {
        let ours = "schedulerName: stowage-scheduler, ";
        let whole =
            [member("a", "a-0", ours), member("a", "a-1", ours), member("b", "b-0", ""), member("b", "b-1", "")];
        assert_eq!(notes(&whole), [""; 0]);
        let note = |gang: &str| {
            format!(
                "members of gang default/{gang} name several schedulers (default-scheduler, stowage-scheduler): on a \
                 cluster each sees its own alone"
            )
        };
        let split: Vec<_> = ["a", "b", "c", "d", "e"]
            .iter()
            .flat_map(|gang| [member(gang, &format!("{gang}-0"), ours), member(gang, &format!("{gang}-1"), "")])
            .collect();
        assert_eq!(notes(&split[..2]), [note("a")]);
        let more = "and so do those of 2 more gang(s)".to_owned();
        assert_eq!(notes(&split), [note("a"), note("b"), note("c"), more]);
    }
}
