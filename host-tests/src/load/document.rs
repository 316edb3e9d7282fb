//! The documents of a file: where each begins, what kind of object it is, and what it holds.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::decode::{self, Place};
use super::fault::Fault;
use crate::workload::suffix;

/// The text of a file.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
}

/// One object of a file: a document, or an item of a list in one.
#[derive(Debug)]
pub struct Document<'a> {
    /// `apiVersion`, empty if absent.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    place: Place<'a>,
    source: &'a str,
    number: (usize, Option<usize>),
    object: Option<String>,
    identity: Option<String>,
}

/// What tells objects apart.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Header {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Name>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Name {
    name: Option<String>,
    namespace: Option<String>,
    #[serde(rename = "generateName")]
    generate_name: Option<String>,
}

impl Header {
    /// What no two objects have in common; `None` for an object whose name the API server makes up.
    fn identity(&self) -> Option<String> {
        let metadata = self.metadata.as_ref()?;
        let namespace = metadata.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or("default");
        Some(format!("{} {namespace}/{}", self.kind.as_deref()?, metadata.name.as_ref()?))
    }

    fn object(&self) -> Option<String> {
        let kind = self.kind.as_deref().unwrap_or("object without a kind");
        let metadata = self.metadata.as_ref()?;
        let name = metadata.name.as_ref().or(metadata.generate_name.as_ref())?;
        Some(match &metadata.namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        })
    }
}

impl Source {
    /// A file's text, with or without a byte order mark.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text: String = text.into();
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
        Self { name: name.into(), text }
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The objects of the file, with the items of lists in their place.
    ///
    /// # Errors
    /// The first document that is not JSON or YAML, or has no kind; or that there is none, as after a command that
    /// failed to write the file.
    pub fn documents(&self) -> Result<Vec<Document<'_>>, Fault> {
        let mut documents = Vec::new();
        let mut any = false;
        for (index, place) in decode::split(&self.text).into_iter().enumerate() {
            any |= self.read(place, index + 1, &mut documents)?;
        }
        if any {
            Ok(documents)
        } else {
            let message = "holds no object".to_owned();
            Err(self.fault((1, None), None, decode::Error { position: Some((1, 1)), message }))
        }
    }

    /// Reads a document; false if it is empty.
    fn read<'a>(&'a self, place: Place<'a>, number: usize, documents: &mut Vec<Document<'a>>) -> Result<bool, Fault> {
        let fault = |error: decode::Error| self.fault((number, None), None, error);
        let Some(header) = place.decode::<Option<Header>>().map_err(fault)? else { return Ok(false) };
        let kind = header.kind.clone().unwrap_or_default();
        let Some(item_kind) = kind.strip_suffix("List") else {
            documents.push(self.document(place, header, (number, None))?);
            return Ok(true);
        };
        for (index, item) in place.items().map_err(fault)?.into_iter().enumerate() {
            let number = (number, Some(index + 1));
            let mut inner: Header = item.decode().map_err(|error| self.fault(number, None, error))?;
            if inner.kind.is_none() && !item_kind.is_empty() {
                // Items of a typed list leave out what the list says.
                inner.kind = Some(item_kind.to_owned());
                inner.api_version = header.api_version.clone();
            }
            documents.push(self.document(item, inner, number)?);
        }
        Ok(true)
    }

    fn document<'a>(
        &'a self,
        place: Place<'a>,
        header: Header,
        number: (usize, Option<usize>),
    ) -> Result<Document<'a>, Fault> {
        let (object, identity) = (header.object(), header.identity());
        let Some(kind) = header.kind else {
            let message = "has no kind; is this a Kubernetes object?".to_owned();
            return Err(self.fault(number, object, decode::Error { position: place.start(), message }));
        };
        Ok(Document {
            api_version: header.api_version.unwrap_or_default(),
            kind,
            place,
            source: &self.name,
            number,
            object,
            identity,
        })
    }

    fn fault(&self, document: (usize, Option<usize>), object: Option<String>, error: decode::Error) -> Fault {
        let template = self.text.contains("{{") && self.text.contains("}}");
        let hint = if template { " (this looks like a template: render it first)" } else { "" };
        Fault {
            source: self.name.clone(),
            document,
            object,
            position: error.position,
            message: format!("{}{hint}", error.message),
        }
    }
}

/// The objects that were there already, and where.
#[derive(Default)]
pub struct Seen(HashMap<String, String>);

impl Seen {
    /// Adds an object.
    ///
    /// # Errors
    /// When one of its name was there before.
    pub fn add(&mut self, document: &Document<'_>) -> Result<(), Fault> {
        let Some(identity) = &document.identity else { return Ok(()) };
        let place = Fault { object: None, ..document.fault("") }.place();
        match self.0.insert(identity.clone(), place) {
            Some(before) => Err(document.fault(format!("was there before, in {before}"))),
            None => Ok(()),
        }
    }
}

impl Document<'_> {
    /// The object as a `T`.
    ///
    /// # Errors
    /// When it is not one; the fault says where.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        self.place.decode().map_err(|error| Fault { position: error.position, ..self.fault(error.message) })
    }

    /// The end of a name that the API server makes up, for the one object that stands here.
    pub fn suffix(&self) -> String {
        let (document, item) = self.number;
        suffix::random(&format!("{} {document}", self.source), item.unwrap_or(0))
    }

    /// Whether the object has a name, or the beginning of one.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.object.is_some()
    }

    /// Whether the text has this word somewhere; cheap, for fields that are nearly never there.
    #[must_use]
    pub fn mentions(&self, word: &str) -> bool {
        self.place.mentions(word)
    }

    /// A fault about this object.
    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault {
            source: self.source.to_owned(),
            document: self.number,
            object: self.object.clone().or_else(|| Some(self.kind.clone())),
            position: self.place.start(),
            message: message.into(),
        }
    }
}
