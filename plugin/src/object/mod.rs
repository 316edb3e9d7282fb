//! Kubernetes objects as the policy sees them: zero-copy views over protobuf, and the few values read from them.

mod container;
mod error;
mod gpu;
mod meta;
mod node;
mod pod;
mod pod_info;
mod quantities;
mod quantity;
pub mod requests;
mod resources;
mod rules;
pub mod wire;

pub use container::{Container, ContainerStatus, ResourceList, ResourceRequirements};
pub use error::Error;
pub use gpu::{GPU_NAMES, GpuNames, GpuRequest, GpuUnit};
pub use meta::{Metadata, Owner};
pub use node::{Node, nodes_of_list};
pub use pod::{Pod, WorkloadRef};
pub use pod_info::{PodInfo, RequestOptions};
pub use quantities::Quantities;
pub use quantity::{NotAQuantity, Quantity};
pub use requests::NativeQos;
pub use resources::{ResourceId, ResourceNames, Resources};
pub use rules::{NodeLabels, NodeRules, Taint, fingerprint, one_per_node};
