//! Which replica writes: a Lease, kept as client-go keeps it.
//!
//! A holder that cannot renew gives up before the lease ends for the others, so that two never write at once. The
//! lease's end is told by the time since its last change was seen here, not by the clock of whoever wrote it.

use std::time::{Duration, Instant};

use anyhow::Result;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;
use tracing::{info, warn};

/// How long a lease holds after it was last renewed.
const LEASE: Duration = Duration::from_secs(15);
/// How long a holder goes on that cannot renew it.
const DEADLINE: Duration = Duration::from_secs(10);
/// How often it is renewed, or asked for.
const PERIOD: Duration = Duration::from_secs(2);
/// A write that was begun at the deadline has ended when the lease has.
pub const WRITE: Duration = LEASE.saturating_sub(DEADLINE);

/// For how long this replica may write.
///
/// It says until when, instead of being taken back: a process that was stopped for a while and goes on must know by
/// itself that it is too late, before anybody can have told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// Another replica writes, or nobody.
    None,
    /// Until then.
    Until(Instant),
    /// There is no election.
    Endless,
}

impl Term {
    /// Whether it goes on at `now`.
    #[must_use]
    pub fn holds(self, now: Instant) -> bool {
        match self {
            Self::None => false,
            Self::Until(end) => now < end,
            Self::Endless => true,
        }
    }
}

/// A lease that one replica holds.
pub struct Election {
    leases: Api<Lease>,
    name: String,
    identity: String,
    /// The lease as it was last seen to change, and when.
    seen: Option<(Lease, Instant)>,
}

impl Election {
    /// Takes part as `identity` in the election for the lease `namespace/name`.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: String, identity: String) -> Self {
        Self { leases: Api::namespaced(client, namespace), name, identity, seen: None }
    }

    /// Says through `term` for how long this replica leads, until `stop` says to stop; then gives the lease back.
    pub async fn run(mut self, term: watch::Sender<Term>, mut stop: watch::Receiver<bool>) {
        let mut led = false;
        loop {
            let asked = Instant::now();
            // Whatever takes longer than until the deadline is too late anyway.
            let attempt = tokio::time::timeout(DEADLINE - PERIOD, self.attempt());
            match attempt.await {
                Ok(Ok(true)) => drop(term.send_replace(Term::Until(asked + DEADLINE))),
                Ok(Ok(false)) => drop(term.send_replace(Term::None)),
                Ok(Err(error)) => warn!(error = format!("{error:#}"), "cannot reach the lease"),
                Err(_) => warn!("the lease does not answer"),
            }
            let leads = term.borrow().holds(Instant::now());
            if leads != led {
                info!(leads, identity = self.identity, "leadership changed");
                led = leads;
            }
            let stopped = tokio::select! {
                () = tokio::time::sleep(PERIOD) => false,
                _ = stop.changed() => true,
            };
            if stopped {
                term.send_replace(Term::None);
                if leads {
                    self.release().await;
                }
                return;
            }
        }
    }

    /// Takes or renews the lease; answers whether it is ours.
    async fn attempt(&mut self) -> Result<bool> {
        let Some(lease) = self.leases.get_opt(&self.name).await? else {
            let lease = self.lease(None);
            return self.settle(self.leases.create(&PostParams::default(), &lease).await);
        };
        if self.seen.as_ref().is_none_or(|(seen, _)| seen.spec != lease.spec) {
            self.seen = Some((lease.clone(), Instant::now()));
        }
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        let ours = holder == self.identity;
        if !ours && !holder.is_empty() && !self.is_over() {
            return Ok(false);
        }
        let lease = self.lease(Some(&lease));
        self.settle(self.leases.replace(&self.name, &PostParams::default(), &lease).await)
    }

    /// The lease that was last seen has not changed for as long as it holds.
    fn is_over(&self) -> bool {
        let Some((lease, since)) = &self.seen else { return true };
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let holds = seconds.and_then(|seconds| u64::try_from(seconds).ok()).map_or(LEASE, Duration::from_secs);
        since.elapsed() > holds
    }

    /// A conflict means that another replica was quicker.
    fn settle(&mut self, written: kube::Result<Lease>) -> Result<bool> {
        match written {
            Ok(lease) => {
                self.seen = Some((lease, Instant::now()));
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The lease held by us, made of what it is now.
    fn lease(&self, before: Option<&Lease>) -> Lease {
        let spec = before.and_then(|lease| lease.spec.as_ref());
        let ours = spec.is_some_and(|spec| spec.holder_identity.as_ref() == Some(&self.identity));
        let now = MicroTime(Timestamp::now());
        let transitions = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
        Lease {
            metadata: before.map_or_else(
                || ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
                |lease| lease.metadata.clone(),
            ),
            spec: Some(LeaseSpec {
                holder_identity: Some(self.identity.clone()),
                lease_duration_seconds: i32::try_from(LEASE.as_secs()).ok(),
                acquire_time: spec.filter(|_| ours).and_then(|spec| spec.acquire_time.clone()).or(Some(now.clone())),
                renew_time: Some(now),
                lease_transitions: Some(transitions + i32::from(before.is_some() && !ours)),
                ..LeaseSpec::default()
            }),
        }
    }

    /// Gives the lease back, so that the next replica need not wait for its end.
    async fn release(&mut self) {
        let Some((mut lease, _)) = self.seen.take() else { return };
        let Some(spec) = &mut lease.spec else { return };
        if spec.holder_identity.as_ref() == Some(&self.identity) {
            spec.holder_identity = Some(String::new());
            match self.leases.replace(&self.name, &PostParams::default(), &lease).await {
                Ok(_) => info!("gave the lease back"),
                Err(error) => warn!(error = error.to_string(), "cannot give the lease back"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_ends_by_itself() {
        let now = Instant::now();
        let term = Term::Until(now + DEADLINE);
        assert!(term.holds(now) && !term.holds(now + DEADLINE) && !term.holds(now + LEASE));
        assert!(!Term::None.holds(now) && Term::Endless.holds(now + LEASE));
        assert!(DEADLINE + WRITE <= LEASE);
    }
}
