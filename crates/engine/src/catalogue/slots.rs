//! The slots of one process, which its writers borrow, and their registration.
//!
//! A writer borrows a slot of its table for the length of its commit, so no two commits of the process
//! protect the same row, and those of other processes have rows of their own. Slots are registered when they
//! are first needed, and twice as many when all are in use (`registration`).
//!
//! `guard` says why a slot is as good as the record.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, Notify};

use super::slot_rows::slot_key;
use crate::support::layout::TableId;
use crate::support::member_row::MemberId;

/// Slots of a table that a process registers first.
const FIRST_SLOTS: u16 = 8;
/// Commits of a process in one table at a time; more wait. A change of the table writes as many rows for each
/// process at most.
const SLOTS_MAX: u16 = 64;

/// The slots of this process in all tables.
pub(super) struct Slots {
    own: MemberId,
    pools: Mutex<BTreeMap<TableId, Arc<Pool>>>,
    /// No registration is tried before this time, on the clock of `Catalogue::note_followed`.
    rests_until_ms: AtomicU64,
}

/// The slots of this process in one table.
pub(super) struct Pool {
    table: TableId,
    state: Mutex<PoolState>,
    pub freed: Notify,
    /// Held while slots are registered.
    pub growth: AsyncMutex<()>,
}

#[derive(Default)]
struct PoolState {
    /// The slot that was not used for longest is taken first: some stores finish a commit after it was
    /// answered.
    free: VecDeque<u16>,
    registered: u16,
}

/// A slot that a writer has borrowed.
pub(super) struct Slot {
    pool: Arc<Pool>,
    number: u16,
}

/// The end of a borrowing.
pub(super) enum Borrowed {
    Slots(Vec<Slot>),
    /// There can be none now: the record is protected instead.
    Refused,
    /// This table is not as the writer knows it.
    Changed(TableId),
}

impl Pool {
    fn new(table: TableId) -> Self {
        Self { table, state: Mutex::default(), freed: Notify::new(), growth: AsyncMutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(self: &Arc<Self>) -> Option<Slot> {
        let number = self.state().free.pop_front()?;
        Some(Slot { pool: Arc::clone(self), number })
    }

    /// The numbers of the slots to register next; `None` if there are as many as there may be.
    pub(super) fn next(&self) -> Option<Range<u16>> {
        let first = self.state().registered;
        let end = first.saturating_mul(2).clamp(FIRST_SLOTS, SLOTS_MAX);
        (first < end).then_some(first..end)
    }

    pub(super) fn add(&self, numbers: Range<u16>) {
        let mut state = self.state();
        state.registered = numbers.end;
        state.free.extend(numbers);
        drop(state);
        self.freed.notify_waiters();
    }
}

impl Slot {
    pub(super) fn key(&self, own: MemberId) -> Bytes {
        slot_key(self.pool.table, own, self.number)
    }

    pub(super) fn table(&self) -> TableId {
        self.pool.table
    }

    /// Its number alone, as a range.
    pub(super) fn numbers(&self) -> Range<u16> {
        self.number..self.number.saturating_add(1)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pool.state().free.push_back(self.number);
        self.pool.freed.notify_one();
    }
}

impl Slots {
    pub(super) fn new(own: MemberId) -> Self {
        Self { own, pools: Mutex::default(), rests_until_ms: AtomicU64::new(0) }
    }

    pub(super) const fn own(&self) -> MemberId {
        self.own
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<TableId, Arc<Pool>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pool(&self, table: TableId) -> Arc<Pool> {
        Arc::clone(self.pools().entry(table).or_insert_with(|| Arc::new(Pool::new(table))))
    }

    /// Whether registrations are not tried now.
    pub(super) fn rest_at(&self, now_ms: u64) -> bool {
        now_ms < self.rests_until_ms.load(Ordering::Relaxed)
    }

    /// A registration was refused: none is tried until this time.
    pub(super) fn rest_until(&self, time_ms: u64) {
        self.rests_until_ms.store(time_ms, Ordering::Relaxed);
    }

    /// Forgets the slots with which this one was registered: it is not stored any more.
    pub(super) fn forget(&self, slot: &Slot) {
        let mut pools = self.pools();
        if pools.get(&slot.pool.table).is_some_and(|pool| Arc::ptr_eq(pool, &slot.pool)) {
            pools.remove(&slot.pool.table);
        }
        drop(pools);
        slot.pool.freed.notify_waiters();
    }

    /// Forgets the slots of tables that are gone.
    pub(super) fn keep(&self, is_there: impl Fn(TableId) -> bool) {
        self.pools().retain(|table, _| is_there(*table));
    }
}
