//! The guard between writers of a table's rows and changes of the table.
//!
//! It promises: **every commit that is written after a change of its table was answered has seen that
//! change**, and what was written earlier can be read by all that follows the change. A change concerns
//! anything in the table's record: that the table exists, its schema, indexes, time to live and stream. So a
//! backfill finds every item whose writer did not know the new index, a stream has every change since it was
//! enabled, and nothing is written into a table whose deletion was answered.
//!
//! Writers use [`TableGuard`], changes use [`TableChange`]. Only this file knows how the promise is kept: a
//! writer's transaction has the records of its tables in its conflict set, and a change writes them. If a
//! change comes between the beginning and the commit of a writer, the commit conflicts, and the writer binds
//! anew. The store decides this, so it holds for several processes over one store too.
//!
//! In a store where commits that protect one row conflict, all writers of a table would wait for each other.
//! There a writer protects a *slot* instead, a row that no other commit protects at the same time (`slots`).
//! A slot is as good as the record, because:
//!
//! - It says the record's version, and each change of the table writes all its slots, of all processes.
//! - The registration of a slot reads the record under protection and writes the table's register; a change
//!   writes the record and protects the register. So neither misses the other.
//! - A slot exists only while its process may commit with stamps: its registration finds the row that says so
//!   and writes it, and the commit that removes this row removes the slots (`background::stamp_rows`).
//!
//! Both kinds of writers may be at work at once, as each change writes the record and the slots.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_store::{CommitError, CommitVersion, Snapshot, Store, StoreError, Transaction};

use super::Catalogue;
use super::record::{self, RecordFault};
use super::rows::{record_key, record_key_bytes, record_version};
use super::slot_rows::{SlotRow, of_table, register_key};
use super::slots::{Borrowed, Slot, Slots};
use super::strong::{Target, region_hash};
use super::table::Table;
use crate::support::layout::{Space, TableId};
use crate::support::{fault, lane};

/// How often a writer looks whether a change has opened its slot again, before it does so itself: longer than
/// a change takes. The change may have ended without opening it.
const CLOSED_LOOKS_MAX: usize = 200;

/// The tables whose rows a transaction writes, as the writer knows them.
pub(crate) struct TableGuard<'t> {
    /// Each once.
    tables: Vec<&'t Table>,
    /// The row that says that the process may commit with stamps, if this commit has one.
    joined: Option<Bytes>,
}

/// How a guarded transaction begins.
pub(crate) enum Begun<T> {
    /// The writer's copies agree with the store. The rows are those that it asked for.
    Current(Guarded<T>, Vec<Option<Bytes>>),
    /// This table is not as the writer knows it, or the process was taken for gone: the writer must look the
    /// table up again and bind anew.
    Changed(TableId),
}

/// A transaction that may write rows of the guarded tables. Its commit fails if one of them was changed.
pub(crate) struct Guarded<T> {
    txn: T,
    /// Held until the commit has ended.
    slots: Vec<Slot>,
}

impl<'t> TableGuard<'t> {
    pub(crate) fn of(tables: impl IntoIterator<Item = &'t Table>) -> Self {
        let mut own: Vec<&Table> = Vec::with_capacity(1);
        for table in tables {
            if own.iter().all(|known| known.id != table.id) {
                own.push(table);
            }
        }
        Self { tables: own, joined: None }
    }

    /// The same for a commit with a stamp: it fails too if this row of the process, which must be there, is
    /// removed.
    pub(crate) fn with_stamp(self, joined: Option<Bytes>) -> Self {
        Self { joined, ..self }
    }

    /// Begins a transaction with `get_for_write` of these keys. A caller on the hot path leaves room for the
    /// keys of the guard.
    pub(crate) async fn begin<S: Store>(
        self,
        catalogue: &Catalogue<S>,
        keys: Vec<Bytes>,
    ) -> Result<Begun<S::Transaction>, StoreError> {
        // Boxed: they ask a store behind a network, and each write would have a future as large.
        if let Some(slots) = &catalogue.slots {
            return match Box::pin(catalogue.borrow_slots(slots, &self.tables)).await? {
                Borrowed::Slots(borrowed) => {
                    Box::pin(self.begin_with_slots(catalogue, slots, borrowed, keys)).await
                }
                Borrowed::Refused => Box::pin(self.begin_with_records(&catalogue.store, keys)).await,
                Borrowed::Changed(table) => Ok(Begun::Changed(table)),
            };
        }
        if catalogue.store.capabilities().is_shared {
            return Box::pin(self.begin_with_records(&catalogue.store, keys)).await;
        }
        self.begin_alone(&catalogue.store, keys).await
    }

    /// In a store of one process, which knows whether a record is as it was.
    async fn begin_alone<S: Store>(
        mut self,
        store: &S,
        mut keys: Vec<Bytes>,
    ) -> Result<Begun<S::Transaction>, StoreError> {
        let asked = keys.len();
        let mut txn = store.begin().await?;
        self.tables.retain(|table| {
            let is_known = table.is_known_current(&txn);
            if is_known {
                txn.protect(&record_key_bytes(table.id));
            }
            !is_known
        });
        keys.extend(self.tables.iter().map(|table| record_key(table.id)));
        let rows = txn.get_for_write(&keys).await?;
        assert_eq!(rows.len(), keys.len(), "the store answers every protected key");
        Ok(self.compared(txn, rows, asked))
    }

    async fn begin_with_records<S: Store>(
        self,
        store: &S,
        mut keys: Vec<Bytes>,
    ) -> Result<Begun<S::Transaction>, StoreError> {
        let asked = keys.len();
        keys.extend(self.tables.iter().map(|table| record_key(table.id)));
        keys.extend(self.joined.clone());
        let (txn, rows) = store.begin_with(&keys).await?;
        assert_eq!(rows.len(), keys.len(), "the store answers every protected key");
        Ok(self.compared(txn, rows, asked))
    }

    /// Compares the writer's copies with the records, which come after the rows that it asked for.
    fn compared<T: Snapshot>(&self, txn: T, mut rows: Vec<Option<Bytes>>, asked: usize) -> Begun<T> {
        let mut guarding = rows.drain(asked..);
        for table in &self.tables {
            if !table.is_current_at(guarding.next().flatten().as_ref(), &txn) {
                return Begun::Changed(table.id);
            }
        }
        if let (Some(_), Some(table)) = (&self.joined, self.tables.first())
            && guarding.next().flatten().is_none()
        {
            return Begun::Changed(table.id);
        }
        drop(guarding);
        Begun::Current(Guarded { txn, slots: Vec::new() }, rows)
    }

    async fn begin_with_slots<S: Store>(
        self,
        catalogue: &Catalogue<S>,
        slots: &Slots,
        borrowed: Vec<Slot>,
        mut keys: Vec<Bytes>,
    ) -> Result<Begun<S::Transaction>, StoreError> {
        let asked = keys.len();
        keys.extend(borrowed.iter().map(|slot| slot.key(slots.own())));
        let mut last_closed = None;
        for _ in 0..CLOSED_LOOKS_MAX {
            let (txn, mut rows) = catalogue.store.begin_with(&keys).await?;
            assert_eq!(rows.len(), keys.len(), "the store answers every protected key");
            let stored: Vec<Option<SlotRow>> =
                rows.drain(asked..).map(|row| row.and_then(|row| SlotRow::decode(&row))).collect();
            let mut closed = None;
            for (slot, stored) in borrowed.iter().zip(stored) {
                let table = self.tables.iter().find(|table| table.id == slot.table());
                match (stored, table) {
                    (Some(stored), Some(table)) if stored.version == table.version => {
                        if !stored.is_open {
                            closed = Some((slot, *table));
                        }
                    }
                    (None, _) => {
                        slots.forget(slot);
                        return Ok(Begun::Changed(slot.table()));
                    }
                    (Some(_), _) => return Ok(Begun::Changed(slot.table())),
                }
            }
            if closed.is_none() {
                return Ok(Begun::Current(Guarded { txn, slots: borrowed }, rows));
            }
            last_closed = closed;
            drop(txn);
            lane::yield_now().await;
        }
        let (slot, table) = last_closed.expect("a writer whose slots are open has returned");
        catalogue.reopen(slots, table, slot).await?;
        Ok(Begun::Changed(table.id))
    }
}

impl<T: Transaction> Guarded<T> {
    pub(crate) fn commit(self) -> impl Future<Output = Result<CommitVersion, CommitError>> + Send {
        let Self { txn, slots } = self;
        let commit = txn.commit();
        async move {
            let ended = commit.await;
            drop(slots);
            ended
        }
    }
}

impl<T> Deref for Guarded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.txn
    }
}

impl<T> DerefMut for Guarded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.txn
    }
}

impl Table {
    /// Whether this copy is known to agree with the stored record, without reading it.
    fn is_known_current(&self, view: &impl Snapshot) -> bool {
        let seen = self.seen.0.load(Ordering::Relaxed);
        view.changed_at(Space::Catalogue.byte()).0 <= seen && seen <= view.version().0
    }

    /// Whether this copy agrees with the record that was read from this view; remembers the view's version.
    fn is_current_at(&self, record: Option<&Bytes>, view: &impl Snapshot) -> bool {
        let is_current = record.and_then(|record| record_version(record)) == Some(self.version);
        if is_current {
            self.seen.0.fetch_max(view.version().0, Ordering::Relaxed);
        }
        is_current
    }
}

/// A transaction that changes tables. `Catalogue::commit` ends it: only then may the change be answered.
pub(super) struct TableChange<T> {
    txn: T,
    /// Records to write. `Catalogue::commit` knows in which form.
    records: Vec<Table>,
    /// The tables that writers can know, with the versions of their new records; `None` removes the record.
    changed: Vec<(TableId, Option<u64>)>,
}

impl<T: Transaction> TableChange<T> {
    pub(super) async fn begin<S: Store<Transaction = T>>(store: &S) -> Result<Self, Error> {
        let txn = store.begin().await.map_err(|fault| fault::storage(&fault))?;
        Ok(Self { txn, records: Vec::new(), changed: Vec::new() })
    }

    /// The newest record of a table, to be changed. That of a strongly consistent group stands as its first
    /// member.
    pub(super) async fn read(&mut self, id: TableId) -> Result<Table, Error> {
        let rows = self.txn.get_for_write(&[record_key(id)]).await.map_err(|fault| fault::storage(&fault))?;
        let gone = || Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND);
        decode(&rows.into_iter().next().flatten().ok_or_else(gone)?)
    }

    /// The newest records of several tables, each as it is to be changed.
    pub(super) async fn read_all(
        &mut self,
        targets: &[impl Into<Target> + Copy + Sync],
    ) -> Result<Vec<Table>, Error> {
        let mut tables = Vec::with_capacity(targets.len());
        for target in targets {
            let target: Target = (*target).into();
            let mut table = self.read(target.id).await?;
            table.stand_as(target.place);
            if target.region.is_some_and(|region| region != region_hash(&table.region)) {
                return Err(Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND));
            }
            tables.push(table);
        }
        Ok(tables)
    }

    /// Changes those tables that are not as they were before.
    pub(super) fn change_all(&mut self, before: &[Table], tables: &mut [Table]) {
        for (before, table) in before.iter().zip(tables).filter(|(before, table)| before != table) {
            self.change(before, table);
        }
    }

    /// Changes a table that this transaction has seen as it was before: the new record has a new version, so
    /// every writer that is bound to the old one conflicts.
    pub(super) fn change(&mut self, before: &Table, table: &mut Table) {
        table.version = before.version + 1;
        table.forget_policies_of_gone_streams();
        let record = table.standing_as(0);
        record.check();
        record.check_follows(before);
        self.txn.protect(&record_key(table.id));
        self.changed.push((table.id, Some(table.version)));
        self.records.push(record);
    }

    /// Writes the record of a table that no writer can know yet.
    pub(super) fn place(&mut self, table: &Table) {
        table.check();
        self.records.push(table.clone());
    }

    /// Removes the record of a table that has no rows any more.
    pub(super) fn remove(&mut self, id: TableId) {
        self.txn.delete(record_key(id));
        self.changed.push((id, None));
    }

    /// The records to be written.
    pub(super) fn records(&self) -> impl Iterator<Item = &Table> {
        self.records.iter()
    }

    /// Puts the records into the transaction in their stored form.
    pub(super) fn write_records(&mut self, encode: impl Fn(&Table) -> Vec<u8>) {
        for table in std::mem::take(&mut self.records) {
            self.txn.put(record_key(table.id), encode(&table).into());
        }
    }

    /// Writes all slots of the changed tables, so that every writer that has one conflicts. Returns their
    /// keys.
    pub(super) async fn write_slots(&mut self) -> Result<Vec<Bytes>, Error> {
        let mut all = Vec::new();
        for (table, version) in std::mem::take(&mut self.changed) {
            self.txn.protect(&register_key(table));
            let slots = of_table(&self.txn, table).await.map_err(|fault| fault::storage(&fault))?;
            for slot in &slots {
                match version {
                    Some(version) => self.txn.put(slot.clone(), SlotRow::open(version).encode()),
                    None => self.txn.delete(slot.clone()),
                }
            }
            if version.is_none() {
                self.txn.delete(register_key(table));
            }
            all.extend(slots);
        }
        Ok(all)
    }

    pub(super) fn into_inner(self) -> T {
        assert!(self.records.is_empty(), "a change is committed with its records");
        self.txn
    }
}

impl<T> Deref for TableChange<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.txn
    }
}

impl<T> DerefMut for TableChange<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.txn
    }
}

/// The records of these tables in a view, for a reader.
pub(super) async fn records(
    view: &impl Snapshot,
    ids: impl Iterator<Item = TableId>,
) -> Result<Vec<Table>, Error> {
    let keys: Vec<Bytes> = ids.map(record_key).collect();
    let records = view.get_many(&keys).await.map_err(|fault| fault::storage(&fault))?;
    records.into_iter().map(|record| decode(&record.ok_or_else(fault::internal)?)).collect()
}

/// The same of those tables that are there.
pub(super) async fn records_present(
    view: &impl Snapshot,
    ids: impl Iterator<Item = TableId>,
) -> Result<Vec<Table>, Error> {
    let keys: Vec<Bytes> = ids.map(record_key).collect();
    let records = view.get_many(&keys).await.map_err(|fault| fault::storage(&fault))?;
    records.into_iter().flatten().map(|record| decode(&record)).collect()
}

/// A table as a view has it, for a reader whose copy may be older than the rows that it reads; `None` if it
/// is gone.
pub(crate) async fn record_in(view: &impl Snapshot, id: TableId) -> Result<Option<Table>, Error> {
    let record = view.get(&record_key(id)).await.map_err(|fault| fault::storage(&fault))?;
    record.as_ref().map(decode).transpose()
}

fn decode(record: &Bytes) -> Result<Table, Error> {
    record::decode(record).map_err(|fault| match fault {
        RecordFault::Refused(table) => table.error(),
        RecordFault::UnknownFormat(_) | RecordFault::Malformed(_) => fault::internal(),
    })
}
