//! Standard input with a bound on its lines: each is one message, which is in memory as a whole.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::ASSISTANT_LINE_BYTES_MAX;

/// A stream that fails in a line that is too long.
pub(super) struct BoundedLines<R> {
    inner: R,
    /// Bytes of the line that has not ended.
    line_bytes: usize,
}

impl<R> BoundedLines<R> {
    pub(super) const fn new(inner: R) -> Self {
        Self { inner, line_bytes: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut own.inner).poll_read(context, buffer))?;
        let come = buffer.filled().get(before..).unwrap_or_default();
        let mut is_too_long = false;
        for piece in come.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n");
            own.line_bytes = own.line_bytes.saturating_add(text.unwrap_or(piece).len());
            is_too_long |= own.line_bytes > ASSISTANT_LINE_BYTES_MAX;
            if text.is_some() {
                own.line_bytes = 0;
            }
        }
        if is_too_long {
            // A reader that fails has read nothing.
            buffer.set_filled(before);
            let text = format!("a message has at most {} MiB", ASSISTANT_LINE_BYTES_MAX >> 20);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_line_is_bounded_and_their_number_is_not() {
        let line = [vec![b'x'; ASSISTANT_LINE_BYTES_MAX], b"\n".to_vec()].concat();
        let all = line.repeat(3);
        let mut read = Vec::new();
        assert_eq!(BoundedLines::new(&*all).read_to_end(&mut read).await.unwrap(), all.len());
        let longer = [b"x".to_vec(), line].concat();
        let refused = BoundedLines::new(&*longer).read_to_end(&mut read).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }
}
