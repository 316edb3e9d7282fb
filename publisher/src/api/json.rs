//! Lists and watch events in JSON.

use anyhow::{Context, Result};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::format::{Event, Page};

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Item>,
}

/// An object as bytes. Only one at a time is a tree of values, which takes many times the memory.
struct Item(Vec<u8>);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        serde_json::to_vec(&object).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
    r#continue: String,
}

#[derive(Deserialize)]
struct WatchEvent {
    r#type: String,
    object: Value,
}

pub(super) fn page(body: &[u8]) -> Result<Page> {
    let list: List = serde_json::from_slice(body)?;
    let items = list.items.into_iter().map(|Item(object)| object).collect();
    Ok(Page { resource_version: list.metadata.resource_version, more: list.metadata.r#continue, items })
}

pub(super) fn event(frame: &[u8]) -> Result<Event> {
    let WatchEvent { r#type: kind, object } = serde_json::from_slice(frame)?;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "ERROR" {
        let code = object.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        return Ok(Event::Failed { code: code.unwrap_or(0), message: text("/message") });
    }
    let resource_version = text("/metadata/resourceVersion");
    Event::of(&kind, serde_json::to_vec(&object)?, resource_version)
        .with_context(|| format!("a watch event of type {kind}"))
}

#[cfg(test)]
mod tests {
    use super::super::format::GONE;
    use super::*;

    #[test]
    fn a_page() {
        let page =
            super::page(br#"{"metadata":{"resourceVersion":"17","continue":"next"},"items":[{"a":1}]}"#).unwrap();
        let items = vec![br#"{"a":1}"#.to_vec()];
        assert_eq!(page, Page { resource_version: "17".into(), more: "next".into(), items });
    }

    #[test]
    fn events() {
        let applied = event(br#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"18"}}}"#).unwrap();
        let object = br#"{"metadata":{"resourceVersion":"18"}}"#.to_vec();
        assert_eq!(applied, Event::Applied { object, resource_version: "18".into() });
        let gone = event(br#"{"type":"ERROR","object":{"code":410,"message":"too old"}}"#).unwrap();
        assert_eq!(gone, Event::Failed { code: GONE, message: "too old".into() });
        assert!(event(br#"{"type":"RENAMED","object":{}}"#).is_err());
    }
}
