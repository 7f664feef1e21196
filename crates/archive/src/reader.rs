//! Reading the rows of one backup, in key order, without what older backups of its chain have.
//!
//! No row of a chunk is handed out before the whole chunk was read and compared with its sums.

use std::sync::Arc;

use bytes::Bytes;

use crate::block::BlockRows;
use crate::chunk::{self, CheckedChunk, Chunk};
use crate::fault::{Fault, Spot, Wrong};
use crate::manifest::Manifest;
use crate::names::BackupPath;
use crate::place::Place;
use crate::row::Row;

/// The rows of one backup: tombstones too.
pub struct BackupRows {
    place: Place,
    path: BackupPath,
    chunks: Arc<[Chunk]>,
    /// The next chunk.
    next: usize,
    open: Option<OpenChunk>,
    /// Rows up to this key are left out.
    after: Option<Bytes>,
    held_bytes_max: u64,
}

struct OpenChunk {
    line: Chunk,
    checked: CheckedChunk,
    /// The next block.
    next: usize,
    rows: BlockRows,
    /// How many rows were read.
    read: u64,
    last_key: Option<Bytes>,
}

impl BackupRows {
    /// The rows of a backup after a key, or all. A chunk of at most `held_bytes_max` bytes is kept in memory;
    /// of a larger one, a block, and it is read twice.
    pub fn new(place: Place, manifest: &Manifest, after: Option<Bytes>, held_bytes_max: u64) -> Self {
        let is_behind = |chunk: &Chunk| after.as_ref().is_some_and(|after| chunk.last_key <= *after);
        let next = manifest.chunks.partition_point(is_behind);
        let chunks = manifest.chunks.as_slice().into();
        Self { place, path: manifest.summary.path.clone(), chunks, next, open: None, after, held_bytes_max }
    }

    /// The rows of one chunk.
    pub(crate) fn of_chunk(place: Place, path: BackupPath, chunk: Chunk, held_bytes_max: u64) -> Self {
        let chunks = [chunk].into();
        Self { place, path, chunks, next: 0, open: None, after: None, held_bytes_max }
    }

    /// The next row; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Row>, Fault> {
        loop {
            let Some(open) = &mut self.open else {
                if !self.open_chunk().await? {
                    return Ok(None);
                }
                continue;
            };
            let object = self.path.object(&open.line.name);
            let found = open.rows.next().and_then(|row| row.map(|row| open.take(row)).transpose());
            match found.map_err(|wrong| self.place.damaged_at(&object, open.here(), wrong))? {
                Some(row) if self.after.as_ref().is_some_and(|after| row.key <= *after) => {}
                Some(row) => return Ok(Some(row)),
                None => {
                    let block = open.checked.block(&self.place, &object, open.next).await?;
                    if let Some(rows) = block {
                        (open.rows, open.next) = (rows, open.next + 1);
                    } else {
                        open.check_end().map_err(|wrong| self.place.damaged(&object, wrong))?;
                        self.open = None;
                    }
                }
            }
        }
    }

    /// Opens the next chunk; says whether there was one.
    async fn open_chunk(&mut self) -> Result<bool, Fault> {
        let Some(line) = self.chunks.get(self.next).cloned() else { return Ok(false) };
        let object = self.path.object(&line.name);
        let checked = chunk::check(&self.place, &object, &line, self.held_bytes_max).await?;
        self.next += 1;
        self.open =
            Some(OpenChunk { line, checked, next: 0, rows: BlockRows::default(), read: 0, last_key: None });
        Ok(true)
    }
}

impl OpenChunk {
    /// A row that was read: the first key is the one of the manifest, and keys ascend.
    fn take(&mut self, row: Row) -> Result<Row, Wrong> {
        match &self.last_key {
            None if row.key != self.line.first_key => return Err(Wrong::Keys),
            Some(last) if *last >= row.key => return Err(Wrong::Order),
            _ => {}
        }
        self.read += 1;
        // The row shares the memory of its block: a key of its own would be a copy for each row.
        self.last_key = Some(row.key.clone());
        Ok(row)
    }

    fn check_end(&self) -> Result<(), Wrong> {
        if self.read != self.line.rows {
            return Err(Wrong::Counts { what: "rows", expected: self.line.rows, found: self.read });
        }
        if self.last_key.as_ref() == Some(&self.line.last_key) { Ok(()) } else { Err(Wrong::Keys) }
    }

    /// The block that is read.
    fn here(&self) -> Spot {
        let block = self.next.saturating_sub(1);
        Spot { offset: self.checked.offset(block), block: Some(block) }
    }
}
