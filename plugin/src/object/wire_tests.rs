//! Messages byte by byte.

use super::*;

fn fields(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Error> {
    let (mut reader, mut fields) = (Reader::new(message), Vec::new());
    while reader.advance() {
        fields.push((reader.number, reader.value));
    }
    reader.finish().map(|()| fields)
}

/// What is wrong with the first field of `message` read in another way than it was written.
fn misread<T>(message: &[u8], read: impl Fn(&mut Reader<'_>) -> T) -> Result<(), Error> {
    let mut reader = Reader::new(message);
    assert!(reader.advance());
    read(&mut reader);
    assert!(!reader.advance());
    reader.finish()
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
    assert_eq!(fields(&[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), Err(Error::Varint));
    assert_eq!(fields(&[0x00, 1]), Err(Error::Tag));
    assert_eq!(fields(&[0x80, 0x80, 0x80, 0x80, 0x10, 1]), Err(Error::Tag));
    assert_eq!(fields(&[0x0e]), Err(Error::WireType));
    assert_eq!(fields(&[0x0c]), Err(Error::Group));
    assert_eq!(misread(&[0x08, 1, 0x08, 1], |field| assert_eq!(field.text(), "")), Err(Error::WireType));
    assert_eq!(misread(&[0x0a, 1, 0xff, 0x08, 1], |field| assert_eq!(field.text(), "")), Err(Error::Text));
    assert_eq!(misread(&[0x0a, 0, 0x08, 1], |field| assert_eq!(field.int(), 0)), Err(Error::WireType));
    assert_eq!(misread(&[0x08, 1, 0x08, 1], |field| field.note_entry(&mut Repeated::default())), Err(Error::WireType));
}

#[test]
fn negative_numbers_are_sign_extended() {
    let message = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let mut reader = Reader::new(&message);
    assert!(reader.advance());
    assert_eq!(reader.int(), -1);
}

#[test]
fn ends_after_a_fault() {
    let mut reader = Reader::new(&[0x0c, 0x08, 1]);
    assert!(!reader.advance() && !reader.advance());
    assert_eq!(reader.finish(), Err(Error::Group));
    // Field 1 as a number where a string should be: once, and nothing behind it.
    let mut values = Repeated::of(&[0x0a, 0, 0x08, 1, 0x0a, 0], 1).iter();
    assert_eq!(values.next(), Some(Ok(&[][..])));
    assert_eq!(values.next(), Some(Err(Error::WireType)));
    assert_eq!(values.next(), None);
}
