//! The files of the journal: created and zeroed ahead of time, and reused once their commits are in tables.
//!
//! Syncing a file that has grown also writes the file system's journal, and waits for writes to other
//! files. So a segment has its full length and all its blocks before the first record comes, and a sync of
//! a record writes nothing but the record. A thread of its own keeps one segment ready.
//!
//! ```text
//! journal/00000012    a segment by its number; numbers rise by one
//! journal/new         a segment that is being made
//! ```

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use keywright_encryption::{FileCipher, HEADER_LENGTH as ENCRYPTION_BYTES, KeyId};

use super::record::{HEADER_LENGTH, Header, length};
use crate::failure::Failure;
use crate::files::{Begun, Files};
use crate::folder::{create_private, sync_names};

const MIB: u64 = 1024 * 1024;
/// The first segment is small, so that a new store is created quickly. Each one is twice as large as the
/// one before, up to [`SEGMENT_BYTES_MAX`] or a fixed part of the journal's maximum.
const FIRST_BYTES: u64 = MIB;
const SEGMENT_BYTES_MAX: u64 = 32 * MIB;
/// Bytes of header and records of the smallest segment.
pub(super) const CONTENT_BYTES_MIN: u64 = FIRST_BYTES - ENCRYPTION_BYTES;
const SEGMENTS_PER_JOURNAL: u64 = 4;
/// Zeros that are written between two syncs, so that the syncs of commits do not wait long for them.
const ZEROS_BYTES: usize = 1024 * 1024;
const NEW: &str = "new";

/// A folder of segments, and how its files lie on disk.
pub(crate) type Place<'p> = (&'p Path, &'p Files);

/// An open segment.
pub(super) struct Segment {
    pub(super) header: Header,
    pub(super) file: Arc<File>,
    /// Bytes of the file.
    pub(super) bytes: u64,
    /// Of an encrypted file.
    cipher: Option<FileCipher>,
    pub(super) key: Option<KeyId>,
}

impl Segment {
    /// A segment that is not encrypted.
    pub(super) fn plain(header: Header, file: File, bytes: u64) -> Self {
        Self { header, file: Arc::new(file), bytes, cipher: None, key: None }
    }

    /// Bytes before the content.
    fn start(&self) -> u64 {
        if self.cipher.is_some() { ENCRYPTION_BYTES } else { 0 }
    }

    /// Bytes of header and records.
    pub(super) fn room(&self) -> u64 {
        self.bytes - self.start()
    }

    /// Writes a record at an offset of the content, where nothing was written before.
    pub(super) fn write(&self, mut record: Vec<u8>, offset: u64) -> io::Result<()> {
        if let Some(cipher) = &self.cipher {
            cipher.apply(offset, &mut record);
        }
        write_at(&self.file, &record, offset + self.start())
    }
}

/// A segment to which nothing is added any more.
struct Retired {
    number: u64,
    bytes: u64,
    /// Its newest commit.
    last: u64,
    /// The data key of an encrypted one.
    key: Option<KeyId>,
}

struct State {
    /// The segment that comes next.
    spare: Option<Segment>,
    /// Oldest first.
    retired: VecDeque<Retired>,
    /// Commits up to this one are in tables.
    flushed: u64,
    /// The newest segment made, and its size.
    number: u64,
    bytes: u64,
    /// Size of the segment that is being written.
    written_bytes: u64,
    /// A record needs a segment of this size.
    needed_bytes: u64,
    /// Why the last attempt to make a segment failed.
    fault: Option<Failure>,
    is_closing: bool,
}

impl State {
    /// Takes a segment whose commits are in tables: to use it again, or to remove it if there is another.
    /// One that is not under the newest key is not kept.
    fn takes_obsolete(&mut self, needs_spare: bool, key: Option<KeyId>) -> Option<Retired> {
        let is_obsolete = |segment: &Retired| segment.last <= self.flushed;
        let is_takeable = needs_spare || self.retired.get(1).is_some_and(is_obsolete);
        self.retired.pop_front_if(|oldest| (is_takeable || oldest.key != key) && oldest.last <= self.flushed)
    }
}

/// Bytes of a journal's files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) all_bytes: u64,
    /// Of the segment that is made next.
    pub(crate) next_bytes: u64,
}

/// The segments of a journal, shared by the commit thread and the thread that makes segments.
pub(crate) struct Segments {
    folder: PathBuf,
    files: Files,
    /// Size of the largest segments, except those for one larger record.
    bytes_max: u64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Segments {
    /// The segments of a folder, of which the newest has this number and size. The size is 0 if the next one
    /// is to be small.
    pub(super) fn new((folder, files): Place<'_>, number: u64, bytes: u64, journal_bytes_max: u64) -> Self {
        let bytes_max = (journal_bytes_max / SEGMENTS_PER_JOURNAL).clamp(FIRST_BYTES, SEGMENT_BYTES_MAX);
        let state = State {
            spare: None,
            retired: VecDeque::new(),
            flushed: 0,
            number,
            bytes,
            written_bytes: bytes,
            needed_bytes: 0,
            fault: None,
            is_closing: false,
        };
        let (folder, files) = (folder.to_owned(), files.clone());
        Self { folder, files, bytes_max, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a segment that was found at open, with its newest commit. Segments come oldest first.
    pub(super) fn add_retired(&self, number: u64, (bytes, key): (u64, Option<KeyId>), last: u64) {
        self.state().retired.push_back(Retired { number, bytes, last, key });
    }

    /// The data key of new segments.
    pub(super) fn newest_key(&self) -> Option<KeyId> {
        self.files.key()
    }

    /// Bytes of the segments with commits that are not in tables, but for the one being written.
    pub(super) fn unflushed_bytes(&self) -> u64 {
        let state = self.state();
        state.retired.iter().filter(|segment| segment.last > state.flushed).map(|segment| segment.bytes).sum()
    }

    /// Adds the segment that comes after the one being written, which has this size.
    pub(super) fn set_spare(&self, spare: Segment, written_bytes: u64) {
        let mut state = self.state();
        state.spare = Some(spare);
        state.written_bytes = written_bytes;
    }

    /// Retires a segment, if there is one, and returns the next, with room for a record of `record_bytes`.
    /// Waits until there is one.
    pub(super) fn next(
        &self,
        full: Option<&Segment>,
        last: u64,
        record_bytes: u64,
    ) -> Result<Segment, Failure> {
        let mut state = self.state();
        state.retired.extend(full.map(|full| retired(full, last)));
        state.needed_bytes = record_bytes + HEADER_LENGTH + self.files.start();
        state.fault = None;
        loop {
            if let Some(spare) = state.spare.take() {
                self.changed.notify_all();
                if spare.bytes >= state.needed_bytes && spare.key == self.files.key() {
                    state.needed_bytes = 0;
                    state.written_bytes = spare.bytes;
                    return Ok(spare);
                }
                // It stays empty, but keeps its place in the order of numbers.
                state.retired.push_back(retired(&spare, last));
            }
            if let Some(fault) = state.fault.take() {
                return Err(fault);
            }
            if state.is_closing {
                return Err(io::Error::other("the store is being closed").into());
            }
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Commits up to this one are in tables.
    pub(crate) fn flushed_version(&self) -> u64 {
        self.state().flushed
    }

    /// The bytes of the segments.
    pub(crate) fn sizes(&self) -> Sizes {
        let state = self.state();
        let spare = state.spare.as_ref().map_or(0, |spare| spare.bytes);
        let retired: u64 = state.retired.iter().map(|segment| segment.bytes).sum();
        Sizes { all_bytes: state.written_bytes + spare + retired, next_bytes: self.next_bytes(&state) }
    }

    /// The size of the next segment that is made.
    fn next_bytes(&self, state: &State) -> u64 {
        (state.bytes * 2).clamp(FIRST_BYTES, self.bytes_max).max(state.needed_bytes)
    }

    /// Notes that all commits up to this one are in tables.
    pub(crate) fn flushed(&self, version: u64) {
        let mut state = self.state();
        assert!(state.flushed <= version, "commits stay in the tables");
        state.flushed = version;
        drop(state);
        self.changed.notify_all();
    }

    /// Ends the thread, and the wait for a segment.
    pub(crate) fn close(&self) {
        self.state().is_closing = true;
        self.changed.notify_all();
    }

    /// The thread's work: keeps a spare segment, and removes those that are not needed any more.
    pub(crate) fn run(&self) {
        let mut state = self.state();
        while !state.is_closing {
            let needs_spare = state.spare.is_none() && state.fault.is_none();
            let obsolete = state.takes_obsolete(needs_spare, self.files.key());
            if obsolete.is_none() && !needs_spare {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let header = Header { number: state.number + 1, salt: RandomState::new().hash_one(()) };
            let bytes = self.next_bytes(&state);
            drop(state);
            let spare = self.renew(obsolete, needs_spare.then_some((header, bytes)));
            state = self.state();
            match spare {
                Ok(None) => {}
                Ok(Some(spare)) => {
                    state.number = header.number;
                    state.bytes = bytes;
                    state.spare = Some(spare);
                }
                Err(failure) => {
                    tracing::warn!("no journal segment could be made: {failure}");
                    state.fault = Some(failure);
                }
            }
            self.changed.notify_all();
        }
    }

    /// Makes a segment from an obsolete one or anew, or removes the obsolete one.
    fn renew(
        &self,
        obsolete: Option<Retired>,
        wanted: Option<(Header, u64)>,
    ) -> Result<Option<Segment>, Failure> {
        let place = (self.folder.as_path(), &self.files);
        let make_wanted = || wanted.map(|(header, bytes)| make(place, header, bytes)).transpose();
        let Some(obsolete) = obsolete else {
            return make_wanted();
        };
        let path = path(&self.folder, obsolete.number);
        match wanted {
            Some((header, bytes)) if bytes == obsolete.bytes && obsolete.key == self.files.key() => {
                let new = self.folder.join(NEW);
                fs::rename(&path, &new)?;
                // Renamed before its header changes: under the old name the new header would look like
                // damage.
                sync_names(&self.folder).map_err(Failure::sync)?;
                let file = OpenOptions::new().read(true).write(true).open(&new)?;
                finish(place, file, header, bytes).map(Some)
            }
            _ => {
                fs::remove_file(&path)?;
                make_wanted()
            }
        }
    }
}

fn retired(segment: &Segment, last: u64) -> Retired {
    Retired { number: segment.header.number, bytes: segment.bytes, last, key: segment.key }
}

pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}"))
}

/// The numbers of a folder's segments, in order.
pub(super) fn list(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Removes a segment whose making was interrupted.
pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(NEW)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes the first segment of an empty journal.
pub(super) fn first(place: Place<'_>) -> Result<Segment, Failure> {
    numbered(place, 1)
}

/// Makes a small segment with a number.
pub(super) fn numbered(place: Place<'_>, number: u64) -> Result<Segment, Failure> {
    make(place, Header { number, salt: RandomState::new().hash_one(()) }, FIRST_BYTES)
}

fn make(place: Place<'_>, header: Header, bytes: u64) -> Result<Segment, Failure> {
    let mut file = create_private(&place.0.join(NEW))?;
    fill(&mut file, bytes)?;
    finish(place, file, header, bytes)
}

/// Writes zeros, so that the file has all its blocks. In an encrypted file they stay zeros until a record
/// comes: that nothing is there is no secret, and each byte of the key stream is for one record.
fn fill(file: &mut File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    let mut left = bytes;
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(ZEROS_BYTES).min(ZEROS_BYTES);
        file.write_all(zeros.get(..step).unwrap_or_default())?;
        file.sync_data()?;
        left -= length(step);
    }
    Ok(())
}

/// Gives a segment its header and, when that is on disk, its name.
fn finish((folder, files): Place<'_>, file: File, header: Header, bytes: u64) -> Result<Segment, Failure> {
    let mut segment = Segment::plain(header, file, bytes);
    if let Some(Begun { header, cipher, key }) = files.begin() {
        write_at(&segment.file, &header, 0)?;
        (segment.cipher, segment.key) = (Some(cipher), Some(key));
    }
    segment.write(header.encode().to_vec(), 0)?;
    segment.file.sync_all()?;
    fs::rename(folder.join(NEW), path(folder, header.number))?;
    // Before that, nothing but a new file without commits was written and synced.
    sync_names(folder).map_err(Failure::sync)?;
    Ok(segment)
}

/// Writes all bytes at an offset.
#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_segment_without_needed_commits_is_kept_to_be_used_again() {
        let retired = [(1, 10), (2, 20), (3, 30)];
        let retired = retired.map(|(number, last)| Retired { number, bytes: MIB, last, key: None });
        let mut state = State {
            spare: None,
            retired: retired.into(),
            flushed: 10,
            number: 4,
            bytes: MIB,
            written_bytes: MIB,
            needed_bytes: 0,
            fault: None,
            is_closing: false,
        };
        let mut taken = |flushed, needs_spare| {
            state.flushed = flushed;
            state.takes_obsolete(needs_spare, None).map(|segment| segment.number)
        };
        assert_eq!(taken(10, false), None, "the only one that can be used again");
        assert_eq!(taken(20, false), Some(1), "there is another");
        assert_eq!(taken(20, true), Some(2), "it is used again");
        assert_eq!(taken(20, true), None, "commits of the third are not in tables");
    }
}
