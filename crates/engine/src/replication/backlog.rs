//! The bound on what waits for a receiver that is not reached. Beyond it the log is dropped for this
//! receiver, and it is owed a pass over all rows instead: that is bounded by the table.
//!
//! After some weeks the receiver is lost: deletions are remembered for it no longer, so what it has is not
//! merged any more when it is back. It rejoins on request (`rejoin`).

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_store::{CommitError, LogRead, Snapshot, Store, Transaction};

use super::pair::Pair;
use crate::catalogue::{Shard, Table};
use crate::changes::replicated::{Cursor, Owed, Way};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::log_of;
use crate::support::wake::NextWake;
use crate::write::version_record::VersionRecord;

/// What one look measures.
const MEASURED_ENTRIES_MAX: usize = 10_000;
const MEASURED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Measures what waits for a receiver here, a piece at a time; drops it if it is too much.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    pair: Pair<'_>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    measure(engine, (pair.sender, pair.way()), Some(pair), now_ms).await
}

/// The same of a receiver on another server. It is never lost: deletions are remembered until it has them.
pub(super) async fn step_of_remote<S: Store>(
    engine: &Engine<S>,
    (sender, way): (&Arc<Table>, Way),
    now_ms: u64,
) -> Result<NextWake, Error> {
    measure(engine, (sender, way), None, now_ms).await
}

async fn measure<S: Store>(
    engine: &Engine<S>,
    (sender, way): (&Arc<Table>, Way),
    pair: Option<Pair<'_>>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let idle = NextWake::default();
    let Some(shard) = sender.replication_log().and_then(|log| log.open_shards().next()) else {
        return Ok(idle);
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let Some((cursor, _)) = way.read(&view).await? else { return Ok(idle) };
    if cursor.is_lost() {
        return Ok(idle);
    }
    let at_ms = now_ms;
    if let Some(pair) = pair
        && is_lost(engine, (pair, shard), &view, &cursor, now_ms).await?
    {
        begin_anew(engine, way, Owed::Lost { at_ms }).await?;
        begin_anew(engine, way.back(), Owed::Lost { at_ms }).await?;
        return Ok(idle);
    }
    let read = LogRead {
        id: log_of(sender.id, shard.number),
        after: engine.shipping().backlogs().passed(way.tables(), cursor.after(shard)),
        entries_max: MEASURED_ENTRIES_MAX,
        bytes_max: MEASURED_BYTES_MAX,
    };
    let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
    let Some(last) = entries.last() else { return Ok(idle) };
    let read_bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    let bytes = u64::try_from(read_bytes).unwrap_or(u64::MAX);
    let waiting = engine.shipping().backlogs().measured(way.tables(), (last.position, bytes));
    if waiting > engine.config().backlog_bytes_max {
        begin_anew(engine, way, cursor.owed.unwrap_or(Owed::Backlog { at_ms })).await?;
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    let is_whole = entries.len() < MEASURED_ENTRIES_MAX && read_bytes < MEASURED_BYTES_MAX;
    Ok(if is_whole { idle } else { NextWake { at_ms: Some(now_ms) } })
}

/// Whether a receiver, or its sender, has not been reached for so long that it is lost. Both lose each other:
/// either might bring back what the other has deleted and forgotten.
async fn is_lost<S: Store>(
    engine: &Engine<S>,
    (pair, shard): (Pair<'_>, &Shard),
    view: &S::Snapshot,
    cursor: &Cursor,
    now_ms: u64,
) -> Result<bool, Error> {
    if pair.way().back().read(view).await?.is_some_and(|(back, _)| back.is_lost()) {
        return Ok(true);
    }
    let since_ms = match cursor.owed {
        Some(
            Owed::Backlog { at_ms }
            | Owed::Rejoined { at_ms }
            | Owed::Lost { at_ms }
            | Owed::Restored { at_ms },
        ) => Some(at_ms),
        // A newcomer is not open to clients, so it has nothing that would be lost.
        None if cursor.pass.is_some() => None,
        None => {
            let id = log_of(pair.sender.id, shard.number);
            let read = LogRead { id, after: cursor.after(shard), entries_max: 1, bytes_max: 1 };
            let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
            let first = entries.first().map(|first| VersionRecord::decode(&first.bytes)).transpose();
            first.map_err(|_| fault::internal())?.map(|record| record.at.ms())
        }
    };
    Ok(since_ms.is_some_and(|since_ms| since_ms.saturating_add(engine.config().replica_lost_ms) <= now_ms))
}

/// Owes a receiver a pass from the beginning: the log up to now is not needed for it any more.
pub(super) async fn begin_anew<S: Store>(engine: &Engine<S>, way: Way, owed: Owed) -> Result<(), Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    // What the log has up to this version, all later views show: so does the pass.
    let version = view.version().0;
    drop(view);
    let keys = [way.key()];
    let begun = engine.store().begin_with(&keys).await;
    let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
    // Without a row the receiver has left, or is owed a pass as it is.
    let Some(row) = rows.into_iter().next().flatten() else { return Ok(()) };
    let moves = Cursor::decode(&row)?.moves.saturating_add(1);
    let [key] = keys;
    txn.put(key, Cursor { moves, owed: Some(owed), ..Cursor::owing(version) }.encode());
    match txn.commit().await {
        Ok(_) => {
            engine.shipping().backlogs().clear(way.tables());
            Ok(())
        }
        // It was just moved: the next look sees how far.
        Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}
