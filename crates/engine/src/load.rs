//! The bounded writer: puts items into a table that no client can use yet, with all the rows that are made of
//! them.
//!
//! Each commit has a bounded number of items, and the row that says how far their source has been taken. So
//! what was written and what the row says are one in every case: after a commit that fails, one of unknown
//! outcome, the end of the process, another process that does the same work. It draws no stamp and charges
//! no capacity, as the table has neither history nor stream nor readers.
//!
//! - [`load`]: items in their stored form, in the order of their keys, each of them new to the table.
//! - [`overwrite`]: items in any order, also with keys that came before; the last one with a key stays.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::schema::IndexKind;
use keywright_store::{CommitError, Store, Transaction};

use crate::bind::item::BoundPut;
use crate::bind::key::{ItemKey, stored_value};
use crate::catalogue::{Begun, Table, TableGuard};
use crate::history::as_of::OldItem;
use crate::state::Engine;
use crate::state::stats::{Committed, Counted, Tally};
use crate::support::fault;
use crate::support::hex::hex;
use crate::support::layout::{self, IndexId};
use crate::support::rows::Budget;
use crate::write::change::{Change, index_changes};
use crate::write::collections;
use crate::write::index;

/// Items of one commit, and their bytes.
pub(crate) const COMMIT: Budget = Budget { rows_max: 512, bytes_max: 1024 * 1024 };
/// Tries of one commit; after each conflict the next try takes half as many items.
const TRIES_MAX: u32 = 20;

/// The row that says how far the work has come, as the writer knows it.
pub(crate) struct Progress {
    pub key: Bytes,
    pub before: Bytes,
}

/// What a commit writes next to its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The new row of the work.
    pub row: Bytes,
    /// Other rows that belong to it, with their keys.
    pub others: Vec<(Bytes, Bytes)>,
}

impl From<Bytes> for Noted {
    fn from(row: Bytes) -> Self {
        Self { row, others: Vec::new() }
    }
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

/// What the table has of the items that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Present {
    Nothing,
    /// Any of them: they are read in the transaction.
    Read,
}

/// Items in the order of their keys, each once.
struct Batch<'b> {
    puts: Vec<&'b BoundPut>,
    present: Present,
    /// How many pieces of the source they are.
    pieces: usize,
}

/// How a commit changes the table's counters.
#[derive(Clone, Debug, Default)]
struct Sums {
    items: Tally,
    entries: BTreeMap<IndexId, Tally>,
}

/// A commit of unknown outcome.
struct Unsure {
    pieces: usize,
    row: Bytes,
    sums: Sums,
}

/// The end of one try.
enum Attempt {
    Ended(Loaded),
    Conflict,
    Unknown(Unsure),
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
    let made = items.iter().map(|item| make(table, item)).collect::<Result<Vec<BoundPut>, LoadFault>>()?;
    let batch = |most: usize| {
        let sizes = made.iter().map(|put| put.item.as_bytes().len());
        let puts: Vec<&BoundPut> = made.iter().take(within_budget(sizes, most)).collect();
        Batch { pieces: puts.len(), puts, present: Present::Nothing }
    };
    let after = |pieces: usize, sum: Tally| Noted::from(after(pieces, sum));
    Ok(write(engine, table, (made.len(), batch), progress, after).await?)
}

/// Writes what some pieces of a source hold, as many pieces as one commit takes: each an item, or nothing.
/// Items are put over those that the table has. `after` notes how many pieces are done, and how they change
/// the table's number of items and their bytes.
pub(crate) async fn overwrite<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    pieces: &[Option<BoundPut>],
    progress: &Progress,
    after: impl Fn(usize, Tally) -> Noted + Send + Sync,
) -> Result<Loaded, Error> {
    let batch = |most: usize| {
        let sizes = pieces.iter().map(|put| put.as_ref().map_or(0, |put| put.item.as_bytes().len()));
        let taken = within_budget(sizes, most);
        let mut last: BTreeMap<&Bytes, &BoundPut> = BTreeMap::new();
        last.extend(pieces.iter().take(taken).flatten().map(|put| (&put.key.row, put)));
        Batch { puts: last.into_values().collect(), present: Present::Read, pieces: taken }
    };
    write(engine, table, (pieces.len(), batch), progress, after).await
}

async fn write<'b, S: Store>(
    engine: &Engine<S>,
    table: &Table,
    (pieces, batch): (usize, impl Fn(usize) -> Batch<'b> + Send + Sync),
    progress: &Progress,
    after: impl Fn(usize, Tally) -> Noted + Send + Sync,
) -> Result<Loaded, Error> {
    let mut most = pieces.min(COMMIT.rows_max);
    let mut unsure: Option<Unsure> = None;
    for _ in 0..TRIES_MAX {
        let batch = batch(most);
        match attempt(engine, (table, &batch), progress, unsure.as_ref(), &after).await? {
            Attempt::Ended(loaded) => return Ok(loaded),
            // After an unknown outcome the same items are tried again, so that their row is known.
            Attempt::Conflict if unsure.is_some() => {}
            Attempt::Conflict => most = (batch.pieces / 2).max(1),
            Attempt::Unknown(pending) => unsure = Some(pending),
        }
    }
    // A later step reads the row again and goes on.
    Ok(Loaded::Overtaken)
}

/// How many of the first pieces of these sizes one commit takes.
fn within_budget(sizes: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut bytes = 0;
    let mut fits = |size: &usize| {
        let is_first = bytes == 0;
        bytes += *size;
        is_first || bytes <= COMMIT.bytes_max
    };
    sizes.take(most).take_while(|size| fits(size)).count()
}

async fn attempt<S: Store>(
    engine: &Engine<S>,
    (table, batch): (&Table, &Batch<'_>),
    progress: &Progress,
    unsure: Option<&Unsure>,
    after: &(impl Fn(usize, Tally) -> Noted + Sync),
) -> Result<Attempt, Error> {
    let collections: BTreeSet<&Bytes> =
        batch.puts.iter().filter_map(|put| put.key.collection.as_ref()).collect();
    let mut keys = vec![progress.key.clone()];
    keys.extend(collections.iter().copied().cloned());
    if batch.present == Present::Read {
        keys.extend(batch.puts.iter().map(|put| put.key.row.clone()));
    }
    let begun = TableGuard::of([table]).begin(engine.catalogue(), keys).await;
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
        if let Some(written) = unsure.filter(|unsure| found.as_ref() == Some(&unsure.row)) {
            count(engine, table, &written.sums, Committed::Unsure);
            assert_eq!(written.pieces, batch.pieces, "a try after an unknown outcome has the same items");
            return Ok(Attempt::Ended(Loaded::Written { items: written.pieces, row: written.row.clone() }));
        }
        return Ok(Attempt::Ended(Loaded::Overtaken));
    }
    let sizes = collections.into_iter().cloned().zip(rows.by_ref());
    let mut sizes: BTreeMap<Bytes, u64> =
        sizes.map(|(key, row)| (key, collections::decode(row.as_ref()))).collect();
    let mut sums = Sums::default();
    for put in &batch.puts {
        let old = match batch.present {
            Present::Nothing => None,
            Present::Read => rows.next().flatten(),
        };
        let old = old.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        stage(&mut *txn, table, put, old, (&mut sizes, &mut sums));
    }
    for (key, bytes) in sizes {
        if let Some(row) = collections::encode(bytes) {
            txn.put(key, row);
        }
    }
    let Noted { row, others } = after(batch.pieces, sums.items);
    txn.put(progress.key.clone(), row.clone());
    for (key, value) in others {
        txn.put(key, value);
    }
    match txn.commit().await {
        Ok(version) => {
            count(engine, table, &sums, Committed::At(version));
            Ok(Attempt::Ended(Loaded::Written { items: batch.pieces, row }))
        }
        Err(CommitError::Conflict) => Ok(Attempt::Conflict),
        Err(CommitError::Unknown) => Ok(Attempt::Unknown(Unsure { pieces: batch.pieces, row, sums })),
        Err(CommitError::TooLarge) if batch.pieces > 1 => Ok(Attempt::Conflict),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}

/// Buffers the rows of an item, and adds what it changes to the size of its collection and to the counters.
fn stage(
    txn: &mut impl Transaction,
    table: &Table,
    put: &BoundPut,
    old: Option<EncodedItem>,
    (sizes, sums): (&mut BTreeMap<Bytes, u64>, &mut Sums),
) {
    let mut change = Change { old, new: Some(put.item.clone()), ..Change::default() };
    if !change.changes_item() {
        return;
    }
    change.indexes = index_changes(table, put.key.base, change.old.as_ref(), change.new.as_ref());
    let guarded = |key: &Bytes| {
        assert!(layout::is_guarded(key, table.id), "rows of a table that is filled are its own");
    };
    for (place, entry) in &change.indexes {
        if let Some(key) = &entry.delete {
            guarded(key);
            txn.delete(key.clone());
        }
        if let Some(put) = &entry.put {
            guarded(&put.key);
            txn.put(put.key.clone(), put.value.as_bytes().clone());
        }
        if let Some(state) = table.states.get(*place) {
            *sums.entries.entry(state.id).or_default() +=
                Tally { rows: entry.entries_delta, bytes: entry.bytes_delta };
        }
    }
    if let Some(size) = put.key.collection.as_ref().and_then(|key| sizes.get_mut(key)) {
        *size = collections::changed(*size, change.collection_delta_bytes(table));
    }
    sums.items += change.item_tally();
    guarded(&put.key.row);
    txn.put(put.key.row.clone(), put.item.as_bytes().clone());
}

/// Adds written items and entries to the counters.
fn count<S: Store>(engine: &Engine<S>, table: &Table, sums: &Sums, committed: Committed) {
    engine.stats().add(Counted::Items(table.id), sums.items, committed);
    for (index, entries) in &sums.entries {
        engine.stats().add(Counted::Entries(table.id, *index), *entries, committed);
    }
}

fn damaged(within: &[u8], what: &str) -> LoadFault {
    LoadFault::Damaged(format!("the item with the key {} {what}", hex(within)))
}

/// An item in its stored form with the keys that its attributes say.
fn make(table: &Table, old: &OldItem) -> Result<BoundPut, LoadFault> {
    let damaged = |what: &str| damaged(&old.within, what);
    let item = EncodedItem::from_stored(old.value.clone()).map_err(|_fault| damaged("cannot be read"))?;
    let key = key_of(table, &item).ok_or_else(|| damaged("lacks a key attribute of its table"))?;
    if layout::within_table(&key.row) != &*old.within {
        return Err(damaged("has another key in itself"));
    }
    Ok(BoundPut { key, item })
}

/// The keys that an item has by its attributes.
fn key_of(table: &Table, item: &EncodedItem) -> Option<ItemKey> {
    let view = item.view();
    let partition = table.schema.key.partition.first()?;
    let partition = stored_value(partition, view.get(&partition.name)?)?;
    let sort = match table.schema.key.sort.first() {
        Some(sort) => Some(stored_value(sort, view.get(&sort.name)?)?),
        None => None,
    };
    let has_local = table.schema.indexes.iter().any(|index| index.kind == IndexKind::Local);
    let base =
        if table.schema.indexes.is_empty() { None } else { Some(index::base_hash(&table.schema.key, view)?) };
    Some(ItemKey {
        row: layout::item_key(table.id, partition, sort),
        base,
        collection: has_local.then(|| layout::collection_key(table.id, partition)),
    })
}
