//! Where in a document a field stands.
//!
//! The tree that is read knows no positions, and only a fault needs one: then the text is walked once more.

use alloc::vec::Vec;

use crate::json::Json;
use crate::text::number;

/// Line and column, from 1, in bytes, of the field or element at `path` (`binpack.scoringStrategy.resources[2].weight`),
/// or of the innermost thing around it that is there. `text` is the document that `root` was read from.
pub(super) fn of(path: &str, root: &Json<'_>, text: &str) -> (usize, usize) {
    of_byte(offset(text, &ordinals(path, root)), text)
}

/// Line and column, from 1, in bytes, of a byte of the text.
pub(super) fn of_byte(at: usize, text: &str) -> (usize, usize) {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
    let line = before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1);
    (line, before.len().saturating_sub(line_start).saturating_add(1))
}

/// The path as places: the how manieth field or element at each level, as far as there is one.
fn ordinals(path: &str, root: &Json<'_>) -> Vec<usize> {
    let mut places = Vec::new();
    let mut rest = path;
    let mut value = root;
    while let Some((name, behind)) = step(rest) {
        let found = match value {
            // Of fields of the same name the last counts.
            Json::Object(fields) => fields
                .iter()
                .enumerate()
                .rfind(|(_, (found, _))| found == name)
                .map(|(place, (_, value))| (place, value)),
            Json::List(elements) => number(name)
                .and_then(|place| usize::try_from(place).ok())
                .and_then(|place| elements.get(place).map(|value| (place, value))),
            _ => None,
        };
        let Some((place, inner)) = found else { break };
        places.push(place);
        (rest, value) = (behind, inner);
    }
    places
}

/// The first step of a path (a field name, or what stands in brackets) and what is behind it.
fn step(path: &str) -> Option<(&str, &str)> {
    if let Some(inside) = path.strip_prefix('[') {
        return crate::text::split(inside, b']');
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let end = path.bytes().position(|byte| byte == b'.' || byte == b'[').unwrap_or(path.len());
    path.split_at_checked(end).filter(|(name, _)| !name.is_empty())
}

/// Where the item at these places begins: in an object its key, in a list its value.
fn offset(text: &str, places: &[usize]) -> usize {
    let (mut string, mut escaped) = (false, false);
    let (mut depth, mut item_begins) = (0_usize, true);
    // Levels found so far, and items passed on the level where the search goes on.
    let (mut found, mut passed) = (0_usize, 0_usize);
    let mut last = 0;
    for (at, byte) in text.bytes().enumerate() {
        if string {
            string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        if item_begins && depth == found && found.checked_sub(1).is_none_or(|level| places.get(level) == Some(&passed))
        {
            last = at;
            if found == places.len() {
                break;
            }
            (found, passed) = (found.saturating_add(1), 0);
        }
        item_begins = matches!(byte, b'{' | b'[' | b',');
        match byte {
            b'"' => string = true,
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == found => passed = passed.saturating_add(1),
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_place() {
        let text = " {\"a\": {\"b\": [1, {\"c\\\"{\": true, \"c\":2}],\n \"d\": 5, \"s\": {\"ns/x.y\": 1}}, \"é\": [], \"e\": 1,\n\"e\": 2}";
        let root = Json::parse(text).expect("JSON");
        for (path, expected) in [
            ("", (1, 2)),
            ("a", (1, 3)),
            ("a.b", (1, 9)),
            ("a.b[0]", (1, 15)),
            ("a.b[1]", (1, 18)),
            ("a.b[1].c", (1, 33)),
            ("a.d", (2, 2)),
            ("a.s[ns/x.y]", (2, 16)),
            ("e", (3, 1)),
            ("a.b[2]", (1, 9)),
            ("a.b.c", (1, 9)),
            ("a.d.x", (2, 2)),
            ("nowhere", (1, 2)),
            ("a.s[", (2, 10)),
        ] {
            assert_eq!(of(path, &root, text), expected, "{path}");
        }
    }
}
