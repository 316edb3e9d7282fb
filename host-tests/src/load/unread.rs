//! Fields of pods, and of the templates that controllers make pods of, that nobody reads.

use serde_json::{Map, Value};

use crate::protobuf::unknown_fields;

/// Most fields of one object that are named.
const MOST: usize = 5;

/// What is to be said of an object of this kind.
pub fn unread(kind: &str, object: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    if kind == "Pod" {
        in_pod(object, "", &mut fields)
    } else {
        in_templates(object, "", &mut fields)
    }
    let more = fields.len().saturating_sub(MOST);
    let named = fields.into_iter().take(MOST);
    let mut notes: Vec<String> =
        named.map(|(path, hint)| format!("{path} is no field of a pod and is left out{hint}")).collect();
    if more > 0 {
        notes.push(format!("and {more} more that are no fields of a pod"));
    }
    notes
}

/// Unknown fields of a pod or template that stands at this path. Status is not read from a workload.
fn in_pod(pod: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let fields = pod.as_object().into_iter().flatten();
    // What says that an object is a pod is no field of the message.
    let read = fields.filter(|(name, _)| !["apiVersion", "kind", "status"].contains(&name.as_str()));
    let read: Map<String, Value> = read.map(|(name, value)| (name.clone(), value.clone())).collect();
    let dot = if path.is_empty() { "" } else { "." };
    let unknown = unknown_fields(&read.into());
    found.extend(unknown.into_iter().map(|(field, hint)| (format!("{path}{dot}{field}"), hint)));
}

fn in_templates(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if name.to_lowercase().ends_with("template") && inner["spec"]["containers"].is_array() {
                    in_pod(inner, &path, found);
                } else {
                    in_templates(inner, &path, found);
                }
            }
        }
        Value::Array(items) => {
            (0..).zip(items).for_each(|(at, item): (usize, _)| in_templates(item, &format!("{path}[{at}]"), found));
        }
        _ => {}
    }
}
