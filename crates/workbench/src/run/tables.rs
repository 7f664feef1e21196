//! The size of the sample: items and bytes of tables, indexes and entities, by the service's size rules.

use std::collections::BTreeMap;

use keywright_semantics::limits::{GLOBAL_INDEXES_MAX, LOCAL_INDEXES_MAX, PROJECTED_ATTRIBUTES_MAX};
use keywright_semantics::size::{item_bytes, value_bytes};
use keywright_semantics::value::{AttributeValue, Item};

use super::report::{EntityReport, IndexReport, TableReport};
use keywright_model::data::Sample;
use keywright_model::{Index, IndexKind, Model, Projection, Table};

/// The number of a table's indexes and of the attributes they project by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexNumbers {
    pub(crate) global: usize,
    pub(crate) local: usize,
    pub(crate) projected: usize,
}

impl IndexNumbers {
    pub(crate) fn of(table: &Table) -> Self {
        let number = |kind| table.indexes.iter().filter(|index| index.kind == kind).count();
        let projected = table.indexes.iter().map(|index| match &index.projection {
            Projection::Include(names) => names.len(),
            Projection::All | Projection::KeysOnly => 0,
        });
        Self {
            global: number(IndexKind::Global),
            local: number(IndexKind::Local),
            projected: projected.sum(),
        }
    }

    /// Whether the service refuses such a table.
    pub(crate) fn are_too_many(self) -> bool {
        self.global > GLOBAL_INDEXES_MAX
            || self.local > LOCAL_INDEXES_MAX
            || self.projected > PROJECTED_ATTRIBUTES_MAX
    }
}

pub(super) fn measure(model: &Model, samples: &[Sample]) -> Vec<TableReport> {
    model.tables.iter().map(|table| measure_table(model, table, samples)).collect()
}

fn measure_table(model: &Model, table: &Table, samples: &[Sample]) -> TableReport {
    let own: Vec<&Sample> = samples.iter().filter(|sample| sample.table == table.name).collect();
    let entities = model.entities_of(&table.name).map(|entity| {
        let items: Vec<&Item> = own
            .iter()
            .filter(|sample| sample.entity.as_deref() == Some(&entity.name))
            .map(|sample| &sample.item)
            .collect();
        let sizes = items.iter().map(|item| count(item_bytes(item)));
        EntityReport {
            name: entity.name.clone(),
            items: count(items.len()),
            bytes: sizes.clone().sum(),
            bytes_max: sizes.max().unwrap_or(0),
            expires_max: table.ttl.as_ref().and_then(|ttl| latest(&items, ttl)),
            having: having(&items),
            indexes: indexes(table, &items),
        }
    });
    let entities: Vec<EntityReport> = entities.collect();
    let owned: u64 = entities.iter().map(|entity| entity.items).sum();
    assert!(owned <= count(own.len()), "an item belongs to one entity at most");
    let items: Vec<&Item> = own.iter().map(|sample| &sample.item).collect();
    TableReport {
        name: table.name.clone(),
        items: count(items.len()),
        bytes: items.iter().map(|item| count(item_bytes(item))).sum(),
        indexes: indexes(table, &items),
        entities,
    }
}

fn having(items: &[&Item]) -> BTreeMap<String, u64> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for name in items.iter().flat_map(|item| item.keys()) {
        *found.entry(name.clone()).or_default() += 1;
    }
    found
}

/// The largest whole number that items have in an attribute.
fn latest(items: &[&Item], name: &str) -> Option<u64> {
    let numbers = items.iter().filter_map(|item| match item.get(name)? {
        AttributeValue::N(number) => number.to_string().parse().ok(),
        _ => None,
    });
    numbers.max()
}

fn indexes(table: &Table, items: &[&Item]) -> Vec<IndexReport> {
    table
        .indexes
        .iter()
        .map(|index| {
            let entries: Vec<u64> = items.iter().filter_map(|item| entry_bytes(table, index, item)).collect();
            IndexReport { name: index.name.clone(), items: count(entries.len()), bytes: entries.iter().sum() }
        })
        .collect()
}

/// The size of an item's entry; `None` when it lacks a key attribute.
fn entry_bytes(table: &Table, index: &Index, item: &Item) -> Option<u64> {
    if !index.key_parts().all(|part| item.contains_key(&part.name)) {
        return None;
    }
    let key = |name: &str| table.key_parts().chain(index.key_parts()).any(|part| part.name == name);
    let held = |name: &str| match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => key(name),
        Projection::Include(names) => key(name) || names.contains(name),
    };
    let entry = item.iter().filter(|(name, _)| held(name));
    Some(entry.map(|(name, value)| count(name.len() + value_bytes(value))).sum())
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
