//! The guest's memory as imports use it, and the buffer protocol.
//!
//! The guest passes a buffer and its size; the host answers the length of the value and writes it only if it fits.
//! Length 0 means that there is no value.

use wasmtime::{Caller, Memory};

use crate::host::call::State;
use crate::host::fault::Fault;

pub(super) type Result<T> = wasmtime::Result<T>;

fn memory(caller: &mut Caller<'_, State>) -> Result<Memory> {
    if let Some(memory) = caller.data().memory {
        return Ok(memory);
    }
    let memory = caller.get_export("memory").and_then(|export| export.into_memory());
    let memory = memory.ok_or_else(|| Fault::panic("guest doesn't export memory[memory]"))?;
    caller.data_mut().memory = Some(memory);
    Ok(memory)
}

/// The guest's memory beside the state.
pub(super) fn split<'a>(caller: &'a mut Caller<'_, State>) -> Result<(&'a mut [u8], &'a mut State)> {
    Ok(memory(caller)?.data_and_store_mut(caller))
}

/// The range, `None` if it is not all in memory.
pub(super) fn range(memory: &[u8], start: u32, length: u32) -> Option<&[u8]> {
    memory.get(start as usize..)?.get(..length as usize)
}

/// The range for writing, `None` if it is not all in memory.
pub(super) fn range_mut(memory: &mut [u8], start: u32, length: u32) -> Option<&mut [u8]> {
    memory.get_mut(start as usize..)?.get_mut(..length as usize)
}

/// A range that upstream insists on being able to read.
pub(super) fn read<'a>(memory: &'a [u8], start: u32, length: u32, what: &str) -> Result<&'a [u8]> {
    range(memory, start, length).ok_or_else(|| Fault::panic(format!("out of memory reading {what}")))
}

/// Answers a text. A buffer outside of memory is not written to, silently, as upstream does it.
pub(super) fn answer_text(memory: &mut [u8], text: &[u8], buf: u32, limit: u32) -> u32 {
    let length = text.len() as u32;
    if length <= limit
        && let Some(buffer) = range_mut(memory, buf, length)
    {
        buffer.copy_from_slice(text);
    }
    length
}

/// Answers an object. A buffer outside of memory ends the call, as upstream does it.
pub(super) fn answer_object(memory: &mut [u8], object: &[u8], buf: u32, limit: u32) -> Result<u32> {
    let length = object.len() as u32;
    if length != 0 && length <= limit {
        let buffer = range_mut(memory, buf, length).ok_or_else(|| Fault::panic("out of memory"))?;
        buffer.copy_from_slice(object);
    }
    Ok(length)
}

/// Writes where there is memory.
pub(super) fn write(memory: &mut [u8], start: u32, bytes: &[u8]) -> Option<()> {
    range_mut(memory, start, bytes.len() as u32)?.copy_from_slice(bytes);
    Some(())
}

/// The non-empty entries of a list whose entries each end in NUL; what follows the last NUL does not count.
pub(super) fn nul_terminated(bytes: &[u8]) -> Vec<String> {
    let mut entries: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    entries.pop();
    entries.into_iter().filter(|entry| !entry.is_empty()).map(text).collect()
}

/// Bytes of the guest as text.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_at_their_last_nul() {
        let cases: [(&[u8], &[&str]); 6] = [
            (b"", &[]),
            (b"a\0", &["a"]),
            (b"a\0bc\0", &["a", "bc"]),
            (b"a\0\0bc\0", &["a", "bc"]),
            (b"a\0bc", &["a"]),
            (b"abc", &[]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(nul_terminated(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn values_are_written_only_if_they_fit() {
        let mut memory = [0; 8];
        assert_eq!(answer_text(&mut memory, b"abc", 1, 2), 3);
        assert_eq!(memory, [0; 8]);
        assert_eq!(answer_text(&mut memory, b"abc", 1, 3), 3);
        assert_eq!(&memory[1..4], b"abc");
        assert_eq!(answer_text(&mut memory, b"xyz", 6, 3), 3, "texts go nowhere silently");
        assert!(answer_object(&mut memory, b"xyz", 6, 3).is_err(), "objects do not");
        assert_eq!(answer_object(&mut memory, b"", 100, 0).expect("nothing to write"), 0);
    }
}
