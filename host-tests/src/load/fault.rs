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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: document {}", self.source, self.document.0)?;
        if let Some(item) = self.document.1 {
            write!(f, ", item {item}")?;
        }
        if let Some(object) = &self.object {
            write!(f, " ({object})")?;
        }
        if let Some((line, column)) = self.position {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Fault {}
