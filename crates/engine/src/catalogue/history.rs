//! A table's history, as stored in its record: whether undo rows are kept, since when, and what for.
//!
//! History is on while point-in-time recovery is on, or while something holds it: a backup whose copy is not
//! sealed yet, a restore, a rollback, an export. One span in which it is on is a *generation*. Its number is
//! never reused, so that the rows of an ended span can be purged while a new one has begun.
//!
//! It does not know the rows themselves (`history`).

use serde::{Deserialize, Serialize};

use crate::support::stamp::{DAY_MS, Stamp};

/// The number of one span in which history is on. It is never reused within a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct HistoryGeneration(pub u32);

/// The period of recovery that is turned on without one: the longest.
pub(crate) const RECOVERY_PERIOD_DAYS: u8 = 35;

/// Point-in-time recovery, while it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recovery {
    pub enabled_ms: u64,
    /// Days that the table can be restored back to.
    pub period_days: u8,
}

/// What keeps the undo rows from a stamp on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hold {
    /// The id of the backup or job that holds it.
    pub owner: String,
    /// The table can be read as of this stamp.
    pub stamp: Stamp,
}

/// The history of a table. Invariant: there is a generation while recovery is on or something holds it, and
/// no longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct History {
    generation: Option<HistoryGeneration>,
    next_generation: u32,
    /// The table can be read as of this stamp and every later one, while history is on.
    since: Stamp,
    recovery: Option<Recovery>,
    holds: Vec<Hold>,
    /// The greatest stamp as of which a set was read: the next increment begins there, so no later change may
    /// have a lower one.
    cut: Stamp,
    /// Generations whose rows are to be purged.
    pub doomed: Vec<HistoryGeneration>,
    /// The longest recovery of the other members of a strongly consistent group, while one is on.
    #[serde(skip)]
    days_of_others: Option<u8>,
}

impl History {
    /// The generation that undo rows are written to; `None` while history is off.
    pub(crate) const fn generation(&self) -> Option<HistoryGeneration> {
        self.generation
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.generation.is_some()
    }

    pub(crate) const fn since(&self) -> Stamp {
        self.since
    }

    /// The least stamp of a change of the table: what is held was read as of lower ones.
    pub(crate) fn floor(&self) -> Stamp {
        self.holds.iter().map(|hold| hold.stamp).fold(self.since.max(self.cut), Stamp::max)
    }

    pub(crate) const fn recovery(&self) -> Option<Recovery> {
        self.recovery
    }

    /// The earliest time to which the table can be recovered; `None` while recovery is off.
    pub(crate) fn earliest_ms(&self, now_ms: u64) -> Option<u64> {
        let Recovery { enabled_ms, period_days } = self.recovery?;
        let period_ms = u64::from(period_days).saturating_mul(DAY_MS);
        Some(enabled_ms.max(now_ms.saturating_sub(period_ms)).max(self.since.ms()))
    }

    pub(crate) fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// Turns recovery on, or changes its period. `stamp` was drawn in the transaction that does it.
    pub(crate) fn enable_recovery(&mut self, now_ms: u64, period_days: u8, stamp: Stamp) {
        self.begin(stamp);
        match &mut self.recovery {
            Some(recovery) => recovery.period_days = period_days,
            None => self.recovery = Some(Recovery { enabled_ms: now_ms, period_days }),
        }
        self.check();
    }

    /// The days that some recovery goes back: the table's own, or that of another member of its group.
    pub(crate) fn recovery_days(&self) -> Option<u8> {
        self.recovery.map(|recovery| recovery.period_days).max(self.days_of_others)
    }

    /// Exchanges the table's own recovery with that of another member of its group.
    pub(super) const fn exchange_recovery(&mut self, other: &mut Option<Recovery>) {
        std::mem::swap(&mut self.recovery, other);
    }

    /// Notes what the other members of its group need.
    pub(super) const fn set_days_of_others(&mut self, days: Option<u8>) {
        self.days_of_others = days;
    }

    /// Keeps no more than the table itself needs.
    pub(super) fn forget_others(&mut self) {
        self.days_of_others = None;
        self.end_if_unneeded();
    }

    pub(crate) fn disable_recovery(&mut self) {
        self.recovery = None;
        self.end_if_unneeded();
    }

    /// Keeps what is needed to read the table as of this stamp. If history is off, the stamp was drawn in the
    /// transaction that does it. False if the table cannot be read as of it any more.
    #[must_use]
    pub(crate) fn hold(&mut self, owner: &str, stamp: Stamp) -> bool {
        if self.is_on() && stamp < self.since {
            return false;
        }
        self.begin(stamp);
        self.holds.retain(|hold| hold.owner != owner);
        self.holds.push(Hold { owner: owner.to_owned(), stamp });
        self.check();
        true
    }

    /// Notes that the table is read as of this stamp, which was drawn in the transaction that does it.
    pub(crate) fn note_cut(&mut self, stamp: Stamp) {
        self.cut = self.cut.max(stamp);
    }

    pub(crate) fn release(&mut self, owner: &str) {
        self.holds.retain(|hold| hold.owner != owner);
        self.end_if_unneeded();
    }

    /// The stamp from which on undo rows are needed at this time; `None` while history is off.
    pub(crate) fn needed_from(&self, now_ms: u64) -> Option<Stamp> {
        self.generation?;
        let held = self.holds.iter().map(|hold| hold.stamp).min();
        let recovered = self
            .recovery_days()
            .map(|days| Stamp::first_of(now_ms.saturating_sub(u64::from(days).saturating_mul(DAY_MS))));
        let needed = held.into_iter().chain(recovered).min().unwrap_or(self.since);
        Some(needed.max(self.since))
    }

    /// Notes that undo rows below this stamp are given up.
    pub(crate) fn give_up_before(&mut self, stamp: Stamp) {
        self.since = self.since.max(stamp);
    }

    fn begin(&mut self, stamp: Stamp) {
        if self.generation.is_none() {
            self.generation = Some(HistoryGeneration(self.next_generation));
            self.next_generation += 1;
            self.since = self.since.max(stamp);
        }
    }

    fn end_if_unneeded(&mut self) {
        if self.recovery_days().is_none() && self.holds.is_empty() {
            self.doomed.extend(self.generation.take());
        }
        self.check();
    }

    /// Checks the invariant.
    ///
    /// # Panics
    ///
    /// If it does not hold.
    pub(super) fn check(&self) {
        let is_needed = self.recovery_days().is_some() || !self.holds.is_empty();
        assert_eq!(self.is_on(), is_needed, "history is on while something needs it");
        let is_new = |generation: &HistoryGeneration| generation.0 < self.next_generation;
        assert!(self.generation.iter().chain(&self.doomed).all(is_new), "generations are never reused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Stamp {
        Stamp::first_of(ms)
    }

    #[test]
    fn history_is_on_while_recovery_or_a_hold_needs_it_and_each_span_has_its_generation() {
        let mut history = History::default();
        assert!(history.hold("backup", at(5)));
        assert_eq!(history.generation(), Some(HistoryGeneration(0)));
        history.enable_recovery(7, 35, at(7));
        history.release("backup");
        assert_eq!((history.generation(), history.since()), (Some(HistoryGeneration(0)), at(5)));
        history.disable_recovery();
        assert_eq!((history.generation(), history.doomed.as_slice()), (None, &[HistoryGeneration(0)][..]));
        history.enable_recovery(9, 1, at(9));
        assert_eq!((history.generation(), history.since()), (Some(HistoryGeneration(1)), at(9)));
    }

    #[test]
    fn what_is_needed_follows_the_period_and_never_what_is_held() {
        let mut history = History::default();
        history.enable_recovery(0, 1, at(0));
        let later = 10 * DAY_MS;
        assert_eq!(history.needed_from(later), Some(at(later - DAY_MS)));
        assert!(history.hold("job", at(3 * DAY_MS)));
        assert_eq!(history.needed_from(later), Some(at(3 * DAY_MS)));
        history.give_up_before(at(3 * DAY_MS));
        assert!(!history.hold("late", at(2 * DAY_MS)), "given up");
        history.enable_recovery(later, 35, at(later));
        assert_eq!(history.needed_from(later), Some(at(3 * DAY_MS)), "a longer period brings nothing back");
    }
}
