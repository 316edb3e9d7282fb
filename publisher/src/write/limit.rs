//! How many writes the API server has to bear: a second, at a time, and when none.

use std::time::{Duration, Instant};

use crate::backoff::Backoff;

/// A bucket that fills with `rate` permits a second, up to a second's worth.
///
/// When the API server refuses, it is shut for a while, and half as many writes may be under way at a time from then on;
/// with every [`PATIENCE`] rounds that go well, one more.
#[derive(Debug)]
pub struct Limit {
    rate: f64,
    permits: f64,
    at: Instant,
    shut_until: Instant,
    pauses: Backoff,
    /// Most writes at a time, as asked for and as the API server bears them.
    most: usize,
    parallel: usize,
    /// Writes that went well since that was last changed.
    well: usize,
}

/// Pauses of an API server that refuses whatever comes.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
const MOST_PAUSE: Duration = Duration::from_secs(15);
const PATIENCE: usize = 8;

impl Limit {
    /// A full bucket for at most `most` writes at a time.
    #[must_use]
    pub fn new(rate: u32, most: usize, now: Instant) -> Self {
        let (rate, pauses) = (f64::from(rate), Backoff::new(LEAST_PAUSE, MOST_PAUSE));
        Self { rate, permits: rate, at: now, shut_until: now, pauses, most, parallel: most, well: 0 }
    }

    /// How many writes may be under way at a time.
    #[must_use]
    pub const fn parallel(&self) -> usize {
        self.parallel
    }

    /// Takes a permit, or answers when there will be one.
    pub fn take(&mut self, now: Instant) -> Result<(), Instant> {
        if now < self.shut_until {
            return Err(self.shut_until);
        }
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.permits = (self.permits + passed * self.rate).min(self.rate);
        self.at = self.at.max(now);
        if self.permits < 1.0 {
            return Err(now + Duration::from_secs_f64((1.0 - self.permits) / self.rate) + Duration::from_millis(1));
        }
        self.permits -= 1.0;
        Ok(())
    }

    /// Gives a permit back that was not used.
    pub fn give_back(&mut self) {
        self.permits += 1.0;
    }

    /// The API server takes no writes, and has perhaps asked for a pause. Answers the pause that begins; `None` if this
    /// write was begun before the one that goes on.
    pub fn refused(&mut self, now: Instant, asked: Option<Duration>) -> Option<Duration> {
        if now < self.shut_until {
            return None;
        }
        let pause = self.pauses.pause().max(asked.unwrap_or_default().min(MOST_PAUSE));
        self.shut_until = now + pause;
        (self.parallel, self.well) = ((self.parallel / 2).max(1), 0);
        Some(pause)
    }

    /// The API server has taken a write.
    pub fn accepted(&mut self) {
        self.pauses.reset();
        self.well += 1;
        if self.well >= PATIENCE * self.parallel {
            (self.parallel, self.well) = ((self.parallel + 1).min(self.most), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_at_once_then_the_rate() {
        let start = Instant::now();
        let mut limit = Limit::new(10, 1, start);
        assert_eq!((0..20).filter(|_| limit.take(start).is_ok()).count(), 10);
        let next = limit.take(start).unwrap_err();
        assert!(limit.take(next).is_ok());
        let later = next + Duration::from_secs(1);
        assert_eq!((0..20).filter(|_| limit.take(later).is_ok()).count(), 10);
        limit.give_back();
        assert!(limit.take(later).is_ok() && limit.take(later).is_err());
    }

    #[test]
    fn a_refusal_shuts_it_for_all_and_longer_each_time() {
        let mut now = Instant::now();
        let mut limit = Limit::new(100, 4, now);
        let first = limit.refused(now, None).unwrap();
        assert_eq!((limit.refused(now, None), limit.take(now)), (None, Err(now + first)));
        assert_eq!(limit.parallel(), 2);
        for _ in 0..10 {
            now += limit.refused(now + MOST_PAUSE * 2, None).unwrap() + MOST_PAUSE * 2;
        }
        let last = limit.refused(now, None).unwrap();
        assert!(last > first * 4 && last < MOST_PAUSE * 2, "{first:?}, {last:?}");
        now += last;
        assert!(limit.take(now).is_ok());
        assert_eq!(limit.parallel(), 1);
        let rounds: Vec<usize> = (0..100)
            .map(|_| {
                limit.accepted();
                limit.parallel()
            })
            .collect();
        assert_eq!((rounds[6], rounds[7], rounds[22], rounds[23], rounds[99]), (1, 2, 2, 3, 4));
        assert_eq!(limit.refused(now, Some(Duration::from_secs(7))), Some(Duration::from_secs(7)));
    }
}
