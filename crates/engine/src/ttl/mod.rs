//! Time to live: which items expire when, and the rows that find them in the order of their times.
//!
//! A row for each item that has a time stands in a space of its own; every writer keeps it in the commit that changes the
//! item. The sweep (`sweep`) reads that space only, never the table. Rows belong to a generation: one enabling of time to
//! live on one attribute, so that what an earlier one left behind is never mistaken.

mod fill;
mod next_expiry;
mod sweep;

use bytes::Bytes;
use keywright_semantics::codec::{MapRef, ValueRef};
use keywright_semantics::limits::TTL_PAST_SECONDS_MAX;
use keywright_store::{Store, Transaction};

use crate::catalogue::{Table, TtlGeneration};
use crate::change::Change;
use crate::engine::Engine;
use crate::layout::{self, Space, TableId};

pub(crate) use fill::fill;
pub(crate) use next_expiry::NextExpiry;
pub(crate) use sweep::maintain;

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EpochSeconds(pub u64);

/// The times at which items are deleted now: not before the first, not after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub first: EpochSeconds,
    pub last: EpochSeconds,
}

impl Due {
    /// Items whose time came `delay_ms` ago or earlier; a time of more than five years ago is taken for a mistake
    /// (developer guide: Time to Live).
    pub(crate) const fn at(now_ms: u64, delay_ms: u64) -> Option<Self> {
        let Some(last_ms) = now_ms.checked_sub(delay_ms) else { return None };
        let first = (now_ms / 1000).saturating_sub(TTL_PAST_SECONDS_MAX);
        Some(Self { first: EpochSeconds(first), last: EpochSeconds(last_ms / 1000) })
    }

    pub(crate) fn contains(self, time: EpochSeconds) -> bool {
        self.first <= time && time <= self.last
    }
}

/// When an item expires: the attribute must be a number. A fraction counts as the whole second after it, so that no item
/// goes early.
pub(crate) fn expiry(item: MapRef<'_>, attribute: &str) -> Option<EpochSeconds> {
    let ValueRef::N(number) = item.get(attribute)? else { return None };
    if let Some(whole) = number.to_i64() {
        return u64::try_from(whole).ok().map(EpochSeconds);
    }
    let text = number.to_string();
    let (whole, _fraction) = text.split_once('.')?;
    whole.parse::<u64>().ok()?.checked_add(1).map(EpochSeconds)
}

/// The common start of the rows of one generation.
pub(crate) fn rows_prefix(table: TableId, generation: TtlGeneration) -> Vec<u8> {
    let mut key = layout::table_prefix(Space::Expiries, table);
    key.extend_from_slice(&generation.0.to_be_bytes());
    key
}

/// The key of an item's row: the time, then what tells the item apart within its table.
fn row_key(table: TableId, generation: TtlGeneration, time: EpochSeconds, item_row: &[u8]) -> Bytes {
    let mut key = rows_prefix(table, generation);
    key.extend_from_slice(&time.0.to_be_bytes());
    key.extend_from_slice(layout::within_table(item_row));
    key.into()
}

/// The time and the item that a row's key says.
pub(crate) fn read_row_key(table: TableId, row: &[u8]) -> Option<(EpochSeconds, Bytes)> {
    let rest = layout::within_table(row).get(4..)?;
    let (time, item) = rest.split_first_chunk::<8>()?;
    let mut key = layout::items_prefix(table);
    key.extend_from_slice(item);
    Some((EpochSeconds(u64::from_be_bytes(*time)), key.into()))
}

/// Buffers what a change makes of an item's row.
pub(crate) fn stage<T: Transaction>(txn: &mut T, table: &Table, item_row: &Bytes, change: &Change) {
    let Some((generation, attribute)) = table.ttl.enabled() else { return };
    let time = |image: &Option<keywright_semantics::codec::EncodedItem>| {
        image.as_ref().and_then(|item| expiry(item.view(), attribute))
    };
    let (old, new) = (time(&change.old), time(&change.new));
    if old == new {
        return;
    }
    if let Some(time) = old {
        txn.delete(row_key(table.id, generation, time, item_row));
    }
    if let Some(time) = new {
        txn.put(row_key(table.id, generation, time, item_row), Bytes::new());
    }
}

/// Tells the sweep of a time that was committed.
pub(crate) fn note<S: Store>(engine: &Engine<S>, table: &Table, change: &Change) {
    let Some((generation, attribute)) = table.ttl.enabled() else { return };
    let time = change.new.as_ref().and_then(|item| expiry(item.view(), attribute));
    if let Some(time) = time {
        engine.ttl_outlook().note(table.id, generation, time);
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::codec::EncodedItem;
    use keywright_semantics::number::Number;
    use keywright_semantics::value::AttributeValue;

    use super::*;

    fn expiry_of(value: AttributeValue) -> Option<u64> {
        let item = EncodedItem::encode(&[("ttl".to_owned(), value)].into());
        expiry(item.view(), "ttl").map(|time| time.0)
    }

    #[test]
    fn only_numbers_say_when_an_item_expires() {
        let number = |text: &str| AttributeValue::N(Number::parse(text).expect("a number"));
        assert_eq!(expiry_of(number("1700000000")), Some(1_700_000_000));
        assert_eq!(expiry_of(number("1.7E9")), Some(1_700_000_000));
        assert_eq!(expiry_of(number("1700000000.9")), Some(1_700_000_001));
        assert_eq!(expiry_of(number("1700000000.0")), Some(1_700_000_000));
        assert_eq!(expiry_of(number("0.5")), Some(1));
        assert_eq!(expiry_of(number("-1")), None);
        assert_eq!(expiry_of(number("-0.5")), None);
        assert_eq!(expiry_of(number("1E30")), None);
        assert_eq!(expiry_of(number("1E-30")), Some(1));
        assert_eq!(expiry_of(AttributeValue::S("1700000000".to_owned())), None);
        let item = EncodedItem::encode(&[("other".to_owned(), number("1"))].into());
        assert_eq!(expiry(item.view(), "ttl"), None);
    }

    #[test]
    fn rows_say_time_and_item_and_sort_by_time() {
        let (table, generation) = (TableId(3), TtlGeneration(2));
        let mut item = layout::items_prefix(table);
        item.extend_from_slice(b"0123456789abcdefsort");
        let key = |seconds| row_key(table, generation, EpochSeconds(seconds), &item);
        assert!(key(1) < key(2) && key(255) < key(256));
        assert_eq!(read_row_key(table, &key(77)), Some((EpochSeconds(77), item.clone().into())));
    }

    #[test]
    fn times_are_due_after_the_delay_and_within_five_years() {
        let now_ms = 1_800_000_000_000;
        let due = Due::at(now_ms, 60_000).expect("late enough");
        let seconds = |back: u64| EpochSeconds(1_800_000_000 - back);
        assert!(due.contains(seconds(60)) && !due.contains(seconds(59)));
        let five_years = 5 * 365 * 86_400;
        assert!(due.contains(seconds(five_years)) && !due.contains(seconds(five_years + 1)));
        assert_eq!(Due::at(10, 20), None);
    }
}
