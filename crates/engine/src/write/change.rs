//! The change that one action makes to one item: a pure function of the action and the stored item.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage, WriteMode, write_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::{Condition, Update, Work};
use keywright_semantics::key::PartitionHash;
use keywright_semantics::messages::data_plane::UPDATED_TOO_DEEP;
use keywright_semantics::schema::IndexKind;
use keywright_semantics::value::{AttributeValue, Item};

use crate::bind::BindFault;
use crate::bind::expiry::{Due, expiry};
use crate::bind::item::check_updated;
use crate::bind::key::ItemKey;
use crate::catalogue::Table;
use crate::state::stats::Tally;
use crate::support::version::Version;
use crate::write::index::{self, IndexChange, Target};
use crate::write::version_rows::Deleted;

/// The effect of an action on its item.
#[derive(Clone, Debug)]
pub(crate) enum Effect<'r> {
    /// None: the action only checks its condition.
    Check,
    Put(EncodedItem),
    Update {
        key: &'r Item,
        update: Option<&'r Update>,
    },
    Delete,
    /// A delete if the item is due to expire; otherwise none.
    Expire(Due),
    /// Takes the item of another replica, or its deletion, if that is newer; otherwise none.
    Replicate(Box<Incoming>),
    /// Leaves the item as it is, with a new version, if it has this one.
    Raise(Box<Raise>),
    /// Brings the item back, if it is as expected; otherwise none. In a box, as it is rare and large.
    Revert(Box<Revert>),
}

/// A new version of an item that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raise {
    /// The version that the item has; if it has another one, nothing happens.
    pub expected: Version,
    /// The new version is above this one too.
    pub above: Version,
}

/// How an item is brought back to what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revert {
    /// The item that is brought back; if there is another one, it stays. `None` is no item.
    pub expected: Option<EncodedItem>,
    /// What it becomes.
    pub back: Option<EncodedItem>,
}

/// An item of another replica, or its deletion, as it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub version: Version,
    pub item: Option<EncodedItem>,
    /// Only without an item.
    pub deleted: Option<Deleted>,
}

/// An incoming version that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The version that it replaces; `None` if there was no item, and none was deleted.
    pub before: Option<Version>,
}

/// One write, bound to its table.
#[derive(Clone)]
pub(crate) struct Action<'r> {
    pub table: Arc<Table>,
    pub key: ItemKey,
    pub effect: Effect<'r>,
    pub condition: Option<&'r Condition>,
    /// The item or key of the request; absent for the service's own deletes.
    pub given: Option<&'r Item>,
}

/// The steps of [`Work`] of an action without its condition and update.
const ACTION_STEPS: u64 = 256;

impl Action<'_> {
    /// The work of evaluating the action on its item.
    pub(crate) fn work(&self) -> Work {
        let condition = self.condition.map(Condition::work).unwrap_or_default();
        let effect = match &self.effect {
            Effect::Update { update: Some(update), .. } => update.work(),
            Effect::Put(item) => Work::fixed(u64::try_from(item.size_bytes()).unwrap_or(u64::MAX)),
            Effect::Delete | Effect::Expire(_) | Effect::Revert(_) | Effect::Replicate(_) => Work::walks(1),
            Effect::Raise(_) | Effect::Check | Effect::Update { update: None, .. } => Work::default(),
        };
        condition.and(effect).and(Work::fixed(ACTION_STEPS))
    }
}

/// An updated item is held as a tree as well, whose nodes may be larger than their bytes in the item.
const UPDATE_TREE_FACTOR: usize = 4;

/// The most bytes that a group of writes holds at a time: images before and after, index entries, change
/// records.
pub(crate) fn image_bytes(actions: &[Action<'_>], items: &[Option<Bytes>]) -> usize {
    actions
        .iter()
        .zip(items)
        .map(|(action, item)| of_action(action, item.as_ref().map_or(0, Bytes::len)))
        .sum()
}

fn of_action(action: &Action<'_>, old_bytes: usize) -> usize {
    let (new_bytes, tree_bytes) = match &action.effect {
        Effect::Check => return old_bytes,
        Effect::Put(item) => (item.as_bytes().len(), 0),
        Effect::Update { .. } => (old_bytes, old_bytes.saturating_mul(UPDATE_TREE_FACTOR)),
        Effect::Delete | Effect::Expire(_) | Effect::Raise(_) => (0, 0),
        Effect::Revert(revert) => (revert.back.as_ref().map_or(0, |item| item.as_bytes().len()), 0),
        Effect::Replicate(incoming) => (incoming.item.as_ref().map_or(0, |item| item.as_bytes().len()), 0),
    };
    let histories = usize::from(action.table.history.is_on());
    let copies = action.table.indexes().count() + action.table.open_logs().count() + histories;
    let images = old_bytes.saturating_add(new_bytes);
    images.saturating_add(images.saturating_mul(copies)).saturating_add(tree_bytes)
}

/// Why an action is refused. Nothing of its group is written then.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The condition failed on this item.
    Condition { item: Option<EncodedItem> },
    /// The update does not apply to the item, or its result cannot be stored.
    Invalid(Error),
    /// The item collection would grow beyond its limit.
    CollectionTooLarge,
}

/// What an action did to its item and the index entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub old: Option<EncodedItem>,
    pub new: Option<EncodedItem>,
    /// The incoming version that was taken, also if the item is as before.
    pub taken: Option<Taken>,
    /// Changes of indexes, with the index's position in the schema.
    pub indexes: Vec<(usize, IndexChange)>,
}

impl Change {
    /// Whether the stored item changes.
    pub(crate) fn changes_item(&self) -> bool {
        self.old != self.new
    }

    /// The change of the table's number of items and their bytes.
    pub(crate) fn item_tally(&self) -> Tally {
        let tally = |item: &Option<EncodedItem>| match item {
            None => Tally::default(),
            Some(item) => Tally { rows: 1, bytes: i64::try_from(item.size_bytes()).unwrap_or(i64::MAX) },
        };
        let (old, new) = (tally(&self.old), tally(&self.new));
        Tally { rows: new.rows - old.rows, bytes: new.bytes - old.bytes }
    }

    /// The size of the larger image, by which the table's part of a write is charged.
    pub(crate) fn larger_image_bytes(&self) -> usize {
        let bytes = |item: &Option<EncodedItem>| item.as_ref().map_or(0, EncodedItem::size_bytes);
        bytes(&self.old).max(bytes(&self.new))
    }

    /// The change of the item collection's size: the item and its entries in local indexes.
    pub(crate) fn collection_delta_bytes(&self, table: &Table) -> i64 {
        let indexes = self.indexes.iter().filter(|(position, _)| {
            table.schema.indexes.get(*position).is_some_and(|index| index.kind == IndexKind::Local)
        });
        self.item_tally().bytes + indexes.map(|(_, change)| change.bytes_delta).sum::<i64>()
    }

    /// The charge of the write: the table by the larger image, each index by the change of its stored entry.
    pub(crate) fn usage(&self, table: &Table, mode: WriteMode) -> TableUsage {
        let mut usage = TableUsage {
            table: Usage::writing(write_units(self.larger_image_bytes(), mode)),
            ..TableUsage::default()
        };
        assert!(usage.table.write > HalfUnits(0), "every write is charged to its table");
        for (position, change) in &self.indexes {
            let Some(index) = table.schema.indexes.get(*position) else { continue };
            if change.units == HalfUnits(0) {
                continue;
            }
            let arms = match index.kind {
                IndexKind::Local => &mut usage.local_indexes,
                IndexKind::Global => &mut usage.global_indexes,
            };
            *arms.entry(index.name.clone()).or_default() += Usage::writing(change.units);
        }
        usage
    }
}

/// What one action of a committed group did.
pub(crate) struct Outcome {
    pub table: Arc<Table>,
    pub change: Change,
    /// The size of the item's collection after the write, for tables with local indexes.
    pub collection_bytes: Option<u64>,
}

/// Evaluates an action on the stored item. `version` is the item's, if its table has replicas and the item
/// was written since.
pub(crate) fn evaluate(
    action: &Action<'_>,
    old: Option<EncodedItem>,
    version: Option<&Version>,
) -> Result<Change, Refusal> {
    if let Some(condition) = action.condition
        && !condition.evaluate(old.as_ref().map(EncodedItem::view))
    {
        return Err(Refusal::Condition { item: old });
    }
    let mut change = match &action.effect {
        Effect::Check | Effect::Raise(_) => Change { new: old.clone(), old, ..Change::default() },
        Effect::Put(item) => Change { old, new: Some(item.clone()), ..Change::default() },
        Effect::Delete => Change { old, ..Change::default() },
        Effect::Expire(due) => {
            let new = old.clone().filter(|item| !is_due(&action.table, item, *due));
            Change { old, new, ..Change::default() }
        }
        Effect::Replicate(incoming) => replicated(incoming, old, version),
        Effect::Revert(revert) => {
            let new = if old == revert.expected { revert.back.clone() } else { old.clone() };
            Change { old, new, ..Change::default() }
        }
        Effect::Update { key, update } => updated(&action.table, key, *update, old)?,
    };
    if change.changes_item() {
        change.indexes =
            index_changes(&action.table, action.key.base, change.old.as_ref(), change.new.as_ref());
    }
    Ok(change)
}

/// The change by an incoming version: the greater version wins. No item is less than one without a version.
fn replicated(incoming: &Incoming, old: Option<EncodedItem>, version: Option<&Version>) -> Change {
    let before = version.cloned().or_else(|| old.as_ref().map(|_| Version::zero()));
    if before.as_ref() >= Some(&incoming.version) {
        return Change { new: old.clone(), old, ..Change::default() };
    }
    Change { old, new: incoming.item.clone(), taken: Some(Taken { before }), ..Change::default() }
}

/// Whether the item is due to expire.
fn is_due(table: &Table, item: &EncodedItem, due: Due) -> bool {
    let attribute = table.ttl.enabled().map(|(_, attribute)| attribute);
    let time = attribute.and_then(|attribute| expiry(item.view(), attribute));
    time.is_some_and(|time| due.contains(time))
}

fn updated(
    table: &Table,
    key: &Item,
    update: Option<&Update>,
    old: Option<EncodedItem>,
) -> Result<Change, Refusal> {
    let Some(update) = update else {
        let new = old.clone().unwrap_or_else(|| EncodedItem::encode(key));
        return Ok(Change { old, new: Some(new), ..Change::default() });
    };
    let new = if let Some(new) = old.as_ref().and_then(|old| update.apply_stored(old)) {
        new
    } else {
        let before = old.as_ref().map(EncodedItem::decode);
        let updated = update.apply(before.as_ref(), key).map_err(Refusal::Invalid)?.new;
        if old.is_none() && !update.creates_item() {
            return Ok(Change::default());
        }
        let new = EncodedItem::encode(&updated);
        if updated.values().any(AttributeValue::is_too_deep) {
            return Err(Refusal::Invalid(Error::validation(UPDATED_TOO_DEEP)));
        }
        new
    };
    check_updated(&table.schema, old.as_ref(), &new)
        .map_err(|fault: BindFault| Refusal::Invalid(fault.into()))?;
    Ok(Change { old, new: Some(new), ..Change::default() })
}

/// The changes of a table's indexes by a change of an item. `base` is there if the table has indexes.
pub(crate) fn index_changes(
    table: &Table,
    base: Option<PartitionHash>,
    old: Option<&EncodedItem>,
    new: Option<&EncodedItem>,
) -> Vec<(usize, IndexChange)> {
    let Some(base) = base else { return Vec::new() };
    table
        .indexes()
        .filter_map(|(position, id, schema)| {
            let target = Target { table: table.id, table_key: &table.schema.key, index: id, schema };
            let change = index::delta(target, old, new, base)?;
            Some((position, change))
        })
        .collect()
}
