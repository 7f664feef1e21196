//! Rollback: a table, some of its items or one item become what they were at a time.
//!
//! It undoes the changes from the time up to the beginning of the job, by ordinary writes through the write
//! core: streams, indexes, time to live, limits, metrics and history see them, and so a rollback can itself
//! be rolled back. An item that was changed after the beginning is left alone.
//!
//! Each commit has some of the items and the job's row, so the end of the process at any moment leaves the
//! row exact. While the job runs, it holds the history from the time on.
//!
//! - `request`: what is asked for, checked against the table.
//! - `plan`: what becomes of each changed item.
//! - `preview`: the same without any write.
//! - `stored`: what is stored of a rollback.

mod plan;
mod preview;
mod request;
pub(super) mod stored;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{bulk, table as messages};
use keywright_store::Store;

pub use plan::RollbackCounts;
pub use preview::{RollbackExample, RollbackPreview};
pub use request::{RollbackFilter, RollbackRequest};

use self::plan::{Planned, Planner, Verdict, write_units};
use self::request::{Checked, check, check_time};
use self::stored::Rollback;
use super::end::{end, failed};
use super::row::{Cursor, Job, NewJob, State, Work, new_id};
use super::view::JobView;
use super::{Next, table_of};
use crate::catalogue::{OtherRows, Table};
use crate::history::cut::Cut;
use crate::history::window::{Changed, Window};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::rows::Budget;
use crate::write::change::Outcome;
use crate::write::group::{GroupEnd, GroupKind, binding_steps, run};
use crate::write::own_row::{NewProgress, OwnRow};

/// Changed items that one step reads.
const PAGE: Budget = Budget { rows_max: 200, bytes_max: 1024 * 1024 };
/// Items of one commit, and the bytes of their images. The latches of these items are held during it.
const COMMIT_ITEMS_MAX: usize = 25;
const COMMIT_BYTES_MAX: usize = 1024 * 1024;
/// The time until a step that limits of throughput or other writers stopped is tried again.
const WAIT_MS: u64 = 100;

impl<S: Store> Engine<S> {
    /// Begins a rollback, which then goes on in steps.
    pub async fn rollback(&self, namespace: &Namespace, request: &RollbackRequest) -> Result<JobView, Error> {
        let Checked { table, to, scope } = check(self, namespace, request).await?;
        let now_ms = self.env().now_ms();
        let id = new_id(self.env(), now_ms);
        let cut = Cut::prepare(self, now_ms).await?;
        let begin = |tables: &mut [Table], rows: &mut OtherRows| {
            let until = cut.draw(self, tables).max(to);
            let [table] = tables else { return Err(fault::internal()) };
            check_time(self, table, request.to_ms)?;
            if table.bulk_put.is_some() {
                return Err(Error::new(ErrorKind::ResourceInUse, bulk::being_bulk_put(&table.name)));
            }
            let is_held = table.history.hold(&id, to) && table.history.hold(&begun_id(&id), until);
            if !table.takes_data() || !is_held {
                return Err(Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND));
            }
            let rollback = Rollback { to, until, scope: scope.clone(), counts: RollbackCounts::default() };
            let work = Work::Rollback(rollback);
            let job = Job::with_id(id.clone(), NewJob { work, namespace, table, now_ms });
            rows.put(job.open_key(), job.encode());
            Ok(job)
        };
        let (_, job) = self.catalogue().change_all(&[table.target()], &[], || Ok(()), begin).await?;
        self.due().jobs_changed(now_ms);
        Ok(job.into())
    }
}

/// Does the next step.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    rollback: &Rollback,
    now_ms: u64,
) -> Result<Next, Error> {
    let Some(table) = table_of(engine, job.owner()).await?.filter(|table| table.takes_data()) else {
        let text = format!("table {} was deleted while it was rolled back", job.table_name);
        return finish(engine, job, &failed("TableDeleted", text)).await;
    };
    if job.cursor.is_at_end {
        return finish(engine, job, &State::Completed).await;
    }
    let Some(window) = window_of(engine, &table, rollback).await? else {
        let text = format!("the history that table {} is rolled back with is not kept", job.table_name);
        return finish(engine, job, &failed("HistoryLost", text)).await;
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let page = window.page(&view, &rollback.scope.part_from(&job.cursor.place), PAGE).await;
    let page = page.map_err(|error| fault::storage(&error))?;
    drop(view);
    let mut pieces = Pieces {
        engine,
        planner: Planner::of(&table, &rollback.scope, job.created_ms)?,
        table: &table,
        job: job.clone(),
        next: page.next,
        now_ms,
        most: COMMIT_ITEMS_MAX,
        refused: BTreeSet::new(),
    };
    let mut items = &page.items[..];
    loop {
        match pieces.write_some(items).await? {
            Wrote::All => return Ok(Next::AtOnce),
            Wrote::First(taken) => items = items.get(taken..).unwrap_or_default(),
            Wrote::Nothing(next) => return Ok(next),
        }
    }
}

/// The owner of a second hold, at the stamp of the beginning: later changes have greater stamps, also those
/// of processes whose clocks are behind. So they are not undone.
fn begun_id(job: &str) -> String {
    format!("{job}{BEGUN}")
}

const BEGUN: &str = "-begun";

/// Whether a table is being rolled back.
pub(crate) fn is_at_work_on(table: &Table) -> bool {
    table.history.holds().iter().any(|hold| hold.owner.ends_with(BEGUN))
}

/// The window of a rollback; `None` if the history does not reach back to its time.
async fn window_of<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    rollback: &Rollback,
) -> Result<Option<Window>, Error> {
    let of = |table: &Table| Window::of(table, rollback.to, rollback.until);
    match of(table) {
        None if engine.is_shared() => {
            // This copy of the table may be older than the hold.
            engine.catalogue().refresh(table.id).await?;
            Ok(engine.catalogue().with_id(table.id).and_then(|table| of(&table)))
        }
        window => Ok(window),
    }
}

/// Ends a rollback: its hold goes with it.
async fn finish<S: Store>(engine: &Engine<S>, job: &Job, state: &State) -> Result<Next, Error> {
    let release = |tables: &mut [Table], _: &mut OtherRows| {
        for table in tables {
            table.history.release(&job.id);
            table.history.release(&begun_id(&job.id));
        }
        Ok(())
    };
    end(engine, job, state, (&[job.owner()], &[]), release).await.map(|_| Next::Never)
}

/// What became of some changed items.
enum Wrote {
    All,
    /// So many of the first ones are done.
    First(usize),
    /// None of them.
    Nothing(Next),
}

/// A part of a page that one commit takes.
#[derive(Default)]
struct Piece {
    /// Items that it covers.
    taken: usize,
    planned: Vec<Planned>,
    /// What becomes of the others.
    counts: RollbackCounts,
}

/// The work on one page.
struct Pieces<'s, S: Store> {
    engine: &'s Engine<S>,
    planner: Planner<'s>,
    table: &'s Arc<Table>,
    /// The job as it was written last.
    job: Job,
    /// Where the next page begins.
    next: Option<Bytes>,
    now_ms: u64,
    /// The most writes of the next commit.
    most: usize,
    /// Items that cannot be written, by their keys within the table.
    refused: BTreeSet<Bytes>,
}

impl<S: Store> Pieces<'_, S> {
    /// Writes as many of these items as one commit takes.
    async fn write_some(&mut self, items: &[Changed]) -> Result<Wrote, Error> {
        let piece = self.plan(items)?;
        let cursor = self.cursor_after(items, piece.taken);
        let is_last = piece.taken == items.len();
        let after = progress(&self.job, (&piece, cursor), self.now_ms);
        let row = {
            let after = after.clone();
            move |outcomes: &[Outcome]| after(outcomes).encode()
        };
        let own = OwnRow::Progress(NewProgress {
            key: self.job.open_key(),
            before: self.job.encode(),
            after: Box::new(row),
            others: Vec::new(),
        });
        let steps = binding_steps(piece.planned.iter().map(Planned::bytes).sum());
        let bind = || {
            let table = self.engine.catalogue().newest(self.table);
            if !table.takes_data() {
                return Err(Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND));
            }
            piece.planned.iter().map(|one| one.action(&table)).collect()
        };
        match run(self.engine, GroupKind::Single, Some(&own), steps, bind).await? {
            GroupEnd::Written(outcomes) => {
                self.job = after(&outcomes);
                self.most = COMMIT_ITEMS_MAX;
                Ok(if is_last { Wrote::All } else { Wrote::First(piece.taken) })
            }
            GroupEnd::Overtaken => Ok(Wrote::Nothing(Next::AtOnce)),
            GroupEnd::Conflict(_) => Ok(Wrote::Nothing(self.later())),
            GroupEnd::TooLarge => {
                self.most = piece.planned.len() / 2;
                if self.most == 0 { Err(fault::internal()) } else { Ok(Wrote::First(0)) }
            }
            GroupEnd::Throttled(refusals) => {
                // Those before the first that limits refuse.
                self.most = refusals.iter().take_while(|refusal| refusal.is_none()).count();
                Ok(if self.most == 0 { Wrote::Nothing(self.later()) } else { Wrote::First(0) })
            }
            GroupEnd::Refused(refusals) => {
                let refused = piece.planned.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_some());
                self.refused.extend(refused.map(|(one, _)| one.within.clone()));
                Ok(Wrote::First(0))
            }
            GroupEnd::Replayed(_) => Err(fault::internal()),
        }
    }

    const fn later(&self) -> Next {
        Next::At(self.now_ms.saturating_add(WAIT_MS))
    }

    /// The first of these items that fit into one commit.
    fn plan(&self, items: &[Changed]) -> Result<Piece, Error> {
        let mut piece = Piece::default();
        let mut bytes = 0;
        for changed in items {
            match self.planner.verdict(changed)? {
                Verdict::Outside => {}
                Verdict::Unchanged => piece.counts.unchanged += 1,
                Verdict::Expired(_) => piece.counts.expired += 1,
                Verdict::Revert(one) if self.refused.contains(&one.within) => piece.counts.refused += 1,
                Verdict::Revert(one) => {
                    bytes += one.bytes();
                    let is_full = piece.planned.len() >= self.most || bytes > COMMIT_BYTES_MAX;
                    if is_full && !piece.planned.is_empty() {
                        break;
                    }
                    piece.planned.push(*one);
                }
            }
            piece.taken += 1;
        }
        Ok(piece)
    }

    fn cursor_after(&self, items: &[Changed], taken: usize) -> Cursor {
        let next = match items.get(taken) {
            Some(next) => Some(next.within.clone()),
            None => self.next.clone(),
        };
        Cursor { is_at_end: next.is_none(), place: next.unwrap_or_default().into(), taken: 0 }
    }
}

/// Makes the job's next row from what the commit did.
fn progress(
    job: &Job,
    (piece, cursor): (&Piece, Cursor),
    now_ms: u64,
) -> impl Fn(&[Outcome]) -> Job + Clone + Send + Sync + use<> {
    let mut begun = job.begun(now_ms);
    begun.cursor = cursor;
    let (counts, kinds) = (piece.counts, piece.planned.iter().map(|one| one.kind).collect::<Vec<_>>());
    move |outcomes| {
        let mut job = begun.clone();
        let Work::Rollback(rollback) = &mut job.work else { return job };
        let all = &mut rollback.counts;
        all.unchanged += counts.unchanged;
        all.expired += counts.expired;
        all.refused += counts.refused;
        for (kind, Outcome { table, change, .. }) in kinds.iter().zip(outcomes) {
            all.write_units += write_units(change, table);
            if change.changes_item() {
                kind.count(all);
                let bytes = change.new.as_ref().map_or(0, EncodedItem::size_bytes);
                job.counts.items += 1;
                job.counts.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
            } else {
                all.changed_meanwhile += 1;
            }
        }
        job
    }
}
