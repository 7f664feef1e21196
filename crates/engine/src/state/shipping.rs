//! What is known of the changes that members send each other, in memory only: which tables have changes to be
//! sent, figures, the last conflicts. After a restart each table is looked at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::limits::REPLICATION_CONFLICTS_KEPT_MAX;
use tokio::sync::{Notify, watch};

use super::backlogs::Backlogs;
use crate::support::layout::TableId;
use crate::support::stamp::Stamp;
use crate::support::version::Version;

/// What was sent to a replica since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShippingFigures {
    /// Items and deletions that were sent.
    pub sent: u64,
    /// Those that were older than what the replica had, or that it had already.
    pub outdated: u64,
    /// The time from the last change's commit until the replica had it.
    pub latency_ms: u64,
    /// When the replica had it, in milliseconds since 1970; zero if nothing was sent.
    pub last_ms: u64,
}

/// A change that lost to a concurrent one in another region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaConflict {
    /// When it was found, in milliseconds since 1970.
    pub at_ms: u64,
    /// The key attributes of the item.
    pub key: Option<EncodedItem>,
    /// The region whose change won, and its time in milliseconds since 1970, as its clock showed it.
    pub winner: (String, u64),
    /// The same of the change that lost.
    pub loser: (String, u64),
    /// The item that lost; `None` if the change deleted it.
    pub losing_image: Option<EncodedItem>,
}

/// The region and the time of a version.
pub(crate) fn shown(version: &Version) -> (String, u64) {
    (version.region.clone(), version.stamp.ms())
}

#[derive(Debug, Default)]
struct Looks {
    /// When the table is looked at without anything noted.
    next_ms: u64,
    /// Whether something was committed since the last look.
    is_wanted: bool,
    /// The links at the last look, by how often their rules were replaced.
    links: u64,
    /// How often something was noted.
    noted: u64,
}

/// The round of the collection of deleted items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Everything that was committed before the round has a lower stamp.
    pub begun: Stamp,
    /// All members had everything below this stamp then.
    pub floor: Stamp,
    /// The time of the round.
    pub at_ms: u64,
}

#[derive(Debug, Default)]
struct Conflicts {
    count: u64,
    last: VecDeque<ReplicaConflict>,
}

#[derive(Debug, Default)]
struct State {
    looks: BTreeMap<TableId, Looks>,
    figures: BTreeMap<(TableId, TableId), ShippingFigures>,
    conflicts: BTreeMap<TableId, Conflicts>,
    rounds: BTreeMap<TableId, Round>,
    /// Up to which version of the store a member that leaves with its data sends and receives.
    partings: BTreeMap<TableId, u64>,
}

/// What is known of the changes that members send each other.
#[derive(Debug, Default)]
pub(crate) struct Shipping {
    state: Mutex<State>,
    backlogs: Mutex<Backlogs>,
    /// Wakes the worker.
    wanted: Notify,
    /// Wakes those who send to other servers.
    noted: watch::Sender<u64>,
}

impl Shipping {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits for each receiver.
    pub(crate) fn backlogs(&self) -> MutexGuard<'_, Backlogs> {
        self.backlogs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a table has changes for its replicas.
    pub(crate) fn note(&self, table: TableId) {
        {
            let mut state = self.state();
            let looks = state.looks.entry(table).or_default();
            looks.is_wanted = true;
            looks.noted = looks.noted.wrapping_add(1);
        }
        self.wake();
    }

    /// Wakes the worker, for other work on replicas.
    pub(crate) fn wake(&self) {
        self.wanted.notify_one();
        if self.noted.receiver_count() > 0 {
            self.noted.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Says when something is noted, for those who send to other servers.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.noted.subscribe()
    }

    /// How often changes of a table were noted.
    pub(crate) fn noted(&self, table: TableId) -> u64 {
        self.state().looks.get(&table).map_or(0, |looks| looks.noted)
    }

    /// Waits until a change is noted.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Begins a look at a table, if there is a reason for one; or says when to ask again. The caller reads
    /// the store after this call, so that no change is missed.
    pub(crate) fn begin_look(
        &self,
        table: TableId,
        links: u64,
        (now_ms, next_ms): (u64, u64),
    ) -> Result<(), u64> {
        let mut state = self.state();
        let looks = state.looks.entry(table).or_default();
        if !looks.is_wanted && now_ms < looks.next_ms && looks.links == links {
            return Err(looks.next_ms);
        }
        *looks = Looks { next_ms, is_wanted: false, links, noted: looks.noted };
        Ok(())
    }

    /// Asks for a look at this time.
    pub(crate) fn look_at(&self, table: TableId, at_ms: u64) {
        let mut state = self.state();
        let looks = state.looks.entry(table).or_default();
        looks.next_ms = looks.next_ms.min(at_ms);
    }

    pub(crate) fn add(&self, way: (TableId, TableId), more: ShippingFigures) {
        assert!(more.outdated <= more.sent, "what was outdated was sent");
        let mut state = self.state();
        let figures = state.figures.entry(way).or_default();
        figures.sent = figures.sent.saturating_add(more.sent);
        figures.outdated = figures.outdated.saturating_add(more.outdated);
        if more.sent > 0 {
            figures.latency_ms = more.latency_ms;
            figures.last_ms = more.last_ms;
        }
    }

    pub(crate) fn figures(&self, way: (TableId, TableId)) -> ShippingFigures {
        self.state().figures.get(&way).copied().unwrap_or_default()
    }

    /// Notes conflicts that were found at a table.
    pub(crate) fn note_conflicts(&self, table: TableId, found: Vec<ReplicaConflict>) {
        if found.is_empty() {
            return;
        }
        let mut state = self.state();
        let conflicts = state.conflicts.entry(table).or_default();
        for conflict in found {
            conflicts.count = conflicts.count.saturating_add(1);
            conflicts.last.push_back(conflict);
            while conflicts.last.len() > REPLICATION_CONFLICTS_KEPT_MAX {
                conflicts.last.pop_front();
            }
        }
    }

    /// How many conflicts were found at a table, and the last of them, the oldest first.
    pub(crate) fn conflicts(&self, table: TableId) -> (u64, Vec<ReplicaConflict>) {
        let state = self.state();
        let conflicts = state.conflicts.get(&table);
        conflicts.map_or((0, Vec::new()), |found| (found.count, found.last.iter().cloned().collect()))
    }

    pub(crate) fn round(&self, table: TableId) -> Option<Round> {
        self.state().rounds.get(&table).copied()
    }

    pub(crate) fn set_round(&self, table: TableId, round: Round) {
        self.state().rounds.insert(table, round);
    }

    /// The version of the store up to which a leaving member sends and receives: this one, unless another is
    /// known.
    pub(crate) fn parting(&self, table: TableId, version: u64) -> u64 {
        *self.state().partings.entry(table).or_insert(version)
    }

    /// Forgets a table.
    pub(crate) fn forget(&self, table: TableId) {
        self.backlogs().forget(table);
        let mut state = self.state();
        state.looks.remove(&table);
        state.conflicts.remove(&table);
        state.rounds.remove(&table);
        state.partings.remove(&table);
        state.figures.retain(|(sender, receiver), _| *sender != table && *receiver != table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_looked_at_when_something_is_noted_and_from_time_to_time() {
        let (shipping, table) = (Shipping::default(), TableId(1));
        assert_eq!(shipping.begin_look(table, 0, (10, 20)), Ok(()), "nothing is known at first");
        assert_eq!(shipping.begin_look(table, 0, (11, 21)), Err(20));
        shipping.note(table);
        assert_eq!(shipping.begin_look(table, 0, (12, 22)), Ok(()));
        assert_eq!(shipping.begin_look(table, 0, (13, 23)), Err(22));
        assert_eq!(shipping.begin_look(table, 1, (14, 22)), Ok(()), "other rules may let changes through");
        shipping.look_at(table, 15);
        assert_eq!(shipping.begin_look(table, 1, (15, 25)), Ok(()));
    }

    #[test]
    fn the_last_conflicts_are_kept_and_all_are_counted() {
        let (shipping, table) = (Shipping::default(), TableId(1));
        let conflict = |at_ms: usize| ReplicaConflict {
            at_ms: u64::try_from(at_ms).expect("small"),
            key: None,
            winner: ("a".to_owned(), 2),
            loser: ("b".to_owned(), 1),
            losing_image: None,
        };
        let most = REPLICATION_CONFLICTS_KEPT_MAX;
        shipping.note_conflicts(table, (0..most + 5).map(conflict).collect());
        let (count, last) = shipping.conflicts(table);
        assert_eq!((count, last.len()), (u64::try_from(most + 5).expect("small"), most));
        assert_eq!(last.first().map(|first| first.at_ms), Some(5));
    }
}
