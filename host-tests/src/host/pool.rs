//! Which instance serves a call: the rules of upstream's `pool.go`.
//!
//! A scheduling cycle runs on the instance of the one before it. Permit and the binding cycle take that instance away
//! for their pod, and only the end of the binding cycle gives it back; until then the next scheduling cycle gets
//! another one, with memory of its own.

use std::collections::{HashMap, VecDeque};

pub(super) struct Pool<G> {
    scheduled: Option<G>,
    /// By the UID of the pod being bound.
    binding: HashMap<String, G>,
    free: VecDeque<G>,
}

/// A binding call for a pod that went through no scheduling cycle; upstream panics.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnexpectedPod;

impl<G> Pool<G> {
    pub(super) fn new(first: G) -> Self {
        Self { scheduled: None, binding: HashMap::new(), free: VecDeque::from([first]) }
    }

    /// Runs `call` outside of any cycle. The scheduling instance is free afterwards.
    pub(super) fn outside<T, E>(
        &mut self,
        new: impl FnOnce() -> Result<G, E>,
        call: impl FnOnce(&mut G) -> T,
    ) -> Result<T, E> {
        let mut guest = match self.scheduled.take().or_else(|| self.free.pop_front()) {
            Some(guest) => guest,
            None => new()?,
        };
        let answer = call(&mut guest);
        self.free.push_back(guest);
        Ok(answer)
    }

    /// The instance of the scheduling cycle.
    pub(super) fn scheduling<E>(&mut self, new: impl FnOnce() -> Result<G, E>) -> Result<&mut G, E> {
        if self.scheduled.is_none() {
            self.scheduled = Some(match self.free.pop_front() {
                Some(guest) => guest,
                None => new()?,
            });
        }
        Ok(self.scheduled.as_mut().expect("just set"))
    }

    /// The instance that binds the pod, at first that of the scheduling cycle.
    pub(super) fn binding(&mut self, uid: &str) -> Result<&mut G, UnexpectedPod> {
        if !self.binding.contains_key(uid) {
            let guest = self.scheduled.take().ok_or(UnexpectedPod)?;
            self.binding.insert(uid.to_owned(), guest);
        }
        self.binding.get_mut(uid).ok_or(UnexpectedPod)
    }

    /// The pod's binding cycle is over.
    pub(super) fn free_from_binding(&mut self, uid: &str) {
        self.free.extend(self.binding.remove(uid));
    }

    pub(super) fn guests(&self) -> impl Iterator<Item = &G> {
        self.scheduled.iter().chain(self.binding.values()).chain(&self.free)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A pool of numbered instances, the first of them 1.
    struct Numbered {
        pool: Pool<u32>,
        last: u32,
    }

    impl Numbered {
        fn new() -> Self {
            Self { pool: Pool::new(1), last: 1 }
        }

        fn scheduling(&mut self) -> u32 {
            let last = &mut self.last;
            let new = || {
                *last += 1;
                Ok::<_, Infallible>(*last)
            };
            *self.pool.scheduling(new).expect("infallible")
        }

        fn binding(&mut self, uid: &str) -> u32 {
            *self.pool.binding(uid).expect("a known pod")
        }
    }

    #[test]
    fn one_instance_serves_cycles_without_binding() {
        let mut pool = Numbered::new();
        assert_eq!([pool.scheduling(), pool.scheduling(), pool.scheduling()], [1, 1, 1]);
    }

    #[test]
    fn binding_takes_the_instance_away_until_it_ends() {
        let mut pool = Numbered::new();
        pool.scheduling();
        assert_eq!(pool.binding("a"), 1);
        assert_eq!((pool.scheduling(), pool.binding("a")), (2, 1));
        pool.pool.free_from_binding("a");
        assert_eq!(pool.scheduling(), 2, "the instance at hand goes first");
        assert_eq!(pool.binding("b"), 2);
        assert_eq!(pool.scheduling(), 1, "then the free ones");
    }

    #[test]
    fn a_pod_that_is_never_freed_keeps_its_instance() {
        let mut pool = Numbered::new();
        for (number, uid) in (1..).zip(["a", "b", "c"]) {
            assert_eq!((pool.scheduling(), pool.binding(uid)), (number, number));
        }
        assert_eq!(pool.pool.guests().count(), 3);
        pool.scheduling();
        assert_eq!(pool.binding("a"), 1, "a second cycle of the pod meets the first one's instance");
    }

    #[test]
    fn binding_needs_a_scheduling_cycle() {
        assert_eq!(Numbered::new().pool.binding("a"), Err(UnexpectedPod));
    }

    #[test]
    fn a_call_outside_of_cycles_frees_the_instance_at_hand() {
        let mut pool = Numbered::new();
        pool.pool.free.push_back(7);
        assert_eq!(pool.scheduling(), 1);
        assert_eq!(pool.pool.outside(|| Err(()), |guest| *guest), Ok(1));
        assert_eq!(pool.scheduling(), 7);
    }
}
