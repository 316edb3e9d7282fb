//! `/healthz`, `/readyz` and `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use http::{Request, Response, StatusCode, header};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tracing::{debug, info};

use crate::metrics;

/// How the publisher is, for the kubelet to ask.
#[derive(Debug, Default)]
pub struct Health {
    /// When the main loop last came around, if it has. Not by the time of day, which somebody may set.
    turned: Mutex<Option<Instant>>,
    /// Every list is complete: what is published is whole.
    ready: AtomicBool,
}

/// The main loop comes around every second; standing still for so long, it is stuck.
const STUCK: Duration = Duration::from_secs(30);

impl Health {
    /// The main loop has come around.
    pub fn turned(&self, ready: bool) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.ready.store(ready, Ordering::Relaxed);
    }

    fn is_stuck(&self, now: Instant) -> bool {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        turned.is_none_or(|turned| now.saturating_duration_since(turned) > STUCK)
    }
}

/// Answers on `address` for as long as the process lives.
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve(address: SocketAddr, health: Arc<Health>, registry: Arc<Registry>) -> Result<()> {
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    info!(address = %listener.local_addr()?, "health and metrics");
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, most likely; others may be closed meanwhile.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (health, registry) = (health.clone(), registry.clone());
            tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let response = respond(&request, &health, &registry);
                    async move { Ok::<_, Infallible>(response) }
                });
                let connection =
                    http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer);
                if let Err(error) = connection.await {
                    debug!(error = error.to_string(), "a client broke off");
                }
            });
        }
    });
    Ok(())
}

fn respond<B>(request: &Request<B>, health: &Health, registry: &Registry) -> Response<String> {
    let stuck = health.is_stuck(Instant::now());
    let (status, text) = match request.uri().path() {
        "/healthz" if stuck => (StatusCode::INTERNAL_SERVER_ERROR, "stuck\n".to_owned()),
        "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" if health.ready.load(Ordering::Relaxed) => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => (StatusCode::SERVICE_UNAVAILABLE, "still listing\n".to_owned()),
        "/metrics" => {
            let mut response = Response::new(metrics::page(registry));
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
            return response;
        }
        _ => (StatusCode::NOT_FOUND, "/healthz, /readyz, /metrics\n".to_owned()),
    };
    let mut response = Response::new(text);
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_it_is() {
        let health = Health::default();
        let (metrics, registry) = metrics::Metrics::registered();
        metrics.nodes.set(3);
        let ask = |path: &str| respond(&Request::get(path).body(()).unwrap(), &health, &registry);
        assert_eq!(ask("/healthz").status(), StatusCode::INTERNAL_SERVER_ERROR);
        health.turned(false);
        assert_eq!(ask("/healthz").status(), StatusCode::OK);
        assert!(!health.is_stuck(Instant::now() + STUCK / 2) && health.is_stuck(Instant::now() + STUCK * 2));
        assert_eq!(ask("/readyz").status(), StatusCode::SERVICE_UNAVAILABLE);
        health.turned(true);
        assert_eq!(ask("/readyz").status(), StatusCode::OK);
        assert_eq!(ask("/").status(), StatusCode::NOT_FOUND);
        assert!(ask("/metrics").body().contains("stowage_publisher_nodes 3\n"));
    }
}
