//! `stowage-publisher`, see `--help`.

use std::process::ExitCode;

use clap::Parser;
use stowage_publisher::options::{LogFormat, Options};
use stowage_publisher::publisher;

// One thread is plenty for what a cluster of 5,000 nodes brings, and keeps memory small.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let log = tracing_subscriber::fmt().with_max_level(options.log_level).with_writer(std::io::stderr);
    match options.log_format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.init(),
    }
    match publisher::run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "cannot go on");
            ExitCode::FAILURE
        }
    }
}
