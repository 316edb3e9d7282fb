//! The main loop: takes in what happens, and hands out what is to be written.

mod writes;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use crate::account::{Account, NodeNews};
use crate::api::{Change, Feed, Follow, SILENCE, follow};
use crate::chance;
use crate::clock::now_ms;
use crate::leader::{Election, Term};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::server::{self, Health};
use crate::source::Source;
use crate::usage::{self, Measured, Meter};

use writes::Writes;

/// How many changes are taken in before writes are handed out again.
const BATCH: usize = 256;

/// What the main loop listens to.
struct Inputs {
    feeds: mpsc::Receiver<Feed<Source>>,
    /// [`Source::Metrics`] apart from the rest: it has to wait for the nodes that it is about.
    measurements: mpsc::Receiver<Feed<Source>>,
    usages: mpsc::Receiver<Vec<Measured>>,
    term: watch::Receiver<Term>,
}

struct Publisher {
    account: Account,
    writes: Writes,
    /// What has been listed, or cannot be listed and can be done without.
    known: HashSet<Source>,
    leads: bool,
    heartbeat_ms: i64,
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
    let (lead, term) = watch::channel(if options.no_leader_election { Term::Endless } else { Term::None });
    let election = (!options.no_leader_election).then(|| {
        let identity = options.identity.clone().unwrap_or_else(|| format!("publisher-{:08x}", chance::number() as u32));
        let election = Election::new(client.clone(), &options.namespace, options.lease.clone(), identity);
        tokio::spawn(election.run(lead, stopped))
    });

    let (to, feeds) = mpsc::channel(4 * BATCH);
    let (measured, measurements) = mpsc::channel(BATCH);
    for source in Source::ALL {
        let to = if source == Source::Metrics { measured.clone() } else { to.clone() };
        let parts = Follow { client: client.clone(), to, metrics: metrics.clone(), silence: SILENCE };
        tokio::spawn(follow(parts, source.resource(), source));
    }
    let (polled, usages) = mpsc::channel(1);
    tokio::spawn(usage::poll(client.clone(), polled));

    let mut publisher = Publisher {
        account: Account::default(),
        writes: Writes::new(client, &options, metrics.clone()),
        known: HashSet::new(),
        leads: false,
        heartbeat_ms: i64::from(options.heartbeat) * 1000,
        metrics,
    };
    publisher.publish(Inputs { feeds, measurements, usages, term }, &health).await?;
    stop.send_replace(true);
    publisher.writes.finish().await;
    if let Some(election) = election {
        election.await.context("the election")?;
    }
    info!("stopped");
    Ok(())
}

async fn client(options: &Options) -> Result<Client> {
    let mut config = match &options.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await.context("no kubeconfig, and not in a pod")?,
    };
    // Requests are tried again here, where it is known what else there is to do: fifteen times more within
    // milliseconds is no answer to an API server that asks for less.
    config.default_retry = false;
    Client::try_from(config).context("cannot make a client")
}

impl Publisher {
    async fn publish(&mut self, inputs: Inputs, health: &Health) -> Result<()> {
        let Inputs { mut feeds, mut measurements, mut usages, mut term } = inputs;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let now = Instant::now();
            self.leads = term.borrow_and_update().holds(now);
            self.metrics.leader.set(self.leads.into());
            let writes = self.leads && self.is_ready();
            let next = if writes { self.writes.hand_out(&mut self.account, now) } else { None };
            tokio::select! {
                biased;
                _ = terminate.recv() => return Ok(()),
                _ = interrupt.recv() => return Ok(()),
                outcome = self.writes.next() => self.writes.settle(&mut self.account, outcome?, Instant::now()),
                Ok(()) = term.changed() => {}
                _ = tick.tick() => {
                    self.account.passed(now_ms());
                    self.writes.mark(&mut self.account, now);
                    if !self.leads && self.is_ready() {
                        self.writes.review(&mut self.account, now);
                    }
                    self.report();
                    health.turned(self.is_ready());
                }
                _ = feeds.recv_many(&mut batch, BATCH) => {
                    for feed in batch.drain(..) {
                        self.take_in(feed);
                    }
                }
                // Before nodes are listed, measurements would be of none.
                Some(feed) = measurements.recv(), if self.known.contains(&Source::Nodes) => self.take_in(feed),
                Some(measured) = usages.recv(), if self.known.contains(&Source::Nodes) => {
                    for measured in measured {
                        self.account.measured(Meter::Metrics, &measured, now_ms(), self.heartbeat_ms);
                    }
                    self.writes.mark(&mut self.account, Instant::now());
                }
                () = wake(next), if next.is_some() => {}
            }
        }
    }

    /// Before all lists are complete, what is known of a node may be a part of it.
    fn is_ready(&self) -> bool {
        self.known.len() == Source::ALL.len()
    }

    fn take_in(&mut self, feed: Feed<Source>) {
        let taken = match feed.change {
            Change::Listing => {
                self.listing(feed.source);
                Ok(())
            }
            Change::Listed => {
                self.listed(feed.source);
                self.known.insert(feed.source);
                Ok(())
            }
            Change::Unlisted => {
                // What any cluster may lack must not keep the rest from being published.
                if feed.source.resource().optional {
                    self.known.insert(feed.source);
                }
                Ok(())
            }
            Change::Applied(bytes) => self.applied(feed.source, &bytes),
            Change::Deleted(bytes) => match feed.source {
                Source::Pods => self.account.pod_deleted(&bytes),
                Source::Nodes => self.account.node_deleted(&bytes),
                Source::Groups(source) => self.account.group_deleted(source, &bytes),
                Source::Devices => self.account.devices_deleted(&bytes),
                Source::Metrics => {
                    usage::node_of(&bytes).map(|node| self.account.unmeasured(Meter::Koordinator, &node))
                }
            },
        };
        if let Err(error) = taken {
            warn!(resource = feed.source.resource().name, error = format!("{error:#}"), "skipped an object");
            self.metrics.skipped.get_or_create(&feed.source.resource().into()).inc();
        }
        self.writes.mark(&mut self.account, feed.at);
    }

    fn listing(&mut self, source: Source) {
        match source {
            Source::Pods => self.account.pods_listing(),
            Source::Nodes => self.account.nodes_listing(),
            Source::Groups(source) => self.account.groups_listing(source),
            Source::Devices => self.account.devices_listing(),
            // Measurements that do not come again get old, and are taken for what they are.
            Source::Metrics => {}
        }
    }

    fn listed(&mut self, source: Source) {
        match source {
            Source::Pods => self.account.pods_listed(),
            Source::Nodes => self.account.nodes_listed(),
            Source::Groups(source) => self.account.groups_listed(source),
            Source::Devices => self.account.devices_listed(),
            Source::Metrics => {}
        }
    }

    fn applied(&mut self, source: Source, bytes: &[u8]) -> Result<()> {
        match source {
            Source::Pods => self.account.pod_applied(bytes),
            Source::Groups(source) => self.account.group_applied(source, bytes),
            Source::Devices => self.account.devices_applied(bytes),
            Source::Metrics => {
                if let Some(measured) = usage::koordinator(bytes)? {
                    self.account.measured(Meter::Koordinator, &measured, now_ms(), self.heartbeat_ms);
                }
                Ok(())
            }
            Source::Nodes => {
                let news = self.account.node_applied(bytes, now_ms())?;
                if news == NodeNews::Altered && self.leads {
                    self.metrics.repairs.inc();
                }
                Ok(())
            }
        }
    }

    fn report(&mut self) {
        let (nodes, pods) = self.account.size();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.metrics.nodes.set(count(nodes));
        self.metrics.pods.set(count(pods));
        self.metrics.waiting.set(count(self.writes.tidy(Instant::now())));
    }
}

async fn wake(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}
