//! How much branches may copy: their number and bytes, of each account or of all.
//!
//! What a branch copied stands in the records of its tables, so the count is as durable as the tables are. A
//! process makes one branch at a time; over a shared store others may make theirs meanwhile, so the commit
//! that names a branch's tables counts again. A dropped branch gives its share back at once; if its rows are
//! still there and in the way, they are purged before the next one.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::branch::BranchFault;
use super::purge::{Purged, purge_table};
use crate::catalogue::{Held, Table};
use crate::state::Engine;
use crate::state::purge_progress::Kept;
use crate::state::stats::{Counted, Tally};
use crate::support::config::{BranchLimits, CountedTogether};
use crate::support::env::{AccountId, Namespace};

/// What a copied row counts besides its bytes: its key, and its place in the store.
const ROW_BYTES: u64 = 200;

/// The bytes that a branch under way may still copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// `None` without a limit.
    left: Option<u64>,
    used: u64,
}

impl Allowance {
    pub(crate) const fn unlimited() -> Self {
        Self { left: None, used: 0 }
    }

    /// Takes the bytes of some rows before they are copied; false if they are too many.
    pub(crate) fn take(&mut self, rows: Tally) -> bool {
        let bytes = counted_bytes(rows);
        match self.left.map(|left| left.checked_sub(bytes)) {
            Some(None) => return false,
            Some(left) => self.left = left,
            None => {}
        }
        self.used = self.used.saturating_add(bytes);
        true
    }

    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// What the branch was given at its beginning.
    pub(crate) fn granted(&self) -> u64 {
        self.left.unwrap_or(u64::MAX).saturating_add(self.used)
    }
}

/// What the limits say of a branch that has copied so many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub limits: BranchLimits,
    pub own: u64,
}

impl Room {
    /// The account whose branches count together with those of `to`; `None` if all do.
    pub(crate) const fn account<'n>(&self, to: &'n Namespace) -> Option<&'n AccountId> {
        match self.limits.counted {
            CountedTogether::Account => Some(&to.account),
            CountedTogether::Everything => None,
        }
    }

    /// Why the branch cannot come to those that hold so much already.
    pub(crate) fn refusal(&self, held: Held) -> Option<BranchFault> {
        if let Some(count_max) = self.limits.count_max.filter(|most| held.count >= *most) {
            return Some(BranchFault::TooManyBranches { count_max });
        }
        let is_short = |most: &u64| self.own > most.saturating_sub(held.bytes);
        let bytes_max = self.limits.bytes_max.filter(is_short)?;
        Some(BranchFault::TooLarge { wanted: self.own, held: held.bytes, bytes_max })
    }
}

/// What rows count.
pub(crate) fn counted_bytes(rows: Tally) -> u64 {
    let number = |counted: i64| u64::try_from(counted).unwrap_or(0);
    number(rows.bytes).saturating_add(number(rows.rows).saturating_mul(ROW_BYTES))
}

/// What a table counts if it is copied, by its present counters.
pub(crate) fn estimate<S: Store>(engine: &Engine<S>, table: &Table) -> u64 {
    let entries = table.indexes().map(|(_, index, _)| Counted::Entries(table.id, index));
    let counted = std::iter::once(Counted::Items(table.id)).chain(entries);
    counted.map(|counted| counted_bytes(engine.stats().get(counted))).fold(0, u64::saturating_add)
}

/// The bytes that a branch of `from` may copy to `to`, if there is room for it.
pub(crate) async fn room<S: Store>(
    engine: &Engine<S>,
    from: &Namespace,
    to: &Namespace,
) -> Result<Allowance, BranchFault> {
    let limits = engine.config().branches;
    let tables = engine.catalogue().named(from);
    let wanted = tables.iter().map(|table| estimate(engine, table)).fold(0, u64::saturating_add);
    let room = Room { limits, own: wanted };
    let account = room.account(to);
    let held = engine.catalogue().held_by_branches(account);
    if let Some(refusal) = room.refusal(held) {
        return Err(refusal);
    }
    let Some(bytes_max) = limits.bytes_max else { return Ok(Allowance::unlimited()) };
    let left = bytes_max.saturating_sub(held.bytes);
    let leaving = leaving(engine, account);
    let leaving_bytes = leaving.iter().filter_map(|table| table.copied_bytes).fold(0, u64::saturating_add);
    let left_now = left.saturating_sub(leaving_bytes);
    // After an unclean stop the counters are not exact for a moment: then more may be wanted.
    if leaving.is_empty() || (wanted <= left_now && engine.stats().is_exact()) {
        return Ok(Allowance { left: Some(left_now), used: 0 });
    }
    purge(engine, &leaving).await?;
    Ok(Allowance { left: Some(left), used: 0 })
}

/// The tables of dropped branches whose rows are not purged yet.
fn leaving<S: Store>(engine: &Engine<S>, account: Option<&AccountId>) -> Vec<Arc<Table>> {
    let mut tables = engine.catalogue().doomed();
    tables.retain(|table| {
        table.copied_bytes.is_some()
            && account.is_none_or(|account| table.account == account.as_str())
            && !engine.purge_progress().is_purged(table.id, Kept::Nothing)
    });
    tables
}

async fn purge<S: Store>(engine: &Engine<S>, tables: &[Arc<Table>]) -> Result<(), Error> {
    for table in tables {
        while purge_table(engine, table).await? == Purged::Partly {
            engine.pace().check_presence()?;
        }
    }
    Ok(())
}
