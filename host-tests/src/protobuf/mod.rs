//! Pods and nodes as the protobuf bytes that upstream's host hands to a module.
//!
//! The bytes come from the object's JSON form, led by Kubernetes' own message definitions (`kubernetes.proto`), not
//! from a conversion between two sets of types: a conversion by hand carries what its author thought of, and a module
//! written by somebody else may read any field. The crates with ready types do not fit: k8s-rs-pb rewrites quantities
//! on the way (128Mi becomes 134.2MB) and its descriptors wait for themselves for ever; k8s-pb has neither reflection
//! nor serde, so its 150 messages would have to be filled one field at a time.
//!
//! Empty fields are left out where Go writes them as empty; protobuf readers cannot tell the two apart by value.

mod encode;
mod schema;
#[cfg(test)]
mod tests;
mod unknown;

use serde_json::Value;

use encode::Encoder;
use schema::SCHEMA;

/// A v1.Pod message.
#[must_use]
pub(crate) fn pod(json: &Value) -> Vec<u8> {
    encode::message(&SCHEMA, SCHEMA.pod, json)
}

/// The paths of fields that no pod has, each with a hint at the one that was probably meant.
#[must_use]
pub(crate) fn unknown_fields(pod: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    unknown::fields(&SCHEMA, SCHEMA.pod, pod, "", &mut found);
    found
}

/// A v1.Node message.
#[must_use]
pub(crate) fn node(json: &Value) -> Vec<u8> {
    encode::message(&SCHEMA, SCHEMA.node, json)
}

/// A v1.NodeList message holding nodes that are encoded already.
#[must_use]
pub(crate) fn node_list<'a>(nodes: impl DoubleEndedIterator<Item = &'a [u8]>) -> Vec<u8> {
    const ITEMS: u32 = 2;
    let mut list = Encoder::default();
    for node in nodes.rev() {
        list.bytes(ITEMS, node);
    }
    list.finish()
}
