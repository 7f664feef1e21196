//! The layout of stored keys: a first byte separates rows, log entries and the store's own
//! rows.
//!
//! It does not know what rows mean.

use std::cell::RefCell;
use std::ops::Bound;

use bytes::Bytes;
use keywright_store::{CommitVersion, LogId, LogPosition};
use lsm_tree::Slice;

/// The store's own rows.
const META: u8 = 0;
/// Rows that callers write.
const ROW: u8 = 1;
/// Log entries.
const LOG: u8 = 2;

/// The row of the tables that holds the version of their newest commit.
pub(crate) const VERSION_KEY: [u8; 2] = [META, b'v'];

/// The exclusive end of all row keys.
pub(crate) const ROWS_END: [u8; 1] = [ROW + 1];

/// The thread's key buffer shrinks to this capacity after a longer key.
const BUFFER_BYTES_KEPT: usize = 16 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Passes the stored form of a row key to `read`, without an allocation.
pub(crate) fn with_row_key<R>(key: &[u8], read: impl FnOnce(&[u8]) -> R) -> R {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.push(ROW);
        buffer.extend_from_slice(key);
        let result = read(buffer);
        buffer.shrink_to(BUFFER_BYTES_KEPT);
        result
    })
}

/// The stored form of a row key.
pub(crate) fn row_key(key: &[u8]) -> Slice {
    let mut stored = Vec::with_capacity(key.len() + 1);
    stored.push(ROW);
    stored.extend_from_slice(key);
    Slice::from(stored)
}

/// A key in memory of its own. One that was read shares the memory of its block, which may be many times as
/// long.
pub(crate) fn own(key: &Slice) -> Slice {
    Slice::from(key.as_ref())
}

/// The caller's key of a stored row; it shares the stored bytes.
pub(crate) fn caller_key(stored: Slice) -> bytes::Bytes {
    assert!(stored.first() == Some(&ROW), "a scan of rows yields keys of rows only");
    bytes::Bytes::from(stored).slice(1..)
}

/// The caller's key of a stored key; `None` if the stored key is not a row's.
pub(crate) fn caller_part(stored: &[u8]) -> Option<&[u8]> {
    stored.strip_prefix(&[ROW])
}

/// The stored key of a log entry. Keys of one shard sort by position.
pub(crate) fn log_key(id: LogId, position: LogPosition) -> Slice {
    let mut stored = Vec::with_capacity(LOG_KEY_BYTES);
    stored.push(LOG);
    stored.extend_from_slice(&id.log.to_be_bytes());
    stored.extend_from_slice(&id.shard.to_be_bytes());
    stored.extend_from_slice(&position.version.0.to_be_bytes());
    stored.extend_from_slice(&position.index.to_be_bytes());
    assert!(stored.len() == LOG_KEY_BYTES, "all log keys have one length, so that they sort by position");
    Slice::from(stored)
}

/// The prefix byte and the identifiers of log and shard.
const LOG_KEY_HEAD_BYTES: usize = 1 + 8 + 8;
/// The head, the version and the index.
const LOG_KEY_BYTES: usize = LOG_KEY_HEAD_BYTES + 8 + 4;

/// The exclusive end of the keys up to and with this one.
pub(crate) fn after(key: &[u8]) -> Slice {
    Slice::from([key, &[0]].concat())
}

/// The position in a log entry's stored key; `None` if the key is malformed.
pub(crate) fn log_position(stored: &[u8]) -> Option<LogPosition> {
    let (_, tail) = stored.split_at_checked(LOG_KEY_HEAD_BYTES)?;
    let (version, index) = tail.split_first_chunk::<8>()?;
    Some(LogPosition {
        version: CommitVersion(u64::from_be_bytes(*version)),
        index: u32::from_be_bytes(index.try_into().ok()?),
    })
}

/// The shard of a log entry's stored key, or of a bound cut short.
pub(crate) fn log_id(stored: &[u8]) -> Option<LogId> {
    let (log, rest) = stored.strip_prefix(&[LOG])?.split_first_chunk::<8>()?;
    let shard = rest.first_chunk::<8>()?;
    Some(LogId { log: u64::from_be_bytes(*log), shard: u64::from_be_bytes(*shard) })
}

/// Whether a stored key has the form of one.
pub(crate) fn is_stored_key(stored: &[u8]) -> bool {
    match stored.first() {
        Some(&META) => stored == VERSION_KEY,
        Some(&ROW) => true,
        Some(&LOG) => stored.len() == LOG_KEY_BYTES,
        Some(_) | None => false,
    }
}

/// The caller's keys in a range of stored keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpan {
    /// Keys of rows; `None` if the range has none.
    pub rows: Option<(Bound<Bytes>, Bound<Bytes>)>,
    /// The first and the last shard of logs, as far as they are known; `None` if the range has no log entry.
    pub logs: Option<(Option<LogId>, Option<LogId>)>,
}

/// The caller's keys between two stored keys.
pub(crate) fn span(start: Bound<&[u8]>, end: Bound<&[u8]>) -> KeySpan {
    let first = |bound: Bound<&[u8]>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.first().copied(),
        Bound::Unbounded => None,
    };
    let (from, to) = (first(start).unwrap_or(META), first(end).unwrap_or(LOG));
    let row_bound = |bound: Bound<&[u8]>| match bound {
        Bound::Included(key) => caller_part(key).map(|key| Bound::Included(Bytes::copy_from_slice(key))),
        Bound::Excluded(key) => caller_part(key).map(|key| Bound::Excluded(Bytes::copy_from_slice(key))),
        Bound::Unbounded => None,
    };
    let shard = |bound: Bound<&[u8]>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => log_id(key),
        Bound::Unbounded => None,
    };
    let rows = (from <= ROW && to >= ROW)
        .then(|| (row_bound(start).unwrap_or(Bound::Unbounded), row_bound(end).unwrap_or(Bound::Unbounded)));
    KeySpan { rows, logs: (to >= LOG).then(|| (shard(start), shard(end))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_stored_keys_is_split_into_rows_and_logs() {
        let log = log_key(LogId { log: 3, shard: 4 }, LogPosition::FIRST);
        let row = row_key(b"k");
        let rows_only = span(Bound::Excluded(&VERSION_KEY), Bound::Included(&row));
        assert_eq!(rows_only.rows, Some((Bound::Unbounded, Bound::Included(Bytes::from_static(b"k")))));
        assert_eq!(rows_only.logs, None);
        let both = span(Bound::Excluded(&row), Bound::Included(&log));
        assert_eq!(both.rows, Some((Bound::Excluded(Bytes::from_static(b"k")), Bound::Unbounded)));
        assert_eq!(both.logs, Some((None, Some(LogId { log: 3, shard: 4 }))));
        assert_eq!(span(Bound::Excluded(&log), Bound::Unbounded).rows, None);
        let meta = span(Bound::Included(&VERSION_KEY), Bound::Included(&VERSION_KEY));
        assert_eq!(meta, KeySpan { rows: None, logs: None });
    }

    #[test]
    fn log_keys_sort_by_log_shard_version_and_index() {
        let key = |log, shard, version, index| {
            log_key(LogId { log, shard }, LogPosition { version: CommitVersion(version), index })
        };
        let keys = [
            key(1, 0, 0, 0),
            key(1, 0, 0, 1),
            key(1, 0, 1, 0),
            key(1, 1, 0, 0),
            key(2, 0, 0, 0),
            key(256, 0, 0, 0),
        ];
        assert!(keys.is_sorted());
        assert!(row_key(&[0xFF; 40]).as_ref() < ROWS_END.as_slice());
        assert!(keys[0].as_ref() > ROWS_END.as_slice());
    }

    #[test]
    fn a_log_key_gives_its_position_back() {
        let position = LogPosition { version: CommitVersion(77), index: 5 };
        assert_eq!(log_position(&log_key(LogId { log: 3, shard: 4 }, position)), Some(position));
        assert_eq!(log_position(b"short"), None);
    }
}
