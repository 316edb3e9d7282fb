//! Replacements: the same text gets the same one wherever it stands, so that what belonged together still does.

use std::collections::HashMap;

use serde_json::{Map, Value};
use stowage::cluster::{RAW_ALLOCATABLE, THRESHOLDS, node_state};
use stowage::object::Quantity;

use super::known::{self, Key};

/// What each text has been replaced by.
#[derive(Debug, Default)]
pub struct Names {
    known: HashMap<String, String>,
    /// How many of each kind there are.
    counts: HashMap<&'static str, usize>,
}

impl Names {
    /// The replacement of a text; `kind` is what a new one begins with.
    pub fn of(&mut self, kind: &'static str, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let replacement = format!("{kind}-{count}");
        self.known.insert(text.to_owned(), replacement.clone());
        replacement
    }

    /// The replacement of a text that is none of some that may stay.
    fn unless(&mut self, known: &[&str], kind: &'static str, text: &str) -> String {
        if known.contains(&text) { text.to_owned() } else { self.of(kind, text) }
    }

    /// A namespace.
    pub fn namespace(&mut self, name: &str) -> String {
        self.unless(&known::NAMESPACES, "namespace", name)
    }

    /// A priority class.
    pub fn priority_class(&mut self, name: &str) -> String {
        self.unless(&known::PRIORITY_CLASSES, "priority", name)
    }

    /// A scheduler.
    pub fn scheduler(&mut self, name: &str) -> String {
        self.unless(&known::SCHEDULERS, "scheduler", name)
    }

    /// The key of a label, annotation, taint or selector.
    pub fn key(&mut self, key: &str) -> String {
        match known::key(key) {
            Key::Known => key.to_owned(),
            Key::Open(domain, name) => format!("{domain}/{}", self.of("key", name)),
            Key::Private => self.of("key", key),
        }
    }

    /// The value of a label, annotation or selector.
    pub fn value(&mut self, key: &str, value: &str) -> String {
        if known::is_word(key, value) {
            return value.to_owned();
        }
        if key == THRESHOLDS {
            return known::thresholds(value).unwrap_or_else(|| self.of("name", value));
        }
        match serde_json::from_str::<Value>(value) {
            Ok(amounts @ Value::Object(_)) if key == RAW_ALLOCATABLE => self.amounts(&amounts).to_string(),
            Ok(mut document @ (Value::Array(_) | Value::Object(_))) => {
                self.document(&mut document);
                document.to_string()
            }
            // A slash stays: where it must not be, the value is as wrong as it was.
            _ => value.split('/').map(|part| self.of("name", part)).collect::<Vec<_>>().join("/"),
        }
    }

    /// JSON within an annotation: every text is a name, or two with a slash between them.
    fn document(&mut self, document: &mut Value) {
        match document {
            Value::String(text) => {
                *text = match text.split_once('/') {
                    Some((namespace, name)) => format!("{}/{}", self.namespace(namespace), self.of("name", name)),
                    None => self.of("name", text),
                };
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.document(item)),
            // Amounts within are texts too, and those of resources have the form of amounts.
            Value::Object(fields) => {
                fields.retain(|name, _| ["name", "minMember"].contains(&name.as_str()));
                fields.values_mut().for_each(|value| self.document(value));
            }
            _ => {}
        }
    }

    /// Amounts by resource. The name of somebody's own resource is replaced by one that an API server takes.
    pub fn amounts(&mut self, amounts: &Value) -> Value {
        let amounts = amounts.as_object().into_iter().flatten();
        let amounts = amounts.filter(|(_, amount)| match amount {
            Value::String(text) => Quantity::parse(text).is_ok(),
            other => other.is_number(),
        });
        let replaced = amounts.map(|(name, amount)| (self.resource(name), amount.clone()));
        Value::Object(replaced.collect())
    }

    fn resource(&mut self, name: &str) -> String {
        if known::is_resource(name) { name.to_owned() } else { format!("example.com/{}", self.of("resource", name)) }
    }

    /// The requests, limits and claims of a container or pod.
    pub fn requirements(&mut self, requirements: &Value) -> Value {
        let parts = requirements.as_object().into_iter().flatten().map(|(part, given)| {
            let replaced = match part.as_str() {
                "requests" | "limits" => self.amounts(given),
                _ => self.all(given),
            };
            (part.clone(), replaced)
        });
        Value::Object(parts.collect())
    }

    /// Every text within is a name.
    pub fn all(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.of("name", text).into(),
            Value::Array(list) => list.iter().map(|item| self.all(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(name, value)| (name.clone(), self.all(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// Labels, or a selector of the same form.
    pub fn labels(&mut self, labels: Option<&Value>) -> Option<Value> {
        let labels = labels?.as_object()?.iter();
        let replaced =
            labels.map(|(key, value)| (self.key(key), self.value(key, value.as_str().unwrap_or_default()).into()));
        Some(Value::Object(replaced.collect()))
    }

    /// Those annotations that scheduling reads.
    pub fn annotations(&mut self, annotations: Option<&Value>) -> Option<Value> {
        let mut kept = Map::new();
        for (key, value) in annotations?.as_object()? {
            // Node state names gangs, and is made anew wherever this is read.
            if known::is_read(key) && key != node_state::ANNOTATION {
                let replaced = self.value(key, value.as_str().unwrap_or_default());
                kept.insert(self.key(key), replaced.into());
            }
        }
        Some(Value::Object(kept))
    }

    /// The owners of an object.
    pub fn owners(&mut self, owners: &Value) -> Value {
        let owners = owners.as_array().into_iter().flatten().map(|owner| {
            let text = |name: &str| owner[name].as_str().unwrap_or_default();
            let (api_version, kind) = if known::is_owner(text("apiVersion")) {
                (text("apiVersion").to_owned(), text("kind").to_owned())
            } else {
                ("example.com/v1".to_owned(), self.of("kind", text("kind")))
            };
            serde_json::json!({
                "apiVersion": api_version,
                "kind": kind,
                "controller": owner["controller"],
                "name": self.of("name", text("name")),
                "uid": self.of("uid", text("uid")),
            })
        });
        owners.collect()
    }

    /// Selectors, affinity, tolerations and spreading, wherever they stand within each other.
    pub fn rules(&mut self, rules: &Value) -> Value {
        match rules {
            Value::Array(list) => list.iter().map(|item| self.rules(item)).collect(),
            Value::Object(fields) => {
                let key = fields.get("key").and_then(Value::as_str);
                let field = |(name, value): (&String, &Value)| {
                    let text = value.as_str();
                    let replaced = match (name.as_str(), text) {
                        ("key", Some("metadata.name")) => value.clone(),
                        ("key" | "topologyKey", Some(text)) => self.key(text).into(),
                        ("value", Some(text)) => self.value(key.unwrap_or_default(), text).into(),
                        ("matchLabels", _) => self.labels(Some(value)).unwrap_or_default(),
                        ("values", _) => self.texts(value, |names, text| names.value(key.unwrap_or_default(), text)),
                        ("namespaces", _) => self.texts(value, Self::namespace),
                        ("matchLabelKeys" | "mismatchLabelKeys", _) => self.texts(value, Self::key),
                        _ => self.rules(value),
                    };
                    (name.clone(), replaced)
                };
                Value::Object(fields.iter().map(field).collect())
            }
            // Operators, effects, weights and so on.
            other => other.clone(),
        }
    }

    fn texts(&mut self, list: &Value, replace: impl Fn(&mut Self, &str) -> String) -> Value {
        list.as_array().into_iter().flatten().map(|text| replace(self, text.as_str().unwrap_or_default())).collect()
    }
}
