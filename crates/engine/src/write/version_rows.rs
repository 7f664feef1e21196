//! The versions of replicated items, as rows.
//!
//! ```text
//! versions | table id | item's key within its table             a version, and if the item is deleted, since
//!                                                                when, and its key attributes
//! deleted items | table id | stamp (u64) | item's key within     nothing
//! ```
//!
//! A row is read and written with its item, under the same protection. The rows of deleted items are there
//! twice, for the order of time (`replication::tombstones`). A table outside of groups has none of them.

use bytes::{BufMut, Bytes, BytesMut};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;

use crate::support::fault;
use crate::support::layout::{Space, TableId, table_prefix, within_table};
use crate::support::stamp::Stamp;
use crate::support::version::Version;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
const LIVE: u8 = 0;
const DELETED: u8 = 1;

/// The deletion of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deleted {
    /// When it was deleted here.
    pub at: Stamp,
    /// The item's key attributes: the key of a row is a hash, and does not have them.
    pub keys: EncodedItem,
}

/// The version of an item, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    pub version: Version,
    pub deleted: Option<Deleted>,
}

impl StoredVersion {
    pub(crate) fn encode(&self) -> Bytes {
        let keys = self.deleted.as_ref().map_or(0, |deleted| deleted.keys.as_bytes().len());
        let region = self.version.region.as_bytes();
        let since = if self.deleted.is_some() { 8 } else { 0 };
        let bytes = 2 + 8 + 1 + region.len() + since + keys;
        let mut row = BytesMut::with_capacity(bytes);
        row.put_u8(FORMAT);
        row.put_u8(if self.deleted.is_some() { DELETED } else { LIVE });
        row.put_slice(&self.version.stamp.to_bytes());
        row.put_u8(u8::try_from(region.len()).expect("the name of a region is short"));
        row.put_slice(region);
        if let Some(deleted) = &self.deleted {
            row.put_slice(&deleted.at.to_bytes());
            row.put_slice(deleted.keys.as_bytes());
        }
        assert_eq!(row.len(), bytes, "a version is as long as its parts");
        row.freeze()
    }

    pub(crate) fn decode(row: &Bytes) -> Result<Self, Error> {
        Self::parse(row).ok_or_else(fault::internal)
    }

    fn parse(row: &Bytes) -> Option<Self> {
        let [FORMAT, kind, rest @ ..] = row.as_ref() else { return None };
        let (stamp, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first()?;
        let (region, rest) = rest.split_at_checked(usize::from(*length))?;
        let region = std::str::from_utf8(region).ok()?.to_owned();
        let version = Version { stamp: Stamp::of_bytes(*stamp), region };
        let deleted = match *kind {
            LIVE if rest.is_empty() => None,
            DELETED => {
                let (at, keys) = rest.split_first_chunk::<8>()?;
                let keys = EncodedItem::from_stored(row.slice_ref(keys)).ok()?;
                Some(Deleted { at: Stamp::of_bytes(*at), keys })
            }
            _ => return None,
        };
        Some(Self { version, deleted })
    }
}

/// The key of an item's version. `within` is the item's key within its table.
pub(crate) fn version_key(table: TableId, within: &[u8]) -> Bytes {
    let mut key = table_prefix(Space::Versions, table);
    key.extend_from_slice(within);
    key.into()
}

/// The key of the row that finds a deleted item by the time of its deletion.
pub(crate) fn tombstone_key(table: TableId, at: Stamp, within: &[u8]) -> Bytes {
    let mut key = table_prefix(Space::Tombstones, table);
    key.extend_from_slice(&at.to_bytes());
    key.extend_from_slice(within);
    key.into()
}

/// The time and the item's key of such a row.
pub(crate) fn read_tombstone_key(key: &Bytes) -> Option<(Stamp, Bytes)> {
    let (at, within) = within_table(key).split_first_chunk::<8>()?;
    Some((Stamp::of_bytes(*at), key.slice_ref(within)))
}

#[cfg(test)]
mod tests {
    use keywright_semantics::value::{AttributeValue, Item};

    use super::*;

    fn version() -> Version {
        Version { stamp: Stamp::first_of(77), region: "eu-west-1".to_owned() }
    }

    #[test]
    fn a_version_is_read_as_it_was_written_and_no_head_of_it_is() {
        let keys: Item = [("pk".to_owned(), AttributeValue::S("a".to_owned()))].into_iter().collect();
        let deleted = Deleted { at: Stamp::first_of(80), keys: EncodedItem::encode(&keys) };
        for deleted in [None, Some(deleted)] {
            let stored = StoredVersion { version: version(), deleted };
            let row = stored.encode();
            let head_bytes =
                row.len() - stored.deleted.as_ref().map_or(0, |deleted| deleted.keys.as_bytes().len());
            assert_eq!(StoredVersion::parse(&row), Some(stored));
            for end in 0..head_bytes {
                assert_eq!(StoredVersion::parse(&row.slice(..end)), None, "cut at {end}");
            }
        }
    }

    #[test]
    fn tombstones_are_in_the_order_of_time() {
        let key = |ms: u64, within: &[u8]| tombstone_key(TableId(3), Stamp::first_of(ms), within);
        assert!(key(5, b"z") < key(6, b"a"));
        assert_eq!(read_tombstone_key(&key(5, b"z")), Some((Stamp::first_of(5), Bytes::from_static(b"z"))));
    }
}
