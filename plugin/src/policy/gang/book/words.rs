//! What members say of their gang, and what counts where they say different things.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::policy::gang::membership::{MatchPolicy, Mode, Startup};

/// What a member says of its gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub mode: Mode,
    pub match_policy: MatchPolicy,
    pub startup: Startup,
    pub together_with: Vec<Box<str>>,
    pub wait_seconds: u32,
    pub priority: i32,
}

impl Words {
    /// Others say something else: what keeps more members waiting counts, and the highest priority.
    pub fn add(&mut self, other: &Self) {
        if *self == *other {
            return;
        }
        self.mode = self.mode.min(other.mode);
        self.match_policy = self.match_policy.min(other.match_policy);
        self.startup = self.startup.max(other.startup);
        self.wait_seconds = self.wait_seconds.max(other.wait_seconds);
        self.priority = self.priority.max(other.priority);
        for key in &other.together_with {
            if let Err(place) = self.together_with.binary_search(key) {
                self.together_with.insert(place, key.clone());
            }
        }
    }
}
