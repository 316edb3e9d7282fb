//! QoS asked of the real module call by call: every class, every rule at its boundary, what usage is known by, and what
//! it costs.

mod classes;
#[path = "../common/mod.rs"]
mod common;
mod cost;
mod policies;
mod rules;
mod support;
mod usage;
