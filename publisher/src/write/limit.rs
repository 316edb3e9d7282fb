//! How many writes a second the API server has to bear.

use std::time::{Duration, Instant};

/// A bucket that fills with `rate` permits a second, up to a second's worth.
#[derive(Debug)]
pub struct Limit {
    rate: f64,
    permits: f64,
    at: Instant,
}

impl Limit {
    /// A full bucket.
    #[must_use]
    pub fn new(rate: u32, now: Instant) -> Self {
        Self { rate: f64::from(rate), permits: f64::from(rate), at: now }
    }

    /// Takes a permit, or answers when there will be one.
    pub fn take(&mut self, now: Instant) -> Result<(), Instant> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_at_once_then_the_rate() {
        let start = Instant::now();
        let mut limit = Limit::new(10, start);
        assert_eq!((0..20).filter(|_| limit.take(start).is_ok()).count(), 10);
        let next = limit.take(start).unwrap_err();
        assert!(limit.take(next).is_ok());
        let later = next + Duration::from_secs(1);
        assert_eq!((0..20).filter(|_| limit.take(later).is_ok()).count(), 10);
        limit.give_back();
        assert!(limit.take(later).is_ok() && limit.take(later).is_err());
    }
}
