//! Removes the files of merged tables: when no view has them any more, in small pieces.
//!
//! Where the file system reports free blocks to the disk (`discard`), freeing a file makes the disk wait, and
//! the syncs of commits with it. So the last reference to a table must not be a request's, and its file is
//! shortened piece by piece.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::sync::atomic::Ordering;

use crate::tables::{Table, TableSet};

/// A file is shortened by this part of a write buffer at a time: 4 MiB of the default.
const PIECES_PER_BUFFER: u64 = 8;
/// With more tables waiting, files are removed at once: the space is needed.
const WAITING_MAX: usize = 32;

/// Merged tables that wait for their removal.
#[derive(Default)]
pub(crate) struct Removal {
    /// Earlier sets that a view may have.
    sets: Vec<TableSet>,
    /// The tables of earlier sets that the present one lacks. Dropping the last reference removes the file.
    merged: VecDeque<Table>,
}

impl Removal {
    /// Notes a set that was replaced, with the tables that went.
    pub(crate) fn note_earlier(&mut self, set: TableSet, merged: Vec<Table>) {
        self.sets.push(set);
        self.merged.extend(merged);
    }

    /// A table that no view has, if there is one.
    pub(crate) fn next(&mut self) -> Option<Table> {
        self.sets.retain(TableSet::is_in_use);
        let is_free = |table: &Table| !self.sets.iter().any(|set| set.has(table));
        let place = self.merged.iter().position(is_free)?;
        self.merged.remove(place)
    }

    /// Whether so many wait that each is removed at once.
    pub(crate) fn is_long(&self) -> bool {
        self.merged.len() > WAITING_MAX
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.merged.is_empty()
    }
}

/// Shortens a table's file piece by piece, with a pause after each, so that its removal frees little. `pause`
/// says whether to go on. This is for speed only, so that no failure counts.
pub(crate) fn shorten(table: &Table, buffer_bytes: u64, mut pause: impl FnMut() -> bool) {
    let piece = (buffer_bytes / PIECES_PER_BUFFER).max(1);
    // Only then does the list on disk no longer name it.
    if !table.is_deleted.load(Ordering::Acquire) {
        return;
    }
    let Ok(file) = OpenOptions::new().write(true).open(&*table.path) else { return };
    let Some(mut length) = own_length(&file) else { return };
    while length > piece {
        length -= piece;
        if file.set_len(length).is_err() || !pause() {
            return;
        }
    }
}

/// The length of a file, unless it has another name: a copy that somebody keeps.
fn own_length(file: &File) -> Option<u64> {
    let data = file.metadata().ok()?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&data) > 1 {
        return None;
    }
    Some(data.len())
}
