//! Which field of a JSON text an error is about.
//!
//! `serde_json` tells line and column only. A deserializer that tracks the path costs the module 80 kB; walking the text
//! up to the error costs one.

/// The path (`binpack.scoringStrategy.resources[2].weight`) of the value that holds, or ends at, a position of a JSON
/// text that is well-formed up to there. `line` and `column` count from 1, as in `serde_json` errors.
pub(super) fn at(text: &str, line: usize, column: usize) -> String {
    let end = offset(text, line, column);
    let mut open: Vec<Part> = Vec::new();
    let mut string: Option<(usize, bool)> = None;
    let mut key = "";
    for (at, byte) in text.bytes().enumerate().take(end) {
        match (&mut string, byte) {
            (Some((_, escaped)), _) if *escaped => *escaped = false,
            (Some((_, escaped)), b'\\') => *escaped = true,
            (Some((from, _)), b'"') => {
                key = text.get(*from..at).unwrap_or_default();
                string = None;
            }
            (Some(_), _) => {}
            (None, b'"') => string = Some((at.saturating_add(1), false)),
            (None, b'{') => open.push(Part::Field("")),
            (None, b'[') => open.push(Part::Element(0)),
            (None, b'}' | b']') if at.saturating_add(1) < end => {
                open.pop();
            }
            (None, b':') => {
                if let Some(Part::Field(name)) = open.last_mut() {
                    *name = key;
                }
            }
            (None, b',') if at.saturating_add(1) < end => match open.last_mut() {
                Some(Part::Field(name)) => *name = "",
                Some(Part::Element(index)) => *index = index.saturating_add(1),
                None => {}
            },
            (None, _) => {}
        }
    }
    let mut path = String::new();
    for part in open {
        match part {
            Part::Field("") => {}
            Part::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Part::Element(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// A step into the document.
enum Part<'a> {
    /// Into the field of an object; empty before its name is known.
    Field(&'a str),
    /// Into an element of an array.
    Element(usize),
}

/// Bytes of `text` up to and including the position.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before.saturating_add(column).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn the_path_leads_to_the_value_at_the_position() {
        let text = "{\"a\": {\"b\": [1, {\"c\\\"\": true}],\n \"d\": 5}, \"e\": 1}";
        let path = |needle: &str| {
            let end = text.find(needle).expect("in the text") + needle.len();
            let line = text[..end].matches('\n').count() + 1;
            let column = end - text[..end].rfind('\n').map_or(0, |at| at + 1);
            at(text, line, column)
        };
        assert_eq!(path("[1"), "a.b[0]");
        assert_eq!(path("true"), "a.b[1].c\\\"");
        assert_eq!(path("\"d\": 5"), "a.d");
        assert_eq!(path("\"e\": 1"), "e");
        assert_eq!(at(text, 9, 9), "e", "past the end");
        assert_eq!(at("", 1, 1), "");
        assert_eq!(at("}]{", 1, 3), "");
    }
}
