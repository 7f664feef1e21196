//! What outlives a restart of a table's limits: the bounds of its partitions and its peaks. What buckets hold
//! does not.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::support::layout::{IndexId, Space, TableId, table_prefix};

/// Of the table itself or one index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedResource {
    /// The highest average of a minute that counts already, by direction.
    pub peaks: [u64; 2],
    /// The first key of every partition; empty if the table has none.
    pub starts: Vec<Vec<u8>>,
}

/// The key of a table's row.
pub(crate) fn row_key(table: TableId) -> Bytes {
    table_prefix(Space::Throughput, table).into()
}

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// Everything of one table; the table itself has no index id.
pub(crate) type SavedTable = Vec<(Option<IndexId>, SavedResource)>;

pub(crate) fn encode(saved: &SavedTable) -> Bytes {
    let mut row = vec![FORMAT];
    row.extend(postcard::to_allocvec(saved).expect("plain data is serialized"));
    row.into()
}

/// The table's number and what its row holds; `None` for a row of another format.
pub(crate) fn decode(key: &[u8], row: &[u8]) -> Option<(TableId, SavedTable)> {
    let table = key.get(1..).and_then(<[u8]>::first_chunk::<8>)?;
    let saved = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    Some((TableId(u64::from_be_bytes(*table)), saved))
}
