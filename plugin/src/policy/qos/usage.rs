//! How much of a node is in use, and whether that is known well enough to decide by.
//!
//! The module has no clock (the host's is fake): *now* is what the cluster's objects tell. A measurement is therefore
//! judged against the cluster's own time, and one dated far in the future is as useless as an old one: it comes from a
//! clock or a time zone that is wrong, and would stay "fresh" for hours.

use super::load::Load;
use crate::reckon::Reckon;

/// Milliseconds since 1970.
pub type Timestamp = i64;

/// A measurement of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// When it was taken.
    pub at: Timestamp,
    /// What was in use.
    pub load: Load,
}

/// A measurement and how long it is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The measurement, if this source has one.
    pub measured: Option<Measurement>,
    /// Age from which on it is stale, in seconds.
    pub expires_after: u32,
}

/// What is known of a node's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Measured recently enough.
    Known(Measurement),
    /// Measured too long ago: at least so many seconds.
    Stale {
        /// The age from which on a measurement is stale, in seconds.
        after: u32,
    },
    /// Dated later than the cluster's time by more than [`AHEAD_SECONDS`].
    Ahead,
    /// Not measured.
    Unknown,
}

/// Clocks differ by seconds, time zones by at least this much.
pub const AHEAD_SECONDS: u32 = 900;

impl Usage {
    /// The first source that is fresh at `now` (`None`: no node state has told the time, so nothing can be called
    /// stale); failing that, what is wrong with the first source that has a measurement.
    #[must_use]
    pub fn judge(sources: &[Source], now: Option<Timestamp>) -> Self {
        let mut verdict = Self::Unknown;
        for source in sources {
            let Some(measured) = source.measured else { continue };
            let age = now.map_or(0, |now| now.saturating_sub(measured.at));
            let found = if age >= millis(source.expires_after) {
                Self::Stale { after: source.expires_after }
            } else if age < millis(AHEAD_SECONDS).saturating_neg() {
                Self::Ahead
            } else {
                return Self::Known(measured);
            };
            if verdict == Self::Unknown {
                verdict = found;
            }
        }
        verdict
    }

    /// Until when the verdict on these sources stays as it is at `now`, if they do.
    #[must_use]
    pub fn holds_until(sources: &[Source], now: Timestamp) -> Timestamp {
        let turns = sources.iter().filter_map(|source| Some((source.measured?.at, source.expires_after)));
        let turns =
            turns.flat_map(|(at, expires_after)| [at.minus(millis(AHEAD_SECONDS)), at.plus(millis(expires_after))]);
        let next = turns.filter(|turn| *turn > now).fold(Timestamp::MAX, i64::min);
        if next == Timestamp::MAX { next } else { next.minus(1) }
    }

    /// What is in use, if it is known.
    #[must_use]
    pub fn load(self) -> Option<Load> {
        match self {
            Self::Known(measured) => Some(measured.load),
            Self::Stale { .. } | Self::Ahead | Self::Unknown => None,
        }
    }
}

fn millis(seconds: u32) -> i64 {
    i64::from(seconds).times(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = 1_700_000_000_000;

    fn source(at: Timestamp, expires_after: u32) -> Source {
        Source { measured: Some(Measurement { at, load: Load { cpu: at % 7, memory: 0 } }), expires_after }
    }

    #[test]
    fn a_measurement_is_stale_exactly_at_its_expiry() {
        let judged = |age_ms| Usage::judge(&[source(AT, 180)], Some(AT + age_ms));
        assert!(matches!(judged(0), Usage::Known(_)));
        assert!(matches!(judged(179_999), Usage::Known(_)));
        assert_eq!(judged(180_000), Usage::Stale { after: 180 });
        assert!(matches!(judged(-900_000), Usage::Known(_)));
        assert_eq!(judged(-900_001), Usage::Ahead);
    }

    #[test]
    fn the_first_fresh_source_counts() {
        let none = Source { measured: None, expires_after: 180 };
        let old = source(AT - 200_000, 180);
        let young = source(AT, 480);
        assert_eq!(Usage::judge(&[none, old, young], Some(AT)), Usage::Known(young.measured.unwrap()));
        assert_eq!(Usage::judge(&[none, old], Some(AT)), Usage::Stale { after: 180 });
        assert_eq!(Usage::judge(&[none], Some(AT)), Usage::Unknown);
        assert_eq!(Usage::judge(&[], None), Usage::Unknown);
    }

    #[test]
    fn a_verdict_holds_until_a_measurement_becomes_believable_or_stale() {
        let sources = [source(AT, 180), source(AT + 2_000_000, 480)];
        let mut now = AT - 1_000_000;
        let mut turns = Vec::new();
        while now < Timestamp::MAX {
            let until = Usage::holds_until(&sources, now);
            let verdict = Usage::judge(&sources, Some(now));
            for within in [now, now / 2 + until / 2, until] {
                assert_eq!(Usage::judge(&sources, Some(within)), verdict);
            }
            now = until.saturating_add(1);
            turns.push(verdict);
        }
        let known = |source: &Source| Usage::Known(source.measured.unwrap());
        let [first, second] = &sources;
        let expected =
            [Usage::Ahead, known(first), Usage::Stale { after: 180 }, known(second), Usage::Stale { after: 180 }];
        assert_eq!(turns, expected);
    }

    #[test]
    fn without_a_clock_nothing_is_stale() {
        assert!(matches!(Usage::judge(&[source(AT, 1)], None), Usage::Known(_)));
    }
}
