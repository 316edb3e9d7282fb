//! The main loop: takes in what happens, and hands out what is to be written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use stowage::cluster::node_state::Usage;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use crate::account::{Account, Draft, NodeName, NodeNews, PodKey};
use crate::api::{Change, Feed, Follow, follow};
use crate::backoff::Backoff;
use crate::chance;
use crate::clock::now_ms;
use crate::leader::Election;
use crate::metrics::{Metrics, Of};
use crate::options::Options;
use crate::server::{self, Health};
use crate::source::Source;
use crate::usage;
use crate::write::{self, Due, Limit, Refusal};

/// How a write went.
enum Outcome {
    Node { name: NodeName, draft: Draft, since: Instant, result: Result<String, Refusal> },
    Pod { key: PodKey, since: Instant, result: Result<(), Refusal> },
}

/// How many changes are taken in before writes are handed out again.
const BATCH: usize = 256;
/// Pauses after failed writes.
const LEAST_PAUSE: Duration = Duration::from_millis(250);
const MOST_PAUSE: Duration = Duration::from_secs(30);
/// How long writes under way may take at the end.
const FAREWELL: Duration = Duration::from_secs(5);

struct Publisher {
    client: Client,
    account: Account,
    nodes: Due<NodeName>,
    pods: Due<PodKey>,
    limit: Limit,
    writes: JoinSet<Outcome>,
    listed: (bool, bool),
    options: Options,
    metrics: Metrics,
}

/// Publishes until the process is asked to stop.
///
/// # Errors
/// What keeps it from starting. Whatever happens later is logged and tried again.
pub async fn run(options: Options) -> Result<()> {
    let client = client(&options).await?;
    let (metrics, registry) = Metrics::registered();
    let health = Arc::new(Health::default());
    server::serve(options.listen, health.clone(), registry).await?;

    let (stop, stopped) = watch::channel(false);
    let (lead, leading) = watch::channel(options.no_leader_election);
    let election = (!options.no_leader_election).then(|| {
        let identity = options.identity.clone().unwrap_or_else(|| format!("publisher-{:08x}", chance::number() as u32));
        let election = Election::new(client.clone(), &options.namespace, options.lease.clone(), identity);
        tokio::spawn(election.run(lead, stopped))
    });

    let (to, feeds) = mpsc::channel(4 * BATCH);
    for source in Source::ALL {
        let parts = Follow { client: client.clone(), to: to.clone(), metrics: metrics.clone() };
        tokio::spawn(follow(parts, source.resource(), source));
    }
    let (measured, usages) = mpsc::channel(1);
    tokio::spawn(usage::poll(client.clone(), measured));

    let mut publisher = Publisher {
        client,
        account: Account::default(),
        nodes: Due::default(),
        pods: Due::default(),
        limit: Limit::new(options.rate.get(), Instant::now()),
        writes: JoinSet::new(),
        listed: (false, false),
        options,
        metrics,
    };
    publisher.publish(feeds, usages, leading, &health).await?;
    stop.send_replace(true);
    publisher.finish().await;
    if let Some(election) = election {
        election.await.context("the election")?;
    }
    info!("stopped");
    Ok(())
}

async fn client(options: &Options) -> Result<Client> {
    let config = match &options.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await.context("no kubeconfig, and not in a pod")?,
    };
    Client::try_from(config).context("cannot make a client")
}

impl Publisher {
    async fn publish(
        &mut self,
        mut feeds: mpsc::Receiver<Feed<Source>>,
        mut usages: mpsc::Receiver<Vec<(String, Usage)>>,
        mut leading: watch::Receiver<bool>,
        health: &Health,
    ) -> Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let leads = *leading.borrow_and_update();
            self.metrics.leader.set(leads.into());
            let next = if leads && self.is_ready() { self.hand_out(Instant::now()) } else { None };
            tokio::select! {
                biased;
                _ = terminate.recv() => return Ok(()),
                _ = interrupt.recv() => return Ok(()),
                Some(outcome) = self.writes.join_next() => self.settle(outcome.context("a write")?, Instant::now()),
                Ok(()) = leading.changed() => {}
                _ = tick.tick() => {
                    self.account.passed(now_ms());
                    self.mark_dirty(Instant::now());
                    self.report();
                    health.turned(self.is_ready());
                }
                _ = feeds.recv_many(&mut batch, BATCH) => {
                    for feed in batch.drain(..) {
                        self.take_in(feed);
                    }
                }
                Some(usages) = usages.recv() => {
                    let heartbeat = i64::from(self.options.heartbeat) * 1000;
                    for (node, usage) in usages {
                        self.account.measured(&node, usage, now_ms(), heartbeat);
                    }
                    self.mark_dirty(Instant::now());
                }
                () = wake(next), if next.is_some() => {}
            }
        }
    }

    /// Before both lists are complete, what is known of a node may be a part of it.
    fn is_ready(&self) -> bool {
        self.listed == (true, true)
    }

    fn take_in(&mut self, feed: Feed<Source>) {
        let taken = match feed.change {
            Change::Listing => {
                self.listing(feed.source);
                Ok(())
            }
            Change::Listed => {
                self.listed(feed.source);
                Ok(())
            }
            Change::Applied(bytes) => self.applied(feed.source, &bytes),
            Change::Deleted(bytes) => match feed.source {
                Source::Pods => self.account.pod_deleted(&bytes),
                Source::Nodes => self.account.node_deleted(&bytes),
                Source::Groups(source) => self.account.group_deleted(source, &bytes),
            },
        };
        if let Err(error) = taken {
            warn!(error = format!("{error:#}"), "skipped an object");
            self.metrics.skipped.get_or_create(&feed.source.resource().into()).inc();
        }
        self.mark_dirty(feed.at);
    }

    fn listing(&mut self, source: Source) {
        match source {
            Source::Pods => self.account.pods_listing(),
            Source::Nodes => self.account.nodes_listing(),
            Source::Groups(source) => self.account.groups_listing(source),
        }
    }

    fn listed(&mut self, source: Source) {
        match source {
            Source::Pods => {
                self.account.pods_listed();
                self.listed.0 = true;
            }
            Source::Nodes => {
                self.account.nodes_listed();
                self.listed.1 = true;
            }
            Source::Groups(source) => self.account.groups_listed(source),
        }
    }

    fn applied(&mut self, source: Source, bytes: &[u8]) -> Result<()> {
        match source {
            Source::Pods => self.account.pod_applied(bytes),
            Source::Groups(source) => self.account.group_applied(source, bytes),
            Source::Nodes => {
                let news = self.account.node_applied(bytes, now_ms())?;
                if news == NodeNews::Altered && self.metrics.leader.get() == 1 {
                    self.metrics.repairs.inc();
                }
                Ok(())
            }
        }
    }

    fn mark_dirty(&mut self, since: Instant) {
        for node in self.account.take_dirty() {
            self.nodes.mark(&node, since);
        }
        for pod in self.account.take_unlabelled() {
            if self.account.label(pod).is_some() {
                self.pods.mark(&pod, since);
            }
        }
    }

    /// Begins every write that may begin; answers when the next may.
    fn hand_out(&mut self, now: Instant) -> Option<Instant> {
        while self.writes.len() < self.options.parallel.get() as usize {
            // A pod waits for its label to be tried again: it goes first.
            let next = self.pods.next_at().into_iter().chain(self.nodes.next_at()).min()?;
            if next > now {
                return Some(next);
            }
            if let Err(later) = self.limit.take(now) {
                return Some(later);
            }
            let begun = match self.pods.take(now) {
                Some((key, since)) => self.begin_label(key, since),
                None => self.nodes.take(now).is_some_and(|(name, since)| self.begin_node(name, since)),
            };
            if !begun {
                self.limit.give_back();
            }
        }
        None
    }

    fn begin_node(&mut self, name: NodeName, since: Instant) -> bool {
        let Some(draft) = self.account.draft(&name, now_ms()) else {
            self.nodes.unchanged(&name);
            return false;
        };
        let client = self.client.clone();
        self.writes.spawn(async move {
            let result = write::annotate(client, &name, &draft).await;
            Outcome::Node { name, draft, since, result }
        });
        true
    }

    fn begin_label(&mut self, key: PodKey, since: Instant) -> bool {
        let Some(label) = self.account.label(key) else {
            self.pods.forget(&key);
            return false;
        };
        let client = self.client.clone();
        self.writes.spawn(async move {
            let result = write::label(client, &label).await;
            Outcome::Pod { key, since, result }
        });
        true
    }

    fn settle(&mut self, outcome: Outcome, now: Instant) {
        match outcome {
            Outcome::Node { name, draft, since, result: Ok(version) } => {
                self.metrics.writes.get_or_create(&Of::NODES).inc();
                self.metrics.lag.0.observe(now.duration_since(since).as_secs_f64());
                self.account.written(&name, &draft, &version);
                self.nodes.done(&name, now + Duration::from_millis(self.options.interval));
            }
            Outcome::Node { name, since, result: Err(refusal), .. } => {
                let pause = self.refused(Of::NODES, &name, refusal);
                // A node that is gone is forgotten when the watch says so, or with the next draft.
                self.nodes.failed(&name, since, now, pause);
            }
            Outcome::Pod { key, result: Ok(()), .. } => {
                self.metrics.writes.get_or_create(&Of::PODS).inc();
                self.pods.forget(&key);
            }
            Outcome::Pod { key, since, result: Err(refusal) } => {
                let pause = self.refused(Of::PODS, &format!("{key:x}"), refusal);
                self.pods.failed(&key, since, now, pause);
            }
        }
    }

    /// Notes why a write failed; answers how long to wait after so many failures.
    fn refused(&self, of: Of, name: &str, refusal: Refusal) -> impl FnOnce(u32) -> Duration + use<> {
        let counter = if refusal == Refusal::Conflict { &self.metrics.conflicts } else { &self.metrics.failures };
        counter.get_or_create(&of).inc();
        match &refusal {
            Refusal::Failed(error) => warn!(name, error, "cannot write, trying again"),
            refusal => debug!(name, ?refusal, "not written, trying again"),
        }
        let asked = if let Refusal::Busy(asked) = refusal { asked } else { None };
        move |failures| {
            let pause = Backoff::after(failures, LEAST_PAUSE, MOST_PAUSE);
            asked.map_or(pause, |asked| asked.max(pause))
        }
    }

    fn report(&mut self) {
        let (nodes, pods) = self.account.size();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.metrics.nodes.set(count(nodes));
        self.metrics.pods.set(count(pods));
        self.metrics.waiting.set(count(self.nodes.tidy(Instant::now())));
    }

    /// Lets writes under way end.
    async fn finish(&mut self) {
        let end = tokio::time::timeout(FAREWELL, async { while self.writes.join_next().await.is_some() {} });
        if end.await.is_err() {
            warn!(writes = self.writes.len(), "gave up waiting for writes");
        }
    }
}

async fn wake(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}
