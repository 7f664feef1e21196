//! The row that marks a store as an unfinished copy: whose copy it is, and how far it has come.
//!
//! ```text
//! 0x10 -> format, length of the source's name (u16), the source's name, cursor
//! cursor: 0x00 log, shard, version (u64 each), index (u32)   after this record of the streams
//!         0x01 key                                           after this row
//! ```

use bytes::{Buf, BufMut, Bytes, BytesMut};
use keywright_store::{CommitVersion, LogId, LogPosition};

use crate::support::layout::Space;

const FORMAT: u8 = 1;
const IN_LOGS: u8 = 0;
const IN_ROWS: u8 = 1;

/// How far a copy has come. Records of streams come first, because a table's record names their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cursor {
    /// After this entry; nothing of later shards is copied.
    Logs(LogId, LogPosition),
    /// All logs are copied, and all rows up to this key.
    Rows(Bytes),
}

impl Cursor {
    pub(super) const BEGINNING: Self = Self::Logs(LogId { log: 0, shard: 0 }, LogPosition::FIRST);
}

/// The content of the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) source: String,
    pub(super) cursor: Cursor,
}

pub(super) fn key() -> Bytes {
    Bytes::copy_from_slice(&[Space::Copy.byte()])
}

impl Mark {
    pub(super) fn encode(&self) -> Bytes {
        let mut row = BytesMut::new();
        row.put_u8(FORMAT);
        row.put_u16(u16::try_from(self.source.len()).expect("the address of a store is short"));
        row.put_slice(self.source.as_bytes());
        match &self.cursor {
            Cursor::Logs(id, after) => {
                row.put_u8(IN_LOGS);
                row.put_u64(id.log);
                row.put_u64(id.shard);
                row.put_u64(after.version.0);
                row.put_u32(after.index);
            }
            Cursor::Rows(key) => {
                row.put_u8(IN_ROWS);
                row.put_slice(key);
            }
        }
        row.freeze()
    }

    pub(super) fn decode(mut row: Bytes) -> Option<Self> {
        if row.try_get_u8().ok()? != FORMAT {
            return None;
        }
        let length = usize::from(row.try_get_u16().ok()?);
        if row.remaining() < length {
            return None;
        }
        let source = String::from_utf8(row.split_to(length).to_vec()).ok()?;
        let cursor = match row.try_get_u8().ok()? {
            IN_LOGS => {
                let id = LogId { log: row.try_get_u64().ok()?, shard: row.try_get_u64().ok()? };
                let version = CommitVersion(row.try_get_u64().ok()?);
                Cursor::Logs(id, LogPosition { version, index: row.try_get_u32().ok()? })
            }
            IN_ROWS => Cursor::Rows(row),
            _ => return None,
        };
        Some(Self { source, cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_as_it_was_written() {
        let place = LogPosition { version: CommitVersion(u64::MAX), index: 7 };
        let cursors = [
            Cursor::BEGINNING,
            Cursor::Logs(LogId { log: 3, shard: 4 }, place),
            Cursor::Rows(Bytes::new()),
            Cursor::Rows(Bytes::from_static(b"\x02key")),
        ];
        for cursor in cursors {
            let mark = Mark { source: "embedded:a".to_owned(), cursor };
            let row = mark.encode();
            assert_eq!(Mark::decode(row.clone()), Some(mark));
            assert_eq!(Mark::decode(row.slice(..5)), None);
        }
    }
}
