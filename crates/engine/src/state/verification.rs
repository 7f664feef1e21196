//! Verifications of replicas, in memory: those that run, and the last one of each table. After a restart only
//! the row of the last one is left (`replication::verify`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;

use crate::support::layout::TableId;
use crate::support::stamp::Stamp;
use crate::support::version::Version;

/// Differences that a verification lists; it counts all of them.
pub(crate) const DIFFERENCES_KEPT_MAX: usize = 1_000;
/// Ended verifications that nobody has asked for yet.
const ENDED_KEPT_MAX: usize = 100;

/// A keyed hash of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest(pub u128);

/// What one member has of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Neither the item nor its deletion.
    Nothing,
    Item {
        version: Version,
        /// Of the item as stored.
        digest: Digest,
    },
    Deleted {
        version: Version,
        /// When it was deleted there.
        at: Stamp,
    },
    /// The row of the item and the row of its version do not fit together, or one of them is damaged.
    Damaged(Digest),
}

/// An item that two members do not have alike. It may be on its way.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    /// Its key within the table.
    pub within: Bytes,
    pub base: Held,
    pub other: Held,
    /// Above the stamps of all that was committed when they were read.
    pub since: Stamp,
    /// When it was first found.
    pub found_ms: u64,
    pub is_repaired: bool,
}

/// What a member has of an item, for people. A version is shown as its region and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldState {
    /// Neither the item nor its deletion.
    Nothing,
    /// The item, of this version.
    Item(String, u64),
    /// The item was deleted by the change of this version.
    Deleted(String, u64),
    /// Its rows are damaged.
    Damaged,
}

/// An item that two members have differently, with nothing on its way that would end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaDifference {
    /// The region of the other member.
    pub region: String,
    /// The item's key attributes, if they can be read.
    pub key: Option<EncodedItem>,
    /// What the verified table has.
    pub here: HeldState,
    /// What the other member has.
    pub there: HeldState,
    /// Whether both have the same since.
    pub is_repaired: bool,
}

/// How a replica compares with the verified table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedReplica {
    /// Its region.
    pub region: String,
    /// Items of the verified table that were compared.
    pub items: u64,
    /// Deletions that were compared.
    pub deleted: u64,
    /// Items that differ, and were not repaired.
    pub differences: u64,
    /// Items that differed, and were repaired.
    pub repaired: u64,
    /// Items that differ because changes are on their way, and did not arrive in time.
    pub undecided: u64,
    /// Whether it left the group before it was compared.
    pub is_gone: bool,
    /// Whether it is lost: it is not compared, as a repair could bring back what was deleted.
    pub is_lost: bool,
}

/// How a verification has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Running,
    /// All replicas have the same items.
    Equal,
    /// They have, since some were repaired.
    Repaired,
    /// Nothing differs for good, but changes did not arrive in time.
    Undecided,
    /// Items differ.
    Differs,
}

/// A comparison of a table with its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The table's name.
    pub table: String,
    /// The region of the verified table.
    pub region: String,
    /// What was written before is compared in every row.
    pub begun_ms: u64,
    /// `None` while it runs.
    pub ended_ms: Option<u64>,
    /// Whether differences are repaired.
    pub repairs: bool,
    /// The replicas, in the order in which they are compared.
    pub replicas: Vec<VerifiedReplica>,
    /// The first differences.
    pub differences: Vec<ReplicaDifference>,
}

impl Verification {
    /// How it has ended.
    pub fn verdict(&self) -> Verdict {
        let any = |count: fn(&VerifiedReplica) -> u64| self.replicas.iter().any(|replica| count(replica) > 0);
        if self.ended_ms.is_none() {
            Verdict::Running
        } else if any(|replica| replica.differences) {
            Verdict::Differs
        } else if any(|replica| replica.undecided.saturating_add(u64::from(replica.is_lost))) {
            Verdict::Undecided
        } else if any(|replica| replica.repaired) {
            Verdict::Repaired
        } else {
            Verdict::Equal
        }
    }
}

/// What a run does with differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It lists them.
    Compare,
    /// The greater version goes to all.
    Repair,
    /// The base gets what the other one has: it rejoins without what it wrote alone.
    Discard,
}

/// A verification that runs.
#[derive(Debug)]
pub(crate) struct Run {
    pub mode: Mode,
    /// Of the hashes of this run.
    pub key: [u8; 32],
    /// The tables of the replicas, in the order of `shown.replicas`.
    pub others: Vec<TableId>,
    /// The place of the one that is compared now.
    pub place: usize,
    /// The last key within the table that was compared with it.
    pub after: Option<Bytes>,
    /// Whether all rows were compared with it.
    pub is_read: bool,
    pub suspects: Vec<Suspect>,
    /// When the suspects are looked at next.
    pub look_ms: u64,
    /// Steps since the last look.
    pub steps: u32,
    pub shown: Verification,
}

/// Verifications that this process has ended since it started, and what the last ones have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerificationFigures {
    /// Those that found all replicas equal, if need be after a repair.
    pub equal: u64,
    /// Those that found differences which were not repaired.
    pub differing: u64,
    /// Those that found changes on their way only.
    pub undecided: u64,
    /// Items that differ by the last verification of each table.
    pub differences: u64,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<TableId, Option<Run>>,
    last: BTreeMap<TableId, Verification>,
    /// When the next one is due by itself.
    due_ms: BTreeMap<TableId, u64>,
    ended: VecDeque<Verification>,
    figures: VerificationFigures,
}

/// The verifications of this process.
#[derive(Debug, Default)]
pub(crate) struct Verifications {
    state: Mutex<State>,
}

impl Verifications {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run, unless one of the table is under way; what is known of the one that runs now.
    pub(crate) fn begin(&self, base: TableId, run: Run) -> Verification {
        let mut state = self.state();
        if !state.runs.contains_key(&base) {
            state.last.insert(base, run.shown.clone());
            state.runs.insert(base, Some(run));
        }
        state.last.get(&base).cloned().expect("a run that was begun is shown")
    }

    /// The tables that are verified now.
    pub(crate) fn running(&self) -> Vec<TableId> {
        self.state().runs.keys().copied().collect()
    }

    /// A run, for one step of it.
    pub(crate) fn take(&self, base: TableId) -> Option<Run> {
        self.state().runs.get_mut(&base)?.take()
    }

    /// Gives a run back after a step, unless its table was forgotten meanwhile.
    pub(crate) fn give_back(&self, base: TableId, run: Run) {
        let mut state = self.state();
        if !state.runs.contains_key(&base) {
            return;
        }
        state.last.insert(base, run.shown.clone());
        state.runs.insert(base, Some(run));
    }

    /// Ends a run, unless its table was forgotten meanwhile.
    pub(crate) fn end(&self, base: TableId, shown: Verification) {
        let mut state = self.state();
        if state.runs.remove(&base).is_none() {
            return;
        }
        let figure = match shown.verdict() {
            Verdict::Running => None,
            Verdict::Equal | Verdict::Repaired => Some(&mut state.figures.equal),
            Verdict::Differs => Some(&mut state.figures.differing),
            Verdict::Undecided => Some(&mut state.figures.undecided),
        };
        if let Some(figure) = figure {
            *figure = figure.saturating_add(1);
        }
        state.ended.push_back(shown.clone());
        while state.ended.len() > ENDED_KEPT_MAX {
            state.ended.pop_front();
        }
        state.last.insert(base, shown);
    }

    /// The verification of a table that runs, or the last one.
    pub(crate) fn last(&self, base: TableId) -> Option<Verification> {
        self.state().last.get(&base).cloned()
    }

    /// Those that have ended since the last call.
    pub(crate) fn take_ended(&self) -> Vec<Verification> {
        self.state().ended.drain(..).collect()
    }

    pub(crate) fn figures(&self) -> VerificationFigures {
        let state = self.state();
        let differences =
            |shown: &Verification| -> u64 { shown.replicas.iter().map(|replica| replica.differences).sum() };
        VerificationFigures { differences: state.last.values().map(differences).sum(), ..state.figures }
    }

    /// When a table is due by itself, if that is known.
    pub(crate) fn due_ms(&self, base: TableId) -> Option<u64> {
        self.state().due_ms.get(&base).copied()
    }

    pub(crate) fn set_due(&self, base: TableId, at_ms: u64) {
        self.state().due_ms.insert(base, at_ms);
    }

    /// Forgets a table.
    pub(crate) fn forget(&self, base: TableId) {
        let mut state = self.state();
        state.runs.remove(&base);
        state.last.remove(&base);
        state.due_ms.remove(&base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_the_replicas_is_the_verdict() {
        let of = |replicas: Vec<VerifiedReplica>, ended_ms| {
            let (table, region) = ("T".to_owned(), "a".to_owned());
            let (begun_ms, differences) = (0, Vec::new());
            Verification { table, region, begun_ms, ended_ms, repairs: false, replicas, differences }
                .verdict()
        };
        let equal = VerifiedReplica::default;
        let repaired = VerifiedReplica { repaired: 1, ..equal() };
        let undecided = VerifiedReplica { undecided: 1, ..equal() };
        let differing = VerifiedReplica { differences: 1, ..equal() };
        assert_eq!(of(vec![differing.clone()], None), Verdict::Running);
        assert_eq!(of(vec![equal()], Some(1)), Verdict::Equal);
        assert_eq!(of(vec![equal(), repaired.clone()], Some(1)), Verdict::Repaired);
        assert_eq!(of(vec![repaired, undecided.clone()], Some(1)), Verdict::Undecided);
        assert_eq!(of(vec![undecided, differing, equal()], Some(1)), Verdict::Differs);
    }
}
