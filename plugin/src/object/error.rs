//! Why an object could not be read.

use alloc::boxed::Box;
use alloc::string::String;

use super::wire;
use crate::say::Say;
use crate::text::{Quoted, cut};

/// Characters of a name or value that a message shows.
pub(super) const LONGEST: usize = 80;

/// An object that cannot be used, with the part or field at fault. As small as a reference: nearly every step of reading
/// an object hands one on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Kind>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
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
        move |fault| Self::of(Kind::Wire { part, fault })
    }

    /// The field `list[resource]` holds `text`, which is no quantity.
    pub(super) fn quantity(list: &dyn Say, resource: &str, text: &str) -> Self {
        Self::of(Kind::Quantity { field: field(list, resource), text: cut(text, LONGEST).into() })
    }

    /// The name of `list[resource]` is one too many.
    pub(super) fn resource_names(list: &dyn Say, resource: &str) -> Self {
        Self::of(Kind::ResourceNames { field: field(list, resource) })
    }

    #[inline(never)]
    fn of(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

fn field(list: &dyn Say, resource: &str) -> String {
    say!(list, "[", cut(resource, LONGEST), "]")
}

impl Say for Error {
    fn say(&self, out: &mut String) {
        match &*self.0 {
            Kind::Wire { part, fault } => say_to!(out, part, " ", fault),
            Kind::Quantity { field, text } => {
                say_to!(out, field, " is ", Quoted(text), ", which is ", super::quantity::NotAQuantity);
            }
            Kind::ResourceNames { field } => {
                say_to!(out, field, " is a new resource name, but too many are in use already");
            }
        }
    }
}

display!(Error);

impl core::error::Error for Error {}
