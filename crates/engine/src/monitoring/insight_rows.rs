//! The rows of contributor insights: finished minutes are written, and those of yesterday removed.
//!
//! Over a shared store each process writes rows of its own; the owner of a table removes old ones.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Direction, KeyRange, Scan, Snapshot, Store, Transaction};

use crate::catalogue::Rule;
use crate::insights::rows::{self, Minute, encode, minute_key, read_key};
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::fault;
use crate::support::layout::{self, IndexId, Space, TableId};
use crate::support::wake::NextWake;

/// Minutes of rules that are kept: a day. A busy rule has some megabytes of them.
const MINUTES_KEPT: u64 = 24 * 60;
/// The time between two removals of old minutes.
const TRIM_MS: u64 = 10 * MINUTE_MS;
/// Minutes that one commit writes.
const COMMIT_MINUTES_MAX: usize = 200;
/// Old minutes of one rule that one commit removes.
const TRIM_ROWS_MAX: usize = 500;
const TRIM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Does the work that is due.
pub(super) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let minute = now_ms / MINUTE_MS;
    let insights = engine.insights();
    if insights.written_minute.load(Ordering::Relaxed) < minute {
        flush(engine, minute).await?;
        insights.written_minute.fetch_max(minute, Ordering::Relaxed);
    }
    if now_ms >= insights.trim_ms.load(Ordering::Relaxed) {
        trim(engine, minute.saturating_sub(MINUTES_KEPT)).await?;
        insights.trim_ms.store(now_ms.saturating_add(TRIM_MS), Ordering::Relaxed);
    }
    Ok(NextWake { at_ms: Some((minute + 1).saturating_mul(MINUTE_MS)) })
}

/// Writes every minute in memory, the present one too: the engine stops.
pub(crate) async fn flush_all<S: Store>(engine: &Engine<S>) -> Result<(), Error> {
    flush(engine, u64::MAX).await
}

/// Writes the minutes before this one.
pub(super) async fn flush<S: Store>(engine: &Engine<S>, before_minute: u64) -> Result<(), Error> {
    let _turn = engine.insights().writing.lock().await;
    let mut minutes = engine.insights().take_finished(before_minute);
    while !minutes.is_empty() {
        let rest = minutes.split_off(minutes.len().min(COMMIT_MINUTES_MAX));
        if let Err(error) = write(engine, &minutes).await {
            minutes.extend(rest);
            engine.insights().put_back(minutes);
            return Err(error);
        }
        minutes = rest;
    }
    Ok(())
}

/// Writes minutes, each to a row of this process. A minute that was written before, because the clock was set
/// back or the process stopped and the new one drew its number again, is replaced.
async fn write<S: Store>(engine: &Engine<S>, minutes: &[(TableId, Rule, Minute)]) -> Result<(), Error> {
    let process = engine.members().own().0;
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for (table, rule, minute) in minutes {
        txn.put(minute_key(*table, *rule, minute.number, process), encode(minute));
    }
    committed(txn.commit().await.map(|_version| ()))
}

fn committed(outcome: Result<(), CommitError>) -> Result<(), Error> {
    outcome.map_err(|error| match error {
        CommitError::Failed(error) => fault::storage(&error),
        CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown => fault::internal(),
    })
}

/// Removes minutes before this one, and all minutes of tables and indexes that are gone: a process may write
/// some after their purge.
async fn trim<S: Store>(engine: &Engine<S>, end: u64) -> Result<(), Error> {
    let tables: HashMap<_, _> = engine.catalogue().all().into_iter().map(|table| (table.id, table)).collect();
    let mut range = layout::prefix_range(vec![Space::Insights.byte()]);
    while let Some((table, index, rule)) = first_rule(engine, range.clone()).await? {
        if engine.owns(table) && !engine.catalogue().is_refused(table) {
            let exists = tables.get(&table).is_some_and(|table| table.observed(index).is_some());
            let end = if exists { end } else { u64::MAX };
            let start = rule.clone().into();
            let old = KeyRange { start, end: Some([rule.as_slice(), &end.to_be_bytes()].concat().into()) };
            while remove_some(engine, &old).await? {}
        }
        let Some(next) = layout::prefix_range(rule).end else { break };
        range.start = next;
    }
    Ok(())
}

async fn scan<S: Store>(engine: &Engine<S>, range: KeyRange, rows_max: usize) -> Result<Vec<Bytes>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let scan = Scan { range, direction: Direction::Forward, rows_max, bytes_max: TRIM_BYTES_MAX };
    let page = view.scan(&scan).await.map_err(|error| fault::storage(&error))?;
    Ok(page.entries.into_iter().map(|entry| entry.key).collect())
}

/// The first rule with minutes in a range: its table, its index, and the prefix of its rows.
async fn first_rule<S: Store>(
    engine: &Engine<S>,
    range: KeyRange,
) -> Result<Option<(TableId, Option<IndexId>, Vec<u8>)>, Error> {
    let rows = scan(engine, range, 1).await?;
    let rule = rows.first().and_then(|key| read_key(key));
    Ok(rule.and_then(|(rule, _)| rows::place_of(rule).map(|(table, index)| (table, index, rule.to_vec()))))
}

/// Removes some rows of a range; whether there were any.
async fn remove_some<S: Store>(engine: &Engine<S>, range: &KeyRange) -> Result<bool, Error> {
    let keys = scan(engine, range.clone(), TRIM_ROWS_MAX).await?;
    if keys.is_empty() {
        return Ok(false);
    }
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for key in keys {
        txn.delete(key);
    }
    committed(txn.commit().await.map(|_version| ())).map(|()| true)
}
