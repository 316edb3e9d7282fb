//! Lists and watch events in Kubernetes' protobuf envelope.
//!
//! An answer is `k8s\0` and a `runtime.Unknown`, whose `raw` is the object. A watch event is a `WatchEvent` whose object
//! is such an envelope again.

use anyhow::{Context, Result, bail};
use stowage::object::wire::{self, Repeated};

use super::format::{Event, Page};

const MAGIC: &[u8] = b"k8s\0";

/// A `PodList`, `NodeList` or any other list: all of them have `metadata` and `items` at the same place.
pub(super) fn page(body: &[u8]) -> Result<Page> {
    let list = unwrap(body)?;
    let meta = field(list, 1)?;
    let items = Repeated::of(list, 2).iter().map(|item| Ok(item?.to_vec())).collect::<Result<_>>()?;
    Ok(Page { resource_version: text(meta, 2)?, more: text(meta, 3)?, items })
}

/// A `WatchEvent`.
pub(super) fn event(frame: &[u8]) -> Result<Event> {
    let kind = text(frame, 1)?;
    let object = unwrap(field(field(frame, 2)?, 1)?)?;
    if kind == "ERROR" {
        return Ok(Event::Failed { code: code(object)?, message: text(object, 3)? });
    }
    let resource_version = text(field(object, 1)?, 6)?;
    Event::of(&kind, object.to_vec(), resource_version).with_context(|| format!("a watch event of type {kind}"))
}

/// The object in an envelope.
fn unwrap(bytes: &[u8]) -> Result<&[u8]> {
    match bytes.strip_prefix(MAGIC) {
        Some(unknown) => field(unknown, 2),
        None => bail!("not in Kubernetes' protobuf envelope"),
    }
}

/// The last field `number` of a message, which must be bytes; empty if there is none.
fn field(message: &[u8], number: u32) -> Result<&[u8]> {
    Ok(Repeated::of(message, number).iter().last().transpose()?.unwrap_or_default())
}

fn text(message: &[u8], number: u32) -> Result<String> {
    Ok(wire::text(field(message, number)?)?.to_owned())
}

/// `code` of a `Status`.
fn code(status: &[u8]) -> Result<u16> {
    Ok(u16::try_from(wire::int(status, 6)?.unwrap_or(0))?)
}

#[cfg(test)]
mod tests {
    use super::super::format::GONE;
    use super::*;

    /// A field of bytes shorter than 128.
    fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(value.len()).unwrap()], value].concat()
    }

    fn envelope(object: &[u8]) -> Vec<u8> {
        let kind = bytes(1, &[bytes(1, b"v1"), bytes(2, b"Pod")].concat());
        [MAGIC, &kind, &bytes(2, object)].concat()
    }

    #[test]
    fn a_page() {
        let list = [bytes(1, &[bytes(2, b"17"), bytes(3, b"next")].concat()), bytes(2, b"one"), bytes(2, b"two")];
        let items = vec![b"one".to_vec(), b"two".to_vec()];
        let page = super::page(&envelope(&list.concat())).unwrap();
        assert_eq!(page, Page { resource_version: "17".into(), more: "next".into(), items });
    }

    #[test]
    fn events() {
        let object = bytes(1, &bytes(6, b"18"));
        let event = |kind: &[u8], object: &[u8]| {
            super::event(&[bytes(1, kind), bytes(2, &bytes(1, &envelope(object)))].concat())
        };
        let version = || "18".to_owned();
        let applied = Event::Applied { object: object.clone(), resource_version: version() };
        assert_eq!(event(b"ADDED", &object).unwrap(), applied);
        assert_eq!(event(b"MODIFIED", &object).unwrap(), applied);
        let deleted = Event::Deleted { object: object.clone(), resource_version: version() };
        assert_eq!(event(b"DELETED", &object).unwrap(), deleted);
        assert_eq!(event(b"BOOKMARK", &object).unwrap(), Event::Bookmark { resource_version: version() });
        assert!(event(b"RENAMED", &object).is_err());

        let status = [bytes(3, b"too old"), vec![6 << 3, 0x9a, 0x03]].concat();
        assert_eq!(event(b"ERROR", &status).unwrap(), Event::Failed { code: GONE, message: "too old".into() });
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(page(b"{}").is_err());
        assert!(page(b"k8s\0\x12\x7f").is_err());
        assert!(super::event(b"").is_err());
    }
}
