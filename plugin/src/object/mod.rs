//! Kubernetes objects as the policy sees them: zero-copy views over protobuf, and the few values read from them.

mod resources;

pub use resources::{ResourceId, ResourceNames, Resources};
