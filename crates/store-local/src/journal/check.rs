//! Finds damaged records in the journal of a stopped or running store.
//!
//! It reads segments in the order of their numbers. Bytes that are not a whole record are damage if whole
//! records follow, or if commits are missing that must be there. A running store uses segments again whose
//! commits are in tables, so there only missing commits count that are not in tables.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::record::{HEADER_BYTES, HEADER_LENGTH, Header, Record, length, salvage};
use super::segments;
use crate::files::{Files, is_damage};

/// The files of a folder's segments in order, with their numbers.
pub(crate) fn segment_files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let numbers = segments::list(folder)?;
    Ok(numbers.into_iter().map(|number| (number, segments::path(folder, number))).collect())
}

/// The name of a segment's file.
pub(crate) fn segment_name(number: u64) -> PathBuf {
    segments::path(Path::new(""), number)
}

/// Whether the file of this number has another header than its own. A running store renames a segment before
/// it changes its header.
pub(crate) fn is_foreign(number: u64, path: &Path, files: &Files) -> bool {
    let begin = files.start() + HEADER_LENGTH;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(begin).read_to_end(&mut bytes));
    match read.and_then(|_| files.content(bytes)) {
        Ok(content) => Header::decode(&content).is_none_or(|header| header.number != number),
        Err(error) => is_damage(&error),
    }
}

/// A place in the journal without a whole record.
#[derive(Clone, Debug)]
pub(crate) struct DamagedRecord {
    pub(crate) file: PathBuf,
    pub(crate) offset: u64,
    /// Up to the next whole record, if there is one in the segment.
    pub(crate) bytes: Option<u64>,
    /// The first and the last commit that is missing, as far as the records around it tell.
    pub(crate) commits: (u64, Option<u64>),
    /// Stored keys that can still be read there.
    pub(crate) keys: Vec<Vec<u8>>,
    /// Whether whole records follow in its segment, so that it is no unfinished end.
    pub(crate) is_followed: bool,
    /// Whether its segment is shorter than any that was made, so that its end was lost.
    pub(crate) is_cut: bool,
}

/// The segments that were read so far.
#[derive(Default)]
pub(crate) struct Checked {
    /// Segments whose header is not theirs, with their numbers.
    pub(crate) foreign: Vec<(u64, PathBuf)>,
    /// Damaged places, and the end of each segment.
    places: Vec<DamagedRecord>,
    /// The commits of whole records, in order of reading.
    commits: Vec<(u64, u64)>,
}

impl Checked {
    /// Takes the content of the next segment. `apply` gets the writes of whole records, and what can be read
    /// of damaged ones.
    pub(crate) fn segment(
        &mut self,
        (number, path): (u64, &Path),
        bytes: &[u8],
        mut apply: impl FnMut(u64, &[u8], Option<&[u8]>),
    ) {
        let Some(header) = Header::decode(bytes).filter(|header| header.number == number) else {
            self.foreign.push((number, path.to_owned()));
            return;
        };
        let mut at = HEADER_BYTES;
        loop {
            while let Some(record) = Record::read(bytes, header.salt, at) {
                record.writes().for_each(|(key, value)| apply(record.last, key, value));
                self.commits.push((record.first, record.last));
                at = record.end;
            }
            let next = Record::find(bytes, header.salt, at);
            let end = next.map_or(bytes.len(), |next| next.offset);
            let last = self.commits.last().map_or(0, |(_, last)| *last);
            self.places.push(DamagedRecord {
                file: path.to_owned(),
                offset: length(at),
                bytes: next.map(|next| length(next.offset - at)),
                commits: (last + 1, next.map(|next| next.first.saturating_sub(1))),
                keys: salvage(bytes, at, end).map(|(key, _)| key.to_vec()).collect(),
                is_followed: next.is_some(),
                is_cut: length(bytes.len()) < segments::CONTENT_BYTES_MIN,
            });
            let Some(next) = next else { return };
            at = next.offset;
        }
    }

    /// Places with whole records after them.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = &DamagedRecord> {
        self.places.iter().filter(|place| place.is_followed)
    }

    /// The first commit after `flushed` and up to `newest` that is in no whole record.
    pub(crate) fn first_missing(&self, flushed: u64, newest: u64) -> Option<u64> {
        let mut commits = self.commits.clone();
        commits.sort_unstable();
        let mut through = flushed;
        for (first, last) in commits {
            if first > through + 1 {
                break;
            }
            through = through.max(last);
        }
        (through < newest).then_some(through + 1)
    }

    /// Where a missing commit must have been: in a gap, in a segment that lost its end, or at the end of the
    /// last segment before it.
    pub(crate) fn place_of(&self, commit: u64) -> Option<&DamagedRecord> {
        let holds = |place: &&DamagedRecord| {
            let (first, last) = place.commits;
            first <= commit && last.is_none_or(|last| commit <= last)
        };
        let has_records = |place: &&DamagedRecord| holds(place) && place.offset > HEADER_LENGTH;
        let last =
            || self.places.iter().rev().find(has_records).or_else(|| self.places.iter().rev().find(holds));
        let cut = || self.places.iter().find(|place| place.is_cut && holds(place));
        self.gaps().find(holds).or_else(cut).or_else(last)
    }
}
