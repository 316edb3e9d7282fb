//! What a pod says about the gang it belongs to.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::say::Say;
use crate::text::{Quoted, cut};

/// The seconds after which kube-scheduler itself ends any wait; longer waits are cut to it.
pub const LONGEST_WAIT_SECONDS: u32 = 900;

/// How members that failed affect the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// A member that finds no place costs the others theirs, as long as the gang has not started.
    #[default]
    Strict,
    /// The others keep their places.
    NonStrict,
}

/// Which members count towards the minimum (Koordinator's three policies).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchPolicy {
    /// Pending ones only.
    OnlyWaiting,
    /// Pending and running ones.
    WaitingAndRunning,
    /// Pending and running ones; once the gang has started, none need to be counted any more.
    #[default]
    OnceSatisfied,
}

/// Whether all members start at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Startup {
    /// Yes.
    #[default]
    Together,
    /// The leader first, since the others are created only once it runs.
    LeaderFirst,
}

/// A pod's membership in a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// `namespace/name` of the gang.
    pub gang: Box<str>,
    /// Fewest members that start together, if the pod says so.
    pub min: Option<u32>,
    /// All members that will come, if the pod says so; at least `min`.
    pub total: Option<u32>,
    /// What the member does in its job, such as `worker`; may be empty.
    pub role: Box<str>,
    /// The member that others may wait for.
    pub is_leader: bool,
    /// Whether the leader starts before the others.
    pub startup: Startup,
    /// What a failure does to the others.
    pub mode: Mode,
    /// Which members count; `None` leaves it to the policy document.
    pub match_policy: Option<MatchPolicy>,
    /// Gangs that start together with this one, as `namespace/name`; sorted, without this one.
    pub together_with: Vec<Box<str>>,
    /// How long places may be held for members that do not come, if the pod says so. At most
    /// [`LONGEST_WAIT_SECONDS`].
    pub wait_seconds: Option<u32>,
    /// The pod asked for a longer wait than the scheduler allows: seconds asked for.
    pub wait_cut_from: Option<u32>,
}

/// What a pod is to the gang policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A pod by itself.
    Single,
    /// A member of a native group (`spec.schedulingGroup`, `spec.workloadRef`): the scheduler itself waits for the others.
    Native(Box<str>),
    /// A member of a gang.
    Member(Box<Membership>),
}

/// A label, annotation or environment variable that says something impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<str>);

impl Fault {
    /// `value` of `key` is none of what is `allowed`.
    #[inline(never)]
    pub(super) fn new(key: &str, value: &str, allowed: &str) -> Self {
        Self(say!(key, " is ", Quoted(cut(value, 60)), ", allowed is ", allowed).into())
    }

    /// The same, with the gang that it keeps the pod out of.
    #[inline(never)]
    pub(super) fn of(&self, gang: &str) -> Self {
        Self(say!("gang ", gang, ": ", self.0).into())
    }
}

impl Say for Fault {
    fn say(&self, text: &mut String) {
        text.push_str(&self.0);
    }
}

display!(Fault);
