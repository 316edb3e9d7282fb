//! Reading protobuf messages in place.
//!
//! A decision needs a dozen fields out of some kilobytes, so there is no generated object model: a [`Reader`] walks the
//! fields of one message and everything unknown is skipped by its length (generated code for the same two messages is
//! eight times as large and copies every string). Nothing recurses: a nested message is a slice that the caller reads
//! with another reader, and groups, which Kubernetes never writes, are skipped with a counter.

use alloc::string::String;

use crate::say::Say;

/// Why bytes are not the message they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The message ends within a field.
    Truncated,
    /// A number takes more than 64 bits.
    Varint,
    /// A field number out of range.
    Tag,
    /// A wire type that does not exist, or not the one that this field has.
    WireType,
    /// The end of a group that never began.
    Group,
    /// A string that is not UTF-8.
    Text,
}

impl Say for Error {
    fn say(&self, text: &mut String) {
        text.push_str(match self {
            Self::Truncated => "ends within a field",
            Self::Varint => "has a number of more than 64 bits",
            Self::Tag => "has a field number out of range",
            Self::WireType => "has a field of the wrong wire type",
            Self::Group => "ends a group that never began",
            Self::Text => "has a string that is not UTF-8",
        });
    }
}

display!(Error);

impl core::error::Error for Error {}

/// The fields of one message, in the order in which they were written.
///
/// What is not as it should be is kept for [`finish`](Self::finish), and ends the fields: checks after every value would
/// take more of the module than reading them does.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    /// The number of the field at hand.
    pub number: u32,
    value: Value<'a>,
    /// The message from the field at hand on.
    from: &'a [u8],
    /// The message behind it.
    rest: &'a [u8],
    fault: Option<Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    /// Integers, booleans and enums.
    Varint(u64),
    /// Strings, bytes, nested messages and map entries.
    Bytes(&'a [u8]),
    /// Fixed-width numbers and groups: no field that is read here has one.
    Skipped,
}

impl<'a> Reader<'a> {
    /// Reads `message` from its first byte.
    #[must_use]
    #[inline(never)]
    pub const fn new(message: &'a [u8]) -> Self {
        Self { number: 0, value: Value::Skipped, from: message, rest: message, fault: None }
    }

    /// Goes on to the next field. False if there is none, or none that can be read.
    #[inline(never)]
    pub fn advance(&mut self) -> bool {
        self.from = self.rest;
        if self.rest.is_empty() {
            return false;
        }
        self.value = match self.key() {
            0 => Value::Varint(self.varint()),
            2 => Value::Bytes(self.length_delimited()),
            other => {
                let number = self.number;
                self.skip(other);
                self.number = number;
                Value::Skipped
            }
        };
        self.fault.is_none()
    }

    /// What was wrong.
    pub fn finish(&self) -> Result<(), Error> {
        self.fault.map_or(Ok(()), Err)
    }

    /// A string, the bytes of a nested message, or a map entry.
    #[inline(never)]
    pub fn bytes(&mut self) -> &'a [u8] {
        if let Value::Bytes(bytes) = self.value {
            return bytes;
        }
        self.fail(Error::WireType);
        &[]
    }

    /// A string.
    #[inline(never)]
    pub fn text(&mut self) -> &'a str {
        text(self.bytes()).unwrap_or_else(|fault| {
            self.fail(fault);
            ""
        })
    }

    /// An int64. An int32 is one too: protobuf sign-extends it.
    pub fn int(&mut self) -> i64 {
        if let Value::Varint(number) = self.value {
            return number.cast_signed();
        }
        self.fail(Error::WireType);
        0
    }

    /// A boolean.
    pub fn flag(&mut self) -> bool {
        self.int() != 0
    }

    /// Notes a value of a repeated field met while reading the message, to be read later.
    #[inline(never)]
    pub const fn note(&self, repeated: &mut Repeated<'a>) {
        if repeated.from.is_empty() {
            *repeated = Repeated { number: self.number, from: self.from };
        }
    }

    /// The same for the entry of a map, which is looked at now.
    pub fn note_entry(&mut self, repeated: &mut Repeated<'a>) {
        match entry(self.bytes()) {
            Ok(_) => self.note(repeated),
            Err(fault) => self.fail(fault),
        }
    }

    /// Keeps the first fault, and ends the message.
    fn fail(&mut self, fault: Error) {
        self.fault.get_or_insert(fault);
        self.rest = &[];
    }

    /// Skips what is not read: fixed-width numbers, and groups with all that is in them. Nested groups need not be
    /// matched by number to find the end of the outermost.
    fn skip(&mut self, mut wire_type: u8) {
        let mut open: usize = 0;
        loop {
            match wire_type {
                0 => drop(self.varint()),
                1 => drop(self.take(8)),
                2 => drop(self.length_delimited()),
                3 => open = open.saturating_add(1),
                4 if open == 0 => self.fail(Error::Group),
                4 => open = open.saturating_sub(1),
                5 => drop(self.take(4)),
                _ => self.fail(Error::WireType),
            }
            if open == 0 || self.fault.is_some() {
                return;
            }
            wire_type = self.key();
        }
    }

    /// Notes the field's number, and answers its wire type.
    #[inline(never)]
    fn key(&mut self) -> u8 {
        const LAST: u64 = (1 << 29) - 1;
        let key = self.varint();
        let number = key >> 3;
        if !(1..=LAST).contains(&number) {
            self.fail(Error::Tag);
        }
        self.number = number as u32;
        key as u8 & 7
    }

    fn length_delimited(&mut self) -> &'a [u8] {
        let length = self.varint();
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            self.fail(Error::Truncated);
            return &[];
        };
        self.rest = rest;
        taken
    }

    fn varint(&mut self) -> u64 {
        match self.rest {
            // Nearly every key and length.
            [byte @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                u64::from(*byte)
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> u64 {
        let mut number: u64 = 0;
        // Nine bytes of seven bits each, and the last bit.
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.rest.split_first() else {
                self.fail(Error::Truncated);
                break;
            };
            self.rest = rest;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                if shift == 63 && byte > 1 {
                    self.fail(Error::Varint);
                }
                return number;
            }
        }
        self.fail(Error::Varint);
        0
    }
}

/// A repeated field of a message: its values are strings, nested messages or map entries.
///
/// Holds the message from the first value on, so that a field that does not occur costs nothing to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeated<'a> {
    number: u32,
    from: &'a [u8],
}

impl<'a> Repeated<'a> {
    /// The field `number` of `message`.
    #[must_use]
    pub const fn of(message: &'a [u8], number: u32) -> Self {
        Self { number, from: message }
    }

    /// The values in order, and what is wrong if not all can be read.
    pub fn iter(&self) -> Values<'a> {
        Values { number: self.number, fields: Reader::new(self.from) }
    }
}

/// The values of a repeated field.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    number: u32,
    fields: Reader<'a>,
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<&'a [u8], Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.fields.advance() {
            if self.fields.number == self.number {
                let value = self.fields.bytes();
                if self.fields.fault.is_none() {
                    return Some(Ok(value));
                }
            }
        }
        self.fields.fault.take().map(Err)
    }
}

/// Key and value of a map entry whose key is a string and whose value is a string or a message.
pub fn entry(message: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    let mut fields = Reader::new(message);
    while fields.advance() {
        match fields.number {
            1 => key = fields.bytes(),
            2 => value = fields.bytes(),
            _ => {}
        }
    }
    fields.finish().map(|()| (key, value))
}

/// Reads strings of a message: each of `wanted` is the number of a field and where its text goes.
pub fn texts<'a>(message: &'a [u8], wanted: &mut [(u32, &mut &'a str)]) -> Result<(), Error> {
    let mut fields = Reader::new(message);
    while fields.advance() {
        if let Some((_, text)) = wanted.iter_mut().find(|(wanted, _)| *wanted == fields.number) {
            **text = fields.text();
        }
    }
    fields.finish()
}

/// The integer in a field, if there is one; of several the last.
pub fn int(message: &[u8], number: u32) -> Result<Option<i64>, Error> {
    let mut found = None;
    let mut fields = Reader::new(message);
    while fields.advance() {
        if fields.number == number {
            found = Some(fields.int());
        }
    }
    fields.finish().map(|()| found)
}

/// `bytes` as text.
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    str::from_utf8(bytes).map_err(|_| Error::Text)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
