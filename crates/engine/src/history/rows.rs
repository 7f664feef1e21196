//! Undo rows, and the rows that order the stamps of one item.
//!
//! ```text
//! history | table id | generation (u32) | day (u16) | item's key within its table | stamp (u64) | author (u8)
//!     the item before the change, as it was stored; empty if there was none
//! stamps of items | table id | item's key within its table
//!     the stamp of the item's last change; in shared stores only
//! ```
//!
//! Items have the same order in the table and in each day, and no item's key is the beginning of another's.
//! A day's rows can be removed in one call.

use bytes::Bytes;
use keywright_store::KeyRange;

use crate::catalogue::HistoryGeneration;
use crate::support::layout::{self, Space, TableId, table_prefix};
use crate::support::stamp::{Day, Stamp};

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    Client,
    TimeToLive,
}

impl Author {
    const fn byte(self) -> u8 {
        match self {
            Self::Client => 0,
            Self::TimeToLive => 1,
        }
    }
}

/// Bytes of `space | table id | generation | day`.
pub(super) const HEAD_BYTES: usize = 1 + 8 + 4 + 2;
/// Bytes of `stamp | author`.
const TAIL_BYTES: usize = 8 + 1;

/// A span of a table's history.
pub(crate) type Span = (TableId, HistoryGeneration);

/// The key of an undo row. `within` is the item's key within its table.
pub(crate) fn key(span: Span, within: &[u8], stamp: Stamp, author: Author) -> Bytes {
    let mut key = Vec::with_capacity(HEAD_BYTES + within.len() + TAIL_BYTES);
    day_prefix_into(span, stamp.day(), &mut key);
    key.extend_from_slice(within);
    key.extend_from_slice(&stamp.to_bytes());
    key.push(author.byte());
    key.into()
}

/// The prefix of all undo rows of one span.
pub(crate) fn span_prefix((table, generation): Span) -> Vec<u8> {
    let mut key = table_prefix(Space::History, table);
    key.extend_from_slice(&generation.0.to_be_bytes());
    key
}

fn day_prefix_into((table, generation): Span, day: Day, key: &mut Vec<u8>) {
    key.push(Space::History.byte());
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&generation.0.to_be_bytes());
    key.extend_from_slice(&day.0.to_be_bytes());
}

/// The prefix of the undo rows of one day.
pub(crate) fn day_prefix(span: Span, day: Day) -> Vec<u8> {
    let mut key = Vec::with_capacity(HEAD_BYTES + 64);
    day_prefix_into(span, day, &mut key);
    key
}

/// The range of all days from this one on.
pub(crate) fn days_from(span: Span, day: Day) -> KeyRange {
    let all = layout::prefix_range(span_prefix(span));
    KeyRange { start: day_prefix(span, day).into(), end: all.end }
}

/// The range of all days before this one.
pub(crate) fn days_before(span: Span, day: Day) -> KeyRange {
    KeyRange { start: span_prefix(span).into(), end: Some(day_prefix(span, day).into()) }
}

/// What the key of an undo row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UndoKey {
    pub day: Day,
    /// The item's key within its table.
    pub within: Bytes,
    pub stamp: Stamp,
    pub author: Author,
}

impl UndoKey {
    /// Reads the key of an undo row.
    pub(crate) fn read(key: &Bytes) -> Option<Self> {
        let (_, rest) = key.split_at_checked(HEAD_BYTES - 2)?;
        let (day, rest) = rest.split_first_chunk::<2>()?;
        let within_bytes = rest.len().checked_sub(TAIL_BYTES)?;
        let (stamp, author) = rest.get(within_bytes..)?.split_first_chunk::<8>()?;
        let author = match author {
            [0] => Author::Client,
            [1] => Author::TimeToLive,
            _ => return None,
        };
        Some(Self {
            day: Day(u16::from_be_bytes(*day)),
            within: key.slice(HEAD_BYTES..HEAD_BYTES + within_bytes),
            stamp: Stamp::of_bytes(*stamp),
            author,
        })
    }
}

/// The greatest stamp of the undo rows among these keys.
pub(crate) fn greatest_stamp<'k>(keys: impl Iterator<Item = &'k Bytes>) -> Option<Stamp> {
    let undo_rows = keys.filter(|key| key.first() == Some(&Space::History.byte()));
    undo_rows.filter_map(UndoKey::read).map(|key| key.stamp).max()
}

/// The key of the row with the stamp of an item's last change, from the item's own key.
pub(crate) fn item_stamp_key(item: &[u8]) -> Bytes {
    let mut key = item.to_vec();
    if let Some(space) = key.first_mut() {
        assert_eq!(*space, Space::Items.byte(), "an item's key is in the space of items");
        *space = Space::ItemStamps.byte();
    }
    key.into()
}

pub(crate) fn item_stamp(stamp: Stamp) -> Bytes {
    Bytes::copy_from_slice(&stamp.to_bytes())
}

pub(crate) fn read_item_stamp(row: &[u8]) -> Option<Stamp> {
    row.first_chunk::<8>().map(|bytes| Stamp::of_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = (TableId(3), HistoryGeneration(2));

    #[test]
    fn a_key_reads_back_and_keys_sort_by_day_then_item_then_stamp() {
        let key = |within: &[u8], ms| key(SPAN, within, Stamp::first_of(ms), Author::TimeToLive);
        let read = UndoKey::read(&key(b"0123456789abcdef", 90_000_000)).expect("it was just made");
        assert_eq!((read.day, &read.within[..]), (Day(1), &b"0123456789abcdef"[..]));
        assert_eq!((read.stamp, read.author), (Stamp::first_of(90_000_000), Author::TimeToLive));
        assert!(key(b"b", 1) < key(b"b", 2) && key(b"a", 2) < key(b"b", 1));
        assert!(key(b"b", 1) < key(b"a", 86_400_000), "a later day");
        assert_eq!(UndoKey::read(&Bytes::from_static(b"short")), None);
    }

    #[test]
    fn ranges_of_days_meet() {
        let day = Day(19_000);
        assert_eq!(days_before(SPAN, day).end, Some(days_from(SPAN, day).start));
    }
}
