//! Gangs: pods that start together or not at all.
//!
//! The way of a member: [`recognise`] tells which gang it is in, [`planner`] finds places for all of its gang at once.

pub mod book;
pub mod membership;
pub mod planner;
pub mod recognise;
