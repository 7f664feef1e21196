//! What a change of an item does to the indexes: a pure function of the item before and after.
//!
//! An index entry is the item's projection, kept under the index key and a hash of the item's own key. It does not know
//! transactions: the caller applies what comes out, and backfill uses the same `entry` for items that exist already.

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, WriteMode, write_units};
use keywright_semantics::codec::{EncodedItem, MapRef};
use keywright_semantics::key::{KeyValueRef, PartitionHash};
use keywright_semantics::schema::{IndexSchema, KeyAttribute, KeySchema, Projection};

use crate::bind::key::{KeyPart, check_size, empty_kind, stored_value, stored_values};
use crate::bind::source::holds;
use crate::support::layout::{self, IndexId, TableId};

/// What an index needs to know to place an item.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub table: TableId,
    pub table_key: &'a KeySchema,
    pub index: IndexId,
    pub schema: &'a IndexSchema,
}

/// One row of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub key: Bytes,
    pub value: EncodedItem,
}

/// What a write does to one index: never a change that leaves the stored row as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexChange {
    pub delete: Option<Bytes>,
    pub put: Option<IndexEntry>,
    /// Bytes the index grew by, negative if it shrank.
    pub bytes_delta: i64,
    pub entries_delta: i64,
    pub units: HalfUnits,
}

/// The item's row in the index; none if it lacks a key attribute or one has a value that no key can have. Such a value
/// can be older than the index; writers are held to the rules of an index that exists.
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

/// The full key of an item as the hash that tells its index entries apart.
pub(crate) fn base_hash(table_key: &KeySchema, item: MapRef<'_>) -> Option<PartitionHash> {
    let partition = table_key.partition.first()?;
    let partition = stored_value(partition, item.get(&partition.name)?)?;
    let sort = match table_key.sort.first() {
        Some(sort) => Some(stored_value(sort, item.get(&sort.name)?)?),
        None => None,
    };
    Some(layout::base_key_hash(partition, sort))
}

/// What changing the item does to one index; none if its stored row stays as it is.
///
/// Both images have the same key. Units follow the change of the stored row: entering or leaving costs the row, a moved
/// key costs both rows, a changed row costs the larger of the two, an unchanged row costs nothing.
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
    fn entering_and_leaving_cost_one_write_each() {
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
    fn a_row_that_shrinks_costs_its_old_size() {
        let long = "x".repeat(3000);
        let old = [KEY[0], KEY[1], ("g", "1"), ("h", "1"), ("x", long.as_str())];
        let new = with(&[("g", "1"), ("h", "1"), ("x", "b")]);
        let changed = change(Projection::All, Some(&old), Some(&new)).expect("it changes");
        assert_eq!(changed.units, HalfUnits(6));
    }
}
