//! From JSON to protobuf bytes, led by the schema.
//!
//! Written back to front and turned round at the end: a length stands before what it measures, so this way every
//! length is known when its turn comes and nothing is measured twice. (Go's marshaller does the same.)

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

use super::schema::{Field, Kind, MessageId, Schema, Shape};

const VARINT: u32 = 0;
const LENGTH_DELIMITED: u32 = 2;

/// The bytes of `json` read as message `id`. What does not fit the schema is left out, as it is when the scheduler
/// decodes an object that is newer than itself.
pub(super) fn message(schema: &Schema, id: MessageId, json: &Value) -> Vec<u8> {
    let mut encoder = Encoder::default();
    if let Value::Object(object) = json {
        encoder.fields(schema, id, object);
    }
    encoder.finish()
}

/// A message under construction, last byte first.
#[derive(Default)]
pub(super) struct Encoder {
    reversed: Vec<u8>,
}

impl Encoder {
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.reversed.reverse();
        self.reversed
    }

    pub(super) fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        self.nested(tag, |encoder| encoder.reversed.extend(bytes.iter().rev()));
    }

    fn fields(&mut self, schema: &Schema, id: MessageId, object: &Map<String, Value>) {
        for field in schema.messages[id].iter().rev() {
            match (&field.shape, field.kind, object.get(field.name)) {
                (Shape::Inline, Kind::Message(inner), _) => self.inline(schema, field.tag, inner, object),
                (Shape::One, _, Some(value)) => self.value(schema, field.tag, field.kind, value),
                (Shape::List, _, Some(Value::Array(values))) => {
                    for value in values.iter().rev() {
                        self.value(schema, field.tag, field.kind, value);
                    }
                }
                (Shape::Map, _, Some(Value::Object(entries))) => self.map(schema, field, entries),
                _ => {}
            }
        }
    }

    fn inline(&mut self, schema: &Schema, tag: u32, id: MessageId, parent: &Map<String, Value>) {
        if schema.messages[id].iter().any(|field| parent.contains_key(field.name)) {
            self.nested(tag, |encoder| encoder.fields(schema, id, parent));
        }
    }

    /// Entries in the order of their keys, as Go writes them.
    fn map(&mut self, schema: &Schema, field: &Field, entries: &Map<String, Value>) {
        const KEY: u32 = 1;
        const VALUE: u32 = 2;
        let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
        entries.sort_unstable_by(|a, b| b.0.cmp(a.0));
        for (key, value) in entries {
            self.nested(field.tag, |encoder| {
                encoder.value(schema, VALUE, field.kind, value);
                encoder.bytes(KEY, key.as_bytes());
            });
        }
    }

    fn value(&mut self, schema: &Schema, tag: u32, kind: Kind, value: &Value) {
        match (kind, value) {
            (_, Value::Null) => {}
            (Kind::Integer, Value::Number(number)) => {
                if let Some(number) = number.as_i64() {
                    self.integer(tag, number);
                }
            }
            (Kind::Bool, Value::Bool(bool)) => self.integer(tag, i64::from(*bool)),
            (Kind::Text, Value::String(text)) => self.bytes(tag, text.as_bytes()),
            (Kind::Bytes, Value::String(text)) => {
                if let Some(bytes) = base64(text) {
                    self.bytes(tag, &bytes);
                }
            }
            (Kind::Message(id), Value::Object(object)) => {
                self.nested(tag, |encoder| encoder.fields(schema, id, object));
            }
            (Kind::Quantity, Value::String(text)) => self.nested(tag, |encoder| encoder.bytes(1, text.as_bytes())),
            (Kind::Quantity, Value::Number(number)) => {
                self.nested(tag, |encoder| encoder.bytes(1, number.to_string().as_bytes()));
            }
            (Kind::Time, Value::String(text)) => {
                if let Ok(time) = text.parse() {
                    self.nested(tag, |encoder| encoder.time(time));
                }
            }
            (Kind::IntOrString, Value::Number(number)) => {
                self.nested(tag, |encoder| encoder.integer(2, number.as_i64().unwrap_or_default()));
            }
            (Kind::IntOrString, Value::String(text)) => self.nested(tag, |encoder| {
                encoder.bytes(3, text.as_bytes());
                encoder.integer(1, 1);
            }),
            _ => {}
        }
    }

    fn time(&mut self, time: Timestamp) {
        if time.subsec_nanosecond() != 0 {
            self.integer(2, time.subsec_nanosecond().into());
        }
        self.integer(1, time.as_second());
    }

    /// A field whose content `write` adds: content, then its length, then the key, since this runs backwards.
    fn nested(&mut self, tag: u32, write: impl FnOnce(&mut Self)) {
        let end = self.reversed.len();
        write(self);
        self.varint((self.reversed.len() - end) as u64);
        self.key(tag, LENGTH_DELIMITED);
    }

    /// Negative numbers take ten bytes, whatever the width of the field: protobuf extends their sign.
    fn integer(&mut self, tag: u32, value: i64) {
        self.varint(value.cast_unsigned());
        self.key(tag, VARINT);
    }

    fn key(&mut self, tag: u32, wire_type: u32) {
        self.varint(u64::from(tag << 3 | wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        let start = self.reversed.len();
        while value >= 0x80 {
            self.reversed.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.reversed.push(value as u8);
        self.reversed[start..].reverse();
    }
}

/// Standard base64 with padding, `None` if the text is something else.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let mut bits = 0_u32;
    let mut held = 0;
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}
