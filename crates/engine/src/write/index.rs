//! The change of an index by the change of an item: a pure function of the item before and after.
//!
//! An index entry is the item's projection; its key is the index key and a hash of the item's own key. This
//! module does not know transactions: the caller applies the result, and backfill uses the same `entry` for
//! existing items.

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, WriteMode, write_units};
use keywright_semantics::codec::{EncodedItem, MapRef};
use keywright_semantics::key::{KeyValueRef, PartitionHash};
use keywright_semantics::schema::{IndexSchema, KeyAttribute, KeySchema, Projection};

use crate::bind::key::{KeyPart, check_size, empty_kind, stored_value, stored_values};
use crate::bind::source::holds;
use crate::support::layout::{self, IndexId, TableId};

/// An index and its table, as far as entries depend on them.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub table: TableId,
    pub table_key: &'a KeySchema,
    pub index: IndexId,
    pub schema: &'a IndexSchema,
}

/// One entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub key: Bytes,
    pub value: EncodedItem,
}

/// The change of one index by a write. Invariant: it changes the stored entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexChange {
    pub delete: Option<Bytes>,
    pub put: Option<IndexEntry>,
    /// Bytes the index grew by, negative if it shrank.
    pub bytes_delta: i64,
    pub entries_delta: i64,
    pub units: HalfUnits,
}

impl IndexChange {
    /// Checks that the rows to be written agree with the change that is counted and charged.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub(crate) fn check(&self) {
        let added = i64::from(self.put.is_some());
        let removed = i64::from(self.delete.is_some());
        assert!(added + removed > 0, "an index change writes a row");
        // An entry that keeps its key is overwritten: one put, no delete, and no entry more.
        let overwritten = i64::from(self.entries_delta == 0 && self.delete.is_none());
        assert_eq!(
            added - removed - overwritten,
            self.entries_delta,
            "index entries written equal the delta"
        );
        assert!(self.units > HalfUnits(0), "every index change is charged");
        let put_key = self.put.as_ref().map(|entry| &entry.key);
        assert!(put_key.is_none() || put_key != self.delete.as_ref(), "an entry moves to another key");
    }
}

/// The item's entry in the index; `None` if it lacks a key attribute, or one has a value that no key can
/// have. Such a value is older than the index; a later writer would be refused.
pub(crate) fn entry(target: Target<'_>, item: &EncodedItem, base: PartitionHash) -> Option<IndexEntry> {
    let view = item.view();
    let partition = index_values(KeyPart::Partition, &target.schema.key.partition, view)?;
    let sort = index_values(KeyPart::Sort, &target.schema.key.sort, view)?;
    let key = layout::index_key(target.table, target.index, &partition, &sort, base);
    let value = match &target.schema.projection {
        Projection::All => item.clone(),
        Projection::KeysOnly | Projection::Include(_) => {
            view.encode_subset(|name| holds(target.table_key, target.schema, name))
        }
    };
    Some(IndexEntry { key, value })
}

fn index_values<'a>(
    part: KeyPart,
    attributes: &[KeyAttribute],
    item: MapRef<'a>,
) -> Option<Vec<KeyValueRef<'a>>> {
    let possible = |value: &KeyValueRef<'_>| empty_kind(*value).is_none() && check_size(part, *value).is_ok();
    stored_values(attributes, item).filter(|values| values.iter().all(possible))
}

/// The hash of an item's full key, which distinguishes its index entries from others.
pub(crate) fn base_hash(table_key: &KeySchema, item: MapRef<'_>) -> Option<PartitionHash> {
    let partition = table_key.partition.first()?;
    let partition = stored_value(partition, item.get(&partition.name)?)?;
    let sort = match table_key.sort.first() {
        Some(sort) => Some(stored_value(sort, item.get(&sort.name)?)?),
        None => None,
    };
    Some(layout::base_key_hash(partition, sort))
}

/// The change of one index by a change of the item; `None` if the stored entry stays as it is.
///
/// Both images have the same key. The charge follows the stored entry: adding or removing it costs its size,
/// moving it to another key costs both sizes, changing it costs the larger size, and an unchanged entry costs
/// nothing.
pub(crate) fn delta(
    target: Target<'_>,
    old: Option<&EncodedItem>,
    new: Option<&EncodedItem>,
    base: PartitionHash,
) -> Option<IndexChange> {
    let old = old.and_then(|item| entry(target, item, base));
    let new = new.and_then(|item| entry(target, item, base));
    let bytes = |row: &IndexEntry| i64::try_from(row.value.size_bytes()).unwrap_or(i64::MAX);
    let units = |row: &IndexEntry| write_units(row.value.size_bytes(), WriteMode::Plain);
    match (old, new) {
        (None, None) => None,
        (None, Some(new)) => Some(IndexChange {
            bytes_delta: bytes(&new),
            entries_delta: 1,
            units: units(&new),
            put: Some(new),
            delete: None,
        }),
        (Some(old), None) => Some(IndexChange {
            bytes_delta: -bytes(&old),
            entries_delta: -1,
            units: units(&old),
            delete: Some(old.key),
            put: None,
        }),
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => {
            let moved = old.key != new.key;
            Some(IndexChange {
                bytes_delta: bytes(&new) - bytes(&old),
                entries_delta: 0,
                units: if moved { units(&old) + units(&new) } else { units(&old).max(units(&new)) },
                delete: moved.then_some(old.key),
                put: Some(new),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use keywright_semantics::schema::{IndexKind, KeyType};
    use keywright_semantics::value::{AttributeValue, Item};

    use super::*;

    fn attribute(name: &str) -> KeyAttribute {
        KeyAttribute { name: name.into(), key_type: KeyType::S }
    }

    fn schema(projection: Projection) -> (KeySchema, IndexSchema) {
        let table = KeySchema { partition: vec![attribute("pk")], sort: vec![attribute("sk")] };
        let key = KeySchema { partition: vec![attribute("g")], sort: vec![attribute("h")] };
        (table, IndexSchema { name: "gsi".into(), kind: IndexKind::Global, key, projection })
    }

    fn item(pairs: &[(&str, &str)]) -> EncodedItem {
        let item: Item =
            pairs.iter().map(|(name, text)| ((*name).into(), AttributeValue::S((*text).into()))).collect();
        EncodedItem::encode(&item)
    }

    fn change(
        projection: Projection,
        old: Option<&[(&str, &str)]>,
        new: Option<&[(&str, &str)]>,
    ) -> Option<IndexChange> {
        let (table_key, schema) = schema(projection);
        let target = Target { table: TableId(1), table_key: &table_key, index: IndexId(2), schema: &schema };
        let (old, new) = (old.map(item), new.map(item));
        let base = old.as_ref().or(new.as_ref()).and_then(|item| base_hash(&table_key, item.view()));
        delta(target, old.as_ref(), new.as_ref(), base.expect("every image has its key"))
    }

    const KEY: [(&str, &str); 2] = [("pk", "p"), ("sk", "s")];

    fn with(rest: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
        KEY.iter().chain(rest).copied().collect()
    }

    #[test]
    fn an_item_without_all_index_keys_is_not_in_the_index() {
        assert_eq!(change(Projection::All, None, Some(&with(&[("g", "1")]))), None);
        assert_eq!(change(Projection::All, Some(&with(&[("h", "1")])), None), None);
    }

    #[test]
    fn adding_and_removing_an_entry_cost_one_write_each() {
        let row = with(&[("g", "1"), ("h", "1"), ("x", "data")]);
        let entered = change(Projection::KeysOnly, None, Some(&row)).expect("it enters");
        assert_eq!((entered.units, entered.entries_delta), (HalfUnits(2), 1));
        let put = entered.put.expect("a row is written");
        assert_eq!(put.value.decode().keys().collect::<Vec<_>>(), ["g", "h", "pk", "sk"]);
        let left = change(Projection::KeysOnly, Some(&row), Some(&KEY)).expect("it leaves");
        assert_eq!((left.units, left.entries_delta), (HalfUnits(2), -1));
        assert_eq!(left.delete, Some(put.key));
        assert_eq!(entered.bytes_delta, -left.bytes_delta);
    }

    #[test]
    fn a_moved_key_costs_two_writes() {
        let old = with(&[("g", "1"), ("h", "1")]);
        let new = with(&[("g", "1"), ("h", "2")]);
        let moved = change(Projection::All, Some(&old), Some(&new)).expect("it moves");
        assert_eq!(moved.units, HalfUnits(4));
        assert!(moved.delete.is_some() && moved.put.is_some());
    }

    #[test]
    fn an_unprojected_change_costs_nothing_and_a_projected_one_a_write() {
        let old = with(&[("g", "1"), ("h", "1"), ("x", "a"), ("y", "a")]);
        let new = with(&[("g", "1"), ("h", "1"), ("x", "b"), ("y", "a")]);
        let include = |name: &str| Projection::Include(BTreeSet::from([name.to_owned()]));
        assert_eq!(change(Projection::KeysOnly, Some(&old), Some(&new)), None);
        assert_eq!(change(include("y"), Some(&old), Some(&new)), None);
        let changed = change(include("x"), Some(&old), Some(&new)).expect("x is projected");
        assert_eq!((changed.units, changed.delete, changed.entries_delta), (HalfUnits(2), None, 0));
    }

    #[test]
    fn an_entry_that_shrinks_costs_its_old_size() {
        let long = "x".repeat(3000);
        let old = [KEY[0], KEY[1], ("g", "1"), ("h", "1"), ("x", long.as_str())];
        let new = with(&[("g", "1"), ("h", "1"), ("x", "b")]);
        let changed = change(Projection::All, Some(&old), Some(&new)).expect("it changes");
        assert_eq!(changed.units, HalfUnits(6));
    }
}
