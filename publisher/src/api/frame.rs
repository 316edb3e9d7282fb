//! Events cut out of the byte stream of a watch.

use std::io;

use futures::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// How one event ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Four bytes of length, most significant first, before each.
    Length,
    /// A line each.
    Line,
}

/// The longest event that is read. The API server takes no object beyond 3 MiB, and etcd by default none beyond 1.5 MiB.
const LONGEST: u32 = 16 << 20;

/// The next event, or `None` at the end of the stream. An event that the end cuts short is none.
pub(super) async fn next(stream: &mut (impl AsyncBufRead + Unpin), framing: Framing) -> io::Result<Option<Vec<u8>>> {
    let read = match framing {
        Framing::Length => by_length(stream).await,
        Framing::Line => by_line(stream).await,
    };
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        read => read,
    }
}

async fn by_length(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("an event of {length} bytes")));
    }
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await?;
    Ok(Some(frame))
}

async fn by_line(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    stream.take(u64::from(LONGEST)).read_until(b'\n', &mut line).await?;
    Ok((line.pop() == Some(b'\n')).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn frames(mut bytes: &[u8], framing: Framing) -> io::Result<Vec<Vec<u8>>> {
        let mut frames = Vec::new();
        while let Some(frame) = next(&mut bytes, framing).await? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[tokio::test]
    async fn whole_events_only() {
        let bytes = b"\0\0\0\x02hi\0\0\0\0\0\0\0\x05cut";
        assert_eq!(frames(bytes, Framing::Length).await.unwrap(), [b"hi".to_vec(), b"".to_vec()]);
        assert_eq!(frames(b"one\ntwo\ncut", Framing::Line).await.unwrap(), [b"one".to_vec(), b"two".to_vec()]);
    }

    #[tokio::test]
    async fn no_memory_for_a_length_that_cannot_be() {
        assert!(frames(b"\xff\xff\xff\xff", Framing::Length).await.is_err());
    }
}
