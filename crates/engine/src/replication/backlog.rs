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
/// Attempts to begin a way anew while others move its place.
const ATTEMPTS_MAX: u32 = 8;

/// What became of a way that was to be begun anew.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anew {
    /// It is. Or it has no place: then the receiver has left, or is owed a pass as it is.
    Begun,
    /// Others have moved its place each time.
    Overtaken,
}

impl Anew {
    /// A fault if it was not done: it is to be tried again.
    pub(super) fn done(self) -> Result<(), Error> {
        match self {
            Self::Begun => Ok(()),
            Self::Overtaken => Err(fault::internal()),
        }
    }
}

/// Measures what waits for a receiver here, a piece at a time; drops it if it is too much.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    pair: Pair<'_>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    measure(engine, (pair.sender, pair.way()), now_ms).await
}

/// The same of a receiver on another server. If it is lost, its server learns of it when it sends something.
pub(super) async fn step_of_remote<S: Store>(
    engine: &Engine<S>,
    (sender, way): (&Arc<Table>, Way),
    now_ms: u64,
) -> Result<NextWake, Error> {
    measure(engine, (sender, way), now_ms).await
}

async fn measure<S: Store>(
    engine: &Engine<S>,
    (sender, way): (&Arc<Table>, Way),
    now_ms: u64,
) -> Result<NextWake, Error> {
    let mut idle = NextWake::default();
    let Some(shard) = sender.replication_log().and_then(|log| log.open_shards().next()) else {
        return Ok(idle);
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let Some((cursor, _)) = way.read(&view).await? else { return Ok(idle) };
    if cursor.is_lost() {
        return Ok(idle);
    }
    let at_ms = now_ms;
    let loss_ms = lost_at(engine, (way, shard), &view, &cursor).await?;
    if loss_ms.is_some_and(|loss_ms| loss_ms <= now_ms) {
        for way in [way, way.back()] {
            begin_anew(engine, way, Owed::Lost { at_ms }).await?.done()?;
        }
        note_loss(engine, way);
        return Ok(idle);
    }
    idle = NextWake { at_ms: loss_ms };
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
        // If it was moved meanwhile, it is measured again.
        let _ = begin_anew(engine, way, cursor.owed.unwrap_or(Owed::Backlog { at_ms })).await?;
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    let is_whole = entries.len() < MEASURED_ENTRIES_MAX && read_bytes < MEASURED_BYTES_MAX;
    Ok(if is_whole { idle } else { NextWake { at_ms: Some(now_ms) } })
}

/// Has those looked at that remain, without the one that is lost.
fn note_loss<S: Store>(engine: &Engine<S>, way: Way) {
    let ends = [way.sender, way.receiver];
    engine.verifications().note_loss(ends);
    for end in ends {
        engine.shipping().note(end);
    }
}

/// When a receiver and its sender are lost to each other, if they are not reached until then: either might
/// bring back what the other has deleted and forgotten.
async fn lost_at<S: Store>(
    engine: &Engine<S>,
    (way, shard): (Way, &Shard),
    view: &S::Snapshot,
    cursor: &Cursor,
) -> Result<Option<u64>, Error> {
    if way.back().read(view).await?.is_some_and(|(back, _)| back.is_lost()) {
        return Ok(Some(0));
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
            let id = log_of(way.sender, shard.number);
            let read = LogRead { id, after: cursor.after(shard), entries_max: 1, bytes_max: 1 };
            let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
            let first = entries.first().map(|first| VersionRecord::decode(&first.bytes)).transpose();
            first.map_err(|_| fault::internal())?.map(|record| record.at.ms())
        }
    };
    Ok(since_ms.map(|since_ms| since_ms.saturating_add(engine.config().replica_lost_ms)))
}

/// Owes a receiver a pass from the beginning: the log up to now is not needed for it any more.
pub(super) async fn begin_anew<S: Store>(engine: &Engine<S>, way: Way, owed: Owed) -> Result<Anew, Error> {
    begin_anew_above(engine, way, (owed, 0)).await
}

/// The same, with a place that has moved more often than this.
pub(super) async fn begin_anew_above<S: Store>(
    engine: &Engine<S>,
    way: Way,
    (owed, moves): (Owed, u64),
) -> Result<Anew, Error> {
    for _ in 0..ATTEMPTS_MAX {
        if try_to_begin(engine, way, (owed, moves)).await? == Anew::Begun {
            return Ok(Anew::Begun);
        }
    }
    Ok(Anew::Overtaken)
}

async fn try_to_begin<S: Store>(
    engine: &Engine<S>,
    way: Way,
    (owed, moves): (Owed, u64),
) -> Result<Anew, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    // What the log has up to this version, all later views show: so does the pass.
    let version = view.version().0;
    drop(view);
    let keys = [way.key()];
    let begun = engine.store().begin_with(&keys).await;
    let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
    let Some(row) = rows.into_iter().next().flatten() else { return Ok(Anew::Begun) };
    let moves = Cursor::decode(&row)?.moves.max(moves).saturating_add(1);
    let [key] = keys;
    txn.put(key, Cursor { moves, owed: Some(owed), ..Cursor::owing(version) }.encode());
    match txn.commit().await {
        Ok(_) => {
            engine.shipping().backlogs().clear(way.tables());
            Ok(Anew::Begun)
        }
        Err(CommitError::Conflict | CommitError::Unknown) => Ok(Anew::Overtaken),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}
