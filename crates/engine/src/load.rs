//! The bounded writer: puts items in their stored form into a table that no client can use yet, with all the
//! rows that are made of them.
//!
//! Each commit has a bounded number of items, and the row that says how far their source has been taken. So
//! what was written and what the row says are one in every case: after a commit that fails, one of unknown
//! outcome, the end of the process, another process that does the same work. It draws no stamp and charges
//! no capacity, as the table has neither history nor stream nor readers.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::key::PartitionHash;
use keywright_semantics::schema::IndexKind;
use keywright_store::{CommitError, Store, Transaction};

use crate::bind::key::stored_value;
use crate::catalogue::{Begun, Table, TableGuard};
use crate::history::as_of::OldItem;
use crate::state::Engine;
use crate::state::stats::{Committed, Counted, Tally};
use crate::support::fault;
use crate::support::hex::hex;
use crate::support::layout;
use crate::support::rows::Budget;
use crate::write::collections;
use crate::write::index::{self, Target};

/// Items of one commit, and their bytes.
pub(crate) const COMMIT: Budget = Budget { rows_max: 512, bytes_max: 1024 * 1024 };
/// Tries of one commit; after each conflict the next try takes half as many items.
const TRIES_MAX: u32 = 20;

/// The row that says how far the work has come, as the writer knows it.
pub(crate) struct Progress {
    pub key: Bytes,
    pub before: Bytes,
}

/// What became of some items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// So many of the first ones are written, and this is the row now.
    Written { items: usize, row: Bytes },
    /// The row or the table is not as the writer knows it: another process does the work, or it has ended.
    Overtaken,
}

/// Why items cannot be written.
#[derive(Clone, Debug)]
pub(crate) enum LoadFault {
    /// This item is not what its key says, or no item at all.
    Damaged(String),
    Store(Error),
}

impl From<Error> for LoadFault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// An item with all that is made of it.
struct Made {
    key: Bytes,
    item: EncodedItem,
    /// Entries, with the places of their indexes.
    entries: Vec<(usize, index::IndexEntry)>,
    collection: Option<Bytes>,
}

/// The end of one try.
enum Attempt {
    Ended(Loaded),
    Conflict,
    /// The commit would have left this row.
    Unknown(Bytes),
}

/// Writes some items, which are in the order of their keys, as many as one commit takes. `after` makes the
/// new row from the number of written items and their sum.
pub(crate) async fn load<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    items: &[OldItem],
    progress: &Progress,
    after: impl Fn(usize, Tally) -> Bytes + Send + Sync,
) -> Result<Loaded, LoadFault> {
    // One that came twice would be counted twice.
    if let Some([_, next]) = items.array_windows().find(|[one, next]| one.within >= next.within) {
        return Err(damaged(&next.within, "stands after a key that is not below it"));
    }
    let made = items.iter().map(|item| make(table, item)).collect::<Result<Vec<Made>, LoadFault>>()?;
    let mut most = made.len().min(COMMIT.rows_max);
    let mut unsure: Option<(usize, Bytes)> = None;
    for _ in 0..TRIES_MAX {
        let made = made.get(..within_budget(&made, most)).unwrap_or_default();
        match attempt(engine, (table, made), progress, unsure.as_ref(), &after).await? {
            Attempt::Ended(loaded) => return Ok(loaded),
            // After an unknown outcome the same items are tried again, so that their row is known.
            Attempt::Conflict if unsure.is_some() => {}
            Attempt::Conflict => most = (made.len() / 2).max(1),
            Attempt::Unknown(row) => unsure = Some((made.len(), row)),
        }
    }
    // A later step reads the row again and goes on.
    Ok(Loaded::Overtaken)
}

/// How many of the first items one commit takes.
fn within_budget(made: &[Made], most: usize) -> usize {
    let mut bytes = 0;
    let mut fits = |one: &&Made| {
        let is_first = bytes == 0;
        bytes += one.item.as_bytes().len();
        is_first || bytes <= COMMIT.bytes_max
    };
    made.iter().take(most).take_while(|one| fits(one)).count()
}

async fn attempt<S: Store>(
    engine: &Engine<S>,
    (table, made): (&Table, &[Made]),
    progress: &Progress,
    unsure: Option<&(usize, Bytes)>,
    after: &(impl Fn(usize, Tally) -> Bytes + Sync),
) -> Result<Attempt, Error> {
    let mut keys = vec![progress.key.clone()];
    for collection in made.iter().filter_map(|one| one.collection.as_ref()) {
        if keys.last() != Some(collection) {
            keys.push(collection.clone());
        }
    }
    let begun = TableGuard::of([table]).begin(engine.store(), keys.clone()).await;
    let (mut txn, rows) = match begun.map_err(|error| fault::storage(&error))? {
        Begun::Current(txn, rows) => (txn, rows),
        Begun::Changed(table) => {
            engine.catalogue().refresh(table).await?;
            return Ok(Attempt::Ended(Loaded::Overtaken));
        }
    };
    let mut rows = rows.into_iter();
    let found = rows.next().flatten();
    if found.as_ref() != Some(&progress.before) {
        // An earlier try of unknown outcome wrote the row: its items are there.
        if let Some((items, row)) = unsure.filter(|(_, row)| found.as_ref() == Some(row)) {
            count(engine, table, made, Committed::Unsure);
            assert_eq!(*items, made.len(), "a try after an unknown outcome has the same items");
            return Ok(Attempt::Ended(Loaded::Written { items: *items, row: row.clone() }));
        }
        return Ok(Attempt::Ended(Loaded::Overtaken));
    }
    let mut sizes: BTreeMap<Bytes, u64> = keys
        .into_iter()
        .skip(1)
        .zip(rows)
        .map(|(key, row)| (key, collections::decode(row.as_ref())))
        .collect();
    for one in made {
        put(&mut *txn, table, one, &mut sizes);
    }
    for (key, bytes) in sizes {
        if let Some(row) = collections::encode(bytes) {
            txn.put(key, row);
        }
    }
    let row = after(made.len(), sum(made));
    txn.put(progress.key.clone(), row.clone());
    match txn.commit().await {
        Ok(version) => {
            count(engine, table, made, Committed::At(version));
            Ok(Attempt::Ended(Loaded::Written { items: made.len(), row }))
        }
        Err(CommitError::Conflict) => Ok(Attempt::Conflict),
        Err(CommitError::Unknown) => Ok(Attempt::Unknown(row)),
        Err(CommitError::TooLarge) if made.len() > 1 => Ok(Attempt::Conflict),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}

/// Buffers the rows of an item, and adds it to the size of its collection.
fn put(txn: &mut impl Transaction, table: &Table, one: &Made, sizes: &mut BTreeMap<Bytes, u64>) {
    let mut bytes = one.item.size_bytes();
    for (place, entry) in &one.entries {
        if table.schema.indexes.get(*place).is_some_and(|index| index.kind == IndexKind::Local) {
            bytes += entry.value.size_bytes();
        }
        assert!(layout::is_guarded(&entry.key, table.id), "a restore writes rows of its own table");
        txn.put(entry.key.clone(), entry.value.as_bytes().clone());
    }
    if let Some(size) = one.collection.as_ref().and_then(|key| sizes.get_mut(key)) {
        *size = size.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
    txn.put(one.key.clone(), one.item.as_bytes().clone());
}

fn tally(item: &EncodedItem) -> Tally {
    Tally { rows: 1, bytes: i64::try_from(item.size_bytes()).unwrap_or(i64::MAX) }
}

fn sum(made: &[Made]) -> Tally {
    let mut all = Tally::default();
    for one in made {
        all += tally(&one.item);
    }
    all
}

/// Adds written items and entries to the counters.
fn count<S: Store>(engine: &Engine<S>, table: &Table, made: &[Made], committed: Committed) {
    engine.stats().add(Counted::Items(table.id), sum(made), committed);
    for (place, id, _) in table.indexes() {
        let mut entries = Tally::default();
        let own = made.iter().flat_map(|one| &one.entries).filter(|(of, _)| *of == place);
        own.for_each(|(_, entry)| entries += tally(&entry.value));
        engine.stats().add(Counted::Entries(table.id, id), entries, committed);
    }
}

fn damaged(within: &[u8], what: &str) -> LoadFault {
    LoadFault::Damaged(format!("the item with the key {} {what}", hex(within)))
}

/// Makes the rows of an item.
fn make(table: &Table, old: &OldItem) -> Result<Made, LoadFault> {
    let damaged = |what: &str| damaged(&old.within, what);
    let item = EncodedItem::from_stored(old.value.clone()).map_err(|_fault| damaged("cannot be read"))?;
    let key = key_of(table, &item).ok_or_else(|| damaged("lacks a key attribute of its table"))?;
    if layout::within_table(&key) != &*old.within {
        return Err(damaged("has another key in itself"));
    }
    let base = index::base_hash(&table.schema.key, item.view())
        .ok_or_else(|| damaged("lacks a key attribute of its table"))?;
    let entries = entries(table, &item, base);
    let has_local = table.schema.indexes.iter().any(|index| index.kind == IndexKind::Local);
    let collection = has_local.then(|| collection_of(table, &item)).flatten();
    Ok(Made { key, item, entries, collection })
}

fn entries(table: &Table, item: &EncodedItem, base: PartitionHash) -> Vec<(usize, index::IndexEntry)> {
    let entry = |(place, id, schema)| {
        let target = Target { table: table.id, table_key: &table.schema.key, index: id, schema };
        index::entry(target, item, base).map(|entry| (place, entry))
    };
    table.indexes().filter_map(entry).collect()
}

/// The key that an item has by its attributes.
fn key_of(table: &Table, item: &EncodedItem) -> Option<Bytes> {
    let view = item.view();
    let partition = table.schema.key.partition.first()?;
    let partition = stored_value(partition, view.get(&partition.name)?)?;
    let sort = match table.schema.key.sort.first() {
        Some(sort) => Some(stored_value(sort, view.get(&sort.name)?)?),
        None => None,
    };
    Some(layout::item_key(table.id, partition, sort))
}

fn collection_of(table: &Table, item: &EncodedItem) -> Option<Bytes> {
    let partition = table.schema.key.partition.first()?;
    let partition = stored_value(partition, item.view().get(&partition.name)?)?;
    Some(layout::collection_key(table.id, partition))
}
