//! Restores: a table's items as of a stamp become a new table.
//!
//! The commit that accepts the restore makes the new table, which is CREATING, holds the history of the
//! source, and writes the job. The last commit of the job makes the table ACTIVE and releases the hold. A
//! restore that fails takes its table with it.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::Store;

use super::end::{end, failed};
use super::row::{Counts, Cursor, Job, Restore, Source, State, Work};
use super::{Next, table_of};
use crate::catalogue::backup::Backup;
use crate::catalogue::{OtherRows, Table, TableStatus, record_in};
use crate::history::as_of::{AsOf, OldItem, Page};
use crate::history::merge::{Part, after_item};
use crate::load::{COMMIT, LoadFault, Loaded, Progress, load};
use crate::state::Engine;
use crate::state::stats::{Counted, Tally};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;

/// Does the next step.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    restore: &Restore,
    now_ms: u64,
) -> Result<Next, Error> {
    let Some(target) = target_of(engine, job).await? else {
        if is_stored(engine, job).await? {
            return Ok(Next::AtOnce);
        }
        let state =
            failed("TableDeleted", format!("table {} was deleted while it was restored", job.table_name));
        return fail(engine, job, &state).await.map(|()| Next::Never);
    };
    if job.cursor.is_at_end {
        if now_ms < target.status_until_ms {
            return Ok(Next::At(target.status_until_ms));
        }
        return complete(engine, job, restore, &target).await.map(|()| Next::Never);
    }
    let Source::History { table, stamp } = restore.source else { return Ok(Next::Never) };
    let wait_ms = engine.load_pace().wait_ms(engine.env().now_us());
    if wait_ms > 0 {
        return Ok(Next::At(now_ms.saturating_add(wait_ms)));
    }
    let Some(page) = page_of(engine, TableId(table), stamp, &job.cursor).await? else {
        let state = failed(
            "HistoryLost",
            format!("the history from which table {} is restored is not kept any more", job.table_name),
        );
        return fail(engine, job, &state).await.map(|()| Next::Never);
    };
    let cursor_after = |written: usize| {
        let next = match page.items.get(written.wrapping_sub(1)) {
            Some(last) if written < page.items.len() => after_item(&last.within),
            _ => page.next.clone(),
        };
        Cursor { is_at_end: next.is_none(), place: next.unwrap_or_default().into(), taken: 0 }
    };
    match advance(engine, &target, job, &page.items, now_ms, cursor_after).await {
        Ok(_) => Ok(Next::AtOnce),
        Err(LoadFault::Damaged(what)) => {
            let state = failed("DamagedItem", format!("table {} cannot be restored: {what}", job.table_name));
            fail(engine, job, &state).await.map(|()| Next::Never)
        }
        Err(LoadFault::Store(error)) => Err(error),
    }
}

/// The table that a job fills; `None` if it is gone.
pub(super) async fn target_of<S: Store>(
    engine: &Engine<S>,
    job: &Job,
) -> Result<Option<std::sync::Arc<Table>>, Error> {
    let target = table_of(engine, job.owner()).await?;
    Ok(target.filter(|table| table.filling.as_ref().is_some_and(|filling| filling.job == job.id)))
}

/// Whether the store has the table that a job fills. The commit that makes it is in the store a moment before
/// it is in the catalogue's copy.
pub(super) async fn is_stored<S: Store>(engine: &Engine<S>, job: &Job) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let stored = record_in(&view, job.owner()).await?;
    Ok(stored.and_then(|table| table.filling).is_some_and(|filling| filling.job == job.id))
}

/// Writes some items with the job's new row. Returns the job as it is now, and the number of written items;
/// `None` if the job is another process's.
pub(super) async fn advance<S: Store>(
    engine: &Engine<S>,
    target: &Table,
    job: &Job,
    items: &[OldItem],
    now_ms: u64,
    cursor_after: impl Fn(usize) -> Cursor + Send + Sync,
) -> Result<Option<(Job, usize)>, LoadFault> {
    let progress = Progress { key: job.open_key(), before: job.encode() };
    let after = |written: usize, sum: Tally| {
        let bytes = u64::try_from(sum.bytes).unwrap_or(0);
        let items = u64::try_from(written).unwrap_or(u64::MAX);
        let counts = Counts { items: job.counts.items + items, bytes: job.counts.bytes + bytes };
        Job { cursor: cursor_after(written), counts, ..job.begun(now_ms) }.encode()
    };
    match load(engine, target, items, &progress, after).await? {
        Loaded::Written { items, row } => {
            engine.load_pace().note(items, engine.env().now_us());
            Ok(Some((Job::decode(&row).ok_or_else(fault::internal)?, items)))
        }
        Loaded::Overtaken => Ok(None),
    }
}

/// The next items of a table as of a stamp; `None` if its history does not reach back to it.
async fn page_of<S: Store>(
    engine: &Engine<S>,
    source: TableId,
    stamp: Stamp,
    cursor: &Cursor,
) -> Result<Option<Page>, Error> {
    let held = |table: Option<std::sync::Arc<Table>>| table.and_then(|table| AsOf::of(&table, stamp));
    let mut as_of = held(table_of(engine, source).await?);
    if as_of.is_none() && engine.is_shared() {
        // This copy of the table may be older than the hold.
        engine.catalogue().refresh(source).await?;
        as_of = held(engine.catalogue().with_id(source));
    }
    let Some(as_of) = as_of else { return Ok(None) };
    let part = Part { start: Bytes::copy_from_slice(&cursor.place), end: None };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let budget = Budget { rows_max: COMMIT.rows_max.min(engine.load_pace().rows_at_once()), ..COMMIT };
    as_of.page(&view, &part, budget).await.map(Some).map_err(|error| fault::storage(&error))
}

/// Makes the table ACTIVE.
async fn complete<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    restore: &Restore,
    target: &Table,
) -> Result<(), Error> {
    let activate = |table: &mut Table| {
        if table.filling.take_if(|filling| filling.job == job.id).is_some() {
            table.status = TableStatus::Active;
        }
    };
    if !end_with(engine, (job, restore), &State::Completed, activate).await? {
        return Ok(());
    }
    let counted = u64::try_from(engine.stats().get(Counted::Items(target.id)).rows).unwrap_or(0);
    if counted != job.counts.items {
        // A process that is gone did a part of the work, and its counters are lost.
        let entries = target.indexes().map(|(_, index, _)| Counted::Entries(target.id, index));
        engine.stats().recount(std::iter::once(Counted::Items(target.id)).chain(entries));
    }
    Ok(())
}

/// Ends a restore that cannot go on: its table disappears.
pub(super) async fn fail<S: Store>(engine: &Engine<S>, job: &Job, state: &State) -> Result<(), Error> {
    let Work::Restore(restore) = &job.work else { return Err(fault::internal()) };
    let doom = |table: &mut Table| {
        if table.filling.take_if(|filling| filling.job == job.id).is_some() {
            table.status = TableStatus::Deleting;
            table.status_until_ms = 0;
        }
    };
    end_with(engine, (job, restore), state, doom).await?;
    if let Some(target) =
        engine.catalogue().with_id(job.owner()).filter(|table| table.status == TableStatus::Deleting)
    {
        engine.catalogue().unname(&target).await?;
    }
    Ok(())
}

/// Ends a restore: changes its table, and lets go of what it held.
async fn end_with<S: Store>(
    engine: &Engine<S>,
    (job, restore): (&Job, &Restore),
    state: &State,
    change: impl Fn(&mut Table),
) -> Result<bool, Error> {
    let tables: Vec<TableId> = std::iter::once(job.owner()).chain(restore.source_table()).collect();
    let backup = restore.backup.as_ref().map(|backup| backup.key(&job.namespace()));
    let others: Vec<Bytes> = backup.into_iter().collect();
    let release = |tables: &mut [Table], rows: &mut OtherRows| {
        for table in tables {
            if table.id == job.owner() {
                change(table);
            } else {
                table.history.release(&job.id);
            }
        }
        let Some((key, row)) = others.first().zip(rows.found(1)) else { return Ok(()) };
        let mut backup = Backup::decode(row)?;
        if backup.restoring.take_if(|restoring| *restoring == job.id).is_some() {
            rows.put(key.clone(), backup.encode());
        }
        Ok(())
    };
    end(engine, job, state, (&tables, &others), release).await
}
