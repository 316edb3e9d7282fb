//! The parser behind [`Json::parse`](super::Json::parse).
//!
//! Our own, since serde_json takes nine kilobytes of the module for what a tree does not need: floating point numbers,
//! readers, a message for each of its errors. A property test holds the two to the same answers.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Error, Json};

/// Levels of lists and objects within each other, so that hostile text cannot exhaust the stack.
const MOST_LEVELS: u32 = 128;

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Json<'_>, Error> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(MOST_LEVELS)?;
    if parser.peek().is_some() { Err(parser.error("trailing characters")) } else { Ok(value) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    #[inline(never)]
    fn error(&self, message: &'static str) -> Error {
        Error { at: self.at, message: if self.at < self.text.len() { message } else { "the document ends too early" } }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.skip();
        }
        self.byte()
    }

    fn skip(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// Skips `byte` if it is the next one.
    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.skip();
        }
        found
    }

    fn value(&mut self, levels: u32) -> Result<Json<'a>, Error> {
        match self.peek() {
            Some(b'{' | b'[') if levels == 0 => Err(self.error("more than 128 levels")),
            Some(b'{') => self.object(levels.saturating_sub(1)),
            Some(b'[') => self.list(levels.saturating_sub(1)),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.word("null") => Ok(Json::Null),
            _ if self.word("true") => Ok(Json::Bool(true)),
            _ if self.word("false") => Ok(Json::Bool(false)),
            _ => Err(self.error("expected a value")),
        }
    }

    /// Skips `word` if it comes next.
    fn word(&mut self, word: &str) -> bool {
        let found = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        if found {
            self.at = self.at.saturating_add(word.len());
        }
        found
    }

    fn list(&mut self, levels: u32) -> Result<Json<'a>, Error> {
        self.skip();
        let mut list = Vec::new();
        if !self.accept(b']') {
            loop {
                list.push(self.value(levels)?);
                if self.accept(b']') {
                    break;
                }
                if !self.accept(b',') {
                    return Err(self.error("expected `,` or `]`"));
                }
            }
        }
        Ok(Json::List(list))
    }

    fn object(&mut self, levels: u32) -> Result<Json<'a>, Error> {
        self.skip();
        let mut fields = Vec::new();
        if !self.accept(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.error("expected the name of a field in quotes"));
                }
                let name = self.string()?;
                if !self.accept(b':') {
                    return Err(self.error("expected `:`"));
                }
                fields.push((name, self.value(levels)?));
                if self.accept(b'}') {
                    break;
                }
                if !self.accept(b',') {
                    return Err(self.error("expected `,` or `}`"));
                }
            }
        }
        Ok(Json::Object(fields))
    }

    /// Digits, at least one; their value below zero, `None` if that is beyond an `i64`.
    fn digits(&mut self) -> Result<Option<i64>, Error> {
        let mut value = Some(0_i64);
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            let digit = i64::from(digit & 0xf);
            value = value.and_then(|value| value.checked_mul(10)?.checked_sub(digit));
            self.skip();
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(value) }
    }

    fn number(&mut self) -> Result<Json<'a>, Error> {
        let negative = self.accept(b'-');
        let start = self.at;
        let mut value = self.digits()?;
        if !negative {
            value = value.and_then(i64::checked_neg);
        }
        if self.at.saturating_sub(start) > 1 && self.text.as_bytes().get(start) == Some(&b'0') {
            self.at = start;
            return Err(self.error("a number begins with 0"));
        }
        if self.byte() == Some(b'.') {
            self.skip();
            self.digits()?;
            value = None;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.skip();
            if let Some(b'+' | b'-') = self.byte() {
                self.skip();
            }
            self.digits()?;
            value = None;
        }
        Ok(value.map_or(Json::OtherNumber, Json::Integer))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.skip();
        let mut owned: Option<String> = None;
        let mut start = self.at;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let plain = rest.iter().position(|byte| matches!(byte, ..b' ' | b'"' | b'\\'));
            self.at = self.at.saturating_add(plain.unwrap_or(rest.len()));
            // Quotes and backslashes are no part of longer characters, so text is cut between characters.
            let piece = self.text.get(start..self.at).unwrap_or_default();
            match self.byte() {
                Some(b'"') => {
                    self.skip();
                    return Ok(match owned {
                        None => Cow::Borrowed(piece),
                        Some(mut text) => {
                            text.push_str(piece);
                            Cow::Owned(text)
                        }
                    });
                }
                Some(b'\\') => {
                    self.skip();
                    let character = self.escape()?;
                    let text = owned.get_or_insert_default();
                    text.push_str(piece);
                    text.push(character);
                    start = self.at;
                }
                _ => return Err(self.error("a control character in a string")),
            }
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let letter = self.byte();
        self.skip();
        Ok(match letter {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let mut code = self.four_digits()?;
                if code & 0xfc00 == 0xd800 && self.byte() == Some(b'\\') {
                    self.skip();
                    if self.byte() == Some(b'u') {
                        self.skip();
                        code = match self.four_digits()? {
                            low @ 0xdc00..=0xdfff => ((code & 0x3ff) << 10 | low & 0x3ff).saturating_add(0x1_0000),
                            // No second half: what is written is no character.
                            _ => u32::MAX,
                        };
                    }
                }
                return char::from_u32(code).ok_or_else(|| self.error("no character has this code"));
            }
            _ => return Err(self.error("an unknown escape")),
        })
    }

    fn four_digits(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            code = code << 4 | digit.ok_or_else(|| self.error("expected four hexadecimal digits"))?;
            self.skip();
        }
        Ok(code)
    }
}
