//! Pauses between attempts that keep failing.

use std::time::Duration;

use crate::chance;

/// Doubles from a least to a longest pause, each varied by a quarter so that replicas and nodes do not march in step.
#[derive(Clone, Debug)]
pub struct Backoff {
    least: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// Pauses from `least` on, none longer than `most` and a quarter.
    #[must_use]
    pub const fn new(least: Duration, most: Duration) -> Self {
        Self { least, most, failures: 0 }
    }

    /// The pause after one more failure.
    pub fn pause(&mut self) -> Duration {
        let pause = Self::after(self.failures, self.least, self.most);
        self.failures = self.failures.saturating_add(1);
        pause
    }

    /// The pause after one more than `failures`.
    #[must_use]
    pub fn after(failures: u32, least: Duration, most: Duration) -> Duration {
        let pause = least.saturating_mul(2_u32.saturating_pow(failures)).min(most);
        pause.mul_f64(0.75 + chance::fraction() / 2.0)
    }

    /// An attempt went well.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for expected in [100, 200, 400, 800, 1000, 1000] {
            let pause = backoff.pause().as_millis();
            assert!((expected * 3 / 4..=expected * 5 / 4).contains(&pause), "{pause} for {expected}");
        }
        for _ in 0..100 {
            assert!(backoff.pause() < Duration::from_secs(2));
        }
        backoff.reset();
        assert!(backoff.pause() <= Duration::from_millis(125));
    }
}
