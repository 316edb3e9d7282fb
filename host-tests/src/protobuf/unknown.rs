//! Fields of a pod's JSON that no pod has.
//!
//! An API server drops them with a warning; a pod that asks for GPUs under `limit` would be scheduled without any.

use serde_json::Value;

use super::schema::{Kind, MessageId, Schema, Shape};
use crate::hint::did_you_mean;

/// The paths of unknown fields in a message, each with a hint at the one that was probably meant.
pub(super) fn fields(schema: &Schema, message: MessageId, json: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let known = known(schema, message);
    for (name, value) in json.as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match known.iter().find(|(known, ..)| known == name) {
            None => {
                let hint = did_you_mean(name, known.iter().map(|(known, ..)| *known));
                found.push((path, hint));
            }
            // Its own fields are paths.
            Some(_) if name == "managedFields" => {}
            Some((_, shape, Kind::Message(inner))) => match (shape, value) {
                (Shape::List, Value::Array(items)) => {
                    (0..).zip(items).for_each(|(at, item): (usize, _)| {
                        fields(schema, *inner, item, &format!("{path}[{at}]"), found);
                    });
                }
                (Shape::Map, Value::Object(entries)) => {
                    entries
                        .iter()
                        .for_each(|(key, entry)| fields(schema, *inner, entry, &format!("{path}[{key}]"), found));
                }
                _ => fields(schema, *inner, value, &path, found),
            },
            Some(_) => {}
        }
    }
}

/// The fields of a message with those of the structs embedded in it.
fn known(schema: &Schema, message: MessageId) -> Vec<(&'static str, Shape, Kind)> {
    let mut known = Vec::new();
    for field in &schema.messages[message] {
        match (field.shape, field.kind) {
            (Shape::Inline, Kind::Message(inner)) => known.extend(self::known(schema, inner)),
            (shape, kind) => known.push((field.name, shape, kind)),
        }
    }
    known
}
