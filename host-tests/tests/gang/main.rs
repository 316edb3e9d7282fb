//! Gangs in the real module, in simulated clusters.

mod invariants;
mod rules;
mod storm;
mod world;
