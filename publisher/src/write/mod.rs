//! Writing to the API server: when, how fast, and what to make of the answer.

mod apply;
mod due;
mod limit;

pub use apply::{Refusal, annotate, label};
pub use due::Due;
pub use limit::Limit;
