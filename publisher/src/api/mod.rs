//! Following objects of the API server: list once, watch from there, list again when the server has forgotten.
//!
//! Pods and nodes are read as protobuf, by the very reader that the module uses, so that both sides add up the same
//! bytes in the same way; it also spares the publisher an object model of some hundred fields a pod. Only what comes as
//! JSON alone (PodGroups, metrics) is read as JSON.

mod follow;
mod format;
mod frame;
mod json;
mod protobuf;
#[cfg(test)]
mod tests;

pub use follow::{Change, Feed, Follow, Resource, SILENCE, follow};
pub use format::Format;
