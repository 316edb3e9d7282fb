//! What is to be written next.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Keys to be written, each no sooner than it may and never twice at a time.
///
/// Changes that come while a key waits or is being written are one write: the writer takes the newest state when its
/// turn comes.
#[derive(Debug)]
pub struct Due<K> {
    entries: HashMap<K, Entry>,
    order: BTreeSet<(Instant, K)>,
}

#[derive(Debug)]
struct Entry {
    /// The oldest change that is not written yet.
    since: Option<Instant>,
    /// Its place in the order.
    queued: Option<Instant>,
    /// Not to be written before.
    not_before: Instant,
    running: bool,
    failures: u32,
}

impl<K> Default for Due<K> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: BTreeSet::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord> Due<K> {
    /// The key has changed at `since`.
    pub fn mark(&mut self, key: &K, since: Instant) {
        let fresh = || Entry { since: None, queued: None, not_before: since, running: false, failures: 0 };
        let entry = self.entries.entry(key.clone()).or_insert_with(fresh);
        entry.since = Some(entry.since.unwrap_or(since).min(since));
        if entry.queued.is_none() && !entry.running {
            let at = entry.not_before.max(since);
            entry.queued = Some(at);
            self.order.insert((at, key.clone()));
        }
    }

    /// When the next key may be written.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes the next key to write, and since when it has waited.
    pub fn take(&mut self, now: Instant) -> Option<(K, Instant)> {
        if self.next_at()? > now {
            return None;
        }
        let (at, key) = self.order.pop_first()?;
        let entry = self.entries.get_mut(&key)?;
        (entry.running, entry.queued) = (true, None);
        Some((key, entry.since.take().unwrap_or(at)))
    }

    /// A write went well; the next of that key may begin at `next`.
    pub fn done(&mut self, key: &K, next: Instant) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.failures = 0;
            self.again(key, next);
        }
    }

    /// There was nothing to write after all.
    pub fn unchanged(&mut self, key: &K) {
        if let Some(entry) = self.entries.get(key) {
            self.again(key, entry.not_before);
        }
    }

    /// A write of a change at `since` failed; it is tried again after `pause` of the number of failures so far.
    pub fn failed(&mut self, key: &K, since: Instant, now: Instant, pause: impl FnOnce(u32) -> Duration) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.since = Some(entry.since.unwrap_or(since).min(since));
            let next = now + pause(entry.failures);
            entry.failures = entry.failures.saturating_add(1);
            self.again(key, next);
        }
    }

    /// Drops changes that somebody else has written; `behind` tells whether there is still something to write.
    pub fn review(&mut self, now: Instant, mut behind: impl FnMut(&K) -> bool) {
        let entries = &mut self.entries;
        self.order.retain(|(at, key)| {
            let keep = *at > now || behind(key);
            if !keep && let Some(entry) = entries.get_mut(key) {
                (entry.since, entry.queued) = (None, None);
            }
            keep
        });
    }

    /// Forgets keys that are written and may be written again. Answers how many wait or are being written.
    pub fn tidy(&mut self, now: Instant) -> usize {
        let waits = |entry: &Entry| entry.running || entry.queued.is_some();
        self.entries.retain(|_, entry| waits(entry) || entry.not_before > now);
        self.entries.values().filter(|entry| waits(entry)).count()
    }

    fn again(&mut self, key: &K, next: Instant) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        (entry.running, entry.not_before) = (false, next);
        if let Some(since) = entry.since {
            let at = next.max(since);
            entry.queued = Some(at);
            self.order.insert((at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(250);

    #[test]
    fn changes_meanwhile_are_one_write() {
        let start = Instant::now();
        let mut due = Due::default();
        due.mark(&"a", start);
        due.mark(&"a", start + INTERVAL / 5);
        assert_eq!(due.take(start), Some(("a", start)));
        // While it is being written, nothing of it is taken.
        due.mark(&"a", start + INTERVAL / 4);
        due.mark(&"a", start + INTERVAL / 2);
        assert_eq!(due.take(start + INTERVAL), None);
        due.done(&"a", start + INTERVAL);
        assert_eq!(due.take(start + INTERVAL / 2), None);
        assert_eq!(due.take(start + INTERVAL), Some(("a", start + INTERVAL / 4)));
        due.done(&"a", start + 2 * INTERVAL);
        assert_eq!((due.next_at(), due.tidy(start)), (None, 0));
        // A change that needs no write does not let the one after it come any sooner.
        due.mark(&"a", start + INTERVAL);
        assert_eq!(due.tidy(start + INTERVAL), 1);
        due.take(start + 2 * INTERVAL).unwrap();
        due.unchanged(&"a");
        due.mark(&"a", start);
        assert_eq!(due.next_at(), Some(start + 2 * INTERVAL));
    }

    #[test]
    fn the_longest_due_comes_first() {
        let start = Instant::now();
        let mut due = Due::default();
        for (at, key) in [(3, "c"), (1, "a"), (2, "b")] {
            due.mark(&key, start + at * INTERVAL);
        }
        due.review(start + 5 * INTERVAL, |key| *key != "b");
        let late = start + 9 * INTERVAL;
        assert_eq!(due.take(late).map(|(key, _)| key), Some("a"));
        assert_eq!(due.take(late).map(|(key, _)| key), Some("c"));
        assert_eq!(due.take(late), None);
    }

    #[test]
    fn a_change_that_is_told_late_makes_no_second_write() {
        let start = Instant::now();
        let mut due = Due::default();
        due.mark(&"a", start);
        due.take(start).unwrap();
        due.done(&"a", start);
        due.mark(&"a", start + 2 * INTERVAL);
        due.mark(&"a", start + INTERVAL);
        due.review(start + 2 * INTERVAL, |_| false);
        due.mark(&"a", start + 3 * INTERVAL);
        let late = start + 9 * INTERVAL;
        assert_eq!(due.take(late), Some(("a", start + 3 * INTERVAL)));
        assert_eq!((due.take(late), due.tidy(late)), (None, 1));
    }

    #[test]
    fn a_failure_is_tried_again_and_keeps_its_time() {
        let start = Instant::now();
        let mut due = Due::default();
        due.mark(&"a", start);
        let (key, since) = due.take(start).unwrap();
        due.mark(&"a", start + INTERVAL);
        due.failed(&key, since, start + INTERVAL, |failures| INTERVAL * (failures + 1));
        assert_eq!(due.next_at(), Some(start + 2 * INTERVAL));
        assert_eq!(due.take(start + 2 * INTERVAL), Some(("a", start)));
        due.failed(&key, since, start + 2 * INTERVAL, |failures| INTERVAL * (failures + 1));
        assert_eq!(due.next_at(), Some(start + 4 * INTERVAL));
    }
}
