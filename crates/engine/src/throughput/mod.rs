//! Throughput limits: which request is refused, and what each request leaves.
//!
//! One place decides, for the server and for simulations: integers, one clock that the caller reads, no
//! timer. Minutes end and partitions split when the next request looks at them. It does not know operations,
//! stores or errors that clients read.

mod bucket;
mod ledger;
mod map;
mod partition;
pub(crate) mod saved;
pub(crate) mod uses;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_semantics::schema::BillingMode;
use keywright_semantics::throttle::{Direction, Limit};

use self::bucket::{Bucket, milli};
pub use self::ledger::LimitState;
use self::ledger::TableLedger;
pub(crate) use self::ledger::{Arm, Shortage};
pub use self::map::PartitionState;
pub use self::partition::{PartitionLoad, Whole};
use self::saved::SavedTable;
use self::uses::{Use, UseLog};
use crate::catalogue::Table;
use crate::support::layout::{IndexId, TableId};
use crate::support::throughput::{Throttle, ThroughputConfig};

/// The mode of a table: its tag, else the setting.
pub(crate) fn mode_of(table: &Table, config: &ThroughputConfig) -> Throttle {
    if table.tags.is_empty() {
        return config.throttle;
    }
    let word = table.tags.get(Throttle::TAG);
    word.and_then(|word| Throttle::from_word(word)).unwrap_or(config.throttle)
}

/// One part of a request: what it asks of one table.
#[derive(Clone, Debug)]
pub(crate) struct Demand<'a> {
    pub table: &'a Table,
    pub arms: Vec<Arm>,
}

/// The limits of all tables that have any, behind one lock: what a request asks of several tables is decided
/// and charged at once. Tables without limits never come here.
#[derive(Debug, Default)]
pub(crate) struct Ledgers {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tables: HashMap<TableId, TableLedger>,
    /// Units of all provisioned tables of an account in a region.
    accounts: HashMap<(String, String), [Bucket; 2]>,
    /// What was kept of tables that nobody has asked for since the start.
    saved: HashMap<TableId, SavedTable>,
    /// Where other processes have to know what is used here.
    uses: Option<UseLog>,
}

/// What the limits of a table begin with.
pub(crate) struct Context<'a> {
    pub config: &'a ThroughputConfig,
    /// When the engine was opened: what was saved before is forgotten.
    pub opened_ms: u64,
    pub now_ms: u64,
    /// The size of a table or index.
    pub bytes: &'a dyn Fn(TableId, Option<IndexId>) -> u64,
    /// Whether this process decides on the splits of a table's partitions.
    pub splits: &'a dyn Fn(TableId) -> bool,
}

impl Inner {
    fn ledger(&mut self, table: &Table, context: &Context<'_>) -> &mut TableLedger {
        let Context { config, opened_ms, now_ms, bytes, .. } = context;
        let mode = mode_of(table, config);
        let saved = &mut self.saved;
        let ledger = self.tables.entry(table.id).or_insert_with(|| {
            let saved: BTreeMap<_, _> = saved.remove(&table.id).unwrap_or_default().into_iter().collect();
            let born_ms = table.created_ms.max(*opened_ms).min(*now_ms);
            TableLedger::new(table, mode, config, born_ms, |index| bytes(table.id, index), saved)
        });
        ledger.follow(table, mode, config, *now_ms);
        ledger
    }

    fn account(&mut self, table: &Table, context: &Context<'_>) -> Option<&mut [Bucket; 2]> {
        let rate = context.config.account_units_max;
        let account = || Direction::ALL.map(|_| Bucket::new(rate, 1, 1, context.now_ms));
        let key = (table.account.clone(), table.region.clone());
        (table.billing == BillingMode::Provisioned).then(|| self.accounts.entry(key).or_insert_with(account))
    }

    fn shortages(&mut self, demand: &Demand<'_>, context: &Context<'_>) -> Vec<Shortage> {
        let when = (context.now_ms, (context.splits)(demand.table.id));
        let mut found = self.ledger(demand.table, context).shortages(&demand.arms, context.config, when);
        if let Some(account) = self.account(demand.table, context) {
            for arm in &demand.arms {
                let shortage =
                    Shortage { limit: Limit::AccountLimit, index: arm.index, direction: arm.direction };
                let bucket = account.get_mut(arm.direction.place());
                if bucket.is_some_and(|bucket| !bucket.has_some(context.now_ms)) && !found.contains(&shortage)
                {
                    found.push(shortage);
                }
            }
        }
        found
    }

    /// Notes for other processes what was used or, as negative units, given back.
    fn note_uses(&mut self, demand: &Demand<'_>, sign: i64, context: &Context<'_>) {
        if self.uses.is_none() {
            return;
        }
        let ledger = self.ledger(demand.table, context);
        let starts: Vec<_> = demand.arms.iter().map(|arm| ledger.start_of(arm)).collect();
        let Some(uses) = &mut self.uses else { return };
        for (arm, start) in demand.arms.iter().zip(starts) {
            let part = (demand.table.id, arm.index, arm.direction, start);
            uses.add(part, arm.key.as_deref(), sign * milli(arm.units));
        }
    }

    fn take(&mut self, demand: &Demand<'_>, context: &Context<'_>) {
        self.note_uses(demand, 1, context);
        self.ledger(demand.table, context).take(&demand.arms, context.now_ms);
        if let Some(account) = self.account(demand.table, context) {
            for arm in &demand.arms {
                if let Some(bucket) = account.get_mut(arm.direction.place()) {
                    bucket.take(milli(arm.units), context.now_ms);
                }
            }
        }
    }

    fn give_back(&mut self, demand: &Demand<'_>, context: &Context<'_>) {
        self.note_uses(demand, -1, context);
        self.ledger(demand.table, context).give_back(&demand.arms);
        if let Some(account) = self.account(demand.table, context) {
            for arm in &demand.arms {
                if let Some(bucket) = account.get_mut(arm.direction.place()) {
                    bucket.give_back(milli(arm.units));
                }
            }
        }
    }
}

/// Whether the demands of one request stand or fall together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    /// All or none: a transaction.
    All,
    /// Each on its own: a batch. What an earlier one takes is missing for a later one.
    Each,
}

impl Ledgers {
    /// The limits of one process of several over one store: `take_uses` says what it has used.
    pub(crate) fn of_several() -> Self {
        Self { inner: Mutex::new(Inner { uses: Some(UseLog::default()), ..Inner::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every demand lacks; nothing is charged.
    pub(crate) fn shortages(&self, demands: &[Demand<'_>], context: &Context<'_>) -> Vec<Vec<Shortage>> {
        let mut inner = self.lock();
        demands.iter().map(|demand| inner.shortages(demand, context)).collect()
    }

    /// Charges the demands that lack nothing, and returns what the others lack.
    pub(crate) fn admit(
        &self,
        demands: &[Demand<'_>],
        together: Together,
        context: &Context<'_>,
    ) -> Vec<Vec<Shortage>> {
        let mut inner = self.lock();
        match together {
            Together::Each => demands
                .iter()
                .map(|demand| {
                    let found = inner.shortages(demand, context);
                    if found.is_empty() {
                        inner.take(demand, context);
                    }
                    found
                })
                .collect(),
            Together::All => {
                let found: Vec<_> = demands.iter().map(|demand| inner.shortages(demand, context)).collect();
                if found.iter().all(Vec::is_empty) {
                    for demand in demands {
                        inner.take(demand, context);
                    }
                }
                found
            }
        }
    }

    /// Charges what has been used, also beyond what is left.
    pub(crate) fn take(&self, demand: &Demand<'_>, context: &Context<'_>) {
        self.lock().take(demand, context);
    }

    /// Returns what was charged for a write that did not happen.
    pub(crate) fn give_back(&self, demand: &Demand<'_>, context: &Context<'_>) {
        self.lock().give_back(demand, context);
    }

    /// A range of keys as the parts that lie in one partition each, by their first keys.
    pub(crate) fn touched(
        &self,
        table: &Table,
        index: Option<IndexId>,
        (from, to): (&[u8], &[u8]),
        context: &Context<'_>,
    ) -> Vec<Vec<u8>> {
        self.lock().ledger(table, context).touched(index, from, to)
    }

    /// Whether any table with limits was asked for.
    pub(crate) fn is_used(&self) -> bool {
        !self.lock().tables.is_empty()
    }

    /// Takes what was used here since the last call, for other processes.
    pub(crate) fn take_uses(&self) -> Vec<Use> {
        self.lock().uses.as_mut().map(UseLog::take).unwrap_or_default()
    }

    /// Charges what another process has used of a table.
    pub(crate) fn take_use(&self, table: &Table, used: &Use, context: &Context<'_>) {
        assert!(table.id == used.table(), "the table is the one that was used");
        let mut inner = self.lock();
        inner.ledger(table, context).take_use(used, context.now_ms);
        if let Some(account) = inner.account(table, context)
            && let Some(bucket) = account.get_mut(used.direction().place())
        {
            if used.units < 0 {
                bucket.give_back(used.units.saturating_neg());
            } else {
                bucket.take(used.units, context.now_ms);
            }
        }
    }

    /// Follows a row that was kept over a restart, or saved by another process.
    pub(crate) fn load(&self, table: TableId, saved: SavedTable, now_ms: u64) {
        let mut inner = self.lock();
        match inner.tables.get_mut(&table) {
            Some(ledger) => ledger.follow_saved(&saved, now_ms),
            None => {
                inner.saved.insert(table, saved);
            }
        }
    }

    /// What has to be kept over a restart and has changed since it was saved; at most so many tables.
    pub(crate) fn to_save(&self, most: usize) -> Vec<(TableId, SavedTable)> {
        let inner = self.lock();
        let changed = inner.tables.iter().filter_map(|(id, ledger)| Some((*id, ledger.to_save()?)));
        changed.take(most).collect()
    }

    /// Notes that this was saved, unless it has changed since.
    pub(crate) fn note_saved(&self, table: TableId, saved: &SavedTable) {
        if let Some(ledger) = self.lock().tables.get_mut(&table) {
            ledger.note_saved(saved);
        }
    }

    /// Forgets a table that is gone.
    pub(crate) fn forget(&self, table: TableId) {
        let mut inner = self.lock();
        inner.tables.remove(&table);
        inner.saved.remove(&table);
    }

    /// The limits of a table or index as they stand.
    pub(crate) fn state(
        &self,
        table: &Table,
        index: Option<IndexId>,
        context: &Context<'_>,
    ) -> Option<LimitState> {
        self.lock().ledger(table, context).state(index)
    }

    /// The loads of the partitions of a table or index, each in the present minute and in the last one.
    pub(crate) fn loads(
        &self,
        table: &Table,
        index: Option<IndexId>,
        context: &Context<'_>,
    ) -> Vec<[PartitionLoad; 2]> {
        self.lock().ledger(table, context).loads(index, context.now_ms)
    }

    /// The partitions that serve a table's units; at least as many as it has where partitions are enforced.
    pub(crate) fn partitions_of_items(&self, table: &Table, context: &Context<'_>) -> usize {
        let state = self.state(table, None, context);
        state.map_or(1, |state| {
            let [read_units, write_units] = state.units;
            map::needed(read_units, write_units).max(state.partitions.len())
        })
    }

    /// The partitions of a table or index.
    #[cfg(test)]
    pub(crate) fn partitions(&self, table: &Table, index: Option<IndexId>, context: &Context<'_>) -> usize {
        self.lock().ledger(table, context).partitions(index)
    }
}
