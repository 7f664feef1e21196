//! How the copy in memory follows the stored catalogue when other processes change it too.
//!
//! A commit that changes the catalogue raises its epoch, a row of its own. A process that reads a higher one
//! than it knows reads the catalogue again. Stores of one process have no epoch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{KeyRange, Snapshot, Store, Transaction};

use super::guard::TableChange;
use super::record::RecordFault;
use super::rows::{NAMES, RECORDS, epoch_key, format_key, read_epoch};
use super::{Cache, Catalogue, CatalogueFault, Ended, commit, format, read_u64, record};
use crate::support::fault;
use crate::support::layout::{Space, TableId};
use crate::support::rows::{Budget, Pages};

/// One scan of the catalogue.
pub(super) const LOAD: Budget = Budget { rows_max: 500, bytes_max: 4 * 1024 * 1024 };

impl<S: Store> Catalogue<S> {
    /// Whether the epoch was read at this time or later.
    pub(crate) fn is_followed_since(&self, time_ms: u64) -> bool {
        self.followed_ms.load(Ordering::Relaxed) >= time_ms
    }

    /// Whether the copy in memory is the one of this epoch's row.
    pub(crate) fn is_of_epoch(&self, row: Option<Bytes>) -> bool {
        read_epoch(row) == self.epoch()
    }

    /// Notes that the epoch was read at this time.
    pub(crate) fn note_followed(&self, time_ms: u64) {
        self.followed_ms.fetch_max(time_ms, Ordering::Relaxed);
    }

    /// The epoch that is in memory.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Reads what other processes have changed. Of several callers one reads and the others wait for it.
    pub(crate) async fn follow(&self, now_ms: u64) -> Result<(), Error> {
        let begun = self.follows_begun.load(Ordering::Acquire);
        let mut last_done = self.follow_turn.lock().await;
        if *last_done > begun {
            // Another caller began to read after this call.
            return Ok(());
        }
        let number = self.follows_begun.fetch_add(1, Ordering::AcqRel) + 1;
        let stored = read_epoch(self.store.get(&epoch_key()).await.map_err(|fault| fault::storage(&fault))?);
        if stored != self.epoch() {
            self.reload().await?;
        }
        self.note_followed(now_ms);
        *last_done = number;
        Ok(())
    }

    async fn reload(&self) -> Result<(), Error> {
        let _turn = self.change_turn.lock().await;
        self.reload_in_turn().await
    }

    /// Replaces the copy in memory by what is stored. The caller has the turn of changes: no change of this
    /// process may end between the view and its publication.
    pub(super) async fn reload_in_turn(&self) -> Result<(), Error> {
        let view = self.store.snapshot().await.map_err(|fault| fault::storage(&fault))?;
        let epoch = read_epoch(view.get(&epoch_key()).await.map_err(|fault| fault::storage(&fault))?);
        let mut cache = read_all(&view).await.map_err(|_unreadable| fault::internal())?;
        let mut known = self.write();
        cache.keep_equal(&known);
        if let Some(slots) = &self.slots {
            slots.keep(|table| cache.sizes.has(table));
        }
        *known = cache;
        drop(known);
        self.epoch.store(epoch, Ordering::Release);
        Ok(())
    }

    /// Whether the copy in memory lacks a change that this view shows.
    pub(super) async fn is_behind(&self, view: &impl Snapshot) -> Result<bool, Error> {
        if !self.store.capabilities().is_shared {
            return Ok(false);
        }
        let stored = view.get(&epoch_key()).await.map_err(|fault| fault::storage(&fault))?;
        Ok(read_epoch(stored) != self.epoch())
    }

    /// Commits a change of tables: when this returns `Done`, it may be answered.
    pub(super) async fn commit(&self, mut txn: TableChange<S::Transaction>) -> Result<Ended, Error> {
        let rows = txn.get_for_write(&[format_key(), epoch_key()]).await;
        let mut rows = rows.map_err(|fault| fault::storage(&fault))?.into_iter();
        let stored = format::of_row(rows.next().flatten().as_ref());
        self.write_records(&mut txn, stored).await?;
        if !self.store.capabilities().is_shared {
            return commit(txn.into_inner()).await;
        }
        let slots = if stored >= format::SLOTS { txn.write_slots().await? } else { Vec::new() };
        let before = read_epoch(rows.next().flatten());
        txn.put(epoch_key(), Bytes::copy_from_slice(&(before + 1).to_be_bytes()));
        let ended = commit(txn.into_inner()).await?;
        if ended == Ended::Conflict && self.slots.is_some() {
            self.close_slots(&slots).await.map_err(|fault| fault::storage(&fault))?;
        }
        if ended == Ended::Done {
            // If other changes came before it, they are still to be read.
            let _behind =
                self.epoch.compare_exchange(before, before + 1, Ordering::AcqRel, Ordering::Relaxed);
        }
        Ok(ended)
    }
}

impl Cache {
    /// Keeps the known copies of tables that did not change: requests share them.
    fn keep_equal(&mut self, known: &Self) {
        let known: BTreeMap<_, _> = known
            .names
            .values()
            .flat_map(BTreeMap::values)
            .chain(known.doomed.values())
            .map(|table| (table.target(), table))
            .collect();
        let tables = self.names.values_mut().flat_map(BTreeMap::values_mut).chain(self.doomed.values_mut());
        for table in tables {
            if let Some(same) = known.get(&table.target()).filter(|known| known.version == table.version) {
                *table = Arc::clone(same);
            }
        }
    }
}

/// The epoch and the whole catalogue of a view.
pub(super) async fn read_at(view: &impl Snapshot) -> Result<(u64, Cache), CatalogueFault> {
    Ok((read_epoch(view.get(&epoch_key()).await?), read_all(view).await?))
}

async fn read_all(view: &impl Snapshot) -> Result<Cache, CatalogueFault> {
    let mut cache = Cache::default();
    let mut tables = BTreeMap::new();
    load(view, RECORDS, |entry_key, value| {
        if entry_key == format_key() {
            let stored = format::of_row(Some(&value));
            return if stored > format::NEWEST { Err(CatalogueFault::LaterFormat(stored)) } else { Ok(()) };
        }
        match record::decode(&value) {
            Ok(table) => {
                cache.sizes.set(table.id, value.len());
                tables.insert(table.id, Arc::new(table));
            }
            Err(RecordFault::Refused(table)) => {
                cache.sizes.set(table.id, value.len());
                cache.refused.insert(*table);
            }
            Err(fault) => {
                return Err(CatalogueFault::Record { key: entry_key, text: fault.to_string() });
            }
        }
        Ok(())
    })
    .await?;
    let mut strong = BTreeSet::new();
    load(view, NAMES, |entry_key, value| {
        let id = read_u64(&value).map(TableId);
        if id.is_some_and(|id| cache.refused.note_named(id)) {
            return Ok(());
        }
        if id.is_some_and(|id| strong.contains(&id)) {
            // Its first name has brought all of them.
            return Ok(());
        }
        let Some(table) = id.and_then(|id| tables.remove(&id)) else {
            let text = "the row of a table's name points to no record".to_owned();
            return Err(CatalogueFault::Record { key: entry_key, text });
        };
        if table.strong.is_some() {
            strong.insert(table.id);
        }
        cache.insert(table);
        Ok(())
    })
    .await?;
    for table in tables.into_values() {
        if table.copied_by.is_some() {
            cache.copying.insert(table.id, table);
        } else {
            cache.insert_doomed(table);
        }
    }
    Ok(cache)
}

/// Passes every row of one part of the catalogue to `take`.
async fn load(
    view: &impl Snapshot,
    part: u8,
    mut take: impl FnMut(Bytes, Bytes) -> Result<(), CatalogueFault>,
) -> Result<(), CatalogueFault> {
    let end = Some(Bytes::from(vec![Space::Catalogue.byte(), part + 1]));
    let start = Bytes::from(vec![Space::Catalogue.byte(), part]);
    let mut pages = Pages::of(KeyRange { start, end }, LOAD);
    while let Some(page) = pages.next(view).await? {
        for entry in page {
            take(entry.key, entry.value)?;
        }
    }
    Ok(())
}
