//! The lines of a file from its end.
//!
//! It does not know what they say.

use std::io::{self, Read, Seek, SeekFrom};

use crate::limits::AUDIT_LINE_BYTES_MAX;

/// Bytes that are read at a time.
const BLOCK_BYTES: u64 = 64 * 1024;

/// A length in memory as one of a file.
pub(super) fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The lines of a file from the last to the first. What follows the last end of a line is left out: it is
/// being written, or torn.
///
/// Invariant: `kept` is empty or ends with the end of a line, and the file has `unread` bytes before it.
pub(super) struct Backwards<R> {
    from: R,
    unread: u64,
    kept: Vec<u8>,
}

impl<R: Read + Seek> Backwards<R> {
    pub(super) fn of(mut from: R) -> io::Result<Self> {
        let unread = from.seek(SeekFrom::End(0))?;
        let mut lines = Self { from, unread, kept: Vec::new() };
        while lines.read_block()? > 0 {
            if let Some(end) = lines.kept.iter().rposition(|byte| *byte == b'\n') {
                lines.kept.truncate(end + 1);
                break;
            }
            lines.kept.clear();
        }
        Ok(lines)
    }

    /// The next line towards the beginning, with its end; none before the first one.
    pub(super) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        // The last byte is the end of the line itself.
        let mut unsearched = self.kept.len().saturating_sub(1);
        loop {
            let earlier = self.kept.iter().take(unsearched).rposition(|byte| *byte == b'\n');
            if let Some(end) = earlier {
                return Ok(Some(self.kept.split_off(end + 1)));
            }
            if self.kept.len() > AUDIT_LINE_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than any record"));
            }
            unsearched = self.read_block()?;
            if unsearched == 0 {
                let first = std::mem::take(&mut self.kept);
                return Ok(Some(first).filter(|line| !line.is_empty()));
            }
        }
    }

    /// Reads the block before what is kept. Returns its bytes.
    fn read_block(&mut self) -> io::Result<usize> {
        let bytes = self.unread.min(BLOCK_BYTES);
        self.unread -= bytes;
        self.from.seek(SeekFrom::Start(self.unread))?;
        let mut block = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        self.from.read_exact(&mut block)?;
        let read = block.len();
        block.append(&mut self.kept);
        self.kept = block;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn backwards(text: &[u8]) -> Vec<String> {
        let mut lines = Backwards::of(Cursor::new(text)).unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.line().unwrap() {
            all.push(String::from_utf8(line).unwrap());
        }
        all
    }

    #[test]
    fn lines_are_read_from_the_last_to_the_first_without_what_is_torn() {
        assert_eq!(backwards(b"a\nbb\n\nccc\ntorn"), ["ccc\n", "\n", "bb\n", "a\n"]);
        assert_eq!(backwards(b"a\n"), ["a\n"]);
        assert_eq!(backwards(b"torn"), [""; 0]);
        assert_eq!(backwards(b""), [""; 0]);
        let block = usize::try_from(BLOCK_BYTES).unwrap();
        let lengths = [1, block - 1, block, 3, block + 1, 2 * block + 7, 1];
        let lines: Vec<String> = lengths.iter().map(|length| format!("{}\n", "x".repeat(*length))).collect();
        let mut read = backwards(lines.concat().as_bytes());
        read.reverse();
        assert_eq!(read, lines);
    }

    #[test]
    fn a_line_longer_than_any_record_does_not_fill_the_memory() {
        let long = "x".repeat(AUDIT_LINE_BYTES_MAX + 100_000);
        let mut lines = Backwards::of(Cursor::new(format!("a\n{long}\nb\n"))).unwrap();
        assert_eq!(lines.line().unwrap(), Some(b"b\n".to_vec()));
        assert!(lines.line().is_err());
        assert_eq!(backwards(long.as_bytes()), [""; 0]);
    }
}
