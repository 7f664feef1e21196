//! Registering slots of writers, closing them for a change, and removing those of processes that are gone.
//!
//! While a process of a release before slots serves the store, none can be registered: it would change a
//! table without writing them. Writers then protect the table's record. The commit that registers the first
//! slots of a store raises its format.

use std::ops::Range;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_store::{CommitError, Snapshot, Store, StoreError, Transaction};

use super::Catalogue;
use super::format::{self, SLOTS};
use super::rows::{epoch_key, format_key, read_epoch, record_key, record_version};
use super::slot_rows::{SlotRow, of_members, register_key, slot_key};
use super::slots::{Borrowed, Slot, Slots};
use super::table::Table;
use crate::support::member_row::MemberId;

/// Tries of a registration that meets others, or a change.
const REGISTRATION_TRIES_MAX: usize = 20;
/// After a registration was refused, the next one is tried so much later.
const REFUSED_FOR_MS: u64 = 1_000;
/// Slots of a process that is gone are removed in commits of this many.
const PIECE_SLOTS: usize = 2_000;
/// A change closes so many slots in one commit.
const CLOSED_AT_ONCE: usize = 4;
/// Tries to close some slots: between two of them each can be used at most once.
const CLOSE_TRIES_MAX: usize = 10;

enum Registered {
    Done,
    Refused,
    Changed,
}

impl<S: Store> Catalogue<S> {
    /// Borrows a slot of each of these tables, in the order of their ids, so that no two writers wait for
    /// each other.
    pub(super) async fn borrow_slots(
        &self,
        slots: &Slots,
        tables: &[&Table],
    ) -> Result<Borrowed, StoreError> {
        let followed_ms = self.followed_ms.load(Ordering::Relaxed);
        if slots.rest_at(followed_ms) {
            return Ok(Borrowed::Refused);
        }
        let mut ordered = tables.to_vec();
        ordered.sort_unstable_by_key(|table| table.id);
        let mut borrowed = Vec::with_capacity(ordered.len());
        for table in ordered {
            match self.borrow_slot(slots, table).await? {
                Borrowed::Slots(slot) => borrowed.extend(slot),
                Borrowed::Refused => {
                    slots.rest_until(followed_ms.saturating_add(REFUSED_FOR_MS));
                    return Ok(Borrowed::Refused);
                }
                changed @ Borrowed::Changed(_) => return Ok(changed),
            }
        }
        Ok(Borrowed::Slots(borrowed))
    }

    async fn borrow_slot(&self, slots: &Slots, table: &Table) -> Result<Borrowed, StoreError> {
        loop {
            let pool = slots.pool(table.id);
            // Before the look, so that no slot that becomes free is missed.
            let freed = pool.freed.notified();
            if let Some(slot) = pool.take() {
                return Ok(Borrowed::Slots(vec![slot]));
            }
            if pool.next().is_none() {
                freed.await;
                continue;
            }
            let _turn = pool.growth.lock().await;
            if let Some(slot) = pool.take() {
                return Ok(Borrowed::Slots(vec![slot]));
            }
            let Some(numbers) = pool.next() else { continue };
            match self.register(slots, table, numbers.clone()).await? {
                Registered::Done => pool.add(numbers),
                Registered::Refused => return Ok(Borrowed::Refused),
                Registered::Changed => return Ok(Borrowed::Changed(table.id)),
            }
        }
    }

    /// Opens a slot that a change has closed and not opened again.
    pub(super) async fn reopen(&self, slots: &Slots, table: &Table, slot: &Slot) -> Result<(), StoreError> {
        self.register(slots, table, slot.numbers()).await.map(drop)
    }

    /// Stores slots of this process. After an unknown outcome it is repeated, which does no harm.
    async fn register(
        &self,
        slots: &Slots,
        table: &Table,
        numbers: Range<u16>,
    ) -> Result<Registered, StoreError> {
        let joined = slots.own().joined_key();
        let read = [record_key(table.id), joined.clone(), format_key(), epoch_key()];
        for _ in 0..REGISTRATION_TRIES_MAX {
            let (mut txn, rows) = self.store.begin_with(&read).await?;
            let [record, member, stored, epoch] = rows.as_slice() else { return Ok(Registered::Refused) };
            if record.as_ref().and_then(|record| record_version(record)) != Some(table.version) {
                return Ok(Registered::Changed);
            }
            let stored = format::of_row(stored.as_ref());
            if member.is_none() || !self.may_have_slots(&txn, stored).await? {
                return Ok(Registered::Refused);
            }
            let epoch = read_epoch(epoch.clone());
            if stored < SLOTS {
                txn.put(format_key(), Bytes::copy_from_slice(&[SLOTS]));
                // Processes of older releases find the format, and refuse requests from then on.
                txn.put(epoch_key(), Bytes::copy_from_slice(&(epoch + 1).to_be_bytes()));
            }
            txn.put(joined.clone(), Bytes::new());
            txn.put(register_key(table.id), Bytes::new());
            for number in numbers.clone() {
                txn.put(slot_key(table.id, slots.own(), number), SlotRow::open(table.version).encode());
            }
            match txn.commit().await {
                Ok(_) => return Ok(Registered::Done),
                Err(CommitError::Conflict | CommitError::Unknown) => {}
                Err(CommitError::TooLarge) => return Ok(Registered::Refused),
                Err(CommitError::Failed(fault)) => return Err(fault),
            }
        }
        Ok(Registered::Refused)
    }

    /// Whether the store, which has this format, may have slots.
    async fn may_have_slots(&self, view: &impl Snapshot, stored: u8) -> Result<bool, StoreError> {
        if stored < SLOTS { format::all_know(view, SLOTS).await } else { Ok(stored <= format::NEWEST) }
    }

    /// Closes slots before the next try of a change whose commit conflicted. In a store where a commit that
    /// protects a row conflicts with one that writes it, a change would hardly ever succeed against many
    /// writers. It is no harm if some slots stay open, or if the change never comes: writers open them again.
    pub(super) async fn close_slots(&self, keys: &[Bytes]) -> Result<(), StoreError> {
        for some in keys.chunks(CLOSED_AT_ONCE) {
            for _ in 0..CLOSE_TRIES_MAX {
                let (mut txn, rows) = self.store.begin_with(some).await?;
                for (key, row) in some.iter().zip(rows) {
                    if let Some(row) = row.as_ref().and_then(|row| SlotRow::decode(row)) {
                        txn.put(key.clone(), SlotRow { is_open: false, ..row }.encode());
                    }
                }
                match txn.commit().await {
                    Err(CommitError::Conflict) => {}
                    Err(CommitError::Failed(fault)) => return Err(fault),
                    Ok(_) | Err(CommitError::Unknown | CommitError::TooLarge) => break,
                }
            }
        }
        Ok(())
    }

    /// Removes most slots of a process that is gone, so that few are left for the commit that removes its
    /// other rows.
    pub(crate) async fn remove_slots(&self, gone: MemberId) -> Result<(), StoreError> {
        loop {
            let mut txn = self.store.begin().await?;
            let some = of_members(&txn, &[gone], PIECE_SLOTS).await?;
            if some.len() < PIECE_SLOTS {
                return Ok(());
            }
            for key in some {
                txn.delete(key);
            }
            match txn.commit().await {
                Ok(_) | Err(CommitError::Unknown | CommitError::Conflict) => {}
                Err(CommitError::Failed(fault)) => return Err(fault),
                Err(CommitError::TooLarge) => return Err(StoreError::Closed),
            }
        }
    }
}
