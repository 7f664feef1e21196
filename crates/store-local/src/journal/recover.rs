//! Reads the journal at open: applies the commits that are not in tables yet, and distinguishes an
//! unfinished commit from damage.
//!
//! A group is written only after the one before it was synced. So bytes that are not a whole record are the
//! end of the journal, unless whole records follow: then something was damaged. A relaxed store syncs
//! several groups at once, and a power loss may lose any of them. The journal is cut at the first gap after
//! the last synced commit.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keywright_encryption::KeyId;

use super::Journal;
use super::record::{HEADER_BYTES, HEADER_LENGTH, Header, RECORD_MAGIC, Record, length};
use super::segments::{self, Place, Segment, Segments, write_at};
use crate::error::OpenFault;
use crate::failure::Failure;
use crate::files::Files;
use crate::folder::sync_names;
use crate::options::Durability;
use crate::watermark::Mark;

/// A journal that was read.
pub(crate) struct Recovered {
    pub(crate) journal: Journal,
    /// The newest commit in the journal or the tables.
    pub(crate) version: u64,
}

/// Makes the journal of an empty store.
pub(crate) fn create(folder: &Path, files: &Files, journal_bytes_max: u64) -> Result<Journal, OpenFault> {
    let place = (folder, files);
    let segment = segments::first(place).map_err(|failure| OpenFault::io(folder)(failure.error))?;
    let segments = Arc::new(Segments::new(place, segment.header.number, segment.bytes, journal_bytes_max));
    Ok(Journal { segment: Some(segment), segments, offset: HEADER_LENGTH, last: 0 })
}

/// A segment that was read.
struct Read {
    path: PathBuf,
    key: Option<KeyId>,
    header: Header,
    /// The content of the newest segment; empty for older ones.
    bytes: Vec<u8>,
    /// Of the content.
    length: usize,
    /// Whether the bytes after the last whole record begin like a record.
    begins_record: bool,
    /// Where its records end.
    end: usize,
    /// The newest commit up to here.
    last: u64,
}

/// Passes the writes of all commits after `flushed` to `apply`, in order, and opens the journal for writing.
pub(crate) fn recover(
    place: Place<'_>,
    flushed: u64,
    (mark, journal_bytes_max): (Mark, u64),
    mut apply: impl FnMut(&[u8], Option<&[u8]>),
) -> Result<Recovered, OpenFault> {
    let folder = place.0;
    segments::remove_unfinished(folder).map_err(OpenFault::io(folder))?;
    let (read, rest) = read(place, flushed, mark, &mut apply)?;
    let rest = Rest { journal_bytes_max, ..rest };
    let recovered = match place.1 {
        Files::Plain => resume(place, read, &rest),
        Files::Encrypted(_) => begin_anew(place, read, &rest),
    };
    recovered.map_err(|failure| OpenFault::io(folder)(failure.error))
}

/// Why the journal of a folder would be refused at open; nothing is changed.
pub(crate) fn refusal(place: Place<'_>, flushed: u64, mark: Mark) -> Option<OpenFault> {
    read(place, flushed, mark, &mut |_, _| {}).err()
}

fn read(
    (folder, files): Place<'_>,
    flushed: u64,
    mark: Mark,
    apply: &mut impl FnMut(&[u8], Option<&[u8]>),
) -> Result<(Vec<Read>, Rest), OpenFault> {
    let numbers = segments::list(folder).map_err(OpenFault::io(folder))?;
    let Some(newest) = numbers.last().copied() else {
        return Err(OpenFault::corrupt(&segments::path(folder, 1), "the file is missing"));
    };
    let mut version = flushed;
    let mut read: Vec<Read> = Vec::with_capacity(numbers.len());
    let mut gap = None;
    for number in numbers {
        let mut segment = load((folder, files), number)?;
        gap = walk(&mut segment, &mut version, apply).or(gap);
        // Only the newest segment is written to again, so older contents are freed: a journal can exceed
        // memory.
        if let Some(older) = read.last_mut() {
            older.bytes = Vec::new();
        }
        read.push(segment);
        if gap.is_some() {
            break;
        }
    }
    let is_cut = gap.is_some();
    if let Some(gap) = gap {
        // After a power loss a relaxed store may have later groups without earlier ones.
        if mark.durability == Durability::Synced || version < mark.version {
            return Err(damaged((folder, files), &read, version, &gap));
        }
    }
    if version < mark.version {
        let file = missing(folder, &read)
            .or_else(|| last_written(&read).map(|segment| segment.path.clone()))
            .unwrap_or_else(|| segments::path(folder, newest));
        let detail =
            format!("the newest commit found is {version}, but commit {} was acknowledged", mark.version);
        return Err(OpenFault::corrupt(&file, detail));
    }
    Ok((read, Rest { version, newest, is_cut, journal_bytes_max: 0 }))
}

fn load((folder, files): Place<'_>, number: u64) -> Result<Read, OpenFault> {
    let path = segments::path(folder, number);
    let bytes = fs::read(&path).map_err(OpenFault::io(&path))?;
    let key = keywright_encryption::Header::decode(&bytes).ok().map(|header| header.key);
    let bytes = files.content(bytes).map_err(OpenFault::read(&path))?;
    match Header::decode(&bytes) {
        Some(header) if header.number == number => {
            let length = bytes.len();
            Ok(Read { path, key, header, bytes, length, begins_record: false, end: HEADER_BYTES, last: 0 })
        }
        Some(_) | None => Err(OpenFault::corrupt(&path, "its header is not that of the segment")),
    }
}

/// Where commits are missing between whole records.
enum Gap {
    /// Before the records of a segment.
    Before,
    /// Between records of a segment, at this offset.
    At(usize),
}

/// Applies the records of a segment, in order, as far as they are whole.
fn walk(segment: &mut Read, version: &mut u64, apply: &mut impl FnMut(&[u8], Option<&[u8]>)) -> Option<Gap> {
    let salt = segment.header.salt;
    while let Some(record) = Record::read(&segment.bytes, salt, segment.end) {
        if record.first > *version + 1 {
            return Some(Gap::Before);
        }
        if record.last > *version {
            record.writes().for_each(|(key, value)| apply(key, value));
            *version = record.last;
        }
        segment.end = record.end;
    }
    segment.last = *version;
    segment.begins_record =
        segment.bytes.get(segment.end..).is_some_and(|rest| rest.starts_with(&RECORD_MAGIC));
    Record::find(&segment.bytes, salt, segment.end).map(|_| Gap::At(segment.end))
}

fn damaged((folder, files): Place<'_>, read: &[Read], version: u64, gap: &Gap) -> OpenFault {
    let Some(segment) = read.last() else {
        return OpenFault::corrupt(folder, "it has no journal");
    };
    match gap {
        Gap::At(offset) => {
            let detail = format!(
                "the record after commit {version}, at byte {}, is not whole, but others follow",
                files.start() + length(*offset)
            );
            OpenFault::corrupt(&segment.path, detail)
        }
        Gap::Before => {
            if let Some(path) = missing(folder, read) {
                return OpenFault::corrupt(&path, "the file is missing");
            }
            // The segment before it ends too early, or is missing.
            let before = segments::path(folder, segment.header.number.saturating_sub(1));
            OpenFault::corrupt(&before, format!("the commits after {version} are missing"))
        }
    }
}

/// The newest segment that seems to have been written to.
fn last_written(read: &[Read]) -> Option<&Read> {
    let begins_record = |segment: &&Read| segment.begins_record;
    let has_records = |segment: &&Read| segment.end > HEADER_BYTES;
    read.iter().rfind(begins_record).or_else(|| read.iter().rfind(has_records))
}

/// The segment that is missing in the order of numbers.
fn missing(folder: &Path, read: &[Read]) -> Option<PathBuf> {
    let pairs = read.iter().zip(read.iter().skip(1));
    let gap =
        pairs.map(|(one, next)| (one.header.number, next.header.number)).find(|(one, next)| one + 1 != *next);
    gap.map(|(one, _)| segments::path(folder, one + 1))
}

/// Facts about the folder that the segments themselves do not show.
struct Rest {
    version: u64,
    /// The newest segment of the folder.
    newest: u64,
    /// Whether segments and records after a gap are dropped.
    is_cut: bool,
    journal_bytes_max: u64,
}

fn open_file(read: &Read) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(&read.path)
}

/// Removes the segments after one of this number, durably.
fn remove_after(number: u64, folder: &Path, newest: u64) -> std::io::Result<()> {
    for number in number + 1..=newest {
        match fs::remove_file(segments::path(folder, number)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    sync_names(folder)
}

/// Writes zeros over everything after the whole records of a segment, whose content begins at `start`.
fn clear_rest(segment: &Read, start: u64) -> std::io::Result<()> {
    let zeros = vec![0; segment.length - segment.end];
    let file = open_file(segment)?;
    write_at(&file, &zeros, start + length(segment.end))?;
    file.sync_data()
}

/// Retires all segments of an encrypted journal and begins a new one. Where the end of one may be torn, no
/// byte is encrypted a second time.
fn begin_anew(place: Place<'_>, mut read: Vec<Read>, rest: &Rest) -> Result<Recovered, Failure> {
    let (folder, files) = place;
    // The new segment takes the place of the first empty one at the end, so that numbers rise by one.
    let mut number = rest.newest + 1;
    while let Some(empty) = read.pop_if(|segment| segment.end == HEADER_BYTES) {
        number = empty.header.number;
    }
    if let (true, Some(last)) = (rest.is_cut, read.last()) {
        // Dropped records must never reappear after new ones, as when a plain journal goes on.
        number = last.header.number + 1;
        remove_after(last.header.number, folder, rest.newest)?;
        clear_rest(last, files.start())?;
    }
    // Readers will see these commits.
    for segment in &read {
        open_file(segment)?.sync_data()?;
    }
    let segment = begin(place, (number, rest.newest), !read.is_empty())?;
    let made = segment.as_ref().map_or((number - 1, 0), |segment| (number, segment.bytes));
    let segments = Segments::new(place, made.0, made.1, rest.journal_bytes_max);
    for older in &read {
        let bytes = length(older.length) + files.start();
        segments.add_retired(older.header.number, (bytes, older.key), older.last);
    }
    let journal =
        Journal { segment, segments: Arc::new(segments), offset: HEADER_LENGTH, last: rest.version };
    Ok(Recovered { journal, version: rest.version })
}

/// Makes the segment of a number, and removes those after it, which are empty. On a full disk the empty ones
/// make room for it; a journal keeps one segment. If that is not enough there is none to write to: the store
/// opens, and its writes find no room, as where a plain segment is full.
fn begin(
    place: Place<'_>,
    (number, newest): (u64, u64),
    has_older: bool,
) -> Result<Option<Segment>, Failure> {
    let folder = place.0;
    let mut made = segments::numbered(place, number);
    if made.as_ref().is_err_and(Failure::is_no_room) {
        segments::remove_unfinished(folder)?;
        remove_after(if has_older { number - 1 } else { number }, folder, newest)?;
        made = segments::numbered(place, number);
    }
    if made.as_ref().is_err_and(Failure::is_no_room) {
        tracing::warn!("the disk has no room for a segment of the journal: only reads are possible");
        segments::remove_unfinished(folder)?;
        return Ok(None);
    }
    let segment = made?;
    remove_after(number, folder, newest)?;
    Ok(Some(segment))
}

/// Opens the newest segment with records for writing.
fn resume(place: Place<'_>, mut read: Vec<Read>, rest: &Rest) -> Result<Recovered, Failure> {
    let folder = place.0;
    let mut spare = None;
    // Of the empty segments at the end, the first becomes the spare; the others are removed.
    while read.len() > 1 && read.last().is_some_and(|segment| segment.end == HEADER_BYTES) {
        spare = read.pop();
    }
    let current = read.pop().ok_or_else(|| std::io::Error::other("a journal has a segment"))?;
    let open = |read: &Read| -> std::io::Result<Segment> {
        Ok(Segment::plain(read.header, open_file(read)?, length(read.length)))
    };
    // Readers will see these commits, so bytes that may be in the operating system's memory only are
    // synced.
    for segment in &read {
        open(segment)?.file.sync_data()?;
    }
    let segment = open(&current)?;
    if rest.is_cut {
        // Dropped records must never reappear after new ones. Later segments are removed first, then the
        // rest of this one is cleared.
        remove_after(current.header.number, folder, rest.newest)?;
        clear_rest(&current, 0)?;
        spare = None;
    } else {
        // A process that was killed may have named a segment without syncing the name.
        sync_names(folder)?;
    }
    segment.file.sync_data()?;
    let made = spare.as_ref().map_or(&current, |spare| spare);
    let bytes = length(made.length);
    let segments = Arc::new(Segments::new(place, made.header.number, bytes, rest.journal_bytes_max));
    for older in &read {
        segments.add_retired(older.header.number, (length(older.length), None), older.last);
    }
    if let Some(spare) = &spare {
        segments.set_spare(open(spare)?, length(current.length));
    }
    let journal =
        Journal { segment: Some(segment), segments, offset: length(current.end), last: rest.version };
    Ok(Recovered { journal, version: rest.version })
}
