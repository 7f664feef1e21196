//! Figures of an open store for operators: sizes, open snapshots, pauses.

use crate::journal::Sizes;
use crate::pauses::Pause;
use crate::row_map::RowMap;
use crate::scrub_figures::ScrubFigures;
use crate::shared::{Published, Shared};

/// The present figures of a store.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The newest commit.
    pub version: u64,
    /// Snapshots and transactions that are open.
    pub open_snapshots: usize,
    /// Bytes of rows in the write buffer and in full buffers that are not yet flushed.
    pub buffer_bytes: u64,
    /// Full buffers that wait to be flushed.
    pub full_buffers: usize,
    /// Sorted tables.
    pub tables: usize,
    /// Bytes of all sorted tables.
    pub table_bytes: u64,
    /// Runs of tables that are not merged yet; reads look at all of them.
    pub unmerged_runs: usize,
    /// Bytes of the journal's files.
    pub journal_bytes: u64,
    /// Bytes that the store needs on disk to go on: its next journal segment, and tables for its buffers.
    pub room_bytes: u64,
    /// The pauses of the commit thread since the store was opened.
    pub pauses: Vec<Pause>,
    /// Places of files that are known to be damaged.
    pub damaged_places: usize,
    /// Reads of tables that failed since the store was opened.
    pub failed_reads: u64,
    /// The reading of all files in the background.
    pub scrub: ScrubFigures,
}

impl Figures {
    pub(crate) fn new(open_snapshots: usize, published: &Published, journal: Sizes, shared: &Shared) -> Self {
        let layers = &published.layers;
        let bytes = |rows: &RowMap| u64::try_from(rows.bytes()).unwrap_or(u64::MAX);
        let full: u64 = layers.frozen.iter().map(|frozen| bytes(&frozen.rows)).sum();
        let buffer_bytes = bytes(&layers.active) + full;
        let (tables, table_bytes) = layers.tables.sizes();
        Self {
            version: published.version,
            open_snapshots,
            buffer_bytes,
            full_buffers: layers.frozen.len(),
            tables,
            table_bytes,
            unmerged_runs: layers.tables.unmerged(),
            journal_bytes: journal.all_bytes,
            room_bytes: journal.next_bytes + buffer_bytes,
            pauses: shared.pauses.all(),
            damaged_places: shared.damages.count(),
            failed_reads: shared.damages.failed_reads(),
            scrub: shared.scrubbed.figures(),
        }
    }
}
