//! Branches: all tables of one account and region that were made as copies of another's.
//!
//! Records without a name are purged when the database is opened, so a copy that a crash interrupts leaves
//! nothing. In a shared store a record says which process copies into its table: the others leave it alone
//! until that process is gone. Then one of them gives the copy up: it writes the record, so a process that
//! was only frozen conflicts with its next commit. A row per branch lists the ids of its tables, so that only
//! those are dropped with it.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store, Transaction};

use super::follow::LOAD;
use super::guard::{self, TableChange};
use super::rows::{branch_key, name_key, name_prefix, next_id_key};
use super::table::Table;
use super::{CHANGE_TRIES_MAX, Catalogue, Ended, read_u64, record_bytes};
use crate::support::env::{AccountId, Namespace};
use crate::support::fault;
use crate::support::layout::{self, TableId};
use crate::support::rows::Pages;

/// How naming the tables of a branch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Naming<R> {
    Named,
    /// The account and region have a table already.
    Occupied,
    /// Another process took this one for gone, and the copies for left over.
    GivenUp,
    /// There is no room for it next to the other branches.
    Refused(R),
}

/// What branches hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Places with a table that a branch made.
    pub count: usize,
    /// Bytes that were copied into those tables.
    pub bytes: u64,
}

/// Which tables of a place are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// Those that a branch made.
    OfBranch,
    All,
}

impl<S: Store> Catalogue<S> {
    /// What the branches of an account hold, or all branches.
    pub(crate) fn held_by_branches(&self, account: Option<&AccountId>) -> Held {
        let cache = self.read();
        let mut held = Held::default();
        for (place, tables) in &cache.names {
            if account.is_some_and(|account| place.account != *account) {
                continue;
            }
            let mut copied = tables.values().filter_map(|table| table.copied_bytes).peekable();
            held.count += usize::from(copied.peek().is_some());
            held.bytes = copied.fold(held.bytes, u64::saturating_add);
        }
        held
    }

    /// The tables of an account and region in this view, in the order of their names.
    pub(crate) async fn tables_at(
        &self,
        view: &impl Snapshot,
        namespace: &Namespace,
    ) -> Result<Vec<Table>, Error> {
        let mut pages = Pages::of(layout::prefix_range(name_prefix(namespace)), LOAD);
        let mut tables = Vec::new();
        while let Some(page) = pages.next(view).await.map_err(|fault| fault::storage(&fault))? {
            let ids = page.iter().filter_map(|entry| read_u64(&entry.value));
            tables.extend(guard::records(view, ids.map(TableId)).await?);
        }
        Ok(tables)
    }

    /// Stores records that have no name yet. `build` gets the first of their ids; the others follow it.
    pub(crate) async fn store_unnamed(
        &self,
        build: impl Fn(TableId) -> Vec<Table>,
    ) -> Result<Vec<Table>, Error> {
        let _turn = self.change_turn.lock().await;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let rows = txn.get_for_write(&[next_id_key()]).await.map_err(|fault| fault::storage(&fault))?;
            let first = rows.first().and_then(Option::as_ref).and_then(|row| read_u64(row)).unwrap_or(1);
            let tables = build(TableId(first));
            let mut next = first;
            for table in &tables {
                assert_eq!(table.id.0, next, "new tables have the ids that were drawn for them");
                txn.place(table);
                next += 1;
            }
            txn.put(next_id_key(), Bytes::copy_from_slice(&next.to_be_bytes()));
            // After an unknown outcome new ids are drawn. Records without a name are purged at the next open.
            if self.commit(txn).await? == Ended::Done {
                let mut cache = self.write();
                for table in tables.iter().filter(|table| table.copied_by.is_some()) {
                    cache.sizes.set(table.id, record_bytes(table));
                    cache.copying.insert(table.id, Arc::new(table.clone()));
                }
                drop(cache);
                return Ok(tables);
            }
        }
        Err(fault::internal())
    }

    /// Names stored tables, all in one commit that also writes their records and `rows`, unless the account
    /// and region have a table already, another process took the tables for left over, or `refuse` has a
    /// reason in what the other branches hold. The commit's own view decides all this.
    pub(crate) async fn name_all<R>(
        &self,
        namespace: &Namespace,
        tables: &[Table],
        (account, refuse): (Option<&AccountId>, impl Fn(Held) -> Option<R>),
        rows: &[(Bytes, Bytes)],
    ) -> Result<Naming<R>, Error> {
        let names: Vec<Bytes> = tables.iter().map(|table| name_key(namespace, &table.name)).collect();
        let ids = || tables.iter().map(|table| table.id);
        let _turn = self.change_turn.lock().await;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let taken = txn.get_for_write(&names).await.map_err(|fault| fault::storage(&fault))?;
            let taken: Vec<Option<TableId>> =
                taken.iter().map(|row| row.as_ref().and_then(|row| read_u64(row)).map(TableId)).collect();
            if taken.iter().copied().eq(ids().map(Some)) {
                // An earlier try with unknown outcome named them.
                self.publish(guard::records(&*txn, ids()).await?);
                return Ok(Naming::Named);
            }
            if self.is_behind(&*txn).await? {
                drop(txn);
                self.reload_in_turn().await?;
                continue;
            }
            // The catalogue in memory is that of this view, and any later change conflicts with the commit.
            if self.count(namespace) > 0 || taken.iter().any(Option::is_some) {
                return Ok(Naming::Occupied);
            }
            if let Some(refusal) = refuse(self.held_by_branches(account)) {
                return Ok(Naming::Refused(refusal));
            }
            let before = guard::records_present(&*txn, ids()).await?;
            let states = |of: &[Table]| -> Vec<_> {
                of.iter().map(|table| (table.id, table.version, table.copied_by)).collect()
            };
            if states(&before) != states(tables) {
                return Ok(Naming::GivenUp);
            }
            let mut shown = tables.to_vec();
            for ((before, table), name) in before.iter().zip(&mut shown).zip(&names) {
                table.copied_by = None;
                txn.change(before, table);
                txn.put(name.clone(), Bytes::copy_from_slice(&table.id.0.to_be_bytes()));
            }
            txn.put(branch_key(namespace), encode_ids(ids()));
            for (key, value) in rows {
                txn.put(key.clone(), value.clone());
            }
            if self.commit(txn).await? == Ended::Done {
                self.publish(shown);
                return Ok(Naming::Named);
            }
        }
        Err(fault::internal())
    }

    /// Shows new tables to requests.
    fn publish(&self, tables: Vec<Table>) {
        let sized = with_sizes(tables);
        let mut cache = self.write();
        for (table, bytes) in &sized {
            cache.admit(table, *bytes);
        }
    }

    /// Leaves stored tables without a name to be purged, in a store of one process.
    pub(crate) fn abandon(&self, tables: impl Iterator<Item = Table>) {
        let mut cache = self.write();
        for table in tables {
            cache.insert_given_up(table);
        }
    }

    /// The same in a shared store, for tables that are still being copied: their process conflicts if it
    /// writes them again. Until they are purged, the first of them counts `copied_bytes`.
    pub(crate) async fn give_up(&self, ids: &[TableId], copied_bytes: u64) -> Result<(), Error> {
        let _turn = self.change_turn.lock().await;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let mut left = guard::records_present(&*txn, ids.iter().copied()).await?;
            left.retain(|table| table.copied_by.is_some());
            for (place, table) in left.iter_mut().enumerate() {
                let before = table.clone();
                table.copied_by = None;
                table.copied_bytes = Some(if place == 0 { copied_bytes } else { 0 });
                txn.change(&before, table);
            }
            // None are left if another process was first, or an earlier try with unknown outcome.
            if left.is_empty() || self.commit(txn).await? == Ended::Done {
                let mut cache = self.write();
                for id in ids {
                    cache.copying.remove(id);
                }
                for table in left {
                    cache.insert_given_up(table);
                }
                return Ok(());
            }
        }
        Err(fault::internal())
    }

    /// The tables into which branches are copied.
    pub(crate) fn copying(&self) -> Vec<Arc<Table>> {
        self.read().copying.values().cloned().collect()
    }

    /// Removes the names of a place's tables in one commit, and returns these tables; `None` if there are no
    /// tables to drop. `change` prepares a record for the purge.
    pub(crate) async fn unname_all(
        &self,
        namespace: &Namespace,
        dropped: Dropped,
        change: impl Fn(&mut Table),
    ) -> Result<Option<Vec<Arc<Table>>>, Error> {
        let branch = branch_key(namespace);
        let _turn = self.change_turn.lock().await;
        let mut unsure: Option<Vec<Table>> = None;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let row = txn.get_for_write(std::slice::from_ref(&branch)).await;
            let row = row.map_err(|fault| fault::storage(&fault))?.into_iter().next().flatten();
            let mut tables = self.tables_at(&*txn, namespace).await?;
            let is_gone = match (&row, dropped) {
                (Some(row), Dropped::OfBranch) => {
                    let ids = decode_ids(row).ok_or_else(fault::internal)?;
                    tables.retain(|table| ids.contains(&table.id));
                    false
                }
                (None, Dropped::OfBranch) => true,
                (_, Dropped::All) => tables.is_empty(),
            };
            if is_gone {
                return Ok(unsure.map(|tables| self.doom_all(namespace, tables)));
            }
            for table in &mut tables {
                let before = table.clone();
                change(table);
                txn.change(&before, table);
                txn.delete(name_key(namespace, &table.name));
            }
            txn.delete(branch.clone());
            match self.commit(txn).await? {
                Ended::Done => return Ok(Some(self.doom_all(namespace, tables))),
                Ended::Conflict => {}
                Ended::Unknown => unsure = Some(tables),
            }
        }
        Err(fault::internal())
    }

    fn doom_all(&self, namespace: &Namespace, tables: Vec<Table>) -> Vec<Arc<Table>> {
        let sized = with_sizes(tables);
        let mut cache = self.write();
        for (table, bytes) in &sized {
            cache.admit(table, *bytes);
            cache.doom(namespace, table);
        }
        sized.into_iter().map(|(table, _)| table).collect()
    }
}

/// Tables with the sizes of their records, which are encoded before a lock is taken.
fn with_sizes(tables: Vec<Table>) -> Vec<(Arc<Table>, usize)> {
    let sized = |table: Table| {
        let bytes = record_bytes(&table);
        (Arc::new(table), bytes)
    };
    tables.into_iter().map(sized).collect()
}

const ID_BYTES: usize = 8;

fn encode_ids(ids: impl Iterator<Item = TableId>) -> Bytes {
    ids.flat_map(|id| id.0.to_be_bytes()).collect::<Vec<u8>>().into()
}

/// The ids of a branch's row; `None` if its length is wrong.
fn decode_ids(row: &[u8]) -> Option<Vec<TableId>> {
    let (ids, rest) = row.as_chunks::<ID_BYTES>();
    rest.is_empty().then(|| ids.iter().map(|id| TableId(u64::from_be_bytes(*id))).collect())
}
