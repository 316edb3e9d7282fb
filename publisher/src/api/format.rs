//! What differs between protobuf and JSON.

use anyhow::Result;

use super::frame::Framing;
use super::{json, protobuf};

/// How a resource is asked for and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Kubernetes' protobuf envelope: for the API server's own resources.
    Protobuf,
    /// For custom resources and aggregated APIs, which have nothing else.
    Json,
}

/// One page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub resource_version: String,
    /// Token of the next page, or empty.
    pub more: String,
    pub items: Vec<Vec<u8>>,
}

/// One event of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Applied {
        object: Vec<u8>,
        resource_version: String,
    },
    Deleted {
        object: Vec<u8>,
        resource_version: String,
    },
    Bookmark {
        resource_version: String,
    },
    /// The server has ended the watch with a status of this code.
    Failed {
        code: u16,
        message: String,
    },
}

/// The status code of a watch that asked for what is too old.
pub(super) const GONE: u16 = 410;

impl Format {
    pub(super) const fn accept(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
            Self::Json => "application/json",
        }
    }

    /// What makes of [`Format::accept`] the media type of a watch.
    pub(super) const fn watch_suffix(self) -> &'static str {
        match self {
            Self::Protobuf => ";stream=watch",
            Self::Json => "",
        }
    }

    pub(super) const fn framing(self) -> Framing {
        match self {
            Self::Protobuf => Framing::Length,
            Self::Json => Framing::Line,
        }
    }

    pub(super) fn page(self, body: &[u8]) -> Result<Page> {
        match self {
            Self::Protobuf => protobuf::page(body),
            Self::Json => json::page(body),
        }
    }

    pub(super) fn event(self, frame: &[u8]) -> Result<Event> {
        match self {
            Self::Protobuf => protobuf::event(frame),
            Self::Json => json::event(frame),
        }
    }
}

impl Event {
    /// An event by its `type` and its object; `None` for a type that does not exist yet.
    pub(super) fn of(kind: &str, object: Vec<u8>, resource_version: String) -> Option<Self> {
        match kind {
            "ADDED" | "MODIFIED" => Some(Self::Applied { object, resource_version }),
            "DELETED" => Some(Self::Deleted { object, resource_version }),
            "BOOKMARK" => Some(Self::Bookmark { resource_version }),
            _ => None,
        }
    }
}
