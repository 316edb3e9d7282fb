//! What is wrong with a file, and where.

use std::fmt;

/// A fault in an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file's name.
    pub source: String,
    /// The document, counted from 1, and the item in it if it is a list.
    pub document: (usize, Option<usize>),
    /// `Kind namespace/name`, as far as known.
    pub object: Option<String>,
    /// Line and column, counted from 1.
    pub position: Option<(u64, u64)>,
    /// What is wrong.
    pub message: String,
}

impl Fault {
    /// File, document, object and position.
    #[must_use]
    pub fn place(&self) -> String {
        let item = self.document.1.map_or_else(String::new, |item| format!(", item {item}"));
        let object = self.object.as_ref().map_or_else(String::new, |object| format!(" ({object})"));
        let position =
            self.position.map_or_else(String::new, |(line, column)| format!(", line {line}, column {column}"));
        format!("{}: document {}{item}{object}{position}", self.source, self.document.0)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)
    }
}

impl std::error::Error for Fault {}
