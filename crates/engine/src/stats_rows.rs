//! The counters' rows: written by steps and at shutdown, read at open, counted anew after an unclean stop.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::transport;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store, StoreError, Transaction};

use crate::catalogue::Table;
use crate::engine::{Engine, NextWake};
use crate::layout::{self, Space};
use crate::stats::{self, Counted, Tally};

/// Present exactly while no engine is open on counters that all are written down.
const CLEAN_KEY: &[u8] = &[0x07, 0x00];
/// How often counters are written down.
const FLUSH_MS: u64 = 10_000;
/// Rows and bytes that one look at the store takes.
const LOOK_ROWS: usize = 1000;
const LOOK_BYTES: usize = 4 * 1024 * 1024;

/// Whether the engine goes on after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    GoesOn,
    Clean,
}

/// Reads the counters, or marks all of them to be counted.
pub(crate) async fn load<S: Store>(engine: &Engine<S>) -> Result<(), StoreError> {
    let snapshot = engine.store().snapshot().await?;
    if snapshot.get(CLEAN_KEY).await?.is_none() {
        let tables = engine.catalogue().all();
        engine.stats().recount(tables.iter().flat_map(|table| counted(table)));
        return Ok(());
    }
    let mut range = layout::prefix_range(vec![Space::Stats.byte()]);
    loop {
        let scan = look(range.clone());
        let page = snapshot.scan(&scan).await?;
        for entry in &page.entries {
            if let (Some(counted), Some(tally)) = (stats::read_key(&entry.key), stats::decode(&entry.value)) {
                engine.stats().add(counted, tally);
            }
        }
        match page.entries.last() {
            Some(last) if page.more => range.start = layout::after(&last.key),
            _ => break,
        }
    }
    let mut txn = engine.store().begin().await?;
    txn.delete(Bytes::from_static(CLEAN_KEY));
    // If this does not get through, an unclean stop would look clean: refuse to open.
    txn.commit().await.map(|_version| ()).map_err(|fault| match fault {
        keywright_store::CommitError::Failed(fault) => fault,
        other => StoreError::Io(format!("cannot mark the database as open: {other:?}")),
    })
}

/// Everything that is counted of a table.
fn counted(table: &Table) -> Vec<Counted> {
    let entries = table.indexes().map(|(_, index, _)| Counted::Entries(table.id, index));
    std::iter::once(Counted::Items(table.id)).chain(entries).collect()
}

fn look(range: KeyRange) -> Scan {
    Scan { range, direction: Direction::Forward, rows_max: LOOK_ROWS, bytes_max: LOOK_BYTES }
}

/// Counts a piece of what is to be counted, and writes the counters down when it is time.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> NextWake {
    if let Some((counted, from)) = engine.stats().next_recount() {
        let _ = count_piece(engine, counted, from).await;
        return NextWake { at_ms: Some(now_ms) };
    }
    if engine.stats().flush_is_due(now_ms, FLUSH_MS) {
        // A later flush writes what this one could not.
        let _ = flush(engine, Stop::GoesOn).await;
    }
    NextWake { at_ms: Some(now_ms + FLUSH_MS) }
}

async fn count_piece<S: Store>(
    engine: &Engine<S>,
    counted: Counted,
    from: Option<Bytes>,
) -> Result<(), StoreError> {
    let prefix = match counted {
        Counted::Items(table) => layout::items_prefix(table),
        Counted::Entries(table, index) => layout::index_prefix(table, index),
    };
    let mut range = layout::prefix_range(prefix);
    range.start = from.unwrap_or(range.start);
    let page = engine.store().snapshot().await?.scan(&look(range)).await?;
    let mut found = Tally::default();
    for entry in &page.entries {
        found.rows += 1;
        if let Ok(item) = EncodedItem::from_stored(entry.value.clone()) {
            found.bytes += i64::try_from(item.size_bytes()).unwrap_or(0);
        }
    }
    let next = page.entries.last().filter(|_| page.more).map(|last| layout::after(&last.key));
    engine.stats().recounted(counted, found, next);
    Ok(())
}

/// Writes all counters down.
pub(crate) async fn flush<S: Store>(engine: &Engine<S>, stop: Stop) -> Result<(), Error> {
    let failed = || Error::new(ErrorKind::InternalServerError, transport::INTERNAL);
    let complete = engine.stats().next_recount().is_none();
    let mut txn = engine.store().begin().await.map_err(|_fault| failed())?;
    for (counted, tally) in engine.stats().all() {
        txn.put(stats::row_key(counted), stats::encode(tally));
    }
    if stop == Stop::Clean && complete {
        txn.put(Bytes::from_static(CLEAN_KEY), Bytes::from_static(&[1]));
    }
    txn.commit().await.map(|_version| ()).map_err(|_fault| failed())
}
