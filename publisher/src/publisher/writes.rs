//! Writes: which are due, which are under way, and what becomes of each.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::Client;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::account::{Account, Draft, NodeName, PodKey};
use crate::backoff::Backoff;
use crate::clock::now_ms;
use crate::metrics::{Metrics, Of};
use crate::options::Options;
use crate::write::{self, Due, Limit, Refusal};

/// Pauses after failed writes of one object.
const LEAST_PAUSE: Duration = Duration::from_millis(250);
const MOST_PAUSE: Duration = Duration::from_secs(30);
/// How long writes under way may take at the end.
const FAREWELL: Duration = Duration::from_secs(5);

/// What is to be written to nodes and pods.
pub(super) struct Writes {
    client: Client,
    nodes: Due<NodeName>,
    pods: Due<PodKey>,
    limit: Limit,
    tasks: JoinSet<Outcome>,
    interval: Duration,
    metrics: Metrics,
}

/// How a write went.
pub(super) enum Outcome {
    Node { name: NodeName, draft: Draft, since: Instant, result: Result<String, Refusal> },
    Pod { key: PodKey, since: Instant, result: Result<(), Refusal> },
}

impl Writes {
    pub(super) fn new(client: Client, options: &Options, metrics: Metrics) -> Self {
        Self {
            client,
            nodes: Due::default(),
            pods: Due::default(),
            limit: Limit::new(options.rate.get(), options.parallel.get() as usize, Instant::now()),
            tasks: JoinSet::new(),
            interval: Duration::from_millis(options.interval),
            metrics,
        }
    }

    /// Takes over what has changed in the account at `since`.
    pub(super) fn mark(&mut self, account: &mut Account, since: Instant) {
        for node in account.take_dirty() {
            self.nodes.mark(&node, since);
        }
        for pod in account.take_unlabelled() {
            if account.label(pod).is_some() {
                self.pods.mark(&pod, since);
            }
        }
    }

    /// Begins every write that may begin; answers when the next may.
    pub(super) fn hand_out(&mut self, account: &mut Account, now: Instant) -> Option<Instant> {
        while self.tasks.len() < self.limit.parallel() {
            // A pod waits for its label to be tried again: it goes first.
            let next = self.pods.next_at().into_iter().chain(self.nodes.next_at()).min()?;
            if next > now {
                return Some(next);
            }
            if let Err(later) = self.limit.take(now) {
                return Some(later);
            }
            let begun = match self.pods.take(now) {
                Some((key, since)) => self.begin_label(account, key, since),
                None => self.nodes.take(now).is_some_and(|(name, since)| self.begin_node(account, name, since)),
            };
            if !begun {
                self.limit.give_back();
            }
        }
        None
    }

    /// While another replica writes: forgets what it has written, so that what is left is what is behind.
    pub(super) fn review(&mut self, account: &mut Account, now: Instant) {
        self.nodes.review(now, |name| account.draft(name, now_ms()).is_some());
        self.pods.review(now, |key| account.label(*key).is_some());
    }

    fn begin_node(&mut self, account: &mut Account, name: NodeName, since: Instant) -> bool {
        let Some(draft) = account.draft(&name, now_ms()) else {
            self.nodes.unchanged(&name);
            return false;
        };
        let client = self.client.clone();
        self.tasks.spawn(async move {
            let result = write::annotate(client, &name, &draft).await;
            Outcome::Node { name, draft, since, result }
        });
        true
    }

    fn begin_label(&mut self, account: &Account, key: PodKey, since: Instant) -> bool {
        let Some(label) = account.label(key) else {
            self.pods.unchanged(&key);
            return false;
        };
        let client = self.client.clone();
        self.tasks.spawn(async move {
            let result = write::label(client, &label).await;
            Outcome::Pod { key, since, result }
        });
        true
    }

    /// The next write that ends; never ready while none is under way.
    pub(super) async fn next(&mut self) -> Result<Outcome> {
        match self.tasks.join_next().await {
            Some(outcome) => outcome.context("a write"),
            None => std::future::pending().await,
        }
    }

    pub(super) fn settle(&mut self, account: &mut Account, outcome: Outcome, now: Instant) {
        match outcome {
            Outcome::Node { name, draft, since, result: Ok(version) } => {
                self.metrics.writes.get_or_create(&Of::NODES).inc();
                self.metrics.lag.0.observe(now.duration_since(since).as_secs_f64());
                account.written(&name, &draft, &version);
                self.limit.accepted();
                self.nodes.done(&name, now + self.interval);
            }
            Outcome::Node { name, since, result: Err(refusal), .. } => {
                self.refused(&Of::NODES, &name, refusal, now);
                // A node that is gone is forgotten when the watch says so, or with the next draft.
                self.nodes.failed(&name, since, now, pause);
            }
            Outcome::Pod { key, result: Ok(()), .. } => {
                self.metrics.writes.get_or_create(&Of::PODS).inc();
                self.limit.accepted();
                // Should somebody take the label away again, the two of us must not keep the API server busy.
                self.pods.done(&key, now + self.interval);
            }
            Outcome::Pod { key, since, result: Err(refusal) } => {
                self.refused(&Of::PODS, &format!("{key:x}"), refusal, now);
                self.pods.failed(&key, since, now, pause);
            }
        }
    }

    /// Notes why a write failed. What would stop every other write, too, stops all for a while.
    fn refused(&mut self, of: &Of, name: &str, refusal: Refusal, now: Instant) {
        let counter = if refusal == Refusal::Conflict { &self.metrics.conflicts } else { &self.metrics.failures };
        counter.get_or_create(of).inc();
        match refusal {
            Refusal::Busy { asked, error } => {
                if let Some(pause) = self.limit.refused(now, asked) {
                    warn!(error, ?pause, "the API server takes no writes, pausing");
                }
            }
            Refusal::Failed(error) => warn!(name, error, "cannot write, trying again"),
            refusal => debug!(name, ?refusal, "not written, trying again"),
        }
    }

    /// Drops what is written; answers how many nodes are behind.
    pub(super) fn tidy(&mut self, now: Instant) -> usize {
        self.pods.tidy(now);
        self.nodes.tidy(now)
    }

    /// Lets writes under way end.
    pub(super) async fn finish(&mut self) {
        let end = tokio::time::timeout(FAREWELL, async { while self.tasks.join_next().await.is_some() {} });
        if end.await.is_err() {
            warn!(writes = self.tasks.len(), "gave up waiting for writes");
        }
    }
}

/// How long an object waits after so many failures.
fn pause(failures: u32) -> Duration {
    Backoff::after(failures, LEAST_PAUSE, MOST_PAUSE)
}
