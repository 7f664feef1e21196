//! How many items and bytes tables and indexes hold, as DescribeTable reports them.
//!
//! Counters are kept in memory and change after each commit; steps and shutdown write them to the store
//! (`stats_rows`). After an unclean stop, and when an index has been built, a counter is recounted from one
//! snapshot, and commits after the snapshot are added: the result is exact. Only a branch is refused by these
//! figures if it is too large, and what it copies is counted on the way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keywright_store::CommitVersion;

use crate::support::layout::{IndexId, Space, TableId};
use crate::support::member_row::MemberId;

/// The rows of a counter: a table's items or an index's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counted {
    Items(TableId),
    Entries(TableId, IndexId),
}

impl Counted {
    pub(crate) const fn table(self) -> TableId {
        match self {
            Self::Items(table) | Self::Entries(table, _) => table,
        }
    }
}

/// A number of rows and their bytes, as the service counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub rows: i64,
    pub bytes: i64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

impl std::ops::SubAssign for Tally {
    fn sub_assign(&mut self, other: Self) {
        self.rows -= other.rows;
        self.bytes -= other.bytes;
    }
}

/// The version of a commit; `Unsure` if the commit is known by its effect only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    At(CommitVersion),
    Unsure,
}

/// All counters of one engine.
#[derive(Default)]
pub(crate) struct Stats {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tallies: BTreeMap<Counted, Tally>,
    /// What the other processes over a shared store counted.
    others: BTreeMap<Counted, Tally>,
    /// Counters that differ from their rows.
    unwritten: BTreeSet<Counted>,
    flushed_ms: u64,
    /// Counters still to be recounted.
    waiting: VecDeque<Counted>,
    recount: Option<Recount>,
    recounts_begun: u64,
    /// The snapshot of each counter's last recount: it showed all commits up to this version.
    recounted_at: BTreeMap<Counted, CommitVersion>,
}

/// A counter that is being recounted.
struct Recount {
    number: RecountNumber,
    counted: Counted,
    changes: Changes,
}

/// The changes committed since a recount began.
enum Changes {
    /// The snapshot is not taken yet, so it may show some of these.
    BeforeSnapshot(Vec<(Committed, Tally)>),
    AfterSnapshot(CommitVersion, Tally),
}

/// The number of a recount: the end of an abandoned one is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecountNumber(u64);

impl Recount {
    fn add(&mut self, committed: Committed, change: Tally) {
        match &mut self.changes {
            Changes::BeforeSnapshot(changes) => changes.push((committed, change)),
            Changes::AfterSnapshot(version, since) => {
                if is_after(committed, *version) {
                    *since += change;
                }
            }
        }
    }
}

fn is_after(committed: Committed, snapshot: CommitVersion) -> bool {
    match committed {
        Committed::At(version) => version > snapshot,
        Committed::Unsure => true,
    }
}

impl Stats {
    /// Adds a committed change to one counter.
    pub(crate) fn add(&self, counted: Counted, change: Tally, committed: Committed) {
        if change == Tally::default() {
            return;
        }
        let mut state = self.state();
        // Its writer woke up late: a recount that ended meanwhile has counted the commit.
        if !state.recounted_at.is_empty()
            && let Some(snapshot) = state.recounted_at.get(&counted)
            && !is_after(committed, *snapshot)
        {
            return;
        }
        *state.tallies.entry(counted).or_default() += change;
        state.unwritten.insert(counted);
        if let Some(recount) = state.recount.as_mut().filter(|recount| recount.counted == counted) {
            recount.add(committed, change);
        }
    }

    /// Sets a counter to its stored value.
    pub(crate) fn load(&self, counted: Counted, tally: Tally) {
        self.state().tallies.insert(counted, tally);
    }

    /// Replaces what is known of other processes' counters.
    pub(crate) fn set_others(&self, others: BTreeMap<Counted, Tally>) {
        self.state().others = others;
    }

    /// Adds what was just written to a row that is no process's.
    pub(crate) fn add_of_others(&self, counted: Counted, change: Tally) {
        *self.state().others.entry(counted).or_default() += change;
    }

    /// What all processes counted.
    pub(crate) fn get(&self, counted: Counted) -> Tally {
        let state = self.state();
        let mut tally = state.tallies.get(&counted).copied().unwrap_or_default();
        tally += state.others.get(&counted).copied().unwrap_or_default();
        tally
    }

    /// Drops the counters of tables that are gone.
    pub(crate) fn keep_only(&self, is_kept: impl Fn(TableId) -> bool) {
        let gone: Vec<Counted> =
            self.state().tallies.keys().copied().filter(|counted| !is_kept(counted.table())).collect();
        for counted in gone {
            self.forget(counted);
        }
    }

    /// Drops a counter whose rows are gone.
    pub(crate) fn forget(&self, counted: Counted) {
        let mut state = self.state();
        state.tallies.remove(&counted);
        state.unwritten.remove(&counted);
        state.recounted_at.remove(&counted);
        state.waiting.retain(|waiting| *waiting != counted);
        if state.recount.as_ref().is_some_and(|recount| recount.counted == counted) {
            state.recount = None;
        }
    }

    /// Marks counters to be recounted.
    pub(crate) fn recount(&self, counted: impl IntoIterator<Item = Counted>) {
        self.state().waiting.extend(counted);
    }

    /// Whether every counter is exact.
    pub(crate) fn is_exact(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.recount.is_none()
    }

    /// Begins the next recount, or begins an abandoned one again. The caller takes the snapshot after this
    /// call.
    pub(crate) fn begin_recount(&self) -> Option<(RecountNumber, Counted)> {
        let mut state = self.state();
        let counted = match state.recount.take() {
            Some(left) => left.counted,
            None => state.waiting.pop_front()?,
        };
        state.recounts_begun += 1;
        let number = RecountNumber(state.recounts_begun);
        state.recount = Some(Recount { number, counted, changes: Changes::BeforeSnapshot(Vec::new()) });
        Some((number, counted))
    }

    /// Notes the snapshot that a recount counts.
    pub(crate) fn snapshot_taken(&self, number: RecountNumber, snapshot: CommitVersion) {
        let mut state = self.state();
        let Some(recount) = state.recount.as_mut().filter(|recount| recount.number == number) else { return };
        if let Changes::BeforeSnapshot(changes) = &recount.changes {
            let mut since = Tally::default();
            for (_, change) in changes.iter().filter(|(committed, _)| is_after(*committed, snapshot)) {
                since += *change;
            }
            recount.changes = Changes::AfterSnapshot(snapshot, since);
        }
    }

    /// Ends a recount with the rows of the snapshot.
    pub(crate) fn end_recount(&self, number: RecountNumber, found: Tally) {
        let mut state = self.state();
        let Some(recount) = state.recount.take_if(|recount| recount.number == number) else { return };
        assert!(found.rows >= 0, "a snapshot has no negative number of rows");
        assert!(found.bytes >= 0, "a snapshot has no negative number of bytes");
        let mut tally = found;
        if let Changes::AfterSnapshot(snapshot, since) = recount.changes {
            tally += since;
            state.recounted_at.insert(recount.counted, snapshot);
        }
        // What the others counted is not counted twice.
        tally -= state.others.get(&recount.counted).copied().unwrap_or_default();
        state.tallies.insert(recount.counted, tally);
        state.unwritten.insert(recount.counted);
    }

    /// Whether counters are due to be written to the store; if so, the interval starts again now.
    pub(crate) fn flush_is_due(&self, now_ms: u64, every_ms: u64) -> bool {
        let mut state = self.state();
        let due = now_ms >= state.flushed_ms.saturating_add(every_ms) && !state.unwritten.is_empty();
        if due {
            state.flushed_ms = now_ms;
        }
        due
    }

    /// Takes at most `count_max` counters that differ from their rows, to be written to the store.
    pub(crate) fn take_unwritten(&self, count_max: usize) -> Vec<(Counted, Tally)> {
        let mut state = self.state();
        let counted: Vec<Counted> = state.unwritten.iter().take(count_max).copied().collect();
        for taken in &counted {
            state.unwritten.remove(taken);
        }
        let tally = |counted| (counted, state.tallies.get(&counted).copied().unwrap_or_default());
        counted.into_iter().map(tally).collect()
    }

    /// Puts back counters that could not be written to the store.
    pub(crate) fn put_back(&self, counted: impl IntoIterator<Item = Counted>) {
        self.state().unwritten.extend(counted);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The row of one counter: an index id of zero stands for the table itself, since ids begin at one.
pub(crate) fn row_key(counted: Counted) -> Bytes {
    let (table, index) = match counted {
        Counted::Items(table) => (table, 0),
        Counted::Entries(table, index) => (table, index.0),
    };
    let mut key = vec![Space::Stats.byte()];
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&index.to_be_bytes());
    key.into()
}

/// The row of what one process over a shared store counted.
pub(crate) fn member_row_key(counted: Counted, member: MemberId) -> Bytes {
    [&*row_key(counted), &member.0.to_be_bytes()].concat().into()
}

/// The counter of a row's key, and the process that counted if the store is shared; the inverse of `row_key`
/// and `member_row_key`.
pub(crate) fn read_key(key: &[u8]) -> Option<(Counted, Option<MemberId>)> {
    let (_, rest) = key.split_first()?;
    let (table, rest) = rest.split_first_chunk::<8>()?;
    let (index, rest) = rest.split_first_chunk::<4>()?;
    let (table, index) = (TableId(u64::from_be_bytes(*table)), u32::from_be_bytes(*index));
    let member = match rest {
        [] => None,
        id => Some(MemberId(u128::from_be_bytes(id.try_into().ok()?))),
    };
    let counted = if index == 0 { Counted::Items(table) } else { Counted::Entries(table, IndexId(index)) };
    Some((counted, member))
}

/// The first byte of a counter's row: its format.
const FORMAT: u8 = 1;

pub(crate) fn encode(tally: Tally) -> Bytes {
    let mut row = vec![FORMAT];
    row.extend_from_slice(&tally.rows.to_be_bytes());
    row.extend_from_slice(&tally.bytes.to_be_bytes());
    row.into()
}

pub(crate) fn decode(row: &[u8]) -> Option<Tally> {
    let row = row.strip_prefix(&[FORMAT])?;
    let (rows, bytes) = row.split_first_chunk::<8>()?;
    Some(Tally { rows: i64::from_be_bytes(*rows), bytes: i64::from_be_bytes(bytes.try_into().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEMS: Counted = Counted::Items(TableId(1));

    fn rows(rows: i64) -> Tally {
        Tally { rows, bytes: rows * 10 }
    }

    #[test]
    fn a_recount_adds_exactly_the_commits_after_its_snapshot() {
        let stats = Stats::default();
        stats.load(ITEMS, rows(999));
        stats.recount([ITEMS]);
        let (number, counted) = stats.begin_recount().expect("one waits");
        assert_eq!(counted, ITEMS);
        stats.add(ITEMS, rows(1), Committed::At(CommitVersion(4)));
        stats.add(ITEMS, rows(2), Committed::At(CommitVersion(6)));
        stats.snapshot_taken(number, CommitVersion(5));
        stats.add(ITEMS, rows(4), Committed::At(CommitVersion(5)));
        stats.add(ITEMS, rows(8), Committed::At(CommitVersion(7)));
        assert!(!stats.is_exact());
        stats.end_recount(number, rows(100));
        assert_eq!(stats.get(ITEMS), rows(110));
        assert!(stats.is_exact());
    }

    #[test]
    fn a_commit_that_is_noted_after_the_recount_that_saw_it_is_counted_once() {
        let stats = Stats::default();
        stats.recount([ITEMS]);
        let (number, _) = stats.begin_recount().expect("one waits");
        stats.snapshot_taken(number, CommitVersion(5));
        stats.end_recount(number, rows(100));
        stats.add(ITEMS, rows(1), Committed::At(CommitVersion(5)));
        assert_eq!(stats.get(ITEMS), rows(100));
        stats.add(ITEMS, rows(2), Committed::At(CommitVersion(6)));
        assert_eq!(stats.get(ITEMS), rows(102));
    }

    #[test]
    fn an_abandoned_recount_begins_again_and_its_old_end_is_ignored() {
        let stats = Stats::default();
        stats.recount([ITEMS]);
        let (left, _) = stats.begin_recount().expect("one waits");
        let (again, _) = stats.begin_recount().expect("it was left");
        stats.snapshot_taken(again, CommitVersion(1));
        stats.end_recount(left, rows(7));
        assert_eq!(stats.get(ITEMS), rows(0));
        stats.end_recount(again, rows(3));
        assert_eq!(stats.get(ITEMS), rows(3));
    }

    #[test]
    fn only_changed_counters_are_written() {
        let stats = Stats::default();
        stats.load(ITEMS, rows(5));
        assert_eq!(stats.take_unwritten(10), []);
        stats.add(ITEMS, rows(1), Committed::Unsure);
        assert_eq!(stats.take_unwritten(10), [(ITEMS, rows(6))]);
        assert_eq!(stats.take_unwritten(10), []);
        stats.put_back([ITEMS]);
        assert!(stats.flush_is_due(10_000, 10_000));
        assert!(!stats.flush_is_due(10_001, 10_000));
    }

    #[test]
    fn rows_read_back_as_they_were_written() {
        for counted in [ITEMS, Counted::Entries(TableId(7), IndexId(3))] {
            assert_eq!(read_key(&row_key(counted)), Some((counted, None)));
            let member = MemberId(u128::MAX - 5);
            assert_eq!(read_key(&member_row_key(counted, member)), Some((counted, Some(member))));
        }
        assert_eq!(decode(&encode(rows(-3))), Some(rows(-3)));
        assert_eq!(decode(b"\x02"), None);
    }
}
