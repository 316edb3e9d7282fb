//! Patterns in which `*` stands for anything.

use std::borrow::Cow;

/// Whether all of `text` is as the pattern says.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(last) => rest.ends_with(last),
    }
}

/// Whether the pattern is somewhere in `text`.
pub fn contains(pattern: &str, text: &str) -> bool {
    matches(&format!("*{pattern}*"), text)
}

/// Whether `key`, a `namespace/name`, is meant by the pattern, which may leave out the namespace `default`.
pub fn pod(pattern: &str, key: &str) -> bool {
    matches(&full(pattern), key)
}

/// The pattern with its namespace.
pub fn full(pattern: &str) -> Cow<'_, str> {
    if pattern.contains('/') { Cow::Borrowed(pattern) } else { Cow::Owned(format!("default/{pattern}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        for (pattern, text) in
            [("a", "a"), ("a*", "a"), ("a*c", "abc"), ("*b*", "abc"), ("*", ""), ("a*b*c", "a1b2b3c")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("ab*ba", "aba"), ("", "a"), ("a*b*c", "acb")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(contains("2 of 5*nvidia.com/gpu", "gang x: 2 of 5 members, needs 4 nvidia.com/gpu."));
        assert!(pod("tf-*", "default/tf-ps-0") && pod("ml/*", "ml/x") && !pod("tf-*", "ml/tf-1"));
    }
}
