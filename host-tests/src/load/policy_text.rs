//! Policy documents as files hold them: a document by itself, or `guestConfig` in a KubeSchedulerConfiguration.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use stowage::config::{self, Policy};

use super::document::{Document, Source};
use super::fault::Fault;

/// The file that a scheduler is started with.
const CONFIGURATION: &str = "KubeSchedulerConfiguration";

/// A policy document and where it stands.
#[derive(Debug)]
pub struct PolicyText {
    /// The document.
    pub text: String,
    /// The plugin whose configuration it is; none if it is a file of its own.
    pub plugin: Option<String>,
    /// Lines of the file above it and columns before it; none if its lines are not the file's, as in a quoted string.
    offset: Option<(usize, usize)>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Configuration {
    profiles: Vec<Profile>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Profile {
    plugin_config: Vec<PluginConfig>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PluginConfig {
    name: String,
    args: Value,
}

/// The policy documents of a file.
///
/// # Errors
/// If it is a scheduler's configuration that cannot be read, or configures no WebAssembly plugin.
pub fn policies(source: &Source) -> Result<Vec<PolicyText>, Fault> {
    // What is no list of objects is a policy document, or said to be none by who reads it.
    let documents = if source.text().contains(CONFIGURATION) { source.documents().ok() } else { None };
    match documents.iter().flatten().find(|document| document.kind == CONFIGURATION) {
        Some(document) => configured(source, document),
        None => Ok(vec![PolicyText { text: source.text().to_owned(), plugin: None, offset: Some((0, 0)) }]),
    }
}

fn configured(source: &Source, document: &Document<'_>) -> Result<Vec<PolicyText>, Fault> {
    let profiles = document.decode::<Configuration>()?.profiles;
    let mut found = Vec::new();
    for PluginConfig { name, args } in profiles.into_iter().flat_map(|profile| profile.plugin_config) {
        let text = match args.get("guestConfig") {
            Some(Value::String(text)) => text.clone(),
            Some(_) => return Err(document.fault(format!("guestConfig of {name} is no string: write guestConfig: |"))),
            // The module's defaults.
            None if args.get("guestURL").is_some() => String::new(),
            None => continue,
        };
        found.push(PolicyText { offset: offset(source.text(), &text), text, plugin: Some(name) });
    }
    if found.is_empty() {
        return Err(document.fault("no plugin has a guestURL or a guestConfig"));
    }
    Ok(found)
}

/// Lines and columns before a text that stands in the file as it is, or indented.
fn offset(file: &str, text: &str) -> Option<(usize, usize)> {
    let lines: Vec<&str> = file.lines().collect();
    let first = text.lines().next()?;
    lines.iter().enumerate().find_map(|(at, line)| {
        let indent = line.strip_suffix(first).filter(|indent| indent.trim().is_empty())?;
        let mut there = lines[at..].iter();
        let stands = text.lines().all(|line| {
            there.next().is_some_and(|there| there.strip_prefix(indent).unwrap_or(there.trim_start()) == line)
        });
        stands.then_some((at, indent.len()))
    })
}

impl PolicyText {
    /// What is wrong with it, a line each, with the file's lines and columns as far as it has them.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let Err(faults) = Policy::parse(&self.text) else { return Vec::new() };
        let located = faults.iter().map(|fault| {
            let mut told = String::from("policy: ");
            let (lines, columns) = self.offset.unwrap_or_else(|| {
                // Writing to a string does not fail.
                let _ = write!(told, "in guestConfig of {}: ", self.plugin.as_deref().unwrap_or_default());
                (0, 0)
            });
            let fault = config::Fault { line: fault.line + lines, column: fault.column + columns, ..fault.clone() };
            let _ = write!(told, "{fault}");
            told
        });
        located.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "kind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig:\n  - name: x\n    args: {}\n  - name: s\n    args:\n";

    fn read(rest: &str) -> Result<Vec<PolicyText>, String> {
        policies(&Source::new("c.yaml", format!("{HEAD}{rest}"))).map_err(|fault| fault.to_string())
    }

    #[test]
    fn faults_of_a_guest_config_are_where_the_file_has_them() {
        let found =
            read("      guestConfig: |\n        {\n\n          \"weights\": {\"binpak\": 1}\n        }\n").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].plugin.as_deref(), Some("s"));
        let faults = found[0].faults();
        assert!(faults[0].starts_with("policy: line 11 column 23: weights.binpak: "), "{faults:?}");
    }

    #[test]
    fn a_quoted_guest_config_has_places_of_its_own() {
        let found = read("      guestConfig: '{\"wights\": {}}'\n").unwrap();
        assert!(found[0].faults()[0].starts_with("policy: in guestConfig of s: line 1 column "));
    }

    #[test]
    fn a_configuration_without_a_policy_says_so() {
        assert!(read("      guestURL: file:///x\n").unwrap()[0].faults().is_empty());
        assert!(read("      other: 1\n").unwrap_err().contains("no plugin has a guestURL or a guestConfig"));
        assert!(read("      guestConfig: {weights: {}}\n").unwrap_err().contains("write guestConfig: |"));
    }

    #[test]
    fn any_other_file_is_the_document_itself() {
        let policy = policies(&Source::new("p.json", "{\n\"weights\": {\"binpack\": 101}}")).unwrap();
        assert!(policy[0].faults()[0].starts_with("policy: line 2 column "), "{:?}", policy[0].faults());
    }
}
