//! The rows by which partitions and peaks outlive a restart: read at open, written by steps and at shutdown.

use std::sync::atomic::Ordering;

use keywright_semantics::error::Error;
use keywright_store::{CommitError, Store, StoreError, Transaction};

use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{self, Space};
use crate::support::rows::each_row;
use crate::support::wake::NextWake;
use crate::throughput::saved;

/// The time between two writes.
const SAVE_MS: u64 = 10_000;
/// Tables that one commit saves.
const SAVE_TABLES_MAX: usize = 100;

/// Reads what was saved, here or by another process.
pub(crate) async fn load<S: Store>(engine: &Engine<S>) -> Result<(), StoreError> {
    let view = engine.store().snapshot().await?;
    let now_ms = engine.env().now_ms();
    each_row(&view, layout::prefix_range(vec![Space::Throughput.byte()]), |entry| {
        if let Some((table, saved)) = saved::decode(&entry.key, &entry.value) {
            engine.ledgers().load(table, saved, now_ms);
        }
    })
    .await
}

/// Saves what has changed, now and then.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let due_ms = engine.throughput_save().load(Ordering::Relaxed);
    if now_ms < due_ms {
        return Ok(NextWake { at_ms: Some(due_ms) });
    }
    save(engine).await?;
    if engine.is_shared() && engine.ledgers().is_used() {
        load(engine).await.map_err(|error| fault::storage(&error))?;
    }
    let next_ms = now_ms.saturating_add(SAVE_MS);
    engine.throughput_save().store(next_ms, Ordering::Relaxed);
    Ok(NextWake { at_ms: Some(next_ms) })
}

/// Saves what has changed. Of several processes over one store, the owner of a table saves what it has seen.
pub(crate) async fn save<S: Store>(engine: &Engine<S>) -> Result<(), Error> {
    let changed = engine.ledgers().to_save(SAVE_TABLES_MAX);
    let changed: Vec<_> = changed.into_iter().filter(|(table, _)| engine.owns(*table)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for (table, saved) in &changed {
        txn.put(saved::row_key(*table), saved::encode(saved));
    }
    match txn.commit().await {
        Ok(_version) => changed.iter().for_each(|(table, saved)| engine.ledgers().note_saved(*table, saved)),
        // The next step saves it.
        Err(CommitError::Conflict | CommitError::Unknown) => {}
        Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
        Err(CommitError::TooLarge) => return Err(fault::internal()),
    }
    Ok(())
}
