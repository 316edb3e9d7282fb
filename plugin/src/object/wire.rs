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

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Integers, booleans and enums.
    Varint(u64),
    /// Strings, bytes, nested messages and map entries.
    Bytes(&'a [u8]),
    /// Fixed-width numbers and groups: no field that is read here has one.
    Skipped,
}

impl<'a> Value<'a> {
    /// The bytes of a string or a nested message.
    pub fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Skipped => Err(Error::WireType),
        }
    }

    /// A string.
    pub fn text(self) -> Result<&'a str, Error> {
        str::from_utf8(self.bytes()?).map_err(|_| Error::Text)
    }

    /// An int64. An int32 is one too: protobuf sign-extends it.
    pub fn int(self) -> Result<i64, Error> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            Self::Bytes(_) | Self::Skipped => Err(Error::WireType),
        }
    }

    /// A boolean.
    pub fn flag(self) -> Result<bool, Error> {
        self.int().map(|number| number != 0)
    }
}

/// The fields of one message in the order they were written, as `(number, value)`. Ends after the first fault.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `message` from its first byte.
    #[must_use]
    pub const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Error> {
        let (number, wire_type) = self.key()?;
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            2 => Value::Bytes(self.length_delimited()?),
            3 => {
                self.skip_group()?;
                Value::Skipped
            }
            4 => return Err(Error::Group),
            other => {
                self.skip_fixed(other)?;
                Value::Skipped
            }
        };
        Ok((number, value))
    }

    /// Skips to the end of the group just begun. Nested groups need not be matched by number to find that end.
    fn skip_group(&mut self) -> Result<(), Error> {
        let mut open: usize = 1;
        while open > 0 {
            match self.key()?.1 {
                0 => drop(self.varint()?),
                2 => drop(self.length_delimited()?),
                3 => open = open.saturating_add(1),
                4 => open = open.saturating_sub(1),
                other => self.skip_fixed(other)?,
            }
        }
        Ok(())
    }

    fn skip_fixed(&mut self, wire_type: u64) -> Result<(), Error> {
        match wire_type {
            1 => self.take(8).map(drop),
            5 => self.take(4).map(drop),
            _ => Err(Error::WireType),
        }
    }

    /// Field number and wire type.
    fn key(&mut self) -> Result<(u32, u64), Error> {
        const LAST: u32 = (1 << 29) - 1;
        let key = self.varint()?;
        match u32::try_from(key >> 3) {
            Ok(number @ 1..=LAST) => Ok((number, key & 7)),
            _ => Err(Error::Tag),
        }
    }

    fn length_delimited(&mut self) -> Result<&'a [u8], Error> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| Error::Truncated)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Error> {
        match self.rest {
            // Nearly every key and length.
            [byte @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut number: u64 = 0;
        // Nine bytes of seven bits each.
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        match self.byte()? {
            0 => Ok(number),
            1 => Ok(number | 1 << 63),
            _ => Err(Error::Varint),
        }
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let (&byte, rest) = self.rest.split_first().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, Value<'a>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
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

    /// Notes a value met while reading the message; `from` is the message from there on (see [`positions`]).
    #[inline(never)]
    pub const fn note(&mut self, from: &'a [u8], number: u32) {
        if self.from.is_empty() {
            *self = Self { number, from };
        }
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<&'a [u8], Error>> + use<'a> {
        let number = self.number;
        Reader::new(self.from).filter_map(move |field| match field {
            Ok((found, value)) if found == number => Some(value.bytes()),
            Ok(_) => None,
            Err(fault) => Some(Err(fault)),
        })
    }
}

/// The fields of `message`, each with the message from that field on.
pub fn positions(message: &[u8]) -> impl Iterator<Item = Result<(&[u8], u32, Value<'_>), Error>> {
    let mut reader = Reader::new(message);
    core::iter::from_fn(move || {
        let from = reader.rest;
        reader.next().map(|field| field.map(|(number, value)| (from, number, value)))
    })
}

/// Key and value of a map entry whose key is a string and whose value is a string or a message.
pub fn entry(message: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    for field in Reader::new(message) {
        match field? {
            (1, found) => key = found.bytes()?,
            (2, found) => value = found.bytes()?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// Reads strings of a message: each of `wanted` is the number of a field and where its text goes.
pub fn texts<'a>(message: &'a [u8], wanted: &mut [(u32, &mut &'a str)]) -> Result<(), Error> {
    for field in Reader::new(message) {
        let (number, value) = field?;
        if let Some((_, text)) = wanted.iter_mut().find(|(wanted, _)| *wanted == number) {
            **text = value.text()?;
        }
    }
    Ok(())
}

/// `bytes` as text.
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    str::from_utf8(bytes).map_err(|_| Error::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Error> {
        Reader::new(message).collect()
    }

    #[test]
    fn reads_every_wire_type() {
        let message = [
            0x08, 0x96, 0x01, // 1: 150
            0x12, 0x02, b'h', b'i', // 2: "hi"
            0x19, 1, 2, 3, 4, 5, 6, 7, 8, // 3: fixed64
            0x25, 1, 2, 3, 4, // 4: fixed32
            0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01, // the last field number: 1
        ];
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Skipped),
            (4, Value::Skipped),
            ((1 << 29) - 1, Value::Varint(1)),
        ];
        assert_eq!(fields(&message).unwrap(), expected);
    }

    #[test]
    fn skips_groups_however_deep() {
        // Group 1 holds a number, a string, fixed-width numbers and a group; then field 2 follows.
        let message =
            [0x0b, 0x10, 1, 0x1a, 1, b'x', 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x2d, 0, 0, 0, 0, 0x33, 0x34, 0x0c, 0x10, 7];
        assert_eq!(fields(&message).unwrap(), [(1, Value::Skipped), (2, Value::Varint(7))]);

        let mut deep = vec![0x0b; 1_000_000];
        assert_eq!(fields(&deep), Err(Error::Truncated));
        deep.extend(core::iter::repeat_n(0x0c, 1_000_000));
        assert_eq!(fields(&deep).unwrap(), [(1, Value::Skipped)]);
    }

    #[test]
    fn names_what_is_wrong() {
        assert_eq!(fields(&[0x08]), Err(Error::Truncated));
        assert_eq!(fields(&[0x12, 3, b'h']), Err(Error::Truncated));
        assert_eq!(fields(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), Err(Error::Truncated));
        assert_eq!(fields(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), Err(Error::Varint));
        assert_eq!(
            fields(&[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
            Err(Error::Varint)
        );
        assert_eq!(fields(&[0x00, 1]), Err(Error::Tag));
        assert_eq!(fields(&[0x80, 0x80, 0x80, 0x80, 0x10, 1]), Err(Error::Tag));
        assert_eq!(fields(&[0x0e]), Err(Error::WireType));
        assert_eq!(fields(&[0x0c]), Err(Error::Group));
        assert_eq!(Value::Varint(1).text(), Err(Error::WireType));
        assert_eq!(Value::Bytes(b"\xff").text(), Err(Error::Text));
        assert_eq!(Value::Bytes(b"").int(), Err(Error::WireType));
    }

    #[test]
    fn negative_numbers_are_sign_extended() {
        let message = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(fields(&message).unwrap()[0].1.int(), Ok(-1));
    }

    #[test]
    fn ends_after_a_fault() {
        let mut reader = Reader::new(&[0x0c, 0x08, 1]);
        assert_eq!(reader.next(), Some(Err(Error::Group)));
        assert_eq!(reader.next(), None);
    }
}
