//! How keys of the contract become keys of the one tree: a first byte keeps rows, log entries and our own rows apart.
//!
//! It does not know what rows mean.

use std::cell::RefCell;

use fjall::Slice;
use keywright_store::{CommitVersion, LogId, LogPosition};

/// Our own rows.
const META: u8 = 0;
/// Rows of the contract's user.
const ROW: u8 = 1;
/// Log entries.
const LOG: u8 = 2;

/// The row that holds the version of the newest commit; every group rewrites it in its own batch.
pub(crate) const VERSION_KEY: [u8; 2] = [META, b'v'];

/// Where row keys end.
pub(crate) const ROWS_END: [u8; 1] = [ROW + 1];

/// Keys longer than this leave the thread's buffer smaller again after use.
const BUFFER_BYTES_KEPT: usize = 16 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends the stored form of a row key, without an allocation.
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

pub(crate) fn row_key(key: &[u8]) -> Slice {
    let mut stored = Vec::with_capacity(key.len() + 1);
    stored.push(ROW);
    stored.extend_from_slice(key);
    Slice::from(stored)
}

/// The key that was given for a stored row; it shares the stored bytes.
pub(crate) fn given_key(stored: Slice) -> bytes::Bytes {
    bytes::Bytes::from(stored).slice(1..)
}

/// The same, of a borrowed one; `None` if it is not a row's.
pub(crate) fn given_part(stored: &[u8]) -> Option<&[u8]> {
    stored.strip_prefix(&[ROW])
}

pub(crate) fn log_key(id: LogId, position: LogPosition) -> Slice {
    let mut stored = Vec::with_capacity(LOG_KEY_BYTES);
    stored.push(LOG);
    stored.extend_from_slice(&id.log.to_be_bytes());
    stored.extend_from_slice(&id.shard.to_be_bytes());
    stored.extend_from_slice(&position.version.0.to_be_bytes());
    stored.extend_from_slice(&position.index.to_be_bytes());
    Slice::from(stored)
}

const LOG_KEY_BYTES: usize = 1 + 8 + 8 + 8 + 4;

/// Where a stored log entry stands; `None` if the key is not one of ours.
pub(crate) fn log_position(stored: &[u8]) -> Option<LogPosition> {
    let (_, tail) = stored.split_at_checked(LOG_KEY_BYTES - 12)?;
    let (version, index) = tail.split_first_chunk::<8>()?;
    Some(LogPosition {
        version: CommitVersion(u64::from_be_bytes(*version)),
        index: u32::from_be_bytes(index.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
