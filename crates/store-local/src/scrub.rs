//! The scrub: reads all files of an open store once in a period, at a pace, and finds the damage of reads
//! that failed.
//!
//! It is a bounded [`step`](Scrub::step) that the server calls by timer and tests by virtual time. It reads
//! from the disk and not through the block cache, so no request's blocks leave the cache. One process has
//! the folder, so nothing is shared. How far a round has come is in the file `scrubbed`, so that a restarted
//! server goes on; without that file, or with a damaged one, a round begins anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use lsm_tree::TableId;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::damage::{Damage, DamagedPart, Holds, Known, REPORT_MS, Source, StoredRange, Suspect, holds};
use crate::error::OpenFault;
use crate::file_reader::{FileReader, ReadFrom, read_whole};
use crate::files::{Files, is_damage};
use crate::folder::{Folder, create_private};
use crate::journal::{Checked, DamagedRecord, Segments, is_foreign, segment_files};
use crate::keys;
use crate::shared::Shared;
use crate::table_check;
use crate::table_file::TableFile;
use crate::tables::Table;

/// Bytes that the scrub reads in a second.
const BYTES_PER_SECOND: u64 = 8 * 1024 * 1024;
/// The time from the opening of a store to its first round, so that servers that run for a moment read
/// nothing.
const FIRST_ROUND_MS: u64 = 10 * 60 * 1000;
/// The list of tables is replaced while the store runs: it is damaged if it is so this often in a row.
const LIST_TRIES: u32 = 3;
const NOTES_HEAD: &str = "keywright scrub 1";

/// A full round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Bytes that it read.
    pub bytes: u64,
    /// How long it took.
    pub took_ms: u64,
    /// Damaged places that are known now.
    pub damaged_places: usize,
}

/// What one step did. It reads a mebibyte at most, or the file of one table if reads of it have failed.
#[derive(Clone, Debug, Default)]
pub struct ScrubStep {
    /// When the next piece of a round is due, in milliseconds since 1970; `None` without a round to come.
    /// Damage that reads meet is found by any step.
    pub wake_ms: Option<u64>,
    /// Damage to report now: each place when it is found, and again after a minute if reads have met it.
    pub damaged: Vec<Damage>,
    /// Reads that failed although the file is whole, to report now: the disk may fail now and then.
    pub unexplained: Vec<String>,
    /// The round that ended in this step.
    pub finished: Option<Round>,
}

/// A round in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begun {
    start_ms: u64,
    bytes: u64,
    /// Tables up to this one were read.
    after: Option<TableId>,
    /// The newest table of the round. Newer ones belong to the next round.
    through: TableId,
}

/// What is kept from one opening of the store to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Notes {
    last_round_ms: Option<u64>,
    begun: Option<Begun>,
}

/// What a round reads next.
enum Part {
    TableList,
    Journal(Box<JournalPart>),
    Tables(Option<Box<OpenTable>>),
}

struct JournalPart {
    encoding: Files,
    /// Commits up to this one were in the journal or in tables when the part began.
    newest: u64,
    /// The last one is next.
    files: Vec<(u64, PathBuf)>,
    current: Option<(u64, FileReader, Vec<u8>)>,
    checked: Checked,
}

struct OpenTable {
    id: TableId,
    reader: FileReader,
    hasher: Xxh3,
    checksum: u128,
}

/// The state of the scrub of one store.
pub(crate) struct Scrub {
    files: Files,
    journal: PathBuf,
    tables: PathBuf,
    notes_file: PathBuf,
    period_ms: Option<u64>,
    /// The time of the first step.
    opened_ms: Option<u64>,
    /// The pace allows no other piece before.
    paused_until_ms: u64,
    notes: Notes,
    part: Part,
    /// When the file of a table was examined last because reads of it failed.
    examined_ms: BTreeMap<TableId, u64>,
}

impl Scrub {
    pub(crate) fn new(folder: &Folder, files: &Files, period: Option<Duration>) -> Self {
        let notes_file = folder.scrub_notes();
        Self {
            files: files.clone(),
            journal: folder.journal(),
            tables: folder.tables(),
            notes: fs::read_to_string(&notes_file)
                .ok()
                .and_then(|text| Notes::parse(&text))
                .unwrap_or_default(),
            notes_file,
            period_ms: period.map(|period| u64::try_from(period.as_millis()).unwrap_or(u64::MAX)),
            opened_ms: None,
            paused_until_ms: 0,
            part: Part::TableList,
            examined_ms: BTreeMap::new(),
        }
    }

    /// Does one piece of what is due.
    pub(crate) fn step(&mut self, shared: &Shared, segments: &Segments, now_ms: u64) -> ScrubStep {
        self.opened_ms.get_or_insert(now_ms);
        shared.scrubbed.last_round_ms.store(self.notes.last_round_ms.unwrap_or(0), Ordering::Relaxed);
        let flushed = segments.flushed_version();
        shared.damages.retain(|source| match source {
            Source::Table(table) => find(shared, table).is_some(),
            Source::Journal(through) => through > flushed,
            // The next merge writes another list.
            Source::TableList => table_check::list(&self.tables, &self.files).is_err(),
        });
        let mut step = ScrubStep::default();
        let is_long_ago = |last: &u64| now_ms >= last.saturating_add(REPORT_MS);
        let may_be_examined = |table| self.examined_ms.get(&table).is_none_or(is_long_ago);
        if let Some((table, suspect)) = shared.damages.take_suspect(may_be_examined) {
            self.examined_ms.retain(|_, last| !is_long_ago(last));
            self.examined_ms.insert(table, now_ms);
            examine_suspect((shared, &self.files), (table, suspect.as_ref()), &mut step);
        }
        let due_ms = self.due_ms();
        if due_ms.is_some_and(|due| due <= now_ms) {
            let read = self.read_on(shared, segments, now_ms, &mut step);
            shared.scrubbed.read_bytes.fetch_add(read, Ordering::Relaxed);
            let pause_ms = (read * 1000).div_ceil(BYTES_PER_SECOND);
            self.paused_until_ms = now_ms + pause_ms;
            step.wake_ms = self.due_ms();
        } else {
            step.wake_ms = due_ms;
        }
        step.damaged = shared.damages.take_reports(now_ms);
        step
    }

    /// When the next piece of a round may be read.
    fn due_ms(&self) -> Option<u64> {
        let period_ms = self.period_ms?;
        if self.notes.begun.is_some() {
            return Some(self.paused_until_ms);
        }
        let first = self.opened_ms.unwrap_or(0).saturating_add(FIRST_ROUND_MS.min(period_ms));
        let next = self.notes.last_round_ms.map_or(0, |last| last.saturating_add(period_ms));
        Some(next.max(first))
    }

    /// Reads one piece of the round. Returns its bytes.
    fn read_on(&mut self, shared: &Shared, segments: &Segments, now_ms: u64, step: &mut ScrubStep) -> u64 {
        let through = newest_table(shared);
        let begun = Begun { start_ms: now_ms, bytes: 0, after: None, through };
        self.notes.begun.get_or_insert(begun);
        let read = match std::mem::replace(&mut self.part, Part::TableList) {
            Part::TableList => {
                shared.damages.replace(|source| source == Source::TableList, self.check_list());
                let newest = shared.published().version;
                self.part = Part::Journal(Box::new(JournalPart::new(&self.journal, &self.files, newest)));
                0
            }
            Part::Journal(mut journal) => {
                let read = journal.read_on();
                self.part = if read.is_some() {
                    Part::Journal(journal)
                } else {
                    let found = journal.damage(segments.flushed_version());
                    shared.damages.replace(|source| matches!(source, Source::Journal(_)), found);
                    Part::Tables(None)
                };
                read.unwrap_or(0)
            }
            Part::Tables(open) => self.read_tables(shared, open, now_ms, step),
        };
        if let Some(begun) = &mut self.notes.begun {
            begun.bytes += read;
        }
        read
    }

    fn check_list(&self) -> Vec<Known> {
        let mut tries = (0..LIST_TRIES).map(|_| table_check::list(&self.tables, &self.files));
        let mut last = None;
        if tries.any(|list| list.map_err(|fault| last = Some(fault)).is_ok()) {
            return Vec::new();
        }
        last.map(|fault| list_damage(&self.tables, &fault)).into_iter().collect()
    }

    fn read_tables(
        &mut self,
        shared: &Shared,
        open: Option<Box<OpenTable>>,
        now_ms: u64,
        step: &mut ScrubStep,
    ) -> u64 {
        let Some(mut table) = open else {
            match self.next_table(shared) {
                Some(table) => match OpenTable::new(&table, &self.files) {
                    Ok(open) => self.part = Part::Tables(Some(Box::new(open))),
                    Err(_) => self.end_table(shared, table.id(), false),
                },
                None => self.end_round(shared, now_ms, step),
            }
            return 0;
        };
        let read = table.reader.next().map(|piece| {
            table.hasher.update(piece);
            u64::try_from(piece.len()).unwrap_or(u64::MAX)
        });
        match read {
            Ok(read) if read > 0 => {
                self.part = Part::Tables(Some(table));
                read
            }
            Ok(_) => {
                self.end_table(shared, table.id, table.hasher.digest128() == table.checksum);
                0
            }
            Err(_) => {
                self.end_table(shared, table.id, false);
                0
            }
        }
    }

    fn next_table(&self, shared: &Shared) -> Option<Table> {
        let begun = self.notes.begun?;
        let published = shared.published();
        let tables = published.layers.tables.all();
        let rest = tables.filter(|table| Some(table.id()) > begun.after && table.id() <= begun.through);
        rest.min_by_key(|table| table.id()).cloned()
    }

    /// Notes a table that was read. One that was merged meanwhile may have been shortened: it does not count.
    fn end_table(&mut self, shared: &Shared, id: TableId, is_sound: bool) {
        if let Some(table) = find(shared, id) {
            let found = if is_sound { Vec::new() } else { examine(&table, &self.files) };
            shared.damages.replace(|source| source == Source::Table(id), found);
        }
        if let Some(begun) = &mut self.notes.begun {
            begun.after = Some(id);
        }
        self.part = Part::Tables(None);
        self.keep_notes();
    }

    fn end_round(&mut self, shared: &Shared, now_ms: u64, step: &mut ScrubStep) {
        let begun = self.notes.begun.take();
        self.notes.last_round_ms = Some(now_ms);
        shared.scrubbed.last_round_ms.store(now_ms, Ordering::Relaxed);
        self.part = Part::TableList;
        self.keep_notes();
        step.finished = begun.map(|begun| Round {
            bytes: begun.bytes,
            took_ms: now_ms.saturating_sub(begun.start_ms),
            damaged_places: shared.damages.count(),
        });
    }

    /// Without the notes the next round begins too early, which does no harm.
    fn keep_notes(&self) {
        let written = create_private(&self.notes_file)
            .and_then(|mut file| file.write_all(self.notes.to_text().as_bytes()));
        if let Err(error) = written {
            tracing::debug!("{}: {error}", self.notes_file.display());
        }
    }
}

impl Notes {
    fn to_text(self) -> String {
        let mut text = format!("{NOTES_HEAD}\nended {}\n", self.last_round_ms.unwrap_or(0));
        if let Some(Begun { start_ms, bytes, after, through }) = self.begun {
            // Tables are numbered from zero, so that the number after the last one is noted.
            let next = after.map_or(0, |after| after + 1);
            let _ = writeln!(text, "begun {start_ms} {bytes} {next} {through}");
        }
        let checksum = xxh3_64(text.as_bytes());
        let _ = writeln!(text, "{checksum:016x}");
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let (content, checksum) = text.split_at_checked(text.len().checked_sub(17)?)?;
        if u64::from_str_radix(checksum.trim_end(), 16).ok()? != xxh3_64(content.as_bytes()) {
            return None;
        }
        let mut lines = content.lines();
        if lines.next() != Some(NOTES_HEAD) {
            return None;
        }
        let ended: u64 = lines.next()?.strip_prefix("ended ")?.parse().ok()?;
        let begun = match lines.next() {
            None => None,
            Some(line) => {
                let numbers = line.strip_prefix("begun ")?.split(' ').map(|number| number.parse().ok());
                let [start_ms, bytes, next, through] =
                    numbers.collect::<Option<Vec<u64>>>()?.try_into().ok()?;
                Some(Begun { start_ms, bytes, after: next.checked_sub(1), through })
            }
        };
        Some(Self { last_round_ms: (ended > 0).then_some(ended), begun })
    }
}

impl JournalPart {
    fn new(folder: &Path, encoding: &Files, newest: u64) -> Self {
        let mut files = segment_files(folder).unwrap_or_default();
        files.reverse();
        Self { encoding: encoding.clone(), newest, files, current: None, checked: Checked::default() }
    }

    /// Reads a piece; `None` at the end. A segment that is gone was not needed any more.
    fn read_on(&mut self) -> Option<u64> {
        let Some((number, mut reader, mut bytes)) = self.current.take() else {
            let (number, path) = self.files.pop()?;
            if let Ok(reader) = FileReader::open(&path, &self.encoding, ReadFrom::Disk) {
                self.current = Some((number, reader, Vec::new()));
            }
            return Some(0);
        };
        let piece = reader.next().unwrap_or_default();
        let read = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if read > 0 {
            bytes.extend_from_slice(piece);
            self.current = Some((number, reader, bytes));
        } else {
            self.checked.segment((number, reader.path()), &bytes, |_, _, _| {});
        }
        Some(read)
    }

    /// What is damaged, given that commits up to `flushed` are in tables. Each was in the journal when this
    /// part began, and no segment is used again before its commits are in tables.
    fn damage(&self, flushed: u64) -> Vec<Known> {
        let foreign =
            self.checked.foreign.iter().filter(|(number, path)| is_foreign(*number, path, &self.encoding));
        let mut found: Vec<Known> = foreign.map(|(_, path)| foreign_segment(path)).collect();
        let Some(missing) = self.checked.first_missing(flushed, self.newest) else { return found };
        let is_needed = |place: &&DamagedRecord| place.commits.1.is_none_or(|last| last > flushed);
        found.extend(
            self.checked.gaps().filter(is_needed).map(|place| damaged_record(place, self.encoding.start())),
        );
        if found.is_empty()
            && let Some(place) = self.checked.place_of(missing)
        {
            found.push(damaged_record(place, self.encoding.start()));
        }
        found
    }
}

impl OpenTable {
    fn new(table: &Table, files: &Files) -> io::Result<Self> {
        let reader = FileReader::open(&table.path, files, ReadFrom::Disk)?;
        let checksum = table.checksum().into_u128();
        Ok(Self { id: table.id(), reader, hasher: Xxh3::new(), checksum })
    }
}

fn newest_table(shared: &Shared) -> TableId {
    shared.published().layers.tables.all().map(Table::id).max().unwrap_or(0)
}

/// A table of the present set.
fn find(shared: &Shared, id: TableId) -> Option<Table> {
    shared.published().layers.tables.all().find(|table| table.id() == id).cloned()
}

/// Examines a table of which reads have failed, or which a failed merge has read.
fn examine_suspect(
    (shared, files): (&Shared, &Files),
    (id, read): (TableId, Option<&Suspect>),
    step: &mut ScrubStep,
) {
    let found = find(shared, id).map(|table| examine(&table, files));
    // A table that was merged meanwhile could be read.
    let is_sound = found.as_ref().is_none_or(Vec::is_empty);
    let merges = shared.damages.examined(id, is_sound);
    step.unexplained.extend(merges.into_iter().map(|error| format!("a merge of tables failed: {error}")));
    let Some(found) = found else { return };
    if let (true, Some(suspect)) = (is_sound, read) {
        step.unexplained.push(format!("a read of {} failed: {}", suspect.file.display(), suspect.error));
    }
    shared.damages.replace(|source| source == Source::Table(id), found);
}

/// The damaged places of a table of an open store.
fn examine(table: &Table, files: &Files) -> Vec<Known> {
    let keys = &table.metadata.key_range;
    let all = (std::ops::Bound::Included(keys.min().clone()), std::ops::Bound::Included(keys.max().clone()));
    let found = damage_of_table((&table.path, files), Some(table.checksum().into_u128()), &all);
    found.into_iter().map(|(damage, range)| Known::new(Source::Table(table.id()), damage, range)).collect()
}

/// Reads a table's file and names its damaged places; `all` are the keys that it may have.
fn damage_of_table(
    (path, files): (&Path, &Files),
    checksum: Option<u128>,
    all: &StoredRange,
) -> Vec<(Damage, StoredRange)> {
    match read_whole(path, files) {
        Ok(bytes) => table_damage((path, files.start()), &bytes, checksum, all).0,
        Err(error) => vec![(unreadable_table(path, &error, all), all.clone())],
    }
}

/// Why a file gives no content.
pub(crate) fn unreadable(error: &io::Error) -> String {
    if is_damage(error) { error.to_string() } else { format!("it cannot be read: {error}") }
}

/// A table's file that is missing, or that the disk does not give.
pub(crate) fn unreadable_table(path: &Path, error: &io::Error, all: &StoredRange) -> Damage {
    let detail = match error.kind() {
        ErrorKind::NotFound => "the file is missing".to_owned(),
        _ => unreadable(error),
    };
    let holds = holds(all);
    Damage { file: path.to_owned(), part: DamagedPart::Frame, offset: None, bytes: None, detail, holds }
}

/// The damaged places of a table's content, and the content taken apart. In the file, the content begins at
/// `start`.
pub(crate) fn table_damage<'b>(
    (path, start): (&Path, u64),
    bytes: &'b [u8],
    checksum: Option<u128>,
    all: &StoredRange,
) -> (Vec<(Damage, StoredRange)>, TableFile<'b>) {
    let file = TableFile::new(bytes);
    let damage = |part, place: Option<(u64, u64)>, detail: &str, range: &StoredRange| Damage {
        file: path.to_owned(),
        part,
        offset: place.map(|(offset, _)| offset),
        bytes: place.map(|(_, bytes)| bytes),
        detail: detail.to_owned(),
        holds: holds(range),
    };
    let mut found: Vec<_> = file
        .damaged()
        .into_iter()
        .map(|block| {
            let place = Some((start + block.offset, block.bytes));
            (damage(block.part, place, block.detail, &block.range), block.range)
        })
        .collect();
    if found.is_empty() && checksum.is_some_and(|checksum| xxhash_rust::xxh3::xxh3_128(bytes) != checksum) {
        let detail = "the file does not have the checksum that the list of tables gives";
        found.push((damage(DamagedPart::Frame, None, detail, all), all.clone()));
    }
    (found, file)
}

/// A damaged list of tables, or the file that names it.
pub(crate) fn list_damage(tables: &Path, fault: &OpenFault) -> Known {
    let (file, detail) = match fault {
        OpenFault::Corrupt { file, detail } => (file.clone(), detail.clone()),
        OpenFault::Io { file, error } => (file.clone(), unreadable(error)),
        other => (tables.to_owned(), other.to_string()),
    };
    let damage = Damage {
        file,
        part: DamagedPart::TableList,
        offset: None,
        bytes: None,
        detail,
        holds: Holds::Everything,
    };
    Known::new(Source::TableList, damage, (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded))
}

/// A segment with another header than its own. None of its records can be read.
pub(crate) fn foreign_segment(path: &Path) -> Known {
    let damage = Damage {
        file: path.to_owned(),
        part: DamagedPart::Journal,
        offset: Some(0),
        bytes: None,
        detail: "its header is not that of the segment, so none of its records can be read".to_owned(),
        holds: Holds::Everything,
    };
    Known::new(Source::Journal(u64::MAX), damage, (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded))
}

/// A damaged record with the keys that can still be read. In the file, the content begins at `start`.
pub(crate) fn damaged_record(place: &DamagedRecord, start: u64) -> Known {
    let detail = match place.commits {
        (first, Some(last)) if last > first => format!("commits {first} to {last} are not whole"),
        (first, _) => format!("commit {first} is not whole"),
    };
    let rows = place.keys.iter().filter_map(|key| keys::caller_part(key));
    let rows = rows.map(bytes::Bytes::copy_from_slice).collect();
    let mut logs: Vec<_> = place.keys.iter().filter_map(|key| keys::log_id(key)).collect();
    logs.dedup();
    let damage = Damage {
        file: place.file.clone(),
        part: DamagedPart::Journal,
        offset: Some(start + place.offset),
        bytes: place.bytes,
        detail,
        holds: Holds::Keys { rows, logs },
    };
    let range = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    Known::new(Source::Journal(place.commits.1.unwrap_or(u64::MAX)), damage, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_damaged_ones_do_not_count() {
        let begun = Begun { start_ms: 5, bytes: 7, after: None, through: 12 };
        for notes in [
            Notes::default(),
            Notes { last_round_ms: Some(9), begun: None },
            Notes { last_round_ms: None, begun: Some(begun) },
            Notes { last_round_ms: Some(9), begun: Some(Begun { after: Some(0), ..begun }) },
        ] {
            let text = notes.to_text();
            assert_eq!(Notes::parse(&text), Some(notes), "{text}");
            for place in 0..text.len() - 1 {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1;
                assert_ne!(String::from_utf8(bytes).ok().and_then(|text| Notes::parse(&text)), Some(notes));
            }
        }
        assert_eq!(Notes::parse(""), None);
    }
}
