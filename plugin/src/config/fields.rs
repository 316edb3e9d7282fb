//! Reading the fields of the policy document.
//!
//! A section of the document is a struct whose [`Section::read`] names its fields one by one, each with the range or the
//! words that are allowed. So every fault is found in one go, with its path, and a field that no section names is one.
//! An absent field, or `null`, leaves what was there: the default.

use alloc::borrow::Cow;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::Faults;
use crate::gather::Gather;
use crate::json::Json;
use crate::sorted_map::SortedMap;
use crate::text::join;

/// A section of the policy document.
pub(super) trait Section {
    /// Takes over the fields that are given, and says what is wrong with them.
    fn read(&mut self, fields: &mut Fields<'_>);
}

/// Faults beyond so many are not told: each is looked up in the text, and nobody reads them all.
const MOST_FAULTS: usize = 50;

/// Reads a document into `section`.
pub(super) fn read(text: &str, section: &mut dyn Section) -> Result<(), Faults> {
    let root = Json::parse(text).map_err(|error| Faults::no_json(error, text))?;
    let mut found = Vec::new();
    read_object(&root, String::new(), &mut found, section);
    if found.is_empty() { Ok(()) } else { Err(Faults::locate(found, &root, text)) }
}

fn read_object(value: &Json<'_>, path: String, faults: &mut Vec<(String, String)>, section: &mut dyn Section) {
    let given: &[_] = if let Json::Object(given) = value { given } else { &[] };
    let mut fields = Fields { given, path, known: Vec::new(), faults };
    if matches!(value, Json::Object(_)) {
        section.read(&mut fields);
        fields.finish();
    } else {
        fields.wrong_kind("", value, "an object");
    }
}

/// The fields of one object, while they are read.
pub(super) struct Fields<'a> {
    given: &'a [(Cow<'a, str>, Json<'a>)],
    /// Of this object; empty for the document.
    path: String,
    /// Names that have been asked for.
    known: Vec<&'static str>,
    /// Path and message of every fault so far, also of other objects.
    faults: &'a mut Vec<(String, String)>,
}

impl<'a> Fields<'a> {
    /// Notes that a field is wrong. `path` leads to it from here (`shape[1].score`); the message says what is allowed.
    pub fn fault(&mut self, path: &str, message: impl Into<String>) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push((self.path_of(path), message.into()));
        }
    }

    /// Whether a field is given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, value)| given == name && *value != Json::Null)
    }

    /// A field without which the object makes no sense.
    pub fn require(&mut self, name: &str) {
        if !self.has(name) {
            self.fault(name, "is missing");
        }
    }

    /// A whole number.
    pub fn number<S: From<u32>>(&mut self, name: &'static str, slot: &mut S, allowed: RangeInclusive<u32>) {
        if let Some(number) = self.value(name).and_then(|value| self.number_in(name, value, &allowed)) {
            *slot = number.into();
        }
    }

    /// `true` or `false`.
    pub fn flag<S: From<bool>>(&mut self, name: &'static str, slot: &mut S) {
        match self.value(name) {
            Some(Json::Bool(flag)) => *slot = (*flag).into(),
            Some(other) => self.wrong_kind(name, other, "true or false"),
            None => {}
        }
    }

    /// A text that is not empty.
    pub fn text<S: From<String>>(&mut self, name: &'static str, slot: &mut S) {
        if let Some(text) = self.value(name).and_then(|value| self.text_in(name, value)) {
            *slot = text.to_owned().into();
        }
    }

    /// One of some words.
    pub fn choice<T: Copy, S: From<T>>(&mut self, name: &'static str, slot: &mut S, choices: &[(&'static str, T)]) {
        let chosen = self.chosen(name, &|at| choices.get(at).map(|(word, _)| *word));
        if let Some((_, choice)) = chosen.and_then(|at| choices.get(at)) {
            *slot = (*choice).into();
        }
    }

    /// Which of some words a field holds; it is a fault if it holds another.
    fn chosen(&mut self, name: &'static str, word: &dyn Fn(usize) -> Option<&'static str>) -> Option<usize> {
        let text = self.value(name).and_then(|value| self.text_in(name, value))?;
        let words = (0..).map_while(word).gather();
        let chosen = words.iter().position(|word| *word == text);
        if chosen.is_none() {
            self.fault(name, say!("unknown variant `", text, "`, expected one of ", quoted(&words)));
        }
        chosen
    }

    /// A list of texts, none of them empty; it replaces the default. Whether nothing is wrong with it.
    pub fn texts(&mut self, name: &'static str, slot: &mut Vec<String>) -> bool {
        let before = self.faults.len();
        if let Some(elements) = self.elements(name) {
            slot.clear();
            for (at, element) in elements.iter().enumerate() {
                if let Some(text) = self.text_in(&say!(name, "[", at, "]"), element) {
                    slot.push(text.to_owned());
                }
            }
        }
        self.faults.len() == before
    }

    /// Numbers by names that the document chooses.
    pub fn numbers(&mut self, name: &'static str, slot: &mut SortedMap<Box<str>, u32>, allowed: RangeInclusive<u32>) {
        let entries = match self.value(name) {
            Some(Json::Object(entries)) => entries,
            Some(other) => return self.wrong_kind(name, other, "an object"),
            None => return,
        };
        for (key, value) in entries {
            let path = say!(name, "[", key, "]");
            if let Some(number) = self.number_in(&path, value, &allowed)
                && slot.insert((**key).into(), number).is_some()
            {
                self.fault(&path, TWICE);
            }
        }
    }

    /// A section within this one.
    pub fn section(&mut self, name: &'static str, section: &mut dyn Section) {
        if let Some(value) = self.value(name) {
            self.element(name, value, section);
        }
    }

    /// A section that is absent by default.
    pub fn optional_section<T: Section + Default>(&mut self, name: &'static str, slot: &mut Option<T>) {
        if let Some(value) = self.value(name) {
            self.element(name, value, slot.insert(T::default()));
        }
    }

    /// A list of sections; it replaces the default. Whether nothing is wrong with it.
    pub fn sections<T: Section + Default>(&mut self, name: &'static str, slot: &mut Vec<T>) -> bool {
        let before = self.faults.len();
        if let Some(elements) = self.elements(name) {
            slot.clear();
            for (at, element) in elements.iter().enumerate() {
                let mut section = T::default();
                self.element_at(name, at, element, &mut section);
                slot.push(section);
            }
        }
        self.faults.len() == before
    }

    #[inline(never)]
    fn element_at(&mut self, name: &str, at: usize, value: &Json<'_>, section: &mut dyn Section) {
        self.element(&say!(name, "[", at, "]"), value, section);
    }

    #[inline(never)]
    fn element(&mut self, path: &str, value: &Json<'_>, section: &mut dyn Section) {
        read_object(value, self.path_of(path), self.faults, section);
    }

    /// What a field holds; the field is known from now on.
    fn value(&mut self, name: &'static str) -> Option<&'a Json<'a>> {
        self.known.push(name);
        let mut values = self.given.iter().filter(|(given, _)| given == name).map(|(_, value)| value);
        let value = values.next_back();
        if values.next().is_some() {
            self.fault(name, TWICE);
        }
        value.filter(|value| **value != Json::Null)
    }

    fn elements(&mut self, name: &'static str) -> Option<&'a [Json<'a>]> {
        match self.value(name)? {
            Json::List(elements) => Some(elements),
            other => {
                self.wrong_kind(name, other, "a list");
                None
            }
        }
    }

    fn number_in(&mut self, path: &str, value: &Json<'_>, allowed: &RangeInclusive<u32>) -> Option<u32> {
        let (least, most) = (allowed.start(), allowed.end());
        match value {
            Json::Integer(number) => {
                let accepted = u32::try_from(*number).ok().filter(|number| allowed.contains(number));
                if accepted.is_none() {
                    self.fault(path, say!(number, " is out of range, allowed are ", least, " to ", most));
                }
                accepted
            }
            Json::OtherNumber => {
                self.fault(path, say!("is no whole number, allowed are ", least, " to ", most));
                None
            }
            other => {
                self.wrong_kind(path, other, "a number");
                None
            }
        }
    }

    fn text_in<'v>(&mut self, path: &str, value: &'v Json<'_>) -> Option<&'v str> {
        match value {
            Json::Text(text) if text.is_empty() => self.fault(path, "is empty"),
            Json::Text(text) => return Some(text),
            other => self.wrong_kind(path, other, "a string"),
        }
        None
    }

    fn wrong_kind(&mut self, path: &str, found: &Json<'_>, expected: &str) {
        self.fault(path, say!("is ", found.kind(), ", expected ", expected));
    }

    /// Whatever no one asked for is a fault.
    fn finish(mut self) {
        for (name, _) in self.given {
            if !self.known.contains(&&**name) {
                let known = quoted(&self.known);
                self.fault(name, say!("unknown field `", name, "`, expected one of ", known));
            }
        }
    }

    /// The whole path of what is at `path` in this object.
    fn path_of(&self, path: &str) -> String {
        let dot = if self.path.is_empty() || path.is_empty() { "" } else { "." };
        say!(self.path, dot, path)
    }
}

const TWICE: &str = "is given twice";

/// `` `a`, `b` ``.
fn quoted(words: &[&str]) -> String {
    join(&words.iter().map(|word| say!("`", word, "`")).gather(), ", ")
}
