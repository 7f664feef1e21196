//! The counters' rows: written by steps and at shutdown, read at open, recounted after an unclean stop.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, CommitVersion, Snapshot, Store, StoreError, Transaction};

use crate::catalogue::Table;
use crate::state::Engine;
use crate::state::recount::PartialCount;
use crate::state::stats::{self, Counted, Tally};
use crate::support::fault;
use crate::support::layout::{self, Space, TableId};
use crate::support::member_row::MemberId;
use crate::support::rows::{Pages, READ, each_row};
use crate::support::wake::NextWake;

/// The marker of a clean stop: present only while no engine is open and all rows are exact.
const CLEAN_KEY: &[u8] = &[Space::CleanStop.byte(), 0x00];
/// The time between two writes of the counters.
const FLUSH_MS: u64 = 10_000;
/// Counters that one commit writes.
const FLUSH_ROWS_MAX: usize = 1000;
/// Counters that one commit takes over from a process that is gone.
const INHERIT_ROWS_MAX: usize = 200;

/// Whether the engine stops after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Running,
    Clean,
}

/// Reads the counters. After an unclean stop they are reported until the recount ends.
pub(crate) async fn load<S: Store>(engine: &Engine<S>) -> Result<(), StoreError> {
    let snapshot = engine.store().snapshot().await?;
    if engine.is_shared() {
        return load_others(engine, &snapshot).await;
    }
    read_rows(&snapshot, |counted, member, tally| {
        if member.is_none() {
            engine.stats().load(counted, tally);
        }
    })
    .await?;
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

/// Reads what the other processes over a shared store have counted.
pub(crate) async fn load_others<S: Store>(engine: &Engine<S>, view: &S::Snapshot) -> Result<(), StoreError> {
    let mut others: BTreeMap<Counted, Tally> = BTreeMap::new();
    let own = Some(engine.members().own());
    read_rows(view, |counted, member, tally| {
        if member != own {
            *others.entry(counted).or_default() += tally;
        }
    })
    .await?;
    engine.stats().set_others(others);
    Ok(())
}

/// Adds the counters of a process that is gone to those of nobody, in bounded commits. What it had not
/// written is lost with it: these figures are informative.
pub(crate) async fn inherit<S: Store>(engine: &Engine<S>, gone: MemberId) -> Result<(), Error> {
    let view = engine.store().snapshot().await.map_err(|fault| fault::storage(&fault))?;
    let mut left = Vec::new();
    let read = read_rows(&view, |counted, member, _tally| {
        if member == Some(gone) {
            left.push(counted);
        }
    });
    read.await.map_err(|fault| fault::storage(&fault))?;
    drop(view);
    for part in left.chunks(INHERIT_ROWS_MAX) {
        let mut txn = engine.store().begin().await.map_err(|fault| fault::storage(&fault))?;
        for counted in part {
            let keys = [stats::row_key(*counted), stats::member_row_key(*counted, gone)];
            let rows = txn.get_for_write(&keys).await.map_err(|fault| fault::storage(&fault))?;
            let mut rows = rows.into_iter().map(|row| row.as_deref().and_then(stats::decode));
            let (nobodys, its) = (rows.next().flatten(), rows.next().flatten());
            // Another process may have inherited it already.
            let Some(its) = its else { continue };
            let mut sum = nobodys.unwrap_or_default();
            sum += its;
            let [nobodys, its] = keys;
            txn.put(nobodys, stats::encode(sum));
            txn.delete(its);
        }
        written(txn.commit().await)?;
    }
    Ok(())
}

/// Passes every counter's row to `take`.
async fn read_rows(
    view: &impl Snapshot,
    mut take: impl FnMut(Counted, Option<MemberId>, Tally) + Send,
) -> Result<(), StoreError> {
    each_row(view, layout::prefix_range(vec![Space::Stats.byte()]), |entry| {
        if let (Some((counted, member)), Some(tally)) =
            (stats::read_key(&entry.key), stats::decode(&entry.value))
        {
            take(counted, member, tally);
        }
    })
    .await
}

/// All counters of a table.
fn counted(table: &Table) -> Vec<Counted> {
    let entries = table.indexes().map(|(_, index, _)| Counted::Entries(table.id, index));
    std::iter::once(Counted::Items(table.id)).chain(entries).collect()
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
    for entry in partial.rest.next(&partial.snapshot).await?.unwrap_or_default() {
        let size = EncodedItem::from_stored(entry.value).map_or(0, |item| item.size_bytes());
        partial.found += Tally { rows: 1, bytes: i64::try_from(size).unwrap_or(i64::MAX) };
    }
    match partial.rest.next_key() {
        Some(_) => engine.recounting().put(partial),
        None => engine.stats().end_recount(partial.number, partial.found),
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
    let rest = Pages::of(layout::prefix_range(prefix), READ);
    Ok(Some(PartialCount { number, snapshot, rest, found: Tally::default() }))
}

/// Writes the counters that changed.
pub(crate) async fn flush<S: Store>(engine: &Engine<S>, stop: Stop) -> Result<(), Error> {
    let exact = engine.stats().is_exact();
    if engine.is_shared() {
        // Another process may have deleted a table since: its rows must not come back.
        let kept: BTreeSet<TableId> = engine.catalogue().all().iter().map(|table| table.id).collect();
        engine.stats().keep_only(|table| kept.contains(&table));
    }
    loop {
        let counters = engine.stats().take_unwritten(FLUSH_ROWS_MAX);
        let last = counters.len() < FLUSH_ROWS_MAX;
        let clean = stop == Stop::Clean && exact && last && !engine.is_shared();
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
        let key = if engine.is_shared() {
            stats::member_row_key(*counted, engine.members().own())
        } else {
            stats::row_key(*counted)
        };
        txn.put(key, stats::encode(*tally));
    }
    if clean {
        txn.put(Bytes::from_static(CLEAN_KEY), Bytes::from_static(&[1]));
    }
    written(txn.commit().await)
}

fn written(outcome: Result<CommitVersion, CommitError>) -> Result<(), Error> {
    outcome.map(|_version| ()).map_err(|fault| match fault {
        CommitError::Failed(fault) => fault::storage(&fault),
        CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown => fault::internal(),
    })
}
