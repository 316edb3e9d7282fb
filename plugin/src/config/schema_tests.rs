//! The JSON Schema and the reader say the same: they are written side by side, and neither is made from the other.

use std::collections::BTreeSet;

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::*;

/// What the reader says about a document, without the place.
fn fault(document: &Value) -> Option<String> {
    let faults = Policy::parse(&document.to_string()).err()?;
    Some(faults.iter().map(|fault| format!("{}: {}\n", fault.path, fault.message)).collect())
}

/// The words in backticks behind "expected one of".
fn expected(fault: &str) -> BTreeSet<&str> {
    let (_, list) = fault.split_once("expected one of").unwrap_or_else(|| panic!("no list in {fault:?}"));
    list.lines().next().unwrap_or_default().split('`').skip(1).step_by(2).collect()
}

/// Everything a schema allows, alternatives (`anyOf`, nullable types) joined.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let inner = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    std::iter::once(schema).chain(inner.flat_map(alternatives)).collect()
}

/// `around(value)` is a document that holds the value where `schema` stands for it.
fn compare(schema: &Value, path: &str, around: &dyn Fn(Value) -> Value, seen: &mut BTreeSet<String>) {
    let words: BTreeSet<&str> = alternatives(schema)
        .iter()
        .flat_map(|schema| {
            let many = schema["enum"].as_array().into_iter().flatten();
            many.chain(schema.get("const")).filter_map(Value::as_str)
        })
        .collect();
    if !words.is_empty() {
        let fault = fault(&around(json!("?"))).expect("? is no word of ours");
        assert_eq!(expected(&fault), words, "{path}");
    }
    for schema in alternatives(schema) {
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        if kinds.contains(&"integer") {
            let range = format!(
                "allowed are {} to {}",
                schema.get("minimum").unwrap_or(&json!(0)),
                schema.get("maximum").unwrap_or_else(|| panic!("{path} has no maximum"))
            );
            let fault = fault(&around(json!(i64::MAX))).expect("a fault");
            assert!(fault.contains(&range), "{path}: {fault} is not {range}");
            seen.insert(path.to_owned());
        }
        if kinds.contains(&"boolean") {
            let fault = fault(&around(json!("?"))).expect("a fault");
            assert!(fault.contains("expected true or false"), "{path}: {fault}");
            seen.insert(path.to_owned());
        }
        if kinds.contains(&"array") {
            let around = |value: Value| around(json!([value]));
            compare(&schema["items"], &format!("{path}[]"), &around, seen);
        }
        if let Some(properties) = schema["properties"].as_object() {
            assert_eq!(schema["additionalProperties"], json!(false), "{path}");
            let names: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            let fault = fault(&around(json!({"?": 0}))).expect("no field is named ?");
            let (before, list) = fault.split_once("?: unknown field `?`").expect("that");
            assert_eq!(expected(list), names, "{path}");
            let place = before.lines().last().unwrap_or_default();
            let missing: BTreeSet<&str> = fault
                .lines()
                .filter_map(|line| line.strip_prefix(place)?.strip_suffix(": is missing"))
                .filter(|name| names.contains(name))
                .collect();
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            assert_eq!(missing, required, "{path}");
            for (name, schema) in properties {
                let around = |value: Value| around(json!({ name: value }));
                compare(schema, &format!("{path}.{name}"), &around, seen);
            }
        } else if schema["additionalProperties"].is_object() {
            let around = |value: Value| around(json!({ "any/name": value }));
            compare(&schema["additionalProperties"], &format!("{path}.*"), &around, seen);
        }
    }
}

fn policy_schema() -> Value {
    let inlined = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    SchemaGenerator::new(inlined).into_root_schema_for::<Policy>().into()
}

#[test]
fn the_schema_and_the_reader_know_the_same_fields_words_and_ranges() {
    let mut seen = BTreeSet::new();
    compare(&policy_schema(), "", &|value| value, &mut seen);
    for path in [
        ".weights.binpack",
        ".binpack.scoringStrategy.resources[].weight",
        ".packing.expected[].gpuMilli",
        ".gang.sizes.*",
        ".qos.classes.BE.usageThresholds.cpu",
        ".explain",
    ] {
        assert!(seen.contains(path), "{path} in {seen:?}");
    }
}

#[test]
fn the_schemas_defaults_are_the_defaults() {
    let schema = policy_schema();
    let defaults: serde_json::Map<String, Value> = schema["properties"]
        .as_object()
        .expect("sections")
        .iter()
        .map(|(name, section)| (name.clone(), section["default"].clone()))
        .collect();
    assert_eq!(
        defaults["weights"],
        json!({"binpack": 1, "packing": 4, "gpuNodeAvoidance": 1, "locality": 16, "qos": 0})
    );
    assert_eq!(Policy::parse(&Value::Object(defaults).to_string()).expect("valid"), Policy::default());
}

#[test]
fn every_field_is_described() {
    fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if inner["description"].as_str().is_none_or(str::is_empty) {
                found.push(path.clone());
            }
            alternatives(inner).iter().for_each(|inner| undescribed(inner, &path, found));
        }
        if schema["items"].is_object() {
            undescribed(&schema["items"], path, found);
        }
    }
    let mut found = Vec::new();
    undescribed(&policy_schema(), "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}
