//! Waiting for what will be so sooner or later.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Far longer than anything should take, so that a busy machine fails no test.
pub const LONG: Duration = Duration::from_secs(90);

/// Asks again and again until `ask` says that it is so. `Err` of `ask` is why it is not so yet.
///
/// # Errors
/// What `ask` said last, when it takes too long.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let end = Instant::now() + LONG;
    loop {
        match ask().await {
            Ok(value) => return Ok(value),
            Err(why) if Instant::now() > end => bail!("{what}: still not so after {LONG:?}: {why:#}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
