//! The openb production trace: its CSV files, its replay, and the placement formulas it is used to compare.
//!
//! A replay answers one question: which share of a cluster's GPUs does a formula manage to give away before nothing fits
//! any more? Pods arrive one by one and none departs, so that nothing but placement decides ([`replay`]). Formulas of the
//! literature run natively ([`formula`]); the module runs through the harness and is one more [`replay::Policy`].

pub mod chart;
mod cluster;
pub mod compare;
pub mod formula;
mod go_rand;
pub mod module;
mod read;
pub mod replay;
mod workload;

pub use cluster::{Cluster, Node};
pub use read::{Model, Models, NodeRow, Trace, read};
pub use workload::Pod;
