//! JSON as a tree, for every document the module reads.
//!
//! serde builds a parser per type that it reads into, two kilobytes for each struct of the policy. One tree needs one
//! parser, and what walks it can name every fault instead of the first. Text without escapes is borrowed, objects keep
//! the order and the duplicates of the document, and a tree takes in the worst case some ten times the text's memory.

use alloc::borrow::Cow;
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number: with a fraction or an exponent, or too large. No document of ours has a use for one.
    OtherNumber,
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<Json<'a>>),
    /// An object, as it stands in the document.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a document.
    ///
    /// # Errors
    /// What is no JSON, or more than 128 levels deep, with line and column.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What kind of value this is, with its article.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::OtherNumber => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// A string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A whole number.
    #[must_use]
    pub const fn integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }

    /// The value of a field; of several with this name, the last. `None` if there is none or this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().rfind(|(found, _)| found == name).map(|(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(value).map_or(Json::OtherNumber, Json::Integer))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Json<'de>, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Json<'de>, A::Error> {
        let mut fields = Vec::new();
        // A key is read as any value; JSON has no keys but strings.
        while let Some(Json::Text(name)) = pairs.next_key()? {
            fields.push((name, pairs.next_value()?));
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value() {
        let text =
            r#"{"a":[null,true,-1,1.5,1e2,9223372036854775807,9223372036854775808],"b":"x","c\n":"\u00e9","a":{}}"#;
        let borrowed = |text| Json::Text(Cow::Borrowed(text));
        let list = vec![
            Json::Null,
            Json::Bool(true),
            Json::Integer(-1),
            Json::OtherNumber,
            Json::OtherNumber,
            Json::Integer(i64::MAX),
            Json::OtherNumber,
        ];
        let tree = Json::parse(text).expect("JSON");
        let expected =
            [("a", Json::List(list)), ("b", borrowed("x")), ("c\n", borrowed("é")), ("a", Json::Object(vec![]))];
        assert_eq!(tree, Json::Object(expected.map(|(name, value)| (name.into(), value)).to_vec()));
        assert_eq!(tree.get("a"), Some(&Json::Object(vec![])), "the last one counts");
        assert!(matches!(tree.get("b"), Some(Json::Text(Cow::Borrowed("x")))));
        assert_eq!(borrowed("x").get("x"), None);
    }

    #[test]
    fn what_is_no_json() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "{} {}", "nul", "\"", "01", "{1:2}", &"[".repeat(200)] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
