//! Pods and nodes, typed for the scheduling loop and as the protobuf bytes that a module gets.

use std::cell::OnceCell;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, Pod};

/// A pod with its protobuf form, which is made when first asked for.
#[derive(Debug)]
pub struct PodObject {
    /// The pod.
    pub pod: Pod,
    /// Filled by the first reader.
    pub protobuf: OnceCell<Rc<[u8]>>,
}

/// A node with its protobuf form, which is made when first asked for.
#[derive(Debug)]
pub struct NodeObject {
    /// The node.
    pub node: Node,
    /// Filled by the first reader.
    pub protobuf: OnceCell<Rc<[u8]>>,
}
