//! Gangs: pods that start together or not at all.

pub mod planner;
