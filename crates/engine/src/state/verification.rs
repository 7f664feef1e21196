//! Verifications of replicas, in memory: those that run, and the last one of each table. After a restart only
//! the row of the last one is left (`replication::verify`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use serde::{Deserialize, Serialize};

use crate::support::layout::TableId;
use crate::support::stamp::Stamp;
use crate::support::version::Version;

/// Differences that a verification lists; it counts all of them.
pub(crate) const DIFFERENCES_KEPT_MAX: usize = 1_000;
/// Ended verifications that nobody has asked for yet.
const ENDED_KEPT_MAX: usize = 100;

/// A keyed hash of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest(pub u128);

/// The sum of consecutive keys. Invariant: those with the same rows have the same sum, in any order of
/// reading; others have another one, but for a chance of one in 2^128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub digest: Digest,
    pub items: u64,
    pub deleted: u64,
}

/// What one member has of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Stamps of servers above all that was committed when something was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub here: Stamp,
    /// By the number of a remote member, for its server.
    pub there: BTreeMap<TableId, Stamp>,
}

/// An item that two members do not have alike. It may be on its way.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    /// Its key within the table.
    pub within: Bytes,
    pub base: Held,
    pub other: Held,
    /// Above the stamps of all that was committed when they were read. Those of other servers come later.
    pub since: Marks,
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
    /// Why it was not compared to the end, or did not rejoin then: mostly, why its server did not answer.
    pub unreached: Option<String>,
}

impl VerifiedReplica {
    /// Whether it was not compared, though it is a replica.
    pub const fn is_uncompared(&self) -> bool {
        self.is_lost || self.unreached.is_some()
    }
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
    /// Whether the group is strongly consistent: all its regions read the same rows, so nothing is compared.
    pub is_strong: bool,
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
        } else if any(|replica| replica.undecided.saturating_add(u64::from(replica.is_uncompared()))) {
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

/// A replica that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Its table, or the number of a remote one.
    pub table: TableId,
    /// The region whose server is asked; `None` if no other server is.
    pub runner: Option<String>,
}

/// Members that a table lacks, and for which those that remain are repaired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loss {
    /// The row of the last member that has left with its data.
    pub left: Option<Vec<u8>>,
    /// Members that are lost to the table, or that no server is named for.
    pub gone: BTreeSet<TableId>,
}

/// A verification that runs.
#[derive(Debug)]
pub(crate) struct Run {
    pub mode: Mode,
    /// What the base itself writes from this stamp on is not discarded.
    pub keeps_from: Stamp,
    /// Of the hashes of this run.
    pub key: [u8; 32],
    /// The replicas, in the order of `shown.replicas`.
    pub others: Vec<Compared>,
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
    /// When the last step succeeded, and what has hindered the next since.
    pub answered_ms: u64,
    pub hindered: Option<String>,
    /// Steps that have failed here, one after the other.
    pub failures: u32,
    /// When the last of them was counted.
    pub failed_ms: u64,
    /// Why it was begun, if because members are gone.
    pub loss: Option<Loss>,
    pub shown: Verification,
}

impl Run {
    /// The region whose lane does the next step; `None` for background work here. That of the last replica
    /// also does what follows.
    fn runner(&self) -> Option<&str> {
        self.others.get(self.place).or_else(|| self.others.last())?.runner.as_deref()
    }
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
    /// When it is looked at next whether members of a table are gone.
    loss_look_ms: BTreeMap<TableId, u64>,
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

    /// Begins a run, unless one of the table is under way; whether it did.
    pub(crate) fn begin_if_none(&self, base: TableId, run: Run) -> bool {
        let mut state = self.state();
        if state.runs.contains_key(&base) {
            return false;
        }
        state.last.insert(base, run.shown.clone());
        state.runs.insert(base, Some(run));
        true
    }

    /// The tables that are verified now, without those in a step, each with the region whose server is asked.
    pub(crate) fn running(&self) -> Vec<(TableId, Option<String>)> {
        let state = self.state();
        let waiting = state.runs.iter().filter_map(|(base, run)| Some((*base, run.as_ref()?)));
        waiting.map(|(base, run)| (base, run.runner().map(str::to_owned))).collect()
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

    /// When it is looked at next whether members of a table are gone.
    pub(crate) fn loss_look_ms(&self, base: TableId) -> u64 {
        self.state().loss_look_ms.get(&base).copied().unwrap_or_default()
    }

    pub(crate) fn set_loss_look(&self, base: TableId, at_ms: u64) {
        self.state().loss_look_ms.insert(base, at_ms);
    }

    /// Notes that members of these tables may be gone.
    pub(crate) fn note_loss(&self, bases: impl IntoIterator<Item = TableId>) {
        let mut state = self.state();
        for base in bases {
            state.loss_look_ms.remove(&base);
        }
    }

    /// Forgets a table.
    pub(crate) fn forget(&self, base: TableId) {
        let mut state = self.state();
        state.loss_look_ms.remove(&base);
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
            let (begun_ms, repairs, is_strong, differences) = (0, false, false, Vec::new());
            Verification { table, region, begun_ms, ended_ms, repairs, is_strong, replicas, differences }
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
