//! Background work: ending statuses, building indexes, purging rows of deleted tables and indexes, expiring
//! items, writing metrics.
//!
//! Each call of `step` does a bounded piece of it. The catalogue says what is left, also after a restart.
//! After a fault of the store a later step tries again.

mod copies;
mod history;
pub(crate) mod index_backfill;
mod keeping;
pub(crate) mod members;
pub(crate) mod stamp_rows;
pub(crate) mod stats_rows;
mod strong;
pub(crate) mod throughput_rows;
mod upkeep;
pub(crate) mod use_rows;

use std::sync::atomic::Ordering;

use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::backfill::Progress;
use crate::backups;
use crate::catalogue;
use crate::catalogue::{
    Backfill, IndexStatus, Table, TableStatus, TtlGeneration, backfill_key, ttl_fill_key,
};
use crate::changes;
use crate::directory;
use crate::jobs;
use crate::monitoring;
use crate::replication;
use crate::scaling;
use crate::sets;
use crate::state::Engine;
use crate::state::stats::{self, Counted};
use crate::support::fault;
use crate::support::layout::{self, Space, TableId};
use crate::support::wake::NextWake;
use crate::tables::purge::{Purged, purge_some, purge_table};
use crate::transfers;
use crate::ttl;
use crate::write::{expiry_rows, tokens};

/// The time until work that a fault stopped is tried again.
const RETRY_MS: u64 = 1000;
/// The time between two sweeps of expired tokens. An expired token has no effect before it is removed.
const TOKEN_SWEEP_MS: u64 = 60_000;
/// Tokens belong to no table; their sweep is owned like one.
const TOKENS: TableId = TableId(0);
/// The time between two looks at what other processes changed in the catalogue.
const FOLLOW_MS: u64 = 250;

pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> NextWake {
    let retry = NextWake { at_ms: Some(now_ms.saturating_add(RETRY_MS)) };
    let mut wake = NextWake::default();
    if engine.is_shared() {
        let followed = follow(engine, now_ms).await;
        if followed.is_err() {
            return retry;
        }
        wake = NextWake { at_ms: Some(now_ms.saturating_add(FOLLOW_MS)) };
    }
    wake = wake.earlier(stats_rows::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(throughput_rows::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(monitoring::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(scaling::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(jobs::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(backups::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(transfers::expiry::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(sweep_tokens(engine, now_ms).await);
    wake = wake.earlier(upkeep::step(engine, now_ms).await);
    wake = wake.earlier(keeping::step(engine, now_ms).await.unwrap_or(retry));
    wake = wake.earlier(sets::expiry::step(engine, now_ms).await.unwrap_or(retry));
    for table in engine.catalogue().all().into_iter().filter(|table| engine.owns(table.id)) {
        let next = work_on(engine, &table, now_ms).await.unwrap_or(retry);
        wake = wake.earlier(next);
        wake = wake.earlier(strong::step(engine, &table, now_ms).await.unwrap_or(retry));
        wake = wake.earlier(replication::step(engine, &table, now_ms).await);
        wake = wake.earlier(ttl::maintain(engine, &table, now_ms).await.unwrap_or(retry));
        wake = wake.earlier(changes::maintain(engine, &table, now_ms).await.unwrap_or(retry));
        wake = wake.earlier(history::maintain(engine, &table, now_ms).await.unwrap_or(retry));
    }
    engine.shared_tables().forget_healed(engine, now_ms).await;
    wake = wake.earlier(replication::verify(engine, now_ms).await);
    wake = wake.earlier(copies::step(engine, now_ms).await.unwrap_or(retry));
    for table in engine.catalogue().doomed().into_iter().filter(|table| engine.owns(table.id)) {
        wake = wake.earlier(match purge_table(engine, &table).await {
            Ok(Purged::Entirely) => NextWake::default(),
            Ok(Purged::Partly) => NextWake { at_ms: Some(now_ms) },
            Err(_fault) => retry,
        });
    }
    wake
}

/// Learns what other processes did.
async fn follow<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<(), Error> {
    let (tables, principals) = (engine.catalogue(), engine.directory());
    let since_ms = now_ms.saturating_sub(FOLLOW_MS);
    if !tables.is_followed_since(since_ms) || !principals.is_followed_since(since_ms) {
        // The store is asked once for both: mostly neither has changed.
        let rows = engine.store().get_many(&[catalogue::epoch_key(), directory::epoch_key()]).await;
        let mut rows = rows.map_err(|fault| fault::storage(&fault))?.into_iter();
        let (of_tables, of_principals) = (rows.next().flatten(), rows.next().flatten());
        if tables.is_of_epoch(of_tables) {
            tables.note_followed(now_ms);
        } else {
            tables.follow(now_ms).await?;
        }
        if !principals.note_followed(of_principals, now_ms) {
            principals.follow(now_ms).await?;
        }
    }
    members::step(engine, now_ms).await?;
    use_rows::step(engine, now_ms).await
}

/// Removes some expired idempotency tokens: those that no process takes for valid.
async fn sweep_tokens<S: Store>(engine: &Engine<S>, now_ms: u64) -> NextWake {
    if !engine.owns(TOKENS) {
        return NextWake::default();
    }
    let next_ms = engine.token_sweep().load(Ordering::Relaxed);
    if now_ms < next_ms {
        return NextWake { at_ms: Some(next_ms) };
    }
    let at_ms = match tokens::sweep(engine.store(), engine.passed_ms(now_ms)).await {
        Ok(true) => now_ms,
        Ok(false) => now_ms + TOKEN_SWEEP_MS,
        Err(_fault) => now_ms + RETRY_MS,
    };
    engine.token_sweep().store(at_ms, Ordering::Relaxed);
    NextWake { at_ms: Some(at_ms) }
}

/// Does the next piece of work of one table.
async fn work_on<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Result<NextWake, Error> {
    let at_once = NextWake { at_ms: Some(now_ms) };
    if table.status != TableStatus::Active && table.status_until_ms > now_ms {
        return Ok(NextWake { at_ms: Some(table.status_until_ms) });
    }
    match table.status {
        // The job that fills it ends it.
        TableStatus::Creating if table.filling.is_some() => return Ok(NextWake::default()),
        // The work on its group ends it.
        TableStatus::Creating if table.is_joining() => return Ok(NextWake::default()),
        TableStatus::Deleting if table.is_leaving() => return Ok(NextWake::default()),
        TableStatus::Deleting if table.strong.is_some() => return Ok(NextWake::default()),
        TableStatus::Updating if table.is_disassociating() => return Ok(NextWake::default()),
        TableStatus::Creating | TableStatus::Updating => {
            let activate = |table: &mut Table| {
                table.status = TableStatus::Active;
                Ok(())
            };
            engine.catalogue().change(table.id, activate).await?;
            return Ok(at_once);
        }
        TableStatus::Deleting => {
            if engine
                .catalogue()
                .find(&crate::catalogue::owner(table), &table.name)
                .is_some_and(|named| named.id == table.id)
            {
                engine.catalogue().unname(table).await?;
            }
            return Ok(NextWake::default());
        }
        TableStatus::Active => {}
    }
    if let Some(index) = table.doomed_indexes.first() {
        purge_index(engine, table, index.state.id).await?;
        return Ok(at_once);
    }
    if let Some(generation) = table.ttl.doomed.first() {
        purge_expiries(engine, table, *generation).await?;
        return Ok(at_once);
    }
    if table.has_old_versions {
        purge_versions(engine, table).await?;
        return Ok(at_once);
    }
    let next_ms = table.warm_jobs.iter().map(|job| job.done_ms).min();
    if next_ms.is_some_and(|next_ms| next_ms <= now_ms) {
        let end = |table: &mut Table| {
            table.end_warm_jobs(now_ms);
            Ok(())
        };
        engine.catalogue().change(table.id, end).await?;
        return Ok(at_once);
    }
    Ok(build_index(engine, table, now_ms).await?.earlier(NextWake { at_ms: next_ms }))
}

/// Does a piece of a table's first backfill.
async fn build_index<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Result<NextWake, Error> {
    let Some((place, phase)) =
        table.states.iter().enumerate().find_map(|(place, state)| Some((place, state.backfill?)))
    else {
        return Ok(NextWake::default());
    };
    let Some(index) = table.states.get(place).map(|state| state.id) else { return Ok(NextWake::default()) };
    let set = |change: fn(&mut crate::catalogue::IndexState)| {
        move |table: &mut Table| {
            if let Some(state) = table.states.iter_mut().find(|state| state.id == index) {
                change(state);
            }
            Ok(())
        }
    };
    match phase {
        Backfill::Allocating => {
            engine
                .catalogue()
                .change(table.id, set(|state| state.backfill = Some(Backfill::Scanning)))
                .await?;
        }
        Backfill::Scanning => {
            if index_backfill::step(engine, table, place).await? == Progress::Done {
                let complete = set(|state| {
                    state.backfill = None;
                    state.status = IndexStatus::Active;
                });
                engine.catalogue().change(table.id, complete).await?;
                // Writers counted changes of items without an entry as if the entry existed.
                engine.stats().recount([Counted::Entries(table.id, index)]);
                engine.catalogue().forget_rows([backfill_key(table.id, index)]).await?;
            }
        }
    }
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// Purges rows of a deleted index; forgets the index when none are left.
async fn purge_index<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    index: layout::IndexId,
) -> Result<(), Error> {
    if purge_some(engine, layout::index_prefix(table.id, index)).await? == Purged::Partly {
        return Ok(());
    }
    let counted = Counted::Entries(table.id, index);
    engine.catalogue().forget_rows([backfill_key(table.id, index), stats::row_key(counted)]).await?;
    let forget = |table: &mut Table| {
        table.doomed_indexes.retain(|doomed| doomed.state.id != index);
        table.forget_insights(index);
        Ok(())
    };
    engine.catalogue().change(table.id, forget).await?;
    engine.stats().forget(counted);
    Ok(())
}

/// Purges what a group has left that the table is in no longer.
async fn purge_versions<S: Store>(engine: &Engine<S>, table: &Table) -> Result<(), Error> {
    for space in [Space::Versions, Space::Tombstones, Space::ReplicaCursors] {
        if purge_some(engine, layout::table_prefix(space, table.id)).await? == Purged::Partly {
            return Ok(());
        }
    }
    engine.shipping().forget(table.id);
    engine.verifications().forget(table.id);
    engine.links().forget(table.id);
    let forget = |table: &mut Table| {
        table.has_old_versions = false;
        Ok(())
    };
    engine.catalogue().change(table.id, forget).await.map(|_| ())
}

/// Purges expiry rows of a disabled time to live; forgets its generation when none are left.
async fn purge_expiries<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    generation: TtlGeneration,
) -> Result<(), Error> {
    if purge_some(engine, expiry_rows::rows_prefix(table.id, generation)).await? == Purged::Partly {
        return Ok(());
    }
    engine.next_expiry().forget(table.id);
    engine.catalogue().forget_rows([ttl_fill_key(table.id, generation)]).await?;
    let forget = |table: &mut Table| {
        table.ttl.doomed.retain(|doomed| *doomed != generation);
        Ok(())
    };
    engine.catalogue().change(table.id, forget).await.map(|_| ())
}
