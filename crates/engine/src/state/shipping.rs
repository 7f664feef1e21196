//! What is known of the changes that members send each other, in memory only: which tables have changes to be
//! sent, figures, the last conflicts. After a restart each table is looked at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::REPLICATION_CONFLICTS_KEPT_MAX;
use tokio::sync::{Notify, watch};

use super::backlogs::Backlogs;
use super::clocks::Clocks;
use crate::catalogue::Table;
use crate::support::layout::TableId;
use crate::support::stamp::Stamp;
use crate::support::version::Version;
use crate::support::wake::NextWake;

/// Bytes of the losing items that are kept, of all tables: without the oldest, their conflicts stay listed.
const LOSING_IMAGES_BYTES_MAX: usize = 16 * 1024 * 1024;
/// No time comes to this one.
const NEVER_MS: u64 = u64::MAX;

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
    /// The item that lost; `None` if the change deleted it, or if it was dropped.
    pub losing_image: Option<EncodedItem>,
    /// Whether the item that lost was dropped, as later ones needed the memory.
    pub is_image_dropped: bool,
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
    /// The table's record at the last look: another one may have other members.
    record: Weak<Table>,
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
    /// The last ones, each with its number among those of all tables.
    last: VecDeque<(u64, ReplicaConflict)>,
}

/// The conflicts of all tables whose losing item is kept, by their numbers.
#[derive(Debug, Default)]
struct LosingImages {
    last: u64,
    kept: BTreeMap<u64, (TableId, usize)>,
    bytes: usize,
}

impl LosingImages {
    /// Adds the image of a conflict; its number.
    fn add(&mut self, table: TableId, image: Option<&EncodedItem>) -> u64 {
        self.last += 1;
        if let Some(image) = image {
            self.bytes += image.size_bytes();
            self.kept.insert(self.last, (table, image.size_bytes()));
        }
        self.last
    }

    fn remove(&mut self, number: u64) {
        if let Some((_, bytes)) = self.kept.remove(&number) {
            self.bytes -= bytes;
        }
    }

    /// Takes the oldest out, if there are too many bytes.
    fn take_excess(&mut self) -> Option<(u64, TableId)> {
        let (number, (table, bytes)) =
            (self.bytes > LOSING_IMAGES_BYTES_MAX).then(|| self.kept.pop_first())??;
        self.bytes -= bytes;
        Some((number, table))
    }
}

#[derive(Debug, Default)]
struct State {
    looks: BTreeMap<TableId, Looks>,
    figures: BTreeMap<(TableId, TableId), ShippingFigures>,
    conflicts: BTreeMap<TableId, Conflicts>,
    images: LosingImages,
    rounds: BTreeMap<TableId, Round>,
    /// Up to which version of the store a member that leaves with its data sends and receives.
    partings: BTreeMap<TableId, u64>,
    /// Why the last look did not send all that it could.
    faults: BTreeMap<(TableId, TableId), String>,
}

/// What is known of the changes that members send each other.
#[derive(Debug, Default)]
pub(crate) struct Shipping {
    state: Mutex<State>,
    backlogs: Mutex<Backlogs>,
    clocks: Mutex<Clocks>,
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

    /// What changes show of the clocks of regions.
    pub(crate) fn clocks(&self) -> MutexGuard<'_, Clocks> {
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The tables with changes that were noted since the last look at them.
    pub(crate) fn noted_tables(&self) -> Vec<TableId> {
        let state = self.state();
        state.looks.iter().filter(|(_, looks)| looks.is_wanted).map(|(table, _)| *table).collect()
    }

    /// How often changes of a table were noted.
    pub(crate) fn noted(&self, table: TableId) -> u64 {
        self.state().looks.get(&table).map_or(0, |looks| looks.noted)
    }

    /// Waits until a change is noted.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Begins a look at a table, if there is a reason for one; or says when the next one is due, if ever. The
    /// caller reads the store after this call, so that no change is missed, and says by `end_look` when it is
    /// to be called again; `next_ms` is for a look that does not come to its end.
    pub(crate) fn begin_look(
        &self,
        table: &Arc<Table>,
        links: u64,
        (now_ms, next_ms): (u64, u64),
    ) -> Result<(), NextWake> {
        let mut state = self.state();
        let looks = state.looks.entry(table.id).or_default();
        let is_same = std::ptr::eq(looks.record.as_ptr(), Arc::as_ptr(table));
        let is_known = looks.links == links && is_same;
        if is_known && !looks.is_wanted && now_ms < looks.next_ms {
            return Err(NextWake { at_ms: Some(looks.next_ms).filter(|next_ms| *next_ms < NEVER_MS) });
        }
        let record = Arc::downgrade(table);
        *looks = Looks { next_ms, is_wanted: false, links, record, noted: looks.noted };
        Ok(())
    }

    /// Ends a look: the next one is due then, or when something is noted.
    pub(crate) fn end_look(&self, table: TableId, next: NextWake) {
        // Otherwise it was forgotten meanwhile.
        if let Some(looks) = self.state().looks.get_mut(&table) {
            looks.next_ms = next.at_ms.unwrap_or(NEVER_MS);
        }
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
        let State { conflicts, images, .. } = &mut *state;
        let of_table = conflicts.entry(table).or_default();
        for conflict in found {
            of_table.count = of_table.count.saturating_add(1);
            let number = images.add(table, conflict.losing_image.as_ref());
            of_table.last.push_back((number, conflict));
            while of_table.last.len() > REPLICATION_CONFLICTS_KEPT_MAX {
                of_table.last.pop_front().into_iter().for_each(|(number, _)| images.remove(number));
            }
        }
        while let Some((number, table)) = images.take_excess() {
            let last = conflicts.get_mut(&table).map(|of_table| &mut of_table.last);
            let found = last.and_then(|last| last.iter_mut().find(|(one, _)| *one == number));
            if let Some((_, conflict)) = found {
                (conflict.losing_image, conflict.is_image_dropped) = (None, true);
            }
        }
    }

    /// How many conflicts were found at a table, and the last of them, the oldest first.
    pub(crate) fn conflicts(&self, table: TableId) -> (u64, Vec<ReplicaConflict>) {
        let state = self.state();
        let conflicts = state.conflicts.get(&table);
        conflicts.map_or((0, Vec::new()), |found| {
            (found.count, found.last.iter().map(|(_, conflict)| conflict.clone()).collect())
        })
    }

    /// Notes why a look did not send a receiver what it could; `None` if it did.
    pub(crate) fn note_fault(&self, way: (TableId, TableId), fault: Option<&Error>) {
        let mut state = self.state();
        match fault {
            Some(fault) => state.faults.insert(way, fault.message.clone()),
            None => state.faults.remove(&way),
        };
    }

    /// Why the last look did not send a receiver what it could.
    pub(crate) fn last_fault(&self, way: (TableId, TableId)) -> Option<String> {
        self.state().faults.get(&way).cloned()
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
        self.clocks().forget(table);
        let mut state = self.state();
        state.looks.remove(&table);
        let forgotten = state.conflicts.remove(&table);
        for (number, _) in forgotten.into_iter().flat_map(|forgotten| forgotten.last) {
            state.images.remove(number);
        }
        state.rounds.remove(&table);
        state.partings.remove(&table);
        state.figures.retain(|(sender, receiver), _| *sender != table && *receiver != table);
        state.faults.retain(|(sender, receiver), _| *sender != table && *receiver != table);
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::value::AttributeValue;

    use super::*;
    use crate::tests::harness::{TABLE, bench, item, namespace};

    fn record() -> Arc<Table> {
        bench().engine.catalogue().find(&namespace(), TABLE).expect("the bench has a table")
    }

    #[test]
    fn a_table_is_looked_at_when_something_is_noted_or_due_and_otherwise_never() {
        let (shipping, table, other) = (Shipping::default(), record(), record());
        let look = |table: &Arc<Table>, links, now_ms| {
            shipping.begin_look(table, links, (now_ms, now_ms + 10)).map_err(|next| next.at_ms)
        };
        let end = |at_ms| shipping.end_look(table.id, NextWake { at_ms });
        assert_eq!(look(&table, 0, 10), Ok(()), "nothing is known at first");
        assert_eq!(look(&table, 0, 11), Err(Some(20)), "the first look did not come to its end");
        end(None);
        assert_eq!(look(&table, 0, u64::MAX - 20), Err(None));
        shipping.note(table.id);
        assert_eq!(look(&table, 0, 12), Ok(()));
        shipping.note(table.id);
        end(Some(50));
        assert_eq!(look(&table, 0, 13), Ok(()), "it was noted during the look");
        end(Some(50));
        assert_eq!(look(&table, 0, 49), Err(Some(50)));
        assert_eq!(look(&table, 0, 50), Ok(()));
        end(None);
        assert_eq!(look(&table, 1, 51), Ok(()), "other rules may let changes through");
        end(None);
        assert_eq!(look(&other, 1, 52), Ok(()), "its record may have other members");
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
            is_image_dropped: false,
        };
        let most = REPLICATION_CONFLICTS_KEPT_MAX;
        shipping.note_conflicts(table, (0..most + 5).map(conflict).collect());
        let (count, last) = shipping.conflicts(table);
        assert_eq!((count, last.len()), (u64::try_from(most + 5).expect("small"), most));
        assert_eq!(last.first().map(|first| first.at_ms), Some(5));
    }

    #[test]
    fn the_items_that_lost_take_bounded_memory_over_all_tables_and_the_oldest_go_first() {
        let shipping = Shipping::default();
        let value = AttributeValue::S("x".repeat(300 * 1024));
        let image = EncodedItem::encode(&item([("v", value)]));
        let conflict = |at_ms| ReplicaConflict {
            at_ms,
            key: None,
            winner: ("a".to_owned(), 2),
            loser: ("b".to_owned(), 1),
            losing_image: Some(image.clone()),
            is_image_dropped: false,
        };
        let kept = || {
            let all = (1..=50).flat_map(|table| shipping.conflicts(TableId(table)).1);
            all.filter_map(|one| one.losing_image).map(|image| image.size_bytes()).sum::<usize>()
        };
        for round in 0..4 {
            for table in 1..=50 {
                shipping.note_conflicts(TableId(table), vec![conflict(round)]);
                assert!(kept() <= LOSING_IMAGES_BYTES_MAX, "round {round}");
            }
        }
        assert!(kept() > LOSING_IMAGES_BYTES_MAX - 2 * image.size_bytes(), "as many as have room");
        let (count, first) = shipping.conflicts(TableId(1));
        assert_eq!((count, first.len()), (4, 4), "all are listed");
        assert!(first.iter().take(3).all(|one| one.is_image_dropped && one.losing_image.is_none()));
        let (_, last) = shipping.conflicts(TableId(50));
        assert!(last.last().is_some_and(|last| !last.is_image_dropped && last.losing_image.is_some()));
        for table in 1..=50 {
            shipping.forget(TableId(table));
        }
        let images = |state: &State| (state.images.bytes, state.images.kept.len());
        assert_eq!(images(&shipping.state()), (0, 0));
        let most = REPLICATION_CONFLICTS_KEPT_MAX;
        let small =
            |at_ms| ReplicaConflict { losing_image: Some(EncodedItem::encode(&item([]))), ..conflict(at_ms) };
        (0..300).for_each(|at_ms| shipping.note_conflicts(TableId(1), vec![small(at_ms)]));
        assert_eq!(shipping.state().images.kept.len(), most, "nothing is remembered of those that are gone");
    }
}
