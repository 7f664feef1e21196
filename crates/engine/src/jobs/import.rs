//! Imports: records of objects become the items of a new table.
//!
//! The commit that accepts the import makes the table, which is CREATING. The last commit of the job makes it
//! ACTIVE, also if some records are no items: then the import has failed, and the good rows stay. An import
//! that cannot read its objects takes its table with it.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::messages::import as messages;
use keywright_semantics::messages::table::table_exists;
use keywright_store::Store;

use super::end::failed;
use super::object_job::ObjectJob;
use super::restore::{is_stored, target_of};
use super::row::{Counts, Cursor, Import, Job, State, Work};
use super::source::{Effect, Piece, Read, advanced, cursor_at};
use super::transfer::end_transfer;
use super::{Next, table_of};
use crate::bind::item::{BoundPut, bind_put};
use crate::catalogue::{RECOVERY_PERIOD_DAYS, Table, TableStatus};
use crate::load::{Loaded, Noted, Progress, overwrite};
use crate::state::Engine;
use crate::state::stats::{Counted, Tally};
use crate::support::fault;
use crate::transfers::row::{Status, Transfer};

/// Does the next step of an import whose objects are read: its table becomes ACTIVE.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    import: Import,
    now_ms: u64,
) -> Result<Next, Error> {
    let Some(target) = target_of(engine, job).await? else {
        let other = table_of(engine, job.owner()).await?;
        let state = if other.is_some_and(|other| other.status != TableStatus::Deleting) {
            // Another import makes the table of this name.
            failed(messages::TABLE_ALREADY_EXISTS, table_exists(&job.table_name))
        } else {
            deleted(job)
        };
        return fail(engine, job, import, &state).await.map(|()| Next::Never);
    };
    if now_ms < target.status_until_ms {
        return Ok(Next::At(target.status_until_ms));
    }
    complete(engine, job, import, &target).await.map(|()| Next::Never)
}

async fn complete<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    import: Import,
    target: &Table,
) -> Result<(), Error> {
    let end = if import.reading.counts.failed == 0 {
        (State::Completed, Status::Completed)
    } else {
        (failed(messages::ITEM_VALIDATION_ERROR, messages::ITEMS_FAILED), Status::Failed)
    };
    let now_ms = engine.env().now_ms();
    let activate = |tables: &mut [Table]| {
        for table in tables {
            if table.filling.take_if(|filling| filling.job == job.id).is_some() {
                table.status = TableStatus::Active;
                if engine.config().pitr_default {
                    let since = engine.stamps().beginning(now_ms);
                    table.history.enable_recovery(now_ms, RECOVERY_PERIOD_DAYS, since);
                }
            }
        }
        Ok(())
    };
    let counted = |transfer| with_counts(transfer, import);
    if !end_transfer(engine, job, (&end.0, end.1), &[job.owner()], counted, activate).await? {
        return Ok(());
    }
    let rows = u64::try_from(engine.stats().get(Counted::Items(target.id)).rows).unwrap_or(0);
    if rows != job.counts.items {
        // A process that is gone did a part of the work, and its counters are lost.
        let entries = target.indexes().map(|(_, index, _)| Counted::Entries(target.id, index));
        engine.stats().recount(std::iter::once(Counted::Items(target.id)).chain(entries));
    }
    Ok(())
}

/// The table is gone: its branch was dropped.
fn deleted(job: &Job) -> State {
    failed("TableDeleted", format!("table {} was deleted while it was imported", job.table_name))
}

fn with_counts(transfer: Transfer, import: Import) -> Transfer {
    Transfer { counts: import.reading.counts, ..transfer }
}

/// Ends an import that cannot go on: its table disappears.
pub(super) async fn fail<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    import: Import,
    state: &State,
) -> Result<(), Error> {
    let doom = |tables: &mut [Table]| {
        for table in tables {
            if table.filling.take_if(|filling| filling.job == job.id).is_some() {
                table.status = TableStatus::Deleting;
                table.status_until_ms = 0;
            }
        }
        Ok(())
    };
    let counted = |transfer| with_counts(transfer, import);
    end_transfer(engine, job, (state, Status::Failed), &[job.owner()], counted, doom).await?;
    if let Some(target) =
        engine.catalogue().with_id(job.owner()).filter(|table| table.status == TableStatus::Deleting)
    {
        engine.catalogue().unname(&target).await?;
    }
    Ok(())
}

impl<S: Store> Engine<S> {
    /// Writes what the caller has read, in its order. An item that does not fit the table is an error of its
    /// record.
    pub async fn import(&self, job: &ObjectJob, pieces: &[Piece]) -> Result<Option<ObjectJob>, Error> {
        let mut job = job.job.clone();
        let Some(target) = target_of(self, &job).await? else {
            if let Work::Import(import) = job.work
                && !is_stored(self, &job).await?
            {
                fail(self, &job, import, &deleted(&job)).await?;
            }
            return Ok(None);
        };
        let bound: Vec<(Option<BoundPut>, Effect)> =
            pieces.iter().map(|piece| bind(&target, piece)).collect();
        let (puts, effects): (Vec<Option<BoundPut>>, Vec<Effect>) = bound.into_iter().unzip();
        let mut done = 0;
        while let Some(effects) = effects.get(done..).filter(|rest| !rest.is_empty()) {
            let puts = puts.get(done..).unwrap_or_default();
            let Some((after, written)) = advance(self, &target, &job, (puts, effects)).await? else {
                return Ok(None);
            };
            (job, done) = (after, done + written);
        }
        self.for_caller(job).await
    }

    /// Notes that no object is left: the table becomes ACTIVE.
    pub async fn end_import(&self, job: &ObjectJob) -> Result<bool, Error> {
        let now_ms = self.env().now_ms();
        let cursor = Cursor { is_at_end: true, ..Cursor::default() };
        let is_noted = self.replace(&job.job, &Job { cursor, ..job.job.begun(now_ms) }, &[]).await?;
        self.due().jobs.wake_at(now_ms);
        Ok(is_noted)
    }
}

/// Checks the item of a piece against the table.
fn bind(target: &Arc<Table>, piece: &Piece) -> (Option<BoundPut>, Effect) {
    let Read::Record(record) = &piece.read else { return (None, piece.effect(None)) };
    match bind_put(target.id, &target.schema, &record.item) {
        Ok(put) => (Some(put), piece.effect(None)),
        Err(fault) => (None, piece.effect(Some(fault.message))),
    }
}

/// Writes some pieces with the job's new row. Returns the job as it is now, and how many pieces are done;
/// `None` if the job is another process's.
async fn advance<S: Store>(
    engine: &Engine<S>,
    target: &Table,
    job: &Job,
    (puts, effects): (&[Option<BoundPut>], &[Effect]),
) -> Result<Option<(Job, usize)>, Error> {
    let Work::Import(import) = &job.work else { return Err(fault::internal()) };
    let progress = Progress { key: job.open_key(), before: job.encode() };
    let now_ms = engine.env().now_ms();
    let after = |pieces: usize, net: Tally| {
        let done = effects.get(..pieces).unwrap_or(effects);
        let (reading, others) = advanced(&job.id, import.reading, done);
        let counts = Counts {
            items: job.counts.items.saturating_add_signed(net.rows),
            bytes: job.counts.bytes.saturating_add_signed(net.bytes),
        };
        let cursor = done.last().map_or_else(|| job.cursor.clone(), |last| cursor_at(last.next));
        let after = Job { cursor, counts, work: Work::Import(Import { reading }), ..job.begun(now_ms) };
        Noted { row: after.encode(), others }
    };
    match overwrite(engine, target, puts, &progress, after).await? {
        Loaded::Written { items, row } => {
            let rows = puts.iter().take(items).flatten().count();
            engine.load_pace().note(rows, engine.env().now_us());
            Ok(Some((Job::decode(&row).ok_or_else(fault::internal)?, items)))
        }
        Loaded::Overtaken => Ok(None),
    }
}
