//! Admission: whether a table's limits let a request through, and what it is charged.
//!
//! Reads are checked before the store is read and charged what they read. Writes are charged before their
//! commit, when their units are known, and get them back if it does not happen.

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, Usage};
use keywright_semantics::error::Error;
use keywright_semantics::throttle::{Direction, Limit, Throttled, ThrottlingReason};
use keywright_store::Store;

use super::Engine;
use super::stats::Counted;
use crate::catalogue::Table;
use crate::support::layout::{IndexId, TableId};
use crate::support::throughput::Throttle;
use crate::throughput::uses::Use;
use crate::throughput::{Arm, Context, Demand, Shortage, Together, mode_of};

/// What a read is asked of: the table (also for a local index) or a global index.
#[derive(Clone, Copy)]
pub(crate) struct ReadOf<'a> {
    pub table: &'a Table,
    pub index: Option<IndexId>,
}

impl<S: Store> Engine<S> {
    /// Whether limits of this table refuse requests.
    pub(crate) fn is_limited(&self, table: &Table) -> bool {
        mode_of(table, &self.config().throughput) != Throttle::Off
    }

    /// Calls with what limits begin with, and the present time.
    pub(crate) fn with_context<R>(&self, call: impl FnOnce(&Context<'_>) -> R) -> R {
        let bytes = |table: TableId, index: Option<IndexId>| {
            let counted = index.map_or(Counted::Items(table), |index| Counted::Entries(table, index));
            u64::try_from(self.stats().get(counted).bytes).unwrap_or(0)
        };
        call(&Context {
            config: &self.config().throughput,
            opened_ms: self.opened_ms(),
            now_ms: self.env().now_ms(),
            bytes: &bytes,
            splits: &|table| self.owns(table),
        })
    }

    /// Charges what another process has used of a table's limits.
    pub(crate) fn take_use(&self, table: &Table, used: &Use) {
        if self.is_limited(table) {
            self.with_context(|context| self.ledgers().take_use(table, used, context));
        }
    }

    /// Refuses a read if a limit has nothing left. `key` is the first key within the table or index.
    pub(crate) fn admit_read(&self, of: ReadOf<'_>, key: impl FnOnce() -> Bytes) -> Result<(), Throttled> {
        if !self.is_limited(of.table) {
            return Ok(());
        }
        let arm = Arm { index: of.index, direction: Direction::Read, key: Some(key()), units: HalfUnits(0) };
        let demand = Demand { table: of.table, arms: vec![arm] };
        self.check_demands(std::slice::from_ref(&demand)).map_err(the_refusal)
    }

    /// Charges a read, in equal parts for each of these keys; without keys, to no partition.
    pub(crate) fn charge_read(&self, of: ReadOf<'_>, units: HalfUnits, keys: impl FnOnce() -> Vec<Bytes>) {
        self.note_consumed(of.table, of.index, Usage::reading(units));
        if !self.is_limited(of.table) {
            return;
        }
        let mut keys: Vec<Option<Bytes>> = keys().into_iter().map(Some).collect();
        if keys.is_empty() {
            keys.push(None);
        }
        let count = u64::try_from(keys.len()).unwrap_or(u64::MAX);
        let mut rest = units.0;
        let arms = keys.into_iter().map(|key| {
            let part = units.0.div_ceil(count).min(rest);
            rest -= part;
            Arm { index: of.index, direction: Direction::Read, key, units: HalfUnits(part) }
        });
        let demand = Demand { table: of.table, arms: arms.collect() };
        self.take(&demand);
    }

    /// Charges the read of one item of a batch, or refuses it.
    pub(crate) fn admit_item_read(
        &self,
        of: ReadOf<'_>,
        units: HalfUnits,
        key: impl FnOnce() -> Bytes,
    ) -> Result<(), Throttled> {
        if !self.is_limited(of.table) {
            return Ok(());
        }
        let arm = Arm { index: of.index, direction: Direction::Read, key: Some(key()), units };
        let demand = Demand { table: of.table, arms: vec![arm] };
        self.admit_demands(std::slice::from_ref(&demand), Together::Each).map_err(the_refusal)
    }

    /// The keys at which a stretch of keys enters a partition, the first one included.
    pub(crate) fn touched(&self, of: ReadOf<'_>, from: &[u8], to: &[u8]) -> Vec<Bytes> {
        let starts =
            self.with_context(|context| self.ledgers().touched(of.table, of.index, (from, to), context));
        starts.into_iter().map(Bytes::from).collect()
    }

    /// Refuses demands for which a limit has nothing left; charges nothing. One answer for each demand.
    pub(crate) fn check_demands(&self, demands: &[Demand<'_>]) -> Result<(), Vec<Option<Throttled>>> {
        let found = self.with_context(|context| self.ledgers().shortages(demands, context));
        self.refusals(demands, found)
    }

    /// Charges these demands, or none and says which of them a limit refuses.
    pub(crate) fn admit_demands(
        &self,
        demands: &[Demand<'_>],
        together: Together,
    ) -> Result<(), Vec<Option<Throttled>>> {
        let found = self.with_context(|context| self.ledgers().admit(demands, together, context));
        if together == Together::Each && found.iter().any(|found| !found.is_empty()) {
            let charged = demands.iter().zip(&found).filter(|(_, found)| found.is_empty());
            charged.for_each(|(demand, _)| self.give_back(demand));
        }
        self.refusals(demands, found)
    }

    pub(crate) fn give_back(&self, demand: &Demand<'_>) {
        self.with_context(|context| self.ledgers().give_back(demand, context));
    }

    /// Charges what was used, also beyond what is left.
    pub(crate) fn take(&self, demand: &Demand<'_>) {
        self.with_context(|context| self.ledgers().take(demand, context));
    }

    fn refusals(
        &self,
        demands: &[Demand<'_>],
        found: Vec<Vec<Shortage>>,
    ) -> Result<(), Vec<Option<Throttled>>> {
        assert_eq!(found.len(), demands.len(), "every demand is answered");
        if found.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let refusals = demands.iter().zip(found);
        Err(refusals
            .map(|(demand, found)| (!found.is_empty()).then(|| self.throttled(demand.table, found)))
            .collect())
    }

    /// The refusal for these shortages, which are counted.
    pub(super) fn throttled(&self, table: &Table, mut found: Vec<Shortage>) -> Throttled {
        let name = |index: Option<IndexId>| {
            index
                .and_then(|id| table.indexes().find(|(_, other, _)| *other == id))
                .map(|(_, _, schema)| &schema.name)
        };
        found.sort_by_key(|shortage| (shortage.limit == Limit::KeyRangeThroughput, name(shortage.index)));
        for shortage in &found {
            self.note_throttled(table, shortage);
        }
        let reason = |shortage: &Shortage| {
            let of_index = name(shortage.index);
            let arn = table.arn();
            ThrottlingReason {
                limit: shortage.limit,
                direction: shortage.direction,
                of_index: of_index.is_some(),
                resource: of_index.map_or_else(|| arn.clone(), |index| format!("{arn}/index/{index}")),
            }
        };
        Throttled { billing: table.billing, reasons: found.iter().map(reason).collect() }
    }

    /// Reports that a limit refused a request or an item.
    fn note_throttled(&self, table: &Table, shortage: &Shortage) {
        let Shortage { limit, index, direction } = *shortage;
        self.observer().throttled(limit, direction);
        self.metrics().throttled(table, index, limit, direction, self.env().now_ms());
    }
}

/// Why the only demand was refused.
fn the_refusal(refusals: Vec<Option<Throttled>>) -> Throttled {
    refusals.into_iter().flatten().next().expect("a refused demand says why")
}

/// The error of a request of one part, or of a batch of which every part was refused.
pub(crate) fn first_error(refusals: Vec<Option<Throttled>>) -> Option<Error> {
    refusals.into_iter().flatten().next().map(Throttled::into_error)
}
