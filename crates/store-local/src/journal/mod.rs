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
use segments::{Segment, write_at};

/// The writing end of a journal.
pub(crate) struct Journal {
    segment: Segment,
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
        self.offset + length(draft.record_bytes()) <= self.segment.bytes
    }

    /// Writes the record of a group of commits. It is not synced. Returns the bytes written.
    pub(crate) fn append(&mut self, draft: Draft, first: u64, last: u64) -> Result<u64, Failure> {
        assert!(first == self.last + 1 && first <= last, "the journal has every commit, in order");
        let bytes = length(draft.record_bytes());
        if !self.fits(&draft) {
            self.segment = self.segments.next(&self.segment, self.last, bytes)?;
            self.offset = record::HEADER_LENGTH;
        }
        let commits = (CommitVersion(first), CommitVersion(last));
        let record = draft.finish(commits, self.segment.header.salt, self.offset);
        write_at(&self.segment.file, &record, self.offset)?;
        self.offset += bytes;
        self.last = last;
        Ok(bytes)
    }

    /// The file of the newest record.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.segment.file)
    }

    /// Syncs the newest record. Older segments were synced before.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.segment.file.sync_data()
    }
}
