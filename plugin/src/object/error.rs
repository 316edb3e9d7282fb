//! Why an object could not be read.

use alloc::string::String;
use alloc::string::ToString;
use core::fmt;

use super::wire;

/// An object that cannot be used, with the part or field at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A part of the object is not the protobuf message it should be.
    Wire {
        /// Which part, such as `metadata` or `spec.containers`.
        part: &'static str,
        /// What is wrong with it.
        fault: wire::Error,
    },
    /// An amount cannot be read.
    Quantity {
        /// The field, such as `spec.containers[main].resources.requests[cpu]`.
        field: String,
        /// What stands there, cut to a readable length.
        text: String,
    },
    /// More resource names in use than are told apart.
    ResourceNames {
        /// The field with the name that was one too many.
        field: String,
    },
}

impl Error {
    /// For `map_err`: the message at `part` is broken.
    pub(super) fn at(part: &'static str) -> impl Fn(wire::Error) -> Self {
        move |fault| Self::Wire { part, fault }
    }

    /// The field `list[resource]` holds `text`, which is no quantity.
    pub(super) fn quantity(list: &dyn fmt::Display, resource: &str, text: &str) -> Self {
        Self::Quantity { field: field(list, resource), text: cut(text) }
    }

    /// The name of `list[resource]` is one too many.
    pub(super) fn resource_names(list: &dyn fmt::Display, resource: &str) -> Self {
        Self::ResourceNames { field: field(list, resource) }
    }
}

fn field(list: &dyn fmt::Display, resource: &str) -> String {
    let mut field = list.to_string();
    field.push('[');
    field.push_str(&cut(resource));
    field.push(']');
    field
}

/// Text in an object can be as long as the object; in a message it must not be.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire { part, fault } => write!(f, "{part} {fault}"),
            Self::Quantity { field, text } => {
                write!(f, "{field} is {text:?}, which is {}", super::quantity::NotAQuantity)
            }
            Self::ResourceNames { field } => {
                write!(f, "{field} is a new resource name, but {} are in use already", super::ResourceNames::LIMIT)
            }
        }
    }
}

impl core::error::Error for Error {}
