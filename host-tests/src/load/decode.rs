//! YAML and JSON text, decoded with positions that count from the start of the file.
//!
//! Objects are decoded straight into their types wherever that is possible, because only then does the parser know where
//! a wrong value stands. Items of a YAML list are the exception: they are read as values first, and only if one turns
//! out to be wrong is the list read once more to find the place.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

/// What is wrong, and where in the file.
#[derive(Debug)]
pub struct Error {
    /// Line and column, counted from 1.
    pub position: Option<(u64, u64)>,
    /// What is wrong.
    pub message: String,
}

/// The text of one object and where it stands.
#[derive(Debug)]
pub enum Place<'a> {
    /// JSON text that starts at this line and column.
    Json { text: &'a str, line: u64, column: u64 },
    /// A YAML document that starts on this line.
    Yaml { text: &'a str, line: u64 },
    /// An item of a list in the YAML document that starts on this line.
    YamlItem { value: Value, list: &'a str, list_line: u64, index: usize, position: (u64, u64) },
}

/// The documents of a file.
pub fn split(text: &str) -> Vec<Place<'_>> {
    let first = text.trim_start();
    if first.starts_with('{') || first.starts_with('[') { split_json(text) } else { split_yaml(text) }
}

/// JSON values one after the other.
fn split_json(text: &str) -> Vec<Place<'_>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut places = Vec::new();
    loop {
        let start = values.byte_offset();
        let next = values.next();
        let end = if matches!(next, Some(Ok(_))) { values.byte_offset() } else { text.len() };
        let rest = &text[start..end];
        let start = start + (rest.len() - rest.trim_start().len());
        if text[start..end].trim().is_empty() {
            return places;
        }
        let (line, column) = position_of(text, start);
        places.push(Place::Json { text: &text[start..end], line, column });
        if !matches!(next, Some(Ok(_))) {
            return places;
        }
    }
}

/// YAML documents, which begin at lines that start with `---` whatever stands around them.
fn split_yaml(text: &str) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 1, 0);
    let mut push = |from: usize, to: usize, line: u64| {
        let document = &text[from..to];
        let content = document.strip_prefix("---").unwrap_or(document);
        if content.lines().any(|line| !matches!(line.trim_start().chars().next(), None | Some('#'))) {
            places.push(Place::Yaml { text: document, line });
        }
    };
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let marker =
            line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if marker && offset > 0 {
            push(start, offset, start_line);
            (start, start_line) = (offset, number);
        }
        offset += line.len();
    }
    push(start, text.len(), start_line);
    places
}

/// Where the items of a JSON list begin and end, or where something else stands. The text is known to be a JSON object.
///
/// A dump of a cluster can be a hundred megabytes, so items are neither copied nor turned into trees of values.
fn json_items(text: &str) -> Result<Vec<(usize, usize)>, usize> {
    let mut items = Vec::new();
    let mut at = skip(text, 0, '{');
    while text[at..].starts_with('"') {
        let (key, end) = json_value(text, at);
        if key == end {
            break;
        }
        at = skip(text, end, ':');
        let is_items = &text[key..end] == "\"items\"";
        if is_items && !text[at..].starts_with('[') && !text[at..].starts_with("null") {
            return Err(at);
        }
        if is_items && text[at..].starts_with('[') {
            at = skip(text, at, '[');
            while !text[at..].starts_with(']') {
                let (start, end) = json_value(text, at);
                if start == end {
                    return Ok(items);
                }
                items.push((start, end));
                at = skip(text, end, ',');
            }
            at = skip(text, at, ']');
        } else {
            at = json_value(text, at).1;
        }
        at = skip(text, at, ',');
    }
    Ok(items)
}

/// Start and end of the value at `at`; the same number twice if there is none.
fn json_value(text: &str, at: usize) -> (usize, usize) {
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => (at, at + values.byte_offset()),
        _ => (at, at),
    }
}

/// The position after white space, this character if it is there, and more white space.
fn skip(text: &str, at: usize, character: char) -> usize {
    let rest = text[at..].trim_start();
    let rest = rest.strip_prefix(character).unwrap_or(rest).trim_start();
    text.len() - rest.len()
}

fn position_of(text: &str, offset: usize) -> (u64, u64) {
    let before = &text[..offset];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line as u64, column as u64)
}

impl<'a> Place<'a> {
    /// Line and column of the object's first character.
    pub fn start(&self) -> Option<(u64, u64)> {
        match self {
            Self::Json { line, column, .. } => Some((*line, *column)),
            Self::Yaml { text, line } => {
                let lead = if text.starts_with("---") { 1 } else { 0 };
                Some((line + lead, 1))
            }
            Self::YamlItem { position, .. } => Some(*position),
        }
    }

    /// Whether the text has this word somewhere.
    pub fn mentions(&self, word: &str) -> bool {
        match self {
            Self::Json { text, .. } | Self::Yaml { text, .. } => text.contains(word),
            Self::YamlItem { list, .. } => list.contains(word),
        }
    }

    /// The object as a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        match self {
            Self::Json { text, line, column } => {
                serde_json::from_str(text).map_err(|error| json_error(&error, *line, *column))
            }
            Self::Yaml { text, line } => yaml(text).map_err(|error| yaml_error(&error, *line)),
            Self::YamlItem { value, list, list_line, index, .. } => T::deserialize(value).map_err(|error| {
                locate::<T>(list, *list_line, *index)
                    .unwrap_or_else(|| Error { position: self.start(), message: error.to_string() })
            }),
        }
    }

    /// The items of a list.
    pub fn items(&self) -> Result<Vec<Place<'a>>, Error> {
        match self {
            Self::Json { text, line, column } => {
                let mut items = Vec::new();
                let mut seen = (0, *line, *column);
                let place = |from: (usize, u64, u64), to: usize| {
                    let (lines, columns) = position_of(&text[from.0..], to - from.0);
                    (to, from.1 + lines - 1, if lines == 1 { from.2 + columns - 1 } else { columns })
                };
                let spans = json_items(text).map_err(|at| {
                    let (_, line, column) = place(seen, at);
                    Error { position: Some((line, column)), message: "items is no list".to_owned() }
                })?;
                for (start, end) in spans {
                    seen = place(seen, start);
                    items.push(Place::Json { text: &text[start..end], line: seen.1, column: seen.2 });
                }
                Ok(items)
            }
            Self::Yaml { text, line } => {
                let list: YamlItems = yaml(text).map_err(|error| yaml_error(&error, *line))?;
                let items = list.items.into_iter().enumerate();
                Ok(items
                    .map(|(index, item)| Place::YamlItem {
                        position: (item.referenced.line() + line - 1, item.referenced.column()),
                        value: item.value,
                        list: text,
                        list_line: *line,
                        index,
                    })
                    .collect())
            }
            Self::YamlItem { .. } => Err(Error { position: self.start(), message: "a list in a list".to_owned() }),
        }
    }
}

#[derive(Deserialize)]
struct YamlItems {
    #[serde(default)]
    items: Vec<Spanned<Value>>,
}

fn yaml<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, options())
}

/// As the defaults, but for dumps of whole clusters, and without excerpts in messages: they get the file's own lines.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_documents: usize::MAX,
        },
    }
}

fn json_error(error: &serde_json::Error, line: u64, column: u64) -> Error {
    let (error_line, error_column) = (error.line() as u64, error.column() as u64);
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned();
    let position = (error_line > 0).then(|| {
        // At a line's end the parser says 0.
        let error_column = error_column.max(1);
        (line + error_line - 1, if error_line == 1 { column + error_column - 1 } else { error_column })
    });
    Error { position, message }
}

fn yaml_error(error: &serde_saphyr::Error, line: u64) -> Error {
    let position = error.location().map(|at| (at.line() + line - 1, at.column()));
    let text = error.to_string();
    // The parser repeats the position, which counts from the start of the document only.
    let message = text.lines().next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = match message.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest,
        None => message.rsplit_once(" at line ").map_or(message, |(before, _)| before),
    };
    Error { position, message: message.to_owned() }
}

/// Reads a list again to see where item `index` is not a `T`.
fn locate<T: DeserializeOwned>(list: &str, line: u64, index: usize) -> Option<Error> {
    let seed = ListWith::<T> { index, item: PhantomData };
    let result = serde_saphyr::with_deserializer_from_str_with_options(list, options(), |deserializer| {
        seed.deserialize(deserializer)
    });
    result.err().map(|error| yaml_error(&error, line))
}

/// A list of which one item is decoded and the others are skipped.
struct ListWith<T> {
    index: usize,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ListWith<T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListWith<T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                map.next_value_seed(ItemsWith::<T> { index: self.index, item: PhantomData })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct ItemsWith<T> {
    index: usize,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ItemsWith<T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemsWith<T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for _ in 0..self.index {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element::<T>()?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
