//! The journal: every group of commits is written here and synced before it is acknowledged; the rows go to
//! tables later.
//!
//! `record.rs` has the layout, `segments.rs` the files, `recover.rs` reads them at open, `check.rs` finds
//! damage in them.

mod check;
mod record;
mod recover;
mod segments;

use std::fs::File;
use std::io;
use std::sync::Arc;

use keywright_store::CommitVersion;

pub(crate) use check::{Checked, DamagedRecord, is_foreign, segment_files, segment_name};
pub(crate) use record::Draft;
pub(crate) use recover::{Recovered, create, recover, refusal};
pub(crate) use segments::{Segments, Sizes};

use crate::failure::Failure;
use record::length;
use segments::Segment;

/// The writing end of a journal.
pub(crate) struct Journal {
    /// `None` until the first record, where the disk had no room for a segment at open.
    segment: Option<Segment>,
    segments: Arc<Segments>,
    /// Where the next record goes.
    offset: u64,
    /// The newest commit that was written.
    last: u64,
}

impl Journal {
    pub(crate) fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments)
    }

    /// Whether a record has room in the present segment.
    pub(crate) fn fits(&self, draft: &Draft) -> bool {
        let end = self.offset + length(draft.record_bytes());
        self.segment.as_ref().is_some_and(|segment| end <= segment.room())
    }

    /// Whether its segment is not encrypted under the newest key.
    pub(crate) fn is_outdated(&self) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.key != self.segments.newest_key())
    }

    /// Goes on in another segment. Later records are under the key that was the newest when it was begun.
    pub(crate) fn renew(&mut self) -> Result<(), Failure> {
        self.segment = Some(self.segments.next(self.segment.as_ref(), self.last, 0)?);
        self.offset = record::HEADER_LENGTH;
        Ok(())
    }

    /// Bytes of the segments with commits that were not in tables when the journal was opened.
    pub(crate) fn found_bytes(&self) -> u64 {
        self.segments.unflushed_bytes()
    }

    /// Writes the record of a group of commits. It is not synced. Returns the bytes written.
    pub(crate) fn append(&mut self, draft: Draft, first: u64, last: u64) -> Result<u64, Failure> {
        assert!(first == self.last + 1 && first <= last, "the journal has every commit, in order");
        let bytes = length(draft.record_bytes());
        if !self.fits(&draft) {
            self.segment = Some(self.segments.next(self.segment.as_ref(), self.last, bytes)?);
            self.offset = record::HEADER_LENGTH;
        }
        let commits = (CommitVersion(first), CommitVersion(last));
        let segment = self.written();
        segment.write(draft.finish(commits, segment.header.salt, self.offset), self.offset)?;
        self.offset += bytes;
        self.last = last;
        Ok(bytes)
    }

    /// The segment of the newest record.
    fn written(&self) -> &Segment {
        self.segment.as_ref().expect("a record that does not fit has taken another segment")
    }

    /// The file of the newest record.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.written().file)
    }

    /// Syncs the newest record. Older segments were synced before.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.written().file.sync_data()
    }
}
