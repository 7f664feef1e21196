//! The rows by which processes over one shared store know of each other, and what a process leaves behind.

use keywright_semantics::error::Error;
use keywright_store::{CommitError, Entry, Snapshot, Store, Transaction};

use super::{stamp_rows, stats_rows};
use crate::catalogue::known_records;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{Space, prefix_range};
use crate::support::member_row::MemberId;
use crate::support::member_row::MemberRow;
use crate::support::rows::each_row;

/// The time between two signs of life.
const BEAT_MS: u64 = 1_500;

/// Gives the next sign of life, looks at those of the others, and takes over what dead ones left.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<(), Error> {
    let Some(beat) = engine.members().due_beat(now_ms, BEAT_MS) else { return Ok(()) };
    let mut txn = engine.store().begin().await.map_err(|fault| fault::storage(&fault))?;
    let row = MemberRow { beat, knows: known_records() };
    txn.put(engine.members().own().row_key(Space::Members), row.encode());
    ended(stamp_rows::publish(engine, txn, now_ms).await)?;
    ended(stamp_rows::raise(engine).await)?;
    let view = engine.store().snapshot().await.map_err(|fault| fault::storage(&fault))?;
    let beats = read(&view).await?;
    stats_rows::load_others(engine, &view).await.map_err(|fault| fault::storage(&fault))?;
    stamp_rows::follow(engine, &view).await?;
    drop(view);
    let before = engine.members().at_work();
    let gone = engine.members().note(&beats, now_ms);
    if engine.members().at_work() != before {
        // This process may own other jobs from now on.
        engine.due().jobs.wake_at(now_ms);
    }
    for gone in gone {
        stats_rows::inherit(engine, gone).await?;
        remove(engine, gone).await?;
    }
    Ok(())
}

/// Says goodbye: the others take over the work at once.
pub(crate) async fn leave<S: Store>(engine: &Engine<S>) -> Result<(), Error> {
    remove(engine, engine.members().own()).await
}

async fn remove<S: Store>(engine: &Engine<S>, member: MemberId) -> Result<(), Error> {
    engine.catalogue().remove_slots(member).await.map_err(|fault| fault::storage(&fault))?;
    let mut txn = engine.store().begin().await.map_err(|fault| fault::storage(&fault))?;
    txn.delete(member.row_key(Space::Members));
    txn.delete(member.row_key(Space::Uses));
    if let Err(failed) = stamp_rows::remove(&mut txn, &[member]).await {
        return ended::<()>(Err(failed));
    }
    ended(txn.commit().await)
}

/// A later step repeats what met a conflict, or whose outcome is unknown.
pub(super) fn ended<T>(outcome: Result<T, CommitError>) -> Result<(), Error> {
    match outcome {
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
        Err(CommitError::Failed(fault)) => Err(fault::storage(&fault)),
        Err(CommitError::TooLarge) => Err(fault::internal()),
    }
}

async fn read(view: &impl Snapshot) -> Result<Vec<(MemberId, u64)>, Error> {
    let mut beats = Vec::new();
    let read = each_row(view, prefix_range(vec![Space::Members.byte()]), |row| beats.extend(beat_of(row)));
    read.await.map_err(|fault| fault::storage(&fault))?;
    Ok(beats)
}

/// A process and its latest sign of life, from its row.
pub(crate) fn beat_of(row: &Entry) -> Option<(MemberId, u64)> {
    Some((MemberId::of_row(&row.key)?, MemberRow::decode(&row.value)?.beat))
}
