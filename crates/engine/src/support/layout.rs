//! Key layout of the store: key spaces, and the keys of items, index entries and other rows.
//!
//! It does not know what the values mean. A key is `space | table id | …`: a table's rows of one kind are one
//! contiguous range, and the items with one partition key are one contiguous range within it. What becomes
//! of a space's rows when a table is deleted, branched or copied stands in one table, [`Space::traits`].

use bytes::Bytes;
use keywright_semantics::key::{
    KeyValueRef, PartitionHash, encode_sort, partition_hash, sort_bytes, successor_prefix,
};
use keywright_store::{KeyRange, LogId};
use serde::{Deserialize, Serialize};

/// Makes the spaces from their list, so that none is missing in `SPACES`.
macro_rules! spaces {
    ($($space:ident = $byte:literal, $name:literal;)*) => {
        /// The kind of row that a key belongs to. Its byte is stored: never renumber.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Space {
            $($space,)*
        }

        /// All kinds of rows, in the order of their keys.
        pub(crate) const SPACES: &[Space] = &[$(Space::$space,)*];

        impl Space {
            pub(crate) const fn byte(self) -> u8 {
                match self {
                    $(Self::$space => $byte,)*
                }
            }

            /// What its rows are, for people.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$space => $name,)*
                }
            }
        }
    };
}

spaces! {
    Catalogue = 0x01, "catalogue";
    Items = 0x02, "items";
    IndexEntries = 0x03, "index entries";
    Collections = 0x04, "item collections";
    Tokens = 0x05, "tokens";
    Stats = 0x06, "counters";
    CleanStop = 0x07, "mark of a clean stop";
    Expiries = 0x08, "expiry times";
    Members = 0x09, "processes";
    Throughput = 0x0a, "throughput";
    Metrics = 0x0b, "metrics";
    Alarms = 0x0c, "alarms";
    Scaling = 0x0d, "scaling";
    Uses = 0x0e, "used limits";
    Insights = 0x0f, "insights";
    Copy = 0x10, "copy";
    History = 0x11, "history";
    ItemStamps = 0x12, "stamps of items";
    Backups = 0x13, "backups";
    Jobs = 0x14, "jobs";
    Stamps = 0x15, "bound of stamps";
    Sets = 0x16, "sets of tables";
    Transfers = 0x17, "transfers";
    Triggers = 0x18, "triggers";
    Destinations = 0x19, "deliveries to destinations";
    TriggerPlaces = 0x1a, "places of triggers";
    Principals = 0x1b, "principals";
    Versions = 0x1c, "versions of replicated items";
    Tombstones = 0x1d, "deleted replicated items";
    ReplicaCursors = 0x1e, "places of replicas";
    Slots = 0x1f, "slots of writers";
}

/// What becomes of a space's rows. Purge, branch, copy and the reports about damaged files read it, and
/// choose no space themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    pub owner: Owner,
    pub in_copy: InCopy,
}

/// Whose rows they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody's: they stay when a table is deleted, and a branch has none of them.
    Installation,
    /// A table's, whose number follows the space in each key. They are purged when the table is deleted.
    Table { branched: Branched, written: Written },
}

/// Which of a table's rows a branch copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branched {
    /// None: the copy of the table begins without them.
    Nothing,
    /// All, as items: they are counted and limited.
    Items,
    /// Those of live indexes, by the index's id in the key: they are counted and limited.
    LiveIndexes,
    /// Those of the enabled time to live, by its generation in the key.
    LiveExpiries,
    /// All.
    Everything,
}

/// How the rows of a table are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Under the table's guard (`catalogue/guard.rs`): they depend on its schema, indexes or time to live.
    Guarded,
    /// At any time: figures, which no change of the table makes wrong.
    Freely,
}

/// Whether a copy between two stores has the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InCopy {
    Always,
    /// Only where other processes add up what each has counted; elsewhere all is counted anew.
    OfProcessesToSharedStores,
    /// They belong to the processes over one store.
    Never,
}

impl Space {
    /// The one table of what becomes of rows. A new space gets its line here.
    pub(crate) const fn traits(self) -> Traits {
        use InCopy::{Always, Never, OfProcessesToSharedStores};
        const fn of_table(branched: Branched, written: Written, in_copy: InCopy) -> Traits {
            Traits { owner: Owner::Table { branched, written }, in_copy }
        }
        const fn of_installation(in_copy: InCopy) -> Traits {
            Traits { owner: Owner::Installation, in_copy }
        }
        match self {
            Self::Items => of_table(Branched::Items, Written::Guarded, Always),
            Self::IndexEntries => of_table(Branched::LiveIndexes, Written::Guarded, Always),
            Self::Collections => of_table(Branched::Everything, Written::Guarded, Always),
            Self::Expiries => of_table(Branched::LiveExpiries, Written::Guarded, Always),
            // A branch counts what it copies.
            Self::Stats => of_table(Branched::Nothing, Written::Freely, OfProcessesToSharedStores),
            // A branch begins with limits of its own, and with nothing observed.
            Self::Throughput | Self::Insights => of_table(Branched::Nothing, Written::Freely, Always),
            // A branch begins without history, and is in no group of replicas.
            Self::History | Self::ItemStamps | Self::Versions | Self::Tombstones => {
                of_table(Branched::Nothing, Written::Guarded, Always)
            }
            // The places of records are others in a copy of the store: there, replicas are compared anew.
            // Slots are of the processes over one store.
            Self::ReplicaCursors | Self::Slots => of_table(Branched::Nothing, Written::Freely, Never),
            Self::Catalogue
            | Self::Tokens
            | Self::Metrics
            | Self::Alarms
            | Self::Scaling
            | Self::Backups
            | Self::Jobs
            | Self::Sets
            | Self::Transfers
            | Self::Triggers
            | Self::Principals => of_installation(Always),
            // A copy makes a bound of stamps of its own. The places of records are others in it, so triggers
            // and destinations begin anew there.
            Self::CleanStop
            | Self::Members
            | Self::Uses
            | Self::Copy
            | Self::Stamps
            | Self::Destinations
            | Self::TriggerPlaces => of_installation(Never),
        }
    }

    /// Whether its keys begin with a table's number.
    pub(crate) const fn is_of_tables(self) -> bool {
        matches!(self.traits().owner, Owner::Table { .. })
    }
}

/// Spaces whose keys begin with a table's number: what a deleted table leaves, except its streams.
pub(crate) fn table_spaces() -> impl Iterator<Item = Space> {
    SPACES.iter().copied().filter(|space| space.is_of_tables())
}

/// Whether a row with this key is written under the guard of this table.
pub(crate) fn is_guarded(key: &[u8], table: TableId) -> bool {
    let Some((space, rest)) = key.split_first() else { return false };
    let owner = space_of(*space).map(|space| space.traits().owner);
    let is_guarded = matches!(owner, Some(Owner::Table { written: Written::Guarded, .. }));
    is_guarded && rest.starts_with(&table.0.to_be_bytes())
}

/// The space of a key's first byte.
pub(crate) fn space_of(byte: u8) -> Option<Space> {
    SPACES.iter().copied().find(|space| space.byte() == byte)
}

/// The range of all rows of all spaces.
pub(crate) const fn all_rows() -> KeyRange {
    KeyRange { start: Bytes::new(), end: None }
}

/// A table's number. It is never reused, so a new table with an old name sees no row of the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct TableId(pub u64);

/// An index's number within its table. It is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct IndexId(pub u32);

/// Bytes of `space | table id | index id | partition hash`: the longest part of a key before the sort key.
const HEAD_BYTES: usize = 1 + 8 + 4 + 16;
const HASH_BYTES: usize = 16;
/// The offset of the partition hash in an item's key: after `space | table id`.
const ITEM_HASH_AT: usize = 1 + 8;

/// The offset of the partition hash in an index entry's key: after `space | table id | index id`.
const INDEX_HASH_AT: usize = ITEM_HASH_AT + 4;

/// The prefix of all keys of one table in one space.
pub(crate) fn table_prefix(space: Space, table: TableId) -> Vec<u8> {
    let mut key = Vec::with_capacity(HEAD_BYTES);
    key.push(space.byte());
    key.extend_from_slice(&table.0.to_be_bytes());
    key
}

/// The prefix of all items of one table.
pub(crate) fn items_prefix(table: TableId) -> Vec<u8> {
    table_prefix(Space::Items, table)
}

/// The prefix of all entries of one index.
pub(crate) fn index_prefix(table: TableId, index: IndexId) -> Vec<u8> {
    let mut key = table_prefix(Space::IndexEntries, table);
    key.extend_from_slice(&index.0.to_be_bytes());
    key
}

/// The key of an item.
pub(crate) fn item_key(table: TableId, partition: KeyValueRef<'_>, sort: Option<KeyValueRef<'_>>) -> Bytes {
    // A vector filled to its capacity becomes `Bytes` without a copy.
    let mut key = Vec::with_capacity(ITEM_HASH_AT + HASH_BYTES + sort.map_or(0, sort_bytes));
    key.push(Space::Items.byte());
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&partition_hash([partition]).0);
    if let Some(sort) = sort {
        encode_sort(sort, &mut key);
    }
    key.into()
}

/// The part of a key after `space | table id`.
pub(crate) fn within_table(key: &[u8]) -> &[u8] {
    key.get(ITEM_HASH_AT..).unwrap_or_default()
}

/// The part of an item's key after `space | table id`, for its owner.
pub(crate) fn within_items(key: &Bytes) -> Bytes {
    key.slice(ITEM_HASH_AT.min(key.len())..)
}

/// The part of an index entry's key after `space | table id | index id`.
pub(crate) fn within_index(key: &Bytes) -> Bytes {
    key.slice(INDEX_HASH_AT.min(key.len())..)
}

/// The collection's part of a key within a table or index: its partition hash.
pub(crate) fn collection_of(within: &Bytes) -> Bytes {
    within.slice(..HASH_BYTES.min(within.len()))
}

/// The first bytes of the partition hash in an item's key.
pub(crate) fn hash_head(row: &[u8]) -> u64 {
    let head = row.get(ITEM_HASH_AT..).and_then(<[u8]>::first_chunk::<8>);
    u64::from_be_bytes(*head.expect("an item's key holds its partition hash"))
}

/// A hash of the item's full key: it distinguishes index entries that have the same index key.
pub(crate) fn base_key_hash(partition: KeyValueRef<'_>, sort: Option<KeyValueRef<'_>>) -> PartitionHash {
    match sort {
        Some(sort) => partition_hash([partition, sort]),
        None => partition_hash([partition]),
    }
}

/// The key of an index entry.
pub(crate) fn index_key(
    table: TableId,
    index: IndexId,
    partition: &[KeyValueRef<'_>],
    sort: &[KeyValueRef<'_>],
    base: PartitionHash,
) -> Bytes {
    let mut key = index_prefix(table, index);
    key.extend_from_slice(&partition_hash(partition.iter().copied()).0);
    for value in sort {
        encode_sort(*value, &mut key);
    }
    key.extend_from_slice(&base.0);
    key.into()
}

/// The key of an item collection's size.
pub(crate) fn collection_key(table: TableId, partition: KeyValueRef<'_>) -> Bytes {
    let mut key = table_prefix(Space::Collections, table);
    key.extend_from_slice(&partition_hash([partition]).0);
    key.into()
}

/// All keys that start with the prefix.
pub(crate) fn prefix_range(prefix: Vec<u8>) -> KeyRange {
    let end = successor_prefix(&prefix).map(Bytes::from);
    KeyRange { start: prefix.into(), end }
}

/// The keys under a prefix whose partition hash is in segment `number` of `total` equal parts of the hash
/// space.
///
/// The segments of a parallel scan are contiguous ranges without gap or overlap.
pub(crate) fn segment_range(prefix: &[u8], number: u32, total: u32) -> KeyRange {
    assert!(number < total, "a segment's number is below the number of segments");
    let share = u128::MAX / u128::from(total);
    let bound = |part: u32| {
        let mut key = Vec::with_capacity(prefix.len() + HASH_BYTES);
        key.extend_from_slice(prefix);
        key.extend_from_slice(&share.saturating_mul(u128::from(part)).to_be_bytes());
        key
    };
    let start = if number == 0 { prefix.to_vec() } else { bound(number) };
    let end = if number + 1 >= total { successor_prefix(prefix) } else { Some(bound(number + 1)) };
    KeyRange { start: start.into(), end: end.map(Bytes::from) }
}

/// The log that holds the records of a table's shard.
pub(crate) const fn log_of(table: TableId, shard: u32) -> LogId {
    #[expect(clippy::as_conversions, reason = "widening; `From` is not const")]
    let shard = shard as u64;
    LogId { log: table.0, shard }
}

/// The smallest key greater than this one.
pub(crate) fn after(key: &[u8]) -> Bytes {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_the_whole_range_without_gap_or_overlap() {
        let prefix = items_prefix(TableId(7));
        for total in [1_u32, 2, 3, 7, 1000, 1_000_000] {
            let whole = prefix_range(prefix.clone());
            let mut expected_start = whole.start.clone();
            for number in 0..total {
                let range = segment_range(&prefix, number, total);
                assert_eq!(range.start, expected_start);
                if number + 1 == total {
                    assert_eq!(range.end, whole.end);
                } else {
                    expected_start = range.end.expect("only the last segment may be open");
                }
            }
        }
    }

    #[test]
    fn spaces_are_in_the_order_of_their_bytes_and_found_by_them() {
        assert!(SPACES.is_sorted_by(|one, next| one.byte() < next.byte()));
        assert!(SPACES.iter().all(|space| space_of(space.byte()) == Some(*space)));
    }

    #[test]
    fn nothing_lies_between_a_key_and_the_one_after() {
        assert_eq!(after(b"ab").as_ref(), b"ab\0");
    }
}
