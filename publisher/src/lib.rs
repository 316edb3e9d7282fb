//! The publisher of node state: tells the module what every node has allocated.
//!
//! The stock scheduler shows a module Node objects and nothing of the pods on them. This controller follows pods and
//! nodes, adds up what is on each node, and writes the sums into an annotation of the node (docs/node-state.md). Pods
//! whose gang's size stands only in a PodGroup object are labelled with it, for the same reason.
//!
//! One task keeps the [`account`] and decides what to write; the tasks around it read ([`api`], [`usage`]), write
//! ([`mod@write`]) and agree on who may ([`leader`]). What the API server has is compared with what it should have each
//! time either changes, so that a restart, a lost event, a change of leader and an edited annotation are one case.

pub mod account;
pub mod api;
pub mod backoff;
pub mod chance;
pub mod clock;
pub mod leader;
pub mod metrics;
pub mod options;
pub mod publisher;
pub mod server;
pub mod source;
pub mod usage;
pub mod write;
