//! List, watch, and what to do when either ends.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::AsyncReadExt;
use http::{Request, header};
use kube::Client;
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::format::{Event, Format, GONE};
use super::frame;
use crate::backoff::Backoff;
use crate::chance;
use crate::metrics::Metrics;

/// What the API server says about one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// For logs and metrics.
    pub name: &'static str,
    /// Without parameters, such as `/api/v1/pods`.
    pub path: &'static str,
    /// How to read it.
    pub format: Format,
    /// It may be missing on this cluster.
    pub optional: bool,
}

/// A step towards, or along with, what the API server has.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// Everything is listed anew: what does not come again before [`Change::Listed`] is gone.
    Listing,
    /// The object is, or has become, this.
    Applied(Vec<u8>),
    /// The object is gone; this is what it was.
    Deleted(Vec<u8>),
    /// The list is complete.
    Listed,
    /// The list could not be had; it is tried again.
    Unlisted,
}

/// A [`Change`], where it comes from and when.
#[derive(Debug)]
pub struct Feed<S> {
    /// The resource, as the receiver calls it.
    pub source: S,
    /// When it arrived.
    pub at: Instant,
    /// What happened.
    pub change: Change,
}

/// Where changes go.
#[derive(Clone)]
pub struct Follow<S> {
    /// Client of the API server.
    pub client: Client,
    /// The receiver's end; a full channel holds the watch back.
    pub to: mpsc::Sender<Feed<S>>,
    /// Counts lists.
    pub metrics: Metrics,
    /// After how long without a word a watch is taken for dead, see [`SILENCE`].
    pub silence: Duration,
}

/// Objects per page: pods take some kilobytes each.
const PAGE: u32 = 500;
/// How long a watch lasts before the server ends it, about as long as client-go asks for.
const WATCH_SECONDS: u64 = 290;
/// A live watch is never silent for so long, since the server sends a bookmark every minute; a connection that was lost
/// without notice is.
pub const SILENCE: Duration = Duration::from_secs(120);
/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How soon to ask again for a resource that this cluster does not have.
const ABSENT: Duration = Duration::from_secs(60);

/// How a round of list and watch ended.
enum End {
    /// The receiver is gone.
    Closed,
    /// The server has forgotten what we know: list again.
    Expired,
    /// It has sent what cannot be read, and would send it again: list instead.
    Unreadable(anyhow::Error),
    /// The cluster does not have the resource.
    Absent,
}

/// Tells `follow.to` about `resource` until nobody listens any more.
pub async fn follow<S: Copy>(follow: Follow<S>, resource: Resource, source: S) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
    let mut known_absent = false;
    loop {
        match follow.round(resource, source, &mut backoff).await {
            Ok(End::Closed) => return,
            Ok(End::Expired) => {
                info!(resource = resource.name, "too old to be watched, listing again");
                tokio::time::sleep(backoff.pause()).await;
            }
            Ok(End::Unreadable(error)) => {
                let pause = backoff.pause();
                warn!(resource = resource.name, error = format!("{error:#}"), retry = ?pause, "listing again");
                tokio::time::sleep(pause).await;
            }
            Ok(End::Absent) => {
                if !known_absent {
                    info!(path = resource.path, "not on this cluster, asking again every minute");
                    known_absent = true;
                }
                tokio::time::sleep(ABSENT).await;
            }
            Err(error) => {
                follow.tell(source, Change::Unlisted).await;
                let pause = backoff.pause();
                warn!(resource = resource.name, error = format!("{error:#}"), retry = ?pause, "cannot list");
                tokio::time::sleep(pause).await;
            }
        }
        if follow.to.is_closed() {
            return;
        }
    }
}

impl<S: Copy> Follow<S> {
    async fn round(&self, resource: Resource, source: S, backoff: &mut Backoff) -> Result<End> {
        let Some(mut version) = self.list(resource, source).await? else { return Ok(End::Absent) };
        loop {
            match self.watch(resource, source, &mut version, backoff).await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => debug!(resource = resource.name, version, "watch ended, going on"),
                // Nothing is lost: the next watch begins where this one stood.
                Err(error) => {
                    let pause = backoff.pause();
                    warn!(resource = resource.name, error = format!("{error:#}"), retry = ?pause, "watch broke off");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// Lists everything; answers the version that a watch goes on from, or `None` if there is no such resource.
    async fn list(&self, resource: Resource, source: S) -> Result<Option<String>> {
        let mut more = String::new();
        self.metrics.lists.get_or_create(&resource.into()).inc();
        loop {
            // The token is base64url.
            let page = format!("?limit={PAGE}{}{more}", if more.is_empty() { "" } else { "&continue=" });
            let body = match self.get(resource, &page, resource.format.accept()).await {
                Ok(mut stream) => {
                    let mut body = Vec::new();
                    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut body));
                    read.await.context("list: no end of it")?.context("list")?;
                    body
                }
                Err(error) if resource.optional && code(&error) == Some(404) => {
                    self.tell(source, Change::Listing).await;
                    self.tell(source, Change::Listed).await;
                    return Ok(None);
                }
                Err(error) => return Err(error.context("list")),
            };
            let page = resource.format.page(&body).context("list")?;
            if more.is_empty() {
                self.tell(source, Change::Listing).await;
            }
            for item in page.items {
                self.tell(source, Change::Applied(item)).await;
            }
            if page.more.is_empty() {
                self.tell(source, Change::Listed).await;
                return Ok(Some(page.resource_version));
            }
            more = page.more;
        }
    }

    /// Watches from `version` on and keeps it up to date. Answers how the round ends, or `None` to watch on.
    async fn watch(
        &self,
        resource: Resource,
        source: S,
        version: &mut String,
        backoff: &mut Backoff,
    ) -> Result<Option<End>> {
        let seconds = WATCH_SECONDS + chance::number() % (WATCH_SECONDS / 4);
        let from = format!("?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}");
        let accept = format!("{}{}", resource.format.accept(), resource.format.watch_suffix());
        let mut stream = match self.get(resource, &from, &accept).await {
            Ok(stream) => stream,
            Err(error) if code(&error) == Some(GONE) => return Ok(Some(End::Expired)),
            // The definition was deleted; what was of it is gone with the next list.
            Err(error) if resource.optional && code(&error) == Some(404) => return Ok(Some(End::Expired)),
            Err(error) => return Err(error.context("watch")),
        };
        loop {
            let next = tokio::time::timeout(self.silence, frame::next(&mut stream, resource.format.framing()));
            let Ok(frame) = next.await else {
                debug!(resource = resource.name, "watch is silent");
                return Ok(None);
            };
            let Some(frame) = frame.context("watch")? else { return Ok(None) };
            let event = match resource.format.event(&frame) {
                Ok(event) => event,
                Err(error) => return Ok(Some(End::Unreadable(error.context("watch")))),
            };
            match event {
                Event::Applied { object, resource_version } => {
                    self.tell(source, Change::Applied(object)).await;
                    *version = resource_version;
                }
                Event::Deleted { object, resource_version } => {
                    self.tell(source, Change::Deleted(object)).await;
                    *version = resource_version;
                }
                Event::Bookmark { resource_version } => *version = resource_version,
                Event::Failed { code: GONE, .. } => return Ok(Some(End::Expired)),
                Event::Failed { code, message } => anyhow::bail!("watch: the server says {code}: {message}"),
            }
            backoff.reset();
            if self.to.is_closed() {
                return Ok(Some(End::Closed));
            }
        }
    }

    async fn get(
        &self,
        resource: Resource,
        parameters: &str,
        accept: &str,
    ) -> Result<impl futures::AsyncBufRead + Unpin + use<S>> {
        let request = Request::get(format!("{}{parameters}", resource.path))
            .header(header::ACCEPT, accept)
            // Kubernetes compresses lists; on a local network that costs more than it saves.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Vec::new())?;
        let answer = tokio::time::timeout(PATIENCE, self.client.request_stream(request));
        Ok(Box::pin(answer.await.context("no answer")??))
    }

    /// A receiver that is gone is noticed where the round ends.
    async fn tell(&self, source: S, change: Change) {
        drop(self.to.send(Feed { source, at: Instant::now(), change }).await);
    }
}

/// The status code with which the API server refused.
fn code(error: &anyhow::Error) -> Option<u16> {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}
