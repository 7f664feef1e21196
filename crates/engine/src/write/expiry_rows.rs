//! Expiry rows: one row for each item with an expiry time, in the order of these times.
//!
//! The rows are in a key space of their own, and every writer keeps them in the commit that changes the item.
//! A row belongs to a generation, that is one enabling of time to live, so that rows of an earlier one are
//! never mistaken.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_store::{Store, Transaction};

use crate::bind::expiry::{EpochSeconds, expiry};
use crate::catalogue::{Table, TtlGeneration};
use crate::state::Engine;
use crate::support::layout::{self, Space, TableId};
use crate::write::change::Change;

/// The prefix of the rows of one generation.
pub(crate) fn rows_prefix(table: TableId, generation: TtlGeneration) -> Vec<u8> {
    let mut key = layout::table_prefix(Space::Expiries, table);
    key.extend_from_slice(&generation.0.to_be_bytes());
    key
}

/// The key of an item's row: the expiry time, then the item's key within its table.
pub(crate) fn row_key(
    table: TableId,
    generation: TtlGeneration,
    time: EpochSeconds,
    item_row: &[u8],
) -> Bytes {
    let mut key = rows_prefix(table, generation);
    key.extend_from_slice(&time.0.to_be_bytes());
    key.extend_from_slice(layout::within_table(item_row));
    key.into()
}

/// The expiry time and the item's key of a row; the inverse of `row_key`.
pub(crate) fn read_row_key(table: TableId, row: &[u8]) -> Option<(EpochSeconds, Bytes)> {
    let rest = layout::within_table(row).get(4..)?;
    let (time, item) = rest.split_first_chunk::<8>()?;
    let mut key = layout::items_prefix(table);
    key.extend_from_slice(item);
    Some((EpochSeconds(u64::from_be_bytes(*time)), key.into()))
}

/// Buffers the change of an item's expiry row.
pub(crate) fn stage<T: Transaction>(txn: &mut T, table: &Table, item_row: &Bytes, change: &Change) {
    let Some((generation, attribute)) = table.ttl.enabled() else { return };
    let time = |image: &Option<EncodedItem>| image.as_ref().and_then(|item| expiry(item.view(), attribute));
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

/// Notes a committed expiry time for the sweep.
pub(crate) fn note<S: Store>(engine: &Engine<S>, table: &Table, change: &Change) {
    let Some((generation, attribute)) = table.ttl.enabled() else { return };
    let time = change.new.as_ref().and_then(|item| expiry(item.view(), attribute));
    if let Some(time) = time {
        engine.next_expiry().note(table.id, generation, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_sort_by_time() {
        let (table, generation) = (TableId(3), TtlGeneration(2));
        let mut item = layout::items_prefix(table);
        item.extend_from_slice(b"0123456789abcdefsort");
        let key = |seconds| row_key(table, generation, EpochSeconds(seconds), &item);
        assert!(key(1) < key(2) && key(255) < key(256));
        assert_eq!(read_row_key(table, &key(77)), Some((EpochSeconds(77), item.clone().into())));
    }
}
