//! Writes protobuf by hand, so that tests can also write what no API server would.

/// The field `number` with `value`: a number, text, or a message made of fields.
pub fn field(number: u32, value: impl Encode) -> Vec<u8> {
    let mut field = Vec::new();
    value.encode(number, &mut field);
    field
}

/// An entry of a map of strings.
pub fn entry(number: u32, key: &str, value: &str) -> Vec<u8> {
    field(number, [field(1, key), field(2, value)])
}

/// An entry of a resource list.
pub fn quantity(number: u32, name: &str, quantity: &str) -> Vec<u8> {
    field(number, [field(1, name), field(2, [field(1, quantity)])])
}

/// What can be the value of a field.
pub trait Encode {
    /// Appends the field.
    fn encode(&self, number: u32, to: &mut Vec<u8>);
}

impl Encode for i64 {
    fn encode(&self, number: u32, to: &mut Vec<u8>) {
        varint(u64::from(number) << 3, to);
        varint(self.cast_unsigned(), to);
    }
}

impl Encode for &[u8] {
    fn encode(&self, number: u32, to: &mut Vec<u8>) {
        varint(u64::from(number) << 3 | 2, to);
        varint(self.len() as u64, to);
        to.extend_from_slice(self);
    }
}

impl Encode for &str {
    fn encode(&self, number: u32, to: &mut Vec<u8>) {
        self.as_bytes().encode(number, to);
    }
}

impl Encode for Vec<Vec<u8>> {
    fn encode(&self, number: u32, to: &mut Vec<u8>) {
        self.concat().as_slice().encode(number, to);
    }
}

impl<const N: usize> Encode for [Vec<u8>; N] {
    fn encode(&self, number: u32, to: &mut Vec<u8>) {
        self.concat().as_slice().encode(number, to);
    }
}

fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}
