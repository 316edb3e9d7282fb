//! What time it is, as far as others tell.
//!
//! The host's clock is fake, so *now* is the latest time that some node carries. Each of those is somebody's word, and
//! one document that was tampered with would make every measurement in the cluster look old for good. So the latest
//! counts no more than a day beyond what a second node says or the creation of a pod, which the API server dates: even
//! in a quiet cluster something happens that often. And it counts no longer than it stands on the node, so that a clock
//! set back is followed back.

use super::{Cluster, Node, NodeIndex};
use crate::policy::qos::usage::Timestamp;
use crate::reckon::Reckon;

/// How far the latest time may lie beyond the next, in milliseconds.
const ALONE_MS: i64 = 86_400_000;
/// How far two clocks may be apart, in milliseconds: they differ by seconds.
const APART_MS: i64 = 900_000;

/// The two latest times that nodes carry, the latest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock([Option<(Timestamp, NodeIndex)>; 2]);

impl Clock {
    /// Notes what a node carries now. `all` are all nodes and what they carry, this one included: they are asked only if
    /// the latest has gone back or away.
    pub fn hear(
        &mut self,
        node: NodeIndex,
        time: Option<Timestamp>,
        all: impl Iterator<Item = (NodeIndex, Timestamp)>,
    ) {
        let Self([first, second]) = self;
        let is_this = |entry: &Option<(Timestamp, NodeIndex)>| entry.is_some_and(|(_, at)| at == node);
        let counted = is_this(first) || is_this(second);
        if is_this(first) {
            *first = *second;
        }
        if counted {
            *second = None;
        }
        // The place that has become free may belong to any node, unless this one takes it again.
        let latest = first.is_none_or(|(latest, _)| time.is_some_and(|time| time >= latest));
        if counted && !latest {
            *self = Self::default();
            all.for_each(|(at, time)| self.insert(at, time));
        } else if let Some(time) = time {
            self.insert(node, time);
        }
    }

    fn insert(&mut self, node: NodeIndex, time: Timestamp) {
        let Self([first, second]) = self;
        let entry = Some((time, node));
        if entry > *first {
            *second = *first;
            *first = entry;
        } else if entry > *second {
            *second = entry;
        }
    }

    /// The latest time that can be believed, when a pod was created at `created`; `None` if no node carries any.
    #[must_use]
    pub fn time(&self, created: Timestamp) -> Option<Timestamp> {
        let [first, second] = self.0.map(|entry| entry.map(|(time, _)| time));
        let latest = first?;
        let witness = second.map(|second| second.max(created));
        Some(witness.filter(|witness| latest > witness.plus(ALONE_MS)).unwrap_or(latest))
    }

    /// The same, or `created` if that is much later: then nobody has written to the nodes for a while.
    #[must_use]
    pub fn now(&self, created: Timestamp) -> Option<Timestamp> {
        let time = self.time(created)?;
        Some(if created > time.plus(APART_MS) { created } else { time })
    }
}

impl Cluster {
    /// The latest time that any node state was written, in milliseconds since 1970; 0 before the first.
    #[must_use]
    pub fn clock_ms(&self) -> i64 {
        self.clock_ms
    }

    /// The time by which measurements are judged, milliseconds since 1970: that of node state or, where nobody publishes
    /// any, of crane. `None` without either.
    #[must_use]
    pub fn now_ms(&self) -> Option<i64> {
        self.now_ms
    }

    /// A pod was created at this time, in seconds since 1970 by the API server's clock.
    pub fn pod_created(&mut self, seconds: i64) {
        self.created_ms = self.created_ms.max(seconds.times(1000));
        self.tell_time();
    }

    fn tell_time(&mut self) {
        self.clock_ms = self.published.time(self.created_ms).unwrap_or(0);
        self.now_ms = self.published.now(self.created_ms).or_else(|| self.crane.now(self.created_ms));
        self.tell_late();
    }

    /// Reads crane's annotations of nodes from now on. `utc_offset` is the annotator's zone, in seconds east of
    /// Greenwich.
    pub fn read_crane(&mut self, utc_offset: i32) {
        self.crane_offset = Some(utc_offset);
    }

    /// Notes the times that a node carries now.
    pub(super) fn hear(&mut self, at: NodeIndex) {
        let published = |node: &Node| node.state().map(|state| state.at);
        let measured = |node: &Node| node.load.crane.map(|measured| measured.at);
        for (clock, time) in [
            (&mut self.published, &published as &dyn Fn(&Node) -> Option<i64>),
            (&mut self.crane, &measured as &dyn Fn(&Node) -> Option<i64>),
        ] {
            let node = self.nodes.get(at.index()).and_then(Option::as_ref);
            let all = self.nodes.iter().flatten().filter_map(|node| Some((node.at, time(node)?)));
            clock.hear(at, node.and_then(time), all);
        }
        self.tell_time();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A clock after these words of nodes, one after the other.
    fn after(words: &[(u32, Option<Timestamp>)]) -> Clock {
        let mut clock = Clock::default();
        let mut said = std::collections::BTreeMap::new();
        for (node, time) in words {
            match time {
                Some(time) => said.insert(*node, *time),
                None => said.remove(node),
            };
            clock.hear(NodeIndex(*node), *time, said.iter().map(|(node, time)| (NodeIndex(*node), *time)));
        }
        clock
    }

    #[test]
    fn one_word_alone_is_believed_up_to_a_witness() {
        assert_eq!(Clock::default().time(0), None);
        assert_eq!(after(&[(0, Some(5))]).time(0), Some(5), "there is no other");
        let apart = after(&[(0, Some(10)), (1, Some(10 + ALONE_MS))]);
        assert_eq!(apart.time(0), Some(10 + ALONE_MS));
        let further = after(&[(0, Some(10)), (1, Some(11 + ALONE_MS))]);
        assert_eq!(further.time(0), Some(10));
        assert_eq!(further.time(11), Some(11 + ALONE_MS), "a pod was created a day before");
        assert_eq!(after(&[(0, Some(10)), (1, Some(i64::MAX)), (2, Some(20))]).time(0), Some(20));
    }

    #[test]
    fn a_clock_set_back_is_followed() {
        assert_eq!(after(&[(0, Some(9_000)), (1, Some(9_001)), (0, Some(10)), (1, Some(11))]).time(0), Some(11));
        assert_eq!(after(&[(0, Some(9_000)), (1, Some(7)), (0, None)]).time(0), Some(7));
        assert_eq!(after(&[(0, Some(9_000)), (0, None)]).time(0), None);
    }

    #[test]
    fn pods_created_later_tell_that_nobody_writes_any_more() {
        let clock = after(&[(0, Some(10)), (1, Some(12))]);
        assert_eq!(clock.now(12 + APART_MS), Some(12), "clocks differ");
        assert_eq!(clock.now(13 + APART_MS), Some(13 + APART_MS));
        assert_eq!(clock.time(13 + APART_MS), Some(12), "which says nothing of what was written");
        assert_eq!(Clock::default().now(13), None);
    }

    proptest! {
        #[test]
        fn the_two_latest_are_known_whatever_nodes_say(
            words in proptest::collection::vec((0_u32..5, proptest::option::of(0_i64..20)), 0..40),
        ) {
            let mut said = std::collections::BTreeMap::new();
            for (node, time) in &words {
                said.insert(*node, *time);
            }
            let mut times: Vec<i64> = said.into_values().flatten().collect();
            times.sort_unstable();
            let expected = [times.pop(), times.pop()];
            prop_assert_eq!(after(&words).0.map(|entry| entry.map(|(time, _)| time)), expected);
        }
    }
}
