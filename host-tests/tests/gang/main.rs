//! Gangs in the real module, in simulated clusters.

#[path = "../common/mod.rs"]
mod common;
mod events;
mod groups;
mod history;
mod invariants;
mod late;
mod order;
mod preemption;
mod reasons;
mod recorder;
mod rules;
mod scale;
mod storm;
mod world;
