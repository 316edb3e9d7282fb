//! Patterns and quotes, in fewer bytes than std's searcher and escapes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::gather::Gather;
use crate::say::Say;

/// Texts with `between` between them.
#[must_use]
pub fn join(texts: &[String], between: &str) -> String {
    let mut joined = String::new();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            joined.push_str(between);
        }
        joined.push_str(text);
    }
    joined
}

/// The same texts, for lists that do not change.
#[must_use]
pub fn boxed(texts: &[String]) -> Vec<Box<str>> {
    texts.iter().map(|text| text.as_str().into()).gather()
}

/// What stands before and behind the first `mark`, a character of one byte.
#[must_use]
pub fn split(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == mark)?;
    Some((text.get(..at)?, text.get(at.saturating_add(1)..)?))
}

/// Whether `text` is `pattern`, in which `*` stands for any text.
///
/// Each literal between two stars is taken at its first place: a later one could not leave more room for the rest.
#[must_use]
pub fn is_like(text: &str, pattern: &str) -> bool {
    let mut literals = pattern.as_bytes().split(|byte| *byte == b'*');
    let mut rest = text.as_bytes();
    let (Some(head), tail) = (literals.next(), literals.next_back()) else { return false };
    let Some(tail) = tail else { return rest == head };
    match rest.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)) {
        Some(middle) => rest = middle,
        None => return false,
    }
    for literal in literals {
        match behind(rest, literal) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}

/// Whether a text holds `part`.
#[must_use]
pub fn holds(text: &str, part: &str) -> bool {
    behind(text.as_bytes(), part.as_bytes()).is_some()
}

/// What stands behind the first `part` of a text.
fn behind<'a>(mut text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    loop {
        if let Some(behind) = text.strip_prefix(part) {
            return Some(behind);
        }
        (_, text) = text.split_first()?;
    }
}

/// A whole number in decimal digits, perhaps with a sign.
#[must_use]
pub fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    // Below zero there is one number more.
    let below = digits.iter().try_fold(0_i64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        number.checked_mul(10)?.checked_sub(i64::from(digit)).filter(|_| digit < 10)
    })?;
    if negative { Some(below) } else { below.checked_neg() }
}

/// The beginning of a text: in an object it can be as long as the object, in a message it must not be.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// A text without line breaks and other control characters: whoever writes an object chooses what stands in it.
#[must_use]
pub fn one_line(text: &str) -> String {
    plain(text, '%')
}

/// The same without percent signs: the scheduler takes a reason for a format when it writes the pod's event.
#[must_use]
pub fn reason(text: &str) -> String {
    plain(text, '\u{ff05}')
}

/// A text on one line, with its percent signs written as `percent`.
fn plain(text: &str, percent: char) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        plain.push(match character {
            '%' => percent,
            _ if character.is_control() => ' ',
            _ => character,
        });
    }
    plain
}

/// Text of an object in a message: in quotes, and on one line.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Say for Quoted<'_> {
    fn say(&self, text: &mut String) {
        text.push('"');
        for character in self.0.chars() {
            match character {
                '"' => text.push_str("\\\""),
                _ if character.is_control() => text.push(' '),
                _ => text.push(character),
            }
        }
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_as_std_reads_them() {
        let limits = [i64::MIN.to_string(), i64::MAX.to_string(), format!("{}", i128::from(i64::MAX) + 1)];
        let texts =
            ["0", "-0", "+7", "007", "-12", "", "-", "+", "--1", "1a", "1:", " 1", "1.0", "९", "99999999999999999999"];
        for text in texts.into_iter().chain(limits.iter().map(String::as_str)) {
            assert_eq!(number(text), text.parse().ok(), "{text:?}");
        }
    }

    #[test]
    fn quotes_hold_one_line() {
        assert_eq!(say!(Quoted("a\"b\nc\u{7f}é")), "\"a\\\"b c é\"");
        assert_eq!((cut("äöü", 2), cut("äöü", 3), cut("", 0)), ("äö", "äöü", ""));
        assert_eq!(one_line("gang a\nb: \"é\" 5%"), "gang a b: \"é\" 5%");
        assert_eq!(reason("gang a\nb: \"é\" 5%"), "gang a b: \"é\" 5\u{ff05}");
    }

    /// By trying every length for the text that a star stands for.
    fn like(text: &[u8], pattern: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| like(&text[at..], rest)),
            Some((first, rest)) => text.first() == Some(first) && like(&text[1..], rest),
        }
    }

    #[test]
    fn patterns() {
        let like =
            [("ml/bert", "ml/bert"), ("ml/*", "ml/bert"), ("*", ""), ("m*b*t", "ml/bert"), ("a**c", "ac"), ("", "")];
        for (pattern, text) in like {
            assert!(is_like(text, pattern), "{pattern} {text}");
        }
        for (pattern, text) in [("ml/bert", "ml/bert-2"), ("a*a", "a"), ("a*b*c", "acb"), ("*b*b*", "ab"), ("", "x")] {
            assert!(!is_like(text, pattern), "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn stars_stand_for_any_text(text in "[ab]{0,8}", pattern in "[ab*]{0,6}") {
            prop_assert_eq!(is_like(&text, &pattern), like(text.as_bytes(), pattern.as_bytes()));
        }
    }
}
