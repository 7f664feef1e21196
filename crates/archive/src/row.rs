//! A row of a backup.

use bytes::Bytes;

/// A key and its value. A row of an increment without a value is a tombstone: the key was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key: rows of a backup ascend by it, byte by byte.
    pub key: Bytes,
    /// The value; `None` deletes what older backups of the chain have under the key.
    pub value: Option<Bytes>,
}
