//! JSON as a tree, for every document the module reads.
//!
//! serde builds a parser per type that it reads into, two kilobytes for each struct of the policy. One tree needs one
//! parser, and what walks it can name every fault instead of the first. Text without escapes is borrowed, objects keep
//! the order and the duplicates of the document, and a tree takes in the worst case some ten times the text's memory.

mod parse;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::say::Say;

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
    /// What is no JSON, or more than 128 levels deep.
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        parse::parse(text)
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

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The byte, from 0, at which reading stopped.
    pub at: usize,
    /// What is wrong there.
    pub message: &'static str,
}

impl Say for Error {
    fn say(&self, text: &mut String) {
        say_to!(text, self.message, " at byte ", self.at);
    }
}

display!(Error);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What serde_json makes of a text.
    fn by_serde(value: &serde_json::Value) -> Json<'static> {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(*value),
            serde_json::Value::Number(number) => number.as_i64().map_or(Json::OtherNumber, Json::Integer),
            serde_json::Value::String(text) => Json::Text(text.clone().into()),
            serde_json::Value::Array(list) => Json::List(list.iter().map(by_serde).collect()),
            serde_json::Value::Object(fields) => {
                Json::Object(fields.iter().map(|(name, value)| (name.clone().into(), by_serde(value))).collect())
            }
        }
    }

    /// A tree as it would be with its fields sorted and the last of the same name counting, and -0 a whole number.
    fn normal(tree: &Json<'_>) -> Json<'static> {
        match tree {
            Json::List(list) => Json::List(list.iter().map(normal).collect()),
            Json::Object(fields) => {
                let sorted: std::collections::BTreeMap<_, _> =
                    fields.iter().map(|(name, value)| (name.clone().into_owned(), normal(value))).collect();
                Json::Object(sorted.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }
            Json::Text(text) => Json::Text(text.clone().into_owned().into()),
            Json::Integer(number) => Json::Integer(*number),
            Json::Bool(value) => Json::Bool(*value),
            Json::Null => Json::Null,
            Json::OtherNumber => Json::OtherNumber,
        }
    }

    fn same_as_serde(text: &str) -> Result<(), TestCaseError> {
        let ours = Json::parse(text);
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => {
                let tree = ours.map_err(|error| TestCaseError::fail(format!("{text:?}: {error}")))?;
                prop_assert_eq!(normal(&tree), normal(&by_serde(&value)), "{}", text);
            }
            // Numbers beyond a double's range are beyond any use here, so their range is not looked at.
            Err(error) if error.to_string().contains("number out of range") => {}
            Err(error) => prop_assert!(ours.is_err(), "{text:?} is read, but {error}"),
        }
        Ok(())
    }

    fn document() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            (-1e300..1e300).prop_map(|number: f64| number.into()),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn documents_are_read_as_serde_reads_them(value in document(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            same_as_serde(&text.unwrap())?;
        }

        #[test]
        fn broken_documents_are_refused_as_serde_refuses_them(
            value in document(), cut in any::<prop::sample::Index>(), put in prop::sample::select(vec![
                "", ",", "{", "]", "\"", "\\", "\\u", "\\ud83d\\ude00", "\\udc00", "\u{1}", "0", "-", ".", "1e5", "e", "tru", " ", "é",
            ]), keep in 0..3_usize,
        ) {
            let text = value.to_string();
            let at = (0..=cut.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let rest = (at + keep..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            same_as_serde(&format!("{}{put}{}", &text[..at], &text[rest..]))?;
        }

        #[test]
        fn any_text_of_json_s_characters(text in r#"[{}\[\]",:\\u0-9d8e.+\-truefalsnl \n]{0,24}"#) {
            same_as_serde(&text)?;
        }
    }

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
        for text in [
            "\"\\ud83d\"",
            "\"\\ud83d\\u0041\"",
            "-",
            "1.",
            "1e",
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{} {}",
            "nul",
            "\"",
            "01",
            "{1:2}",
            &"[".repeat(200),
        ] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
