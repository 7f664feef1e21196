//! Sizes of item collections: all items and local index entries with one partition key.
//!
//! Only tables with a local index have them. A size is one row, written in the commit that changes the
//! collection, so it is exact after every crash.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::limits::GIGABYTE_BYTES;
use keywright_semantics::request::parts::ReturnItemCollectionMetrics;
use keywright_semantics::response::ItemCollectionMetrics;
use keywright_semantics::schema::TableSchema;
use keywright_semantics::value::Item;

use crate::write::change::Outcome;

/// The size in a row; no row means an empty collection.
pub(crate) fn decode(row: Option<&Bytes>) -> u64 {
    row.and_then(|bytes| bytes.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// The row of a size; none for an empty collection.
pub(crate) fn encode(bytes: u64) -> Option<Bytes> {
    (bytes > 0).then(|| Bytes::copy_from_slice(&bytes.to_be_bytes()))
}

/// A size after a change.
///
/// # Panics
///
/// If the collection would have fewer bytes than none.
pub(crate) fn changed(bytes: u64, delta: i64) -> u64 {
    let after = i128::from(bytes) + i128::from(delta);
    assert!(after >= 0, "a collection's size is never negative");
    bytes.saturating_add_signed(delta)
}

/// The metrics of a write's collection; `item` is any item or key with the partition key.
pub(crate) fn metrics(schema: &TableSchema, item: &Item, bytes: u64) -> ItemCollectionMetrics {
    let key: Item = schema
        .key
        .partition
        .iter()
        .filter_map(|attribute| item.get_key_value(&attribute.name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let lower = u32::try_from(bytes / GIGABYTE_BYTES).unwrap_or(u32::MAX);
    ItemCollectionMetrics {
        key: EncodedItem::encode(&key),
        size_estimate_range_gb: [lower, lower.saturating_add(1)],
    }
}

/// The collection metrics of a request with several writes, by table.
#[derive(Default)]
pub(crate) struct CollectionReport {
    tables: Vec<(String, Vec<ItemCollectionMetrics>)>,
}

impl CollectionReport {
    /// Adds the collection of a write; the last of several writes to one collection counts.
    pub(crate) fn add(&mut self, table_name: &str, item: &Item, outcome: &Outcome) {
        let Some(bytes) = outcome.collection_bytes else { return };
        let metrics = metrics(&outcome.table.schema, item, bytes);
        let known = self.tables.iter().position(|(name, _)| name == table_name);
        let place = known.unwrap_or_else(|| {
            self.tables.push((table_name.to_owned(), Vec::new()));
            self.tables.len() - 1
        });
        let Some((_, collections)) = self.tables.get_mut(place) else { return };
        match collections.iter_mut().find(|known| known.key == metrics.key) {
            Some(known) => *known = metrics,
            None => collections.push(metrics),
        }
    }

    pub(crate) fn report(
        self,
        wanted: ReturnItemCollectionMetrics,
    ) -> Option<Vec<(String, Vec<ItemCollectionMetrics>)>> {
        match wanted {
            ReturnItemCollectionMetrics::Size => Some(self.tables).filter(|tables| !tables.is_empty()),
            ReturnItemCollectionMetrics::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_reads_back_from_its_row_and_an_empty_collection_has_no_row() {
        assert_eq!(decode(encode(5).as_ref()), 5);
        assert_eq!(encode(0), None);
        assert_eq!(decode(None), 0);
        assert_eq!(changed(5, -5), 0);
    }
}
