//! The counters' rows: written by steps and at shutdown, read at open, recounted after an unclean stop.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Direction, KeyRange, Scan, Snapshot, Store, StoreError, Transaction};

use crate::catalogue::Table;
use crate::state::Engine;
use crate::state::recount::PartialCount;
use crate::state::stats::{self, Counted, Tally};
use crate::support::fault;
use crate::support::layout::{self, Space};
use crate::support::wake::NextWake;

/// The marker of a clean stop: present only while no engine is open and all rows are exact.
const CLEAN_KEY: &[u8] = &[0x07, 0x00];
/// The time between two writes of the counters.
const FLUSH_MS: u64 = 10_000;
/// Counters that one commit writes.
const FLUSH_ROWS_MAX: usize = 1000;
/// Rows and bytes of one scan of the store.
const SCAN_ROWS_MAX: usize = 1000;
const SCAN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Whether the engine stops after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Running,
    Clean,
}

/// Reads the counters. After an unclean stop they are reported until the recount ends.
pub(crate) async fn load<S: Store>(engine: &Engine<S>) -> Result<(), StoreError> {
    let snapshot = engine.store().snapshot().await?;
    let mut range = layout::prefix_range(vec![Space::Stats.byte()]);
    loop {
        let page = snapshot.scan(&forward(range.clone())).await?;
        for entry in &page.entries {
            if let (Some(counted), Some(tally)) = (stats::read_key(&entry.key), stats::decode(&entry.value)) {
                engine.stats().load(counted, tally);
            }
        }
        match page.entries.last() {
            Some(last) if page.more => {
                assert!(last.key >= range.start, "a forward scan advances");
                range.start = layout::after(&last.key);
            }
            _ => break,
        }
    }
    if snapshot.get(CLEAN_KEY).await?.is_none() {
        let tables = engine.catalogue().all();
        engine.stats().recount(tables.iter().flat_map(|table| counted(table)));
        return Ok(());
    }
    let mut txn = engine.store().begin().await?;
    txn.delete(Bytes::from_static(CLEAN_KEY));
    // Without this commit a later unclean stop would look clean: refuse to open.
    txn.commit().await.map(|_version| ()).map_err(|fault| match fault {
        CommitError::Failed(fault) => fault,
        CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown => {
            StoreError::Io(format!("cannot mark the database as open: {fault:?}"))
        }
    })
}

/// All counters of a table.
fn counted(table: &Table) -> Vec<Counted> {
    let entries = table.indexes().map(|(_, index, _)| Counted::Entries(table.id, index));
    std::iter::once(Counted::Items(table.id)).chain(entries).collect()
}

fn forward(range: KeyRange) -> Scan {
    Scan { range, direction: Direction::Forward, rows_max: SCAN_ROWS_MAX, bytes_max: SCAN_BYTES_MAX }
}

/// Recounts some rows, and writes the counters when they are due.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    if engine.stats().flush_is_due(now_ms, FLUSH_MS) {
        flush(engine, Stop::Running).await?;
    }
    if count_some(engine).await.map_err(|fault| fault::storage(&fault))? {
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    Ok(NextWake { at_ms: Some(now_ms.saturating_add(FLUSH_MS)) })
}

/// Recounts some rows; false if no recount is due.
async fn count_some<S: Store>(engine: &Engine<S>) -> Result<bool, StoreError> {
    let Some(mut partial) = next_partial(engine).await? else { return Ok(false) };
    let page = partial.snapshot.scan(&forward(partial.rest.clone())).await?;
    for entry in &page.entries {
        let size = EncodedItem::from_stored(entry.value.clone()).map_or(0, |item| item.size_bytes());
        partial.found += Tally { rows: 1, bytes: i64::try_from(size).unwrap_or(i64::MAX) };
    }
    match page.entries.last() {
        Some(last) if page.more => {
            assert!(last.key >= partial.rest.start, "a recount advances through its rows");
            partial.rest.start = layout::after(&last.key);
            engine.recounting().put(partial);
        }
        _ => engine.stats().end_recount(partial.number, partial.found),
    }
    Ok(true)
}

/// The recount under way, or the next one.
async fn next_partial<S: Store>(engine: &Engine<S>) -> Result<Option<PartialCount<S::Snapshot>>, StoreError> {
    if let Some(partial) = engine.recounting().take() {
        return Ok(Some(partial));
    }
    let Some((number, counted)) = engine.stats().begin_recount() else { return Ok(None) };
    let snapshot = engine.store().snapshot().await?;
    engine.stats().snapshot_taken(number, snapshot.version());
    let prefix = match counted {
        Counted::Items(table) => layout::items_prefix(table),
        Counted::Entries(table, index) => layout::index_prefix(table, index),
    };
    Ok(Some(PartialCount { number, snapshot, rest: layout::prefix_range(prefix), found: Tally::default() }))
}

/// Writes the counters that changed.
pub(crate) async fn flush<S: Store>(engine: &Engine<S>, stop: Stop) -> Result<(), Error> {
    let exact = engine.stats().is_exact();
    loop {
        let counters = engine.stats().take_unwritten(FLUSH_ROWS_MAX);
        let last = counters.len() < FLUSH_ROWS_MAX;
        let clean = stop == Stop::Clean && exact && last;
        if counters.is_empty() && !clean {
            return Ok(());
        }
        if let Err(fault) = write_rows(engine, &counters, clean).await {
            engine.stats().put_back(counters.into_iter().map(|(counted, _)| counted));
            return Err(fault);
        }
        if last {
            return Ok(());
        }
    }
}

async fn write_rows<S: Store>(
    engine: &Engine<S>,
    counters: &[(Counted, Tally)],
    clean: bool,
) -> Result<(), Error> {
    let mut txn = engine.store().begin().await.map_err(|fault| fault::storage(&fault))?;
    for (counted, tally) in counters {
        txn.put(stats::row_key(*counted), stats::encode(*tally));
    }
    if clean {
        txn.put(Bytes::from_static(CLEAN_KEY), Bytes::from_static(&[1]));
    }
    txn.commit().await.map(|_version| ()).map_err(|fault| match fault {
        CommitError::Failed(fault) => fault::storage(&fault),
        CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown => fault::internal(),
    })
}
