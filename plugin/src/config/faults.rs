//! What is wrong with a policy document.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::position;
use crate::json::{self, Json};
use crate::say::Say;
use crate::text::one_line;

/// Something that is wrong with a policy document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, from 1.
    pub line: usize,
    /// Where, from 1, in bytes.
    pub column: usize,
    /// Which field (`binpack.scoringStrategy.resources[2].weight`); empty for the document itself.
    pub path: String,
    /// What is wrong with it, and what is allowed.
    pub message: String,
}

impl Say for Fault {
    /// `line 3 column 5: weights.binpack: 101 is out of range, allowed are 0 to 100`.
    fn say(&self, text: &mut String) {
        let Self { line, column, path, message } = self;
        let colon = if path.is_empty() { "" } else { ": " };
        say_to!(text, "line ", line, " column ", column, ": ", path, colon, message);
    }
}

display!(Fault);

/// All that is wrong with a policy document, from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// A text that is no JSON.
    pub(super) fn no_json(error: json::Error, text: &str) -> Self {
        let (line, column) = position::of_byte(error.at, text);
        Self(vec![Fault { line, column, path: String::new(), message: error.message.into() }])
    }

    /// Paths and messages, with their places in the document.
    pub(super) fn locate(found: Vec<(String, String)>, root: &Json<'_>, text: &str) -> Self {
        let mut faults: Vec<Fault> = Vec::with_capacity(found.len());
        for (path, message) in found {
            let (line, column) = position::of(&path, root, text);
            let place = faults.partition_point(|fault| (fault.line, fault.column) <= (line, column));
            // Names in a document may hold line breaks.
            faults.insert(place, Fault { line, column, path: one_line(&path), message: one_line(&message) });
        }
        Self(faults)
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl Say for Faults {
    /// One a line, each after `policy: `.
    fn say(&self, text: &mut String) {
        for (at, fault) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            say_to!(text, separator, "policy: ", fault);
        }
    }
}

display!(Faults);
