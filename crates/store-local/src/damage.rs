//! Damage of a store's files: where it is, which keys it concerns, and what reads have met of it.
//!
//! A read that fails only notes the table and the keys that it wanted. The scrub (`scrub.rs`) then reads that
//! table's file, finds the damaged blocks, and says so at most once a minute per place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keywright_store::{LogId, StoreError};
use lsm_tree::{Slice, TableId};

use crate::error::table_error;
use crate::keys::{self, KeySpan};

/// The shortest time between two reports of one place.
pub(crate) const REPORT_MS: u64 = 60_000;
/// Places that are kept; further ones are found again by the next round.
const PLACES_MAX: usize = 1000;
/// Ranges of failed reads that are kept for one table until it has been examined.
const TOUCHED_MAX: usize = 64;

/// A range of stored keys.
pub(crate) type StoredRange = (Bound<Slice>, Bound<Slice>);

/// A part of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamagedPart {
    /// A block of rows in a sorted table. What it held is lost, unless a newer table has it too.
    Rows,
    /// A block of a sorted table's index: the rows are whole, but reads do not find them.
    Index,
    /// A block of a sorted table's filter: the rows are whole, but reads of single keys fail.
    Filter,
    /// What describes a sorted table as a whole: without it the table cannot be opened.
    Frame,
    /// The list of sorted tables, or the file that names it.
    TableList,
    /// A segment of the journal.
    Journal,
    /// The version of the newest acknowledged commit.
    Watermark,
    /// The format marker.
    Format,
}

impl DamagedPart {
    /// Its name for people and programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "block of rows",
            Self::Index => "index block",
            Self::Filter => "filter block",
            Self::Frame => "frame of a table",
            Self::TableList => "list of tables",
            Self::Journal => "journal record",
            Self::Watermark => "watermark",
            Self::Format => "format marker",
        }
    }
}

/// Which keys a damaged place holds, or may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Any key of the store.
    Everything,
    /// Keys of these ranges.
    Between(KeySpan),
    /// These keys, and perhaps others that can no longer be read.
    Keys {
        /// Keys of rows.
        rows: Vec<Bytes>,
        /// Shards of logs.
        logs: Vec<LogId>,
    },
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// What the place is.
    pub part: DamagedPart,
    /// Where it begins in the file; `None` for the file as a whole.
    pub offset: Option<u64>,
    /// Bytes of the place, if they are known.
    pub bytes: Option<u64>,
    /// What is wrong with it.
    pub detail: String,
    /// Which keys it concerns.
    pub holds: Holds,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.file.display(), self.part.name())?;
        match (self.offset, self.bytes) {
            (Some(offset), Some(bytes)) => write!(formatter, " at byte {offset} ({bytes} bytes)")?,
            (Some(offset), None) => write!(formatter, " at byte {offset}")?,
            (None, _) => {}
        }
        write!(formatter, ": {}", self.detail)
    }
}

/// A read of a table that failed.
#[derive(Debug)]
pub(crate) struct ReadFault {
    pub(crate) table: TableId,
    /// The file of the table.
    pub(crate) file: PathBuf,
    /// The keys that were wanted.
    pub(crate) wanted: (Slice, Slice),
    pub(crate) error: lsm_tree::Error,
}

impl ReadFault {
    pub(crate) fn new(table: &lsm_tree::Table, wanted: (Slice, Slice), error: lsm_tree::Error) -> Self {
        Self { table: table.id(), file: table.path.to_path_buf(), wanted, error }
    }
}

/// Where a known place is, as far as that decides how long it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Table(TableId),
    /// Until all commits up to this one are in tables.
    Journal(u64),
    TableList,
}

/// A place that was found.
pub(crate) struct Known {
    pub(crate) source: Source,
    pub(crate) damage: Damage,
    /// Its stored keys, to tell which reads meet it.
    pub(crate) range: StoredRange,
    /// When it was reported last.
    reported_ms: Option<u64>,
    /// Whether a read has met it since.
    is_met: bool,
}

impl Known {
    pub(crate) fn new(source: Source, damage: Damage, range: StoredRange) -> Self {
        Self { source, damage, range, reported_ms: None, is_met: true }
    }

    fn touches(&self, (from, to): &(Slice, Slice)) -> bool {
        let (start, end) = &self.range;
        let begins = match start {
            Bound::Unbounded => true,
            Bound::Included(start) => start <= to,
            Bound::Excluded(start) => start < to,
        };
        let ends = match end {
            Bound::Unbounded => true,
            Bound::Included(end) => end >= from,
            Bound::Excluded(end) => end > from,
        };
        begins && ends
    }

    fn is_at(&self, other: &Damage) -> bool {
        self.damage.file == other.file && self.damage.offset == other.offset && self.damage.part == other.part
    }
}

/// Reads of one table that failed since it was examined.
#[derive(Debug)]
pub(crate) struct Suspect {
    pub(crate) file: PathBuf,
    pub(crate) error: String,
    touched: Vec<(Slice, Slice)>,
}

/// A merge that met damage in one of its tables. Its error does not say which.
struct FailedMerge {
    error: String,
    /// Tables that may still be the one.
    unexamined: BTreeSet<TableId>,
}

#[derive(Default)]
struct State {
    suspects: BTreeMap<TableId, Suspect>,
    merges: Vec<FailedMerge>,
    known: Vec<Known>,
}

/// What an open store knows about damage of its files.
#[derive(Default)]
pub(crate) struct Damages {
    state: Mutex<State>,
    failed_reads: AtomicU64,
}

impl Damages {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a read that failed, and returns its error for the caller.
    #[cold]
    pub(crate) fn note(&self, fault: &ReadFault) -> StoreError {
        self.failed_reads.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        let suspect = state.suspects.entry(fault.table).or_insert_with(|| Suspect {
            file: fault.file.clone(),
            error: fault.error.to_string(),
            touched: Vec::new(),
        });
        if suspect.touched.len() < TOUCHED_MAX && !suspect.touched.contains(&fault.wanted) {
            suspect.touched.push(fault.wanted.clone());
        }
        drop(state);
        table_error(&fault.file, &fault.error)
    }

    /// Has all of these tables examined, one of which a merge could not read. Without tables there is nothing
    /// to examine: the failure of the store has the error.
    pub(crate) fn merge_failed(&self, tables: impl IntoIterator<Item = TableId>, error: String) {
        let unexamined: BTreeSet<TableId> = tables.into_iter().collect();
        if !unexamined.is_empty() {
            self.state().merges.push(FailedMerge { error, unexamined });
        }
    }

    /// Notes that a table was examined. Returns the errors of merges that no damage explains: all of their
    /// tables have been examined, and all are sound.
    pub(crate) fn examined(&self, table: TableId, is_sound: bool) -> Vec<String> {
        let mut state = self.state();
        if !is_sound {
            state.merges.retain(|merge| !merge.unexamined.contains(&table));
            return Vec::new();
        }
        state.merges.iter_mut().for_each(|merge| {
            merge.unexamined.remove(&table);
        });
        let done = state.merges.extract_if(.., |merge| merge.unexamined.is_empty());
        done.map(|merge| merge.error).collect()
    }

    /// Reads that failed since the store was opened.
    pub(crate) fn failed_reads(&self) -> u64 {
        self.failed_reads.load(Ordering::Relaxed)
    }

    /// The known places.
    pub(crate) fn all(&self) -> Vec<Damage> {
        self.state().known.iter().map(|known| known.damage.clone()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.state().known.len()
    }

    /// Takes a table that a failed read or merge makes suspect and that `may_be_examined` now. Reads that met
    /// a known place are noted there, and their table is not examined again.
    pub(crate) fn take_suspect(
        &self,
        may_be_examined: impl Fn(TableId) -> bool,
    ) -> Option<(TableId, Option<Suspect>)> {
        let mut state = self.state();
        let State { suspects, merges, known } = &mut *state;
        for (table, suspect) in suspects.iter_mut() {
            suspect.touched.retain(|wanted| {
                let mut places = known.iter_mut().filter(|place| place.source == Source::Table(*table));
                match places.find(|place| place.touches(wanted)) {
                    Some(place) => {
                        place.is_met = true;
                        false
                    }
                    None => true,
                }
            });
        }
        suspects.retain(|_, suspect| !suspect.touched.is_empty());
        let of_merges = merges.iter().flat_map(|merge| &merge.unexamined);
        let table = suspects.keys().chain(of_merges).copied().find(|table| may_be_examined(*table))?;
        Some((table, suspects.remove(&table)))
    }

    /// Replaces what is known of some sources. A place that was known stays as it was reported.
    pub(crate) fn replace(&self, is_of: impl Fn(Source) -> bool, mut found: Vec<Known>) {
        let mut state = self.state();
        for place in &mut found {
            if let Some(before) = state.known.iter().find(|known| known.is_at(&place.damage)) {
                (place.reported_ms, place.is_met) = (before.reported_ms, before.is_met);
            }
        }
        state.known.retain(|known| !is_of(known.source));
        let room = PLACES_MAX.saturating_sub(state.known.len());
        state.known.extend(found.into_iter().take(room));
    }

    /// Forgets the places whose source is gone.
    pub(crate) fn retain(&self, is_there: impl Fn(Source) -> bool) {
        self.state().known.retain(|known| is_there(known.source));
    }

    /// The places to report now: those that were met since their last report, which is a minute ago.
    pub(crate) fn take_reports(&self, now_ms: u64) -> Vec<Damage> {
        let mut state = self.state();
        let is_due = |known: &Known| {
            known.is_met && known.reported_ms.is_none_or(|last| now_ms >= last.saturating_add(REPORT_MS))
        };
        let due = state.known.iter_mut().filter(|known| is_due(known));
        due.map(|known| {
            (known.reported_ms, known.is_met) = (Some(now_ms), false);
            known.damage.clone()
        })
        .collect()
    }
}

/// The caller's keys in a range of stored keys.
pub(crate) fn holds(range: &StoredRange) -> Holds {
    match range {
        (Bound::Unbounded, Bound::Unbounded) => Holds::Everything,
        (start, end) => {
            Holds::Between(keys::span(start.as_ref().map(AsRef::as_ref), end.as_ref().map(AsRef::as_ref)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(text: &str) -> Slice {
        Slice::from(text.as_bytes())
    }

    fn fault(key: &str) -> ReadFault {
        ReadFault {
            table: 7,
            file: PathBuf::from("tables/7"),
            wanted: (slice(key), slice(key)),
            error: lsm_tree::Error::Unrecoverable,
        }
    }

    fn known(offset: u64, from: &str, to: &str) -> Known {
        let damage = Damage {
            file: PathBuf::from("tables/7"),
            part: DamagedPart::Rows,
            offset: Some(offset),
            bytes: Some(10),
            detail: "its checksum is wrong".to_owned(),
            holds: Holds::Everything,
        };
        Known::new(Source::Table(7), damage, (Bound::Excluded(slice(from)), Bound::Included(slice(to))))
    }

    #[test]
    fn a_place_is_reported_once_a_minute_and_only_while_reads_meet_it() {
        let damages = Damages::default();
        damages.replace(|_| true, vec![known(0, "a", "f"), known(100, "m", "p")]);
        assert_eq!(damages.take_reports(0).len(), 2, "both are new");
        for _ in 0..1000 {
            damages.note(&fault("c"));
        }
        assert!(damages.take_suspect(|_| true).is_none(), "the place is known");
        assert!(damages.take_reports(REPORT_MS - 1).is_empty());
        let again = damages.take_reports(REPORT_MS);
        assert_eq!(again.iter().map(|place| place.offset).collect::<Vec<_>>(), [Some(0)]);
        assert!(damages.take_reports(10 * REPORT_MS).is_empty(), "no read has met one since");
        assert_eq!(damages.failed_reads(), 1000);
        // A round that finds the same places again does not report them anew.
        damages.replace(|_| true, vec![known(0, "a", "f"), known(100, "m", "p")]);
        assert!(damages.take_reports(20 * REPORT_MS).is_empty());
    }

    #[test]
    fn a_failed_read_outside_of_known_places_makes_its_table_suspect() {
        let damages = Damages::default();
        damages.replace(|_| true, vec![known(0, "a", "f")]);
        damages.note(&fault("a"));
        assert!(damages.take_suspect(|_| false).is_none(), "not yet");
        let (table, _) = damages.take_suspect(|_| true).expect("the lower bound is outside");
        assert_eq!(table, 7);
        assert!(damages.take_suspect(|_| true).is_none(), "it was taken");
    }

    #[test]
    fn a_failed_merge_is_unexplained_only_if_all_of_its_tables_are_sound() {
        for damaged in [None, Some(2), Some(3)] {
            let damages = Damages::default();
            damages.merge_failed([1, 2, 3], "its checksum is wrong".to_owned());
            let mut unexplained = Vec::new();
            let mut taken = Vec::new();
            while let Some((table, read)) = damages.take_suspect(|table| !taken.contains(&table)) {
                assert!(read.is_none(), "no read of it has failed");
                taken.push(table);
                unexplained.extend(damages.examined(table, Some(table) != damaged));
            }
            let expected: &[TableId] = if damaged == Some(2) { &[1, 2] } else { &[1, 2, 3] };
            assert_eq!(taken, expected);
            assert_eq!(unexplained.len(), usize::from(damaged.is_none()), "{damaged:?}");
        }
    }
}
