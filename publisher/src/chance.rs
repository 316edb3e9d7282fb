//! A little randomness, so that replicas, watches and retries do not march in step. Not for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Any number.
#[must_use]
pub fn number() -> u64 {
    // The standard library seeds every one differently.
    RandomState::new().build_hasher().finish()
}

/// A number from 0 to 1.
#[must_use]
pub fn fraction() -> f64 {
    number() as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_alike() {
        assert_ne!(super::number(), super::number());
        let fractions: Vec<f64> = (0..100).map(|_| super::fraction()).collect();
        assert!(fractions.iter().all(|it| (0.0..=1.0).contains(it)));
        assert!(fractions.iter().any(|it| *it < 0.5) && fractions.iter().any(|it| *it > 0.5));
    }
}
