//! QoS: batch and best-effort pods stay off nodes that are hot or that protect latency-sensitive pods.
//!
//! A pod's [`class`] chooses a row of the [`rules`]; [`filter`](mod@filter) judges a node by it and [`score`](mod@score)
//! ranks the nodes that are left; [`budget`](mod@budget) says how many pods at once a node takes. What is in use is the last measurement ([`usage`]) plus the [`estimate`]s of every pod
//! placed since. [`crane`] reads measurements that crane-scheduler's annotator leaves on nodes.

pub mod budget;
pub mod class;
pub mod crane;
pub mod estimate;
pub mod filter;
pub mod load;
pub mod pairs;
pub mod rules;
pub mod score;
pub mod usage;

#[cfg(test)]
mod properties;
