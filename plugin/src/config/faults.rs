//! What is wrong with a policy document.

use core::fmt;

/// Faults of a policy document, in the order they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    found: Vec<(String, String)>,
}

impl Faults {
    /// Notes that the field at `path` (dots and brackets, empty for the document itself) is wrong.
    pub fn push(&mut self, path: &str, message: String) {
        self.found.push((path.to_owned(), message));
    }

    /// A single fault.
    #[must_use]
    pub fn one(path: &str, message: impl fmt::Display) -> Self {
        Self { found: vec![(path.to_owned(), message.to_string())] }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Path and message of each fault.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.found.iter().map(|(path, message)| (path.as_str(), message.as_str()))
    }
}

impl fmt::Display for Faults {
    /// One fault a line: `policy: binpack.scoringStrategy.type: unknown variant …`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (path, message)) in self.found.iter().enumerate() {
            if at > 0 {
                out.write_str("\n")?;
            }
            out.write_str("policy: ")?;
            if !path.is_empty() {
                out.write_str(path)?;
                out.write_str(": ")?;
            }
            out.write_str(message)?;
        }
        Ok(())
    }
}
