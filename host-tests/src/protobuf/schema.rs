//! Kubernetes' message definitions, read from `kubernetes.proto` at first use.
//!
//! The file is part of the program and has one field per line, so its reader knows just that form and takes anything
//! else for a fault of ours.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Every message that a pod or a node can hold.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(include_str!("kubernetes.proto")));

/// Index of a message in [`Schema::messages`].
pub(super) type MessageId = usize;

pub(super) struct Schema {
    /// The fields of each message in the order of their tags.
    pub(super) messages: Vec<Vec<Field>>,
    pub(super) pod: MessageId,
    pub(super) node: MessageId,
}

pub(super) struct Field {
    /// The name in protobuf and in JSON: Kubernetes uses the same.
    pub(super) name: &'static str,
    pub(super) tag: u32,
    pub(super) shape: Shape,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy)]
pub(super) enum Shape {
    One,
    List,
    /// Keys are strings in all of Kubernetes.
    Map,
    /// A message whose fields stand among its parent's in JSON: an embedded Go struct.
    Inline,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Integer,
    Bool,
    Text,
    /// Base64 in JSON.
    Bytes,
    Message(MessageId),
    /// Messages that JSON writes as one string or number.
    Quantity,
    Time,
    IntOrString,
}

/// Fields that hold an embedded struct, wherever they occur.
const INLINE: [&str; 4] = ["ephemeralContainerCommon", "handler", "localObjectReference", "volumeSource"];

impl Schema {
    fn parse(text: &'static str) -> Self {
        let names = text.lines().filter_map(|line| line.strip_prefix("message ")?.strip_suffix(" {"));
        let ids: HashMap<&str, MessageId> = names.enumerate().map(|(id, name)| (name, id)).collect();
        let mut messages = Vec::with_capacity(ids.len());
        for line in text.lines() {
            if line.starts_with("message ") {
                messages.push(Vec::new());
            } else if let (Some(line), Some(fields)) = (line.strip_prefix("  "), messages.last_mut()) {
                fields.push(Field::parse(line, &ids).unwrap_or_else(|| panic!("kubernetes.proto: {line}")));
            }
        }
        Self { messages, pod: ids["Pod"], node: ids["Node"] }
    }
}

impl Field {
    /// `optional TYPE NAME = TAG;`, `repeated TYPE NAME = TAG;` or `map<string, TYPE> NAME = TAG;`.
    fn parse(line: &'static str, ids: &HashMap<&str, MessageId>) -> Option<Self> {
        let (declaration, tag) = line.strip_suffix(';')?.split_once(" = ")?;
        let (shape, name) = declaration.rsplit_once(' ')?;
        let (shape, kind) = if let Some(kind) = shape.strip_prefix("optional ") {
            (if INLINE.contains(&name) { Shape::Inline } else { Shape::One }, kind)
        } else if let Some(kind) = shape.strip_prefix("repeated ") {
            (Shape::List, kind)
        } else {
            (Shape::Map, shape.strip_prefix("map<string, ")?.strip_suffix('>')?)
        };
        let kind = match kind {
            "int32" | "int64" => Kind::Integer,
            "bool" => Kind::Bool,
            "string" => Kind::Text,
            "bytes" => Kind::Bytes,
            "Quantity" => Kind::Quantity,
            "Time" | "MicroTime" => Kind::Time,
            "IntOrString" => Kind::IntOrString,
            message => Kind::Message(*ids.get(message)?),
        };
        Some(Self { name, tag: tag.parse().ok()?, shape, kind })
    }
}
