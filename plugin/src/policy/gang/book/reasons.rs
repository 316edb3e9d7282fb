//! Rejections in words. The same situation is always worded the same: the scheduler patches the pod's condition when
//! the words change, and people compare them.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::gang::{Counts, Gang};
use super::planning::NoPlan;
use super::{Facts, PLENTY, Rejection};
use crate::gather::Gather;
use crate::object::{ResourceId, Resources};
use crate::policy::gang::planner::{NodeRow, Shortage};
use crate::text::join;

impl Rejection {
    fn for_good(reason: String) -> Self {
        Self { preemption_may_help: false, reason }
    }

    /// Members have yet to come.
    pub(super) fn incomplete(gang: &str, have: u32, min: u32) -> Self {
        Self::for_good(members(gang, have, min))
    }

    /// A gang that starts together with this one has yet to come.
    pub(super) fn partner_incomplete(gang: &str, have: u32, min: u32, partner: &str, counts: (u32, u32)) -> Self {
        let (partner_have, partner_min) = counts;
        let mut reason = members(gang, have, min);
        say_to!(&mut reason, ", starts together with gang ", partner, ": ", partner_have);
        if partner_min > 0 {
            say_to!(&mut reason, " of ", partner_min);
        }
        reason.push_str(MEMBERS);
        Self::for_good(reason)
    }

    /// Nobody has told how many members there should be.
    pub(super) fn unknown_size(gang: &str, have: u32) -> Self {
        let tell = ", size unknown: neither pods nor policy (gang.sizes) nor publisher (stowage.dev/gang-size) tell";
        Self::for_good(say!("gang ", gang, ": ", have, MEMBERS, tell))
    }

    /// There is room, but another gang has precedence.
    pub(super) fn after(gang: &str, have: u32, min: u32, first: &str) -> Self {
        let mut reason = members(gang, have, min);
        say_to!(&mut reason, ", gang ", first, " goes first");
        Self::for_good(reason)
    }

    /// A pod by itself would keep a gang below its minimum.
    pub(super) fn before_singles(node: &str, gang: &str) -> Self {
        Self::for_good(say!(node, ": gang ", gang, " runs below its minimum and goes first"))
    }

    /// Complete, but not all find a place; `short` is the gang of which one does not, this or one that starts with it. Such
    /// a member is named, unless all that wait here are of its kind: then it may be the pod itself.
    pub(super) fn no_room(
        gang: &Gang,
        counts: Counts,
        short: &Gang,
        no_plan: &NoPlan,
        in_one_domain: bool,
        preemption_may_help: bool,
        facts: &impl Facts,
    ) -> Self {
        let NoPlan { kind, shortage, .. } = no_plan;
        let Shortage { need, room, .. } = shortage;
        let kind_row = short.kinds.get(usize::from(*kind));
        let request = kind_row.map_or_else(String::new, |kind| one_member(&kind.request, shortage.resource, facts));
        let own = short.key == gang.key;
        let partner = match own {
            true => gang.said.together_with.first().map(|partner| (partner, "")),
            false => Some((&short.key, " which")),
        };
        let mut reason = members(&gang.key, counts.have(), gang.min());
        if let Some((partner, which)) = partner {
            say_to!(&mut reason, ", starts together with gang ", partner, ",", which);
        } else {
            reason.push(',');
        }
        say_to!(&mut reason, " needs ", need, " x ", request);
        let only_kind = own && gang.kinds.len() < 2;
        if let Some(example) = short.example(*kind).filter(|_| !only_kind) {
            say_to!(&mut reason, " (", example, ")");
        }
        if let Some(domain) = shortage.domain {
            say_to!(&mut reason, " in one domain, room for ", room, " in ", facts.domain_name(domain));
        } else {
            say_to!(&mut reason, ", room for ", room);
        }
        if let (Some((node, free)), Some(resource)) = (shortage.nearest, shortage.resource) {
            say_to!(&mut reason, " (", facts.node_name(node), " has ", amount(free.max(0), resource), " free)");
        }
        let nodes = || (0..facts.rows()).filter(|node| facts.exists(*node));
        let closed = |node: &NodeRow| {
            (in_one_domain && facts.domain(*node).is_none())
                || kind_row.is_some_and(|kind| !facts.allows(*node, kind.rules))
        };
        let closed = nodes().filter(closed).count();
        if closed > 0 {
            say_to!(&mut reason, "; ", closed, CLOSED, if in_one_domain { ", QoS or no domain" } else { " or QoS" });
        }
        let unknown = nodes().filter(|node| !facts.is_known(*node)).count();
        if unknown > 0 {
            let without = if facts.is_late() { "with node state from before the start" } else { "without node state" };
            say_to!(&mut reason, "; ", unknown, " node(s) ", without, " count for one member each");
        }
        Self { preemption_may_help, reason }
    }
}

const MEMBERS: &str = " members";

/// What is to be said of nodes that are no place for a member whatever they have free.
const CLOSED: &str = " node(s) are not open to it: selector, affinity, taint, cordon";

/// How most reasons begin: `gang ml/bert: 3 of 4 members`.
fn members(gang: &str, have: u32, min: u32) -> String {
    say!("gang ", gang, ": ", have, " of ", min, MEMBERS)
}

/// What is to be said more where the plan takes up nodes of which nothing is known.
pub(super) const ONLY_WHERE_IT_FITS: &str = ", if this pod fits there and the member asks for no more";

/// A slot in the way of another pod: `node: 2 nvidia.com/gpu held for gang ml/bert`.
pub(super) fn held_for(node: &str, resource: Option<(ResourceId, i64)>, gang: &str, facts: &impl Facts) -> String {
    match resource {
        Some((id, held)) => say!(node, ": ", named(held, id, facts), " held for gang ", gang),
        None => say!(node, ": held for gang ", gang),
    }
}

/// What preemption would free on a node does not help: the others would still be without places.
pub(super) fn not_enough_for_all(gang: &str) -> String {
    say!("gang ", gang, ": room for one member would not start it")
}

/// Another member's place, in the way of one that could go elsewhere.
pub(super) fn needed_by_siblings(node: &str, gang: &str) -> String {
    say!(node, ": needed by other members of gang ", gang)
}

/// What one member asks for: of the resource that is short, or of all that some node limits; its place, if that is all.
fn one_member(request: &Resources, short: Option<ResourceId>, facts: &impl Facts) -> String {
    if let Some(id) = short {
        return named(request.get(id), id, facts);
    }
    let limits = |id| (0..facts.rows()).any(|node| facts.exists(node) && facts.free(node, id) < PLENTY);
    let all = request.iter().filter(|(id, value)| *id != ResourceId::PODS && *value > 0 && limits(*id));
    let all: Vec<String> = all.map(|(id, value)| named(value, id, facts)).gather();
    match all.as_slice() {
        [] => named(1, ResourceId::PODS, facts),
        [one] => one.clone(),
        _ => say!("(", join(&all, ", "), ")"),
    }
}

/// So much of a resource.
fn named(value: i64, id: ResourceId, facts: &impl Facts) -> String {
    if (value, id) == (1, ResourceId::PODS) {
        return "1 pod".to_owned();
    }
    say!(amount(value, id), " ", facts.resource_name(id))
}

/// An amount as people write it: `500m`, `16Gi`, `2`.
fn amount(value: i64, id: ResourceId) -> String {
    if id == ResourceId::CPU {
        return match value.rem_euclid(1000) {
            0 => say!(value.div_euclid(1000)),
            _ => say!(value, "m"),
        };
    }
    for (bits, unit) in [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
        let whole = value.checked_shr(bits).unwrap_or(0);
        let in_bytes = bits > 10 || id == ResourceId::MEMORY || id == ResourceId::EPHEMERAL_STORAGE;
        if in_bytes && whole > 0 && whole.checked_shl(bits) == Some(value) {
            return say!(whole, unit);
        }
    }
    say!(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ResourceNames;

    #[test]
    fn amounts_are_as_people_write_them() {
        let mut names = ResourceNames::default();
        let [gpus, bytes] = ["nvidia.com/gpumem", "bytes of memory below the BE threshold"]
            .map(|name| names.intern(name).expect("a number"));
        for (value, id, expected) in [
            (1500, ResourceId::CPU, "1500m"),
            (2000, ResourceId::CPU, "2"),
            (3 << 30, ResourceId::MEMORY, "3Gi"),
            (5 << 10, ResourceId::MEMORY, "5Ki"),
            ((1 << 30) + 1, ResourceId::MEMORY, "1073741825"),
            (200 << 20, bytes, "200Mi"),
            // In units of its own.
            (16 << 10, gpus, "16384"),
        ] {
            assert_eq!(amount(value, id), expected);
        }
    }
}
