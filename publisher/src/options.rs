//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Writes what every node has allocated into its annotation `stowage.dev/node-state`.
#[derive(Clone, Debug, Parser)]
#[command(version, name = "stowage-publisher")]
pub struct Options {
    /// How to reach the API server; without it, $KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// Where /healthz, /readyz and /metrics are
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// Shortest time between two writes to the same node, in milliseconds
    #[arg(long, default_value_t = 250, value_name = "MS")]
    pub interval: u64,
    /// How old an annotation gets before a new measurement alone makes it be written, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub heartbeat: u32,
    /// Most writes a second, all nodes and pods together
    #[arg(long, default_value_t = NonZeroU32::new(200).unwrap_or(NonZeroU32::MIN), value_name = "N")]
    pub rate: NonZeroU32,
    /// Most writes at a time
    #[arg(long, default_value_t = NonZeroU32::new(16).unwrap_or(NonZeroU32::MIN), value_name = "N")]
    pub parallel: NonZeroU32,
    /// Write without asking who else does: for one replica only
    #[arg(long)]
    pub no_leader_election: bool,
    /// The Lease by which replicas agree on who writes
    #[arg(long, default_value = "stowage-publisher", value_name = "NAME")]
    pub lease: String,
    /// Where the Lease is
    #[arg(long, env = "POD_NAMESPACE", default_value = "stowage-system")]
    pub namespace: String,
    /// This replica's name in the Lease
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub identity: Option<String>,
    /// What the log is for
    #[arg(long, default_value = "json")]
    pub log_format: LogFormat,
    /// error, warn, info, debug or trace
    #[arg(long, default_value = "info")]
    pub log_level: tracing::Level,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// An object a line, for a log store.
    Json,
    /// For people.
    Text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Options::command().debug_assert();
        let options = Options::parse_from(["stowage-publisher"]);
        assert_eq!((options.rate.get(), options.parallel.get()), (200, 16));
    }
}
