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
}

/// Objects per page: pods take some kilobytes each.
const PAGE: u32 = 500;
/// How long a watch lasts before the server ends it, about as long as client-go asks for.
const WATCH_SECONDS: u64 = 290;
/// Without a word for so long past its end, a watch is dead: the connection was lost without notice.
const GRACE: Duration = Duration::from_secs(20);
/// How soon to ask again for a resource that this cluster does not have.
const ABSENT: Duration = Duration::from_secs(60);

/// How a round of list and watch ended.
enum End {
    /// The receiver is gone.
    Closed,
    /// The server has forgotten what we know: list again.
    Expired,
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
            Ok(End::Expired) => info!(resource = resource.name, "too old to be watched, listing again"),
            Ok(End::Absent) => {
                if !known_absent {
                    info!(resource = resource.name, "not on this cluster, asking again every minute");
                    known_absent = true;
                }
                tokio::time::sleep(ABSENT).await;
            }
            Err(error) => {
                let pause = backoff.pause();
                warn!(resource = resource.name, error = format!("{error:#}"), retry = ?pause, "cannot follow");
                tokio::time::sleep(pause).await;
            }
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
                    stream.read_to_end(&mut body).await.context("list")?;
                    body
                }
                Err(kube::Error::Api(status)) if status.code == 404 && resource.optional => {
                    self.tell(source, Change::Listing).await;
                    self.tell(source, Change::Listed).await;
                    return Ok(None);
                }
                Err(error) => return Err(error).context("list"),
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
            Err(kube::Error::Api(status)) if status.code == GONE => return Ok(Some(End::Expired)),
            // The definition was deleted; what was of it is gone with the next list.
            Err(kube::Error::Api(status)) if status.code == 404 && resource.optional => return Ok(Some(End::Expired)),
            Err(error) => return Err(error).context("watch"),
        };
        let end = tokio::time::Instant::now() + Duration::from_secs(seconds) + GRACE;
        loop {
            let next = tokio::time::timeout_at(end, frame::next(&mut stream, resource.format.framing()));
            let Some(frame) = next.await.context("watch: silent beyond its end")?.context("watch")? else {
                return Ok(None);
            };
            backoff.reset();
            match resource.format.event(&frame).context("watch")? {
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
    ) -> kube::Result<impl futures::AsyncBufRead + Unpin + use<S>> {
        let request = Request::get(format!("{}{parameters}", resource.path))
            .header(header::ACCEPT, accept)
            // Kubernetes compresses lists; on a local network that costs more than it saves.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        Ok(Box::pin(self.client.request_stream(request).await?))
    }

    /// A receiver that is gone is noticed where the round ends.
    async fn tell(&self, source: S, change: Change) {
        drop(self.to.send(Feed { source, at: Instant::now(), change }).await);
    }
}
