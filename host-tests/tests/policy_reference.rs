//! docs/policy.md says what the policy's schema says. `STOWAGE_BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

const INTRODUCTION: &str = "\
# Policy reference

The policy document is JSON: the value of `guestConfig` in the scheduler's configuration. Every key may be left out; `{}` packs GPU clusters. Keys that
are not listed here stop the scheduler at start, as does a value that cannot be. `stowage check FILE` says the same, with the line.

What the rules of `qos` mean together is in [qos.md](qos.md), which pods are a gang and what happens to them in
[gang.md](gang.md). This page is made from `stowage schema`; `STOWAGE_BLESS=1 cargo test --test policy_reference` writes it anew.
";

#[test]
fn the_policy_reference_is_current() {
    let schema = serde_json::to_value(schemars::schema_for!(stowage::config::Policy)).unwrap();
    let text = render(&schema);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/policy.md");
    if std::env::var_os("STOWAGE_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap();
    assert!(found == text, "docs/policy.md is not what the schema says; STOWAGE_BLESS=1 writes it anew");
}

/// The document's own keys, then every kind of object in the order in which it is first met.
fn render(schema: &Value) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut kinds = vec!["Policy".to_owned()];
    let mut at = 0;
    while let Some(kind) = kinds.get(at).cloned() {
        let definition = if at == 0 { schema } else { &schema["$defs"][&kind] };
        if let Some(properties) = definition["properties"].as_object() {
            section(&mut text, &kind, definition, properties, schema);
            for property in properties.values() {
                for kind in references(property) {
                    if !kinds.contains(&kind) {
                        kinds.push(kind);
                    }
                }
            }
        }
        at += 1;
    }
    text
}

fn section(text: &mut String, kind: &str, definition: &Value, properties: &Map<String, Value>, schema: &Value) {
    let about = definition["description"].as_str().unwrap_or_default();
    let required: Vec<&str> =
        definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    writeln!(text, "\n## {kind}\n\n{about}\n\n| key | value | default | meaning |\n|---|---|---|---|").unwrap();
    for (key, property) in properties {
        let default = match (&property["default"], required.contains(&&**key)) {
            (_, true) => "required".to_owned(),
            (Value::Null, _) => "none".to_owned(),
            // Each object's own section has its defaults.
            (Value::Object(_), _) => String::new(),
            (Value::Array(list), _) if list.len() > 4 => format!("{} entries, see `stowage schema`", list.len()),
            (value, _) => format!("`{value}`"),
        };
        let (value, words) = (value(property, schema), one_line(property["description"].as_str().unwrap_or_default()));
        writeln!(text, "| `{key}` | {value} | {default} | {words} |").unwrap();
    }
}

/// What a property may be, in words.
fn value(property: &Value, schema: &Value) -> String {
    if let Some(kind) = property["$ref"].as_str() {
        let kind = name(kind);
        let definition = &schema["$defs"][kind];
        if definition["properties"].is_object() {
            return format!("[{kind}](#{})", kind.to_lowercase());
        }
        return value(definition, schema);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(choices) = property[choice].as_array() {
            let choices = choices.iter().filter(|choice| choice["type"] != "null");
            return choices.map(|choice| value(choice, schema)).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(constant) = property.get("const") {
        let about =
            property["description"].as_str().map(|about| format!(" ({})", one_line(about).trim_end_matches('.')));
        return format!("`{constant}`{}", about.unwrap_or_default());
    }
    if let Some(values) = property["enum"].as_array() {
        return values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| format!("`{value}`"))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let kinds: Vec<&str> = match &property["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    match kinds.first() {
        Some(&"array") => format!("list of {}", value(&property["items"], schema)),
        Some(&"object") => format!("object of {}", value(&property["additionalProperties"], schema)),
        Some(&kind) => format!("{kind}{}", range(property)),
        None => "anything".to_owned(),
    }
}

fn range(property: &Value) -> String {
    match (property["minimum"].as_i64(), property["maximum"].as_i64()) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}

/// The kinds of objects that a property refers to.
fn references(property: &Value) -> Vec<String> {
    match property {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(kind)) => vec![name(kind).to_owned()],
                ("default", _) => Vec::new(),
                (_, value) => references(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// A cell of a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
