//! Jobs that need an object store, which the engine does not reach: sealing a backup, restoring from a
//! sealed one, verifying it, and removing the objects of a deleted one.
//!
//! The caller moves the bytes. It asks for the jobs that this process owns, and does them piece by piece:
//!
//! - *Seal*: [`Engine::rows_of_backup`] gives rows, or [`Engine::changes_of_backup`] those that differ from
//!   an earlier backup; the caller stores them. [`Engine::note_sealed`] remembers how far that is, and what
//!   the caller wants to know of each object ([`Engine::sealed_objects`]). [`Engine::end_seal`] ends it when
//!   the last object stands.
//! - *Restore*: the caller reads rows from the objects, [`Engine::load_rows`] writes them and remembers where
//!   the next ones begin. [`Engine::end_loading`] ends it.
//! - *Verify*: the caller reads the objects, [`Engine::note_verified`] remembers how far it is, and
//!   [`Engine::end_verification`] what was found.
//! - *Export*: in [`super::export`].
//! - *Import*: the caller lists the objects once ([`Engine::note_listed`]), reads them in their order, and
//!   gives their records to [`Engine::import`]. [`Engine::end_import`] ends it.
//! - *Bulk put*: the caller lists the objects in the same way, and reads them in lanes side by side
//!   ([`Engine::bulk_put_lanes`]). It gives the records of each lane to [`Engine::bulk_put`], and at last
//!   writes reports of [`Engine::bulk_put_findings`]. [`Engine::end_bulk_put`] ends it.
//! - *Delete*: [`Engine::begin_deletion`], the caller removes all objects of the backup, then
//!   [`Engine::end_deletion`].
//!
//! Each of these takes the job as it was read, and gives `None` if it is not so any more: another process
//! does the work, or the job has ended. Then the caller asks again.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Snapshot as _, Store, Transaction};

use super::bulk_put;
use super::end::{end, failed};
use super::import;
use super::object_job::{ObjectJob, ObjectWork};
use super::restore::{self, advance, target_of};
use super::row::{self, Counts, Cursor, Job, Seal, Source, State, Work};
use super::source;
use super::transfer::end_transfer;
use super::{FOLLOW_MS, LOOK_MAX};
use crate::catalogue::backup::{Backup, Items};
use crate::catalogue::{OtherRows, Table, record_in, settings_in_words, stored_settings};
use crate::history::as_of::{AsOf, OldItem};
use crate::history::merge::{Part, after_item};
use crate::history::window::{Changed, Window};
use crate::load::LoadFault;
use crate::state::Engine;
use crate::support::fault;
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;
use crate::transfers::row::{Status, Transfer};

/// The time between two looks if nothing is known to be due. A caller that stops between a look and its work,
/// or a job that nobody reports, delays work by this much at most.
const LOOK_MS: u64 = 5_000;
/// Rows of one page.
const PAGE_ROWS_MAX: usize = 10_000;
/// Tries of a commit that notes progress.
const TRIES_MAX: u32 = 20;

/// An item in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key within the table.
    pub key: Bytes,
    /// The item; empty if there is none.
    pub value: Bytes,
}

/// How far a seal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealed<'a> {
    /// The rows up to the key `last` stand, the last ones of them in an object of which the caller remembers
    /// this. More rows follow.
    UpTo {
        /// The key of its last row.
        last: &'a Bytes,
        /// What the caller remembers.
        object: &'a Bytes,
    },
    /// All objects stand.
    All,
    /// No object stands: those that were noted are not where they should be.
    Nothing,
}

/// Some rows in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPage {
    /// The rows.
    pub rows: Vec<Row>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Bytes>,
}

/// Whether a job's next step needs objects.
pub(super) const fn needs_objects(job: &Job) -> bool {
    match &job.work {
        Work::Restore(restore) => matches!(restore.source, Source::Sealed { .. }) && !job.cursor.is_at_end,
        Work::Rollback(_) => false,
        Work::Seal(_) | Work::DeleteObjects(_) | Work::Verify(_) | Work::Export(_) | Work::BulkPut(_) => true,
        Work::Import(_) => !job.cursor.is_at_end,
    }
}

/// Whether a job only has to end.
const fn is_cancelled(job: &Job) -> bool {
    matches!(&job.work, Work::BulkPut(bulk_put) if bulk_put.is_cancelled)
}

impl<S: Store> Engine<S> {
    /// Whether jobs that need objects may have come or gone since they were asked for. Another process may
    /// have made or left some at any time.
    pub fn object_jobs_are_due(&self) -> bool {
        self.env().now_ms() >= self.due().object_jobs.at_ms()
    }

    /// The jobs that need objects and that this process owns: of each kind the oldest, as many as are worked
    /// on at a time, and all that were cancelled. Bulk puts that keep to a rate count on their own. Those
    /// that remove objects come first, so that seals wait for room that they make.
    pub async fn object_jobs(&self) -> Result<Vec<ObjectJob>, Error> {
        let next_ms = if self.is_shared() { FOLLOW_MS } else { LOOK_MS };
        self.due().object_jobs.begin(self.env().now_ms().saturating_add(next_ms));
        if row::none_is_open(self.store()).await? {
            return Ok(Vec::new());
        }
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut jobs = row::open(&view, LOOK_MAX).await?;
        drop(view);
        jobs.retain(|job| self.owns(job.owner()) && needs_objects(job));
        let kinds: [fn(&Work) -> bool; 7] = [
            |work| matches!(work, Work::DeleteObjects(_)),
            |work| matches!(work, Work::Restore(_)),
            |work| matches!(work, Work::Seal(_)),
            |work| matches!(work, Work::Verify(_)),
            |work| matches!(work, Work::Export(_)),
            |work| matches!(work, Work::Import(_)),
            |work| matches!(work, Work::BulkPut(_)),
        ];
        let mut found = Vec::new();
        for is_of_kind in kinds {
            let threads = self.config().job_threads.max(1);
            let (mut others, mut paced) = (threads, threads);
            for job in jobs.iter().filter(|job| is_of_kind(&job.work)) {
                let may_be_paced = paced > 0 && matches!(job.work, Work::BulkPut(_));
                if !is_cancelled(job) && others == 0 && !may_be_paced {
                    continue;
                }
                let Some(wanted) = self.for_caller(job.clone()).await? else { continue };
                let left = if wanted.is_paced() { &mut paced } else { &mut others };
                if !is_cancelled(job) {
                    let Some(less) = left.checked_sub(1) else { continue };
                    *left = less;
                }
                found.push(wanted);
            }
        }
        Ok(found)
    }

    /// A job as it is now; `None` if it has ended or what it needs is gone. It is no look for jobs: what has
    /// become due stays due.
    pub async fn object_job(&self, id: &str) -> Result<Option<ObjectJob>, Error> {
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let found = view.get(&row::open_key(id)).await.map_err(|error| fault::storage(&error))?;
        drop(view);
        match found.as_deref().and_then(Job::decode) {
            Some(job) => self.for_caller(job).await,
            None => Ok(None),
        }
    }

    /// The next rows of the backup that a job seals.
    pub async fn rows_of_backup(
        &self,
        job: &ObjectJob,
        from: Option<&Bytes>,
        bytes_max: usize,
    ) -> Result<Option<RowPage>, Error> {
        let Work::Seal(seal) = &job.job.work else { return Ok(None) };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        // No older copy of the record: another process may have ended the seal, and let the history go.
        let table = record_in(&view, job.job.owner()).await?;
        let Some(as_of) = table.and_then(|table| AsOf::of(&table, seal.stamp)) else { return Ok(None) };
        let part = Part { start: from.cloned().unwrap_or_default(), end: None };
        let budget = Budget { rows_max: PAGE_ROWS_MAX, bytes_max };
        let page = as_of.page(&view, &part, budget).await.map_err(|error| fault::storage(&error))?;
        let row = |item: OldItem| Row { key: item.within, value: item.value };
        Ok(Some(RowPage { rows: page.items.into_iter().map(row).collect(), next: page.next }))
    }

    /// The next rows by which the backup that a job seals differs from an earlier one with this stamp; an
    /// empty value stands for an item that is gone. `None` if the history does not reach back to it.
    pub async fn changes_of_backup(
        &self,
        job: &ObjectJob,
        since: u64,
        from: Option<&Bytes>,
        bytes_max: usize,
    ) -> Result<Option<RowPage>, Error> {
        let Work::Seal(seal) = &job.job.work else { return Ok(None) };
        let since = Stamp::of_bytes(since.to_be_bytes());
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let table = record_in(&view, job.job.owner()).await?;
        let window = table.and_then(|table| Window::of(&table, since, seal.stamp));
        let Some(window) = window else { return Ok(None) };
        let part = Part { start: from.cloned().unwrap_or_default(), end: None };
        let budget = Budget { rows_max: PAGE_ROWS_MAX, bytes_max };
        let page = window.page(&view, &part, budget).await.map_err(|error| fault::storage(&error))?;
        let differing = page.items.into_iter().filter(|changed| changed.old != changed.new);
        let row = |changed: Changed| Row { key: changed.within, value: changed.new.unwrap_or_default() };
        Ok(Some(RowPage { rows: differing.map(row).collect(), next: page.next }))
    }

    /// Notes how far a seal has come. `items` and `bytes` are those since the last note.
    pub async fn note_sealed(
        &self,
        job: &ObjectJob,
        sealed: Sealed<'_>,
        (items, bytes): (u64, u64),
    ) -> Result<Option<ObjectJob>, Error> {
        let Work::Seal(seal) = &job.job.work else { return Ok(None) };
        let before = &job.job;
        let mut after = Job {
            counts: Counts { items: before.counts.items + items, bytes: before.counts.bytes + bytes },
            ..before.begun(self.env().now_ms())
        };
        let row = match sealed {
            Sealed::UpTo { last, object } => {
                let place = after_item(last).ok_or_else(fault::internal)?;
                assert!(before.cursor.place < place, "each object has rows after those of the one before");
                after.cursor = Cursor { place: place.into(), taken: 0, is_at_end: false };
                after.work = Work::Seal(Seal { objects: seal.objects + 1, ..seal.clone() });
                Some((row::object_key(&before.id, seal.objects), object.clone()))
            }
            Sealed::All => {
                after.cursor = Cursor { is_at_end: true, ..Cursor::default() };
                None
            }
            Sealed::Nothing => {
                (after.cursor, after.counts) = (Cursor::default(), Counts::default());
                after.work = Work::Seal(Seal { objects: 0, ..seal.clone() });
                None
            }
        };
        if !self.replace(before, &after, row.as_slice()).await? {
            return Ok(None);
        }
        self.for_caller(after).await
    }

    /// What the caller has noted of the objects that a seal has written, in their order.
    pub async fn sealed_objects(&self, job: &ObjectJob) -> Result<Vec<Bytes>, Error> {
        let Work::Seal(seal) = &job.job.work else { return Ok(Vec::new()) };
        self.noted_objects(&job.id, seal.objects).await
    }

    /// What a caller has noted of the first so many objects of a job, in their order.
    pub(super) async fn noted_objects(&self, id: &str, count: u32) -> Result<Vec<Bytes>, Error> {
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut objects = row::objects(&view, id).await?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if objects.len() < count {
            return Err(fault::internal());
        }
        // Another process may have gone on meanwhile: this job is overtaken at its next note.
        objects.truncate(count);
        Ok(objects)
    }

    /// Ends a seal: the backup is at `place` from now on, and its table's history is held for it no longer.
    pub async fn end_seal(&self, job: &ObjectJob, place: &Bytes) -> Result<bool, Error> {
        let Work::Seal(seal) = &job.job.work else { return Ok(false) };
        let key = seal.backup.key(&job.namespace);
        let release = |tables: &mut [Table], rows: &mut OtherRows| {
            let Some(row) = rows.found(1) else { return Ok(()) };
            let backup = Backup::decode(row)?;
            let items = Items::Sealed { place: place.to_vec() };
            rows.put(key.clone(), backup.with_items(items).encode());
            for table in tables {
                table.history.release(&seal.backup.id);
            }
            Ok(())
        };
        let others = (&[job.job.owner()][..], std::slice::from_ref(&key));
        end(self, &job.job, &State::Completed, others, release).await
    }

    /// Writes rows that the caller has read from objects, in the order of their keys. `next` is where those
    /// after them begin. A row that is no item of the table ends the job.
    pub async fn load_rows(
        &self,
        job: &ObjectJob,
        rows: Vec<Row>,
        next: &Bytes,
    ) -> Result<Option<ObjectJob>, Error> {
        let item = |row: Row| OldItem { within: row.key, value: row.value };
        let items: Vec<OldItem> = rows.into_iter().map(item).collect();
        let mut job = job.job.clone();
        loop {
            let Some(target) = target_of(self, &job).await? else { return Ok(None) };
            // A commit that did not take all of them left off there.
            let taken = usize::try_from(job.cursor.taken).unwrap_or(usize::MAX);
            let rest = items.get(taken..).unwrap_or_default();
            // The piece was longer then than it is now: some rows after it are taken too.
            let taken_after = u64::try_from(taken.saturating_sub(items.len())).unwrap_or(u64::MAX);
            let cursor_after = |written: usize| {
                if written == rest.len() {
                    return Cursor { place: next.to_vec(), taken: taken_after, is_at_end: false };
                }
                let written = u64::try_from(written).unwrap_or(u64::MAX);
                Cursor { taken: job.cursor.taken.saturating_add(written), ..job.cursor.clone() }
            };
            let now_ms = self.env().now_ms();
            match advance(self, &target, &job, rest, now_ms, cursor_after).await {
                Ok(Some((after, written))) => {
                    let is_done = written == rest.len();
                    job = after;
                    if is_done {
                        return self.for_caller(job).await;
                    }
                }
                Ok(None) => return Ok(None),
                Err(LoadFault::Damaged(what)) => {
                    let message = format!("table {} cannot be restored: {what}", job.table_name);
                    restore::fail(self, &job, &failed("DamagedItem", message)).await?;
                    return Ok(None);
                }
                Err(LoadFault::Store(error)) => return Err(error),
            }
        }
    }

    /// How long a caller has to wait before it loads more rows, in milliseconds of the engine's clock.
    pub fn load_wait_ms(&self) -> u64 {
        self.load_pace().wait_ms(self.env().now_us())
    }

    /// Rows that a caller loads at a time.
    pub fn load_rows_at_once(&self) -> usize {
        self.load_pace().rows_at_once()
    }

    /// Notes that no row is left: the table becomes ACTIVE.
    pub async fn end_loading(&self, job: &ObjectJob) -> Result<bool, Error> {
        let now_ms = self.env().now_ms();
        let cursor = Cursor { is_at_end: true, ..Cursor::default() };
        let is_noted = self.replace(&job.job, &Job { cursor, ..job.job.begun(now_ms) }, &[]).await?;
        self.due().jobs.wake_at(now_ms);
        Ok(is_noted)
    }

    /// Whether the backup that a job seals was deleted.
    pub async fn is_deleted(&self, job: &ObjectJob) -> Result<bool, Error> {
        let Work::Seal(seal) = &job.job.work else { return Ok(false) };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let found = crate::catalogue::backup::find(&view, &job.namespace, &seal.backup).await?;
        Ok(found.is_none())
    }

    /// Notes that the objects of a deleted backup are being removed. Why an earlier attempt stopped stays.
    pub async fn begin_deletion(&self, job: &ObjectJob) -> Result<Option<ObjectJob>, Error> {
        let before = &job.job;
        let waits_for = before.waits_for.clone();
        let after = Job { waits_for, ..before.begun(self.env().now_ms()) };
        if after != *before && !self.replace(before, &after, &[]).await? {
            return Ok(None);
        }
        self.for_caller(after).await
    }

    /// Ends a job whose objects are removed.
    pub async fn end_deletion(&self, job: &ObjectJob) -> Result<bool, Error> {
        end(self, &job.job, &State::Completed, (&[], &[]), |_, _| Ok(())).await
    }

    /// Notes why a job cannot go on at present. Its next progress takes that back.
    pub async fn note_waiting(&self, job: &ObjectJob, reason: &str) -> Result<bool, Error> {
        if job.job.waits_for.as_deref() == Some(reason) {
            return Ok(true);
        }
        let after = Job { waits_for: Some(reason.to_owned()), ..job.job.clone() };
        self.replace(&job.job, &after, &[]).await
    }

    /// Notes that a job cannot go on, before what it has made is removed: from then on no process adds to it.
    /// `None`: another process has moved it on, or it has ended.
    pub async fn note_failing(
        &self,
        job: &ObjectJob,
        code: &str,
        message: &str,
    ) -> Result<Option<ObjectJob>, Error> {
        let (code, message) = (code.to_owned(), message.to_owned());
        let after = Job { state: State::Failing { code, message }, ..job.job.begun(self.env().now_ms()) };
        if !self.replace(&job.job, &after, &[]).await? {
            return Ok(None);
        }
        self.for_caller(after).await
    }

    /// Ends a job that cannot go on. The table of a restore disappears; the backup of a seal stays as it is.
    pub async fn fail_job(&self, job: &ObjectJob, code: &str, message: &str) -> Result<(), Error> {
        let state = failed(code, message);
        let Work::Seal(seal) = &job.job.work else {
            return match &job.job.work {
                Work::Restore(_) => restore::fail(self, &job.job, &state).await,
                Work::Import(import) => import::fail(self, &job.job, *import, &state).await,
                Work::BulkPut(bulk_put) => bulk_put::fail(self, &job.job, *bulk_put, &state).await,
                Work::Export(_) => {
                    let nothing = |transfer: Transfer| transfer;
                    let release = |tables: &mut [Table]| {
                        for table in tables.iter_mut() {
                            table.history.release(&job.id);
                        }
                        Ok(())
                    };
                    let tables = &[job.job.owner()];
                    let end = (&state, Status::Failed);
                    end_transfer(self, &job.job, end, tables, nothing, release).await.map(drop)
                }
                _ => end(self, &job.job, &state, (&[], &[]), |_, _| Ok(())).await.map(drop),
            };
        };
        let key = seal.backup.key(&job.namespace);
        let keep = |_: &mut [Table], rows: &mut OtherRows| {
            let Some(row) = rows.found(1) else { return Ok(()) };
            let backup = Backup::decode(row)?;
            rows.put(key.clone(), backup.with_items(Items::Held { seal: None }).encode());
            Ok(())
        };
        end(self, &job.job, &state, (&[], std::slice::from_ref(&key)), keep).await.map(drop)
    }

    /// The job as its caller sees it; `None` if what it needs is gone.
    pub(super) async fn for_caller(&self, job: Job) -> Result<Option<ObjectJob>, Error> {
        let namespace = job.namespace();
        let bytes = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        let work = match &job.work {
            Work::Seal(seal) => {
                let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
                let found = crate::catalogue::backup::find(&view, &namespace, &seal.backup).await?;
                let Some(backup) = found else { return Ok(None) };
                let source = backup.source()?;
                ObjectWork::Seal {
                    backup: seal.backup.id.clone(),
                    stamp: u64::from_be_bytes(seal.stamp.to_bytes()),
                    created_ms: backup.created_ms,
                    public_id: source.public_id.clone(),
                    settings: stored_settings(&source).into(),
                    described: settings_in_words(&source),
                    from: (!job.cursor.place.is_empty()).then(|| bytes(&job.cursor.place)),
                    is_at_end: job.cursor.is_at_end,
                }
            }
            Work::Restore(restore) => match &restore.source {
                Source::Sealed { place } => {
                    ObjectWork::Restore { place: bytes(place), from: bytes(&job.cursor.place) }
                }
                Source::History { .. } => return Ok(None),
            },
            Work::Export(export) => match self.export_for_caller(&job, export).await? {
                Some(work) => work,
                None => return Ok(None),
            },
            Work::Rollback(_) => return Ok(None),
            Work::BulkPut(bulk_put) => match bulk_put::work_of(self, &job, *bulk_put).await? {
                Some(work) => work,
                None => return Ok(None),
            },
            Work::Import(_) => match source::work_of(self, &job).await? {
                Some(work) => work,
                None => return Ok(None),
            },
            Work::Verify(verify) => ObjectWork::Verify {
                backup: verify.backup.id.clone(),
                place: bytes(&verify.place),
                from: bytes(&job.cursor.place),
            },
            Work::DeleteObjects(delete) => ObjectWork::Delete {
                backup: delete.backup.id.clone(),
                place: delete.place.as_deref().map(bytes),
            },
        };
        let (id, table, items) = (job.id.clone(), job.table_name.clone(), job.counts.items);
        Ok(Some(ObjectJob { id, namespace, table, items, work, job }))
    }

    /// Replaces a job's row, and writes other rows with it, if the job is as the caller knows it.
    pub(super) async fn replace(
        &self,
        before: &Job,
        after: &Job,
        with: &[(Bytes, Bytes)],
    ) -> Result<bool, Error> {
        assert_eq!(before.id, after.id, "a job's row is replaced by its own");
        let (key, old, new) = (before.open_key(), before.encode(), after.encode());
        for _ in 0..TRIES_MAX {
            let mut txn = self.store().begin().await.map_err(|error| fault::storage(&error))?;
            let found = txn.get_for_write(std::slice::from_ref(&key)).await;
            let found = found.map_err(|error| fault::storage(&error))?.into_iter().next().flatten();
            if found.as_ref() == Some(&new) {
                return Ok(true);
            }
            if found.as_ref() != Some(&old) {
                return Ok(false);
            }
            txn.put(key.clone(), new.clone());
            for (key, row) in with {
                txn.put(key.clone(), row.clone());
            }
            match txn.commit().await {
                Ok(_version) => return Ok(true),
                Err(CommitError::Conflict | CommitError::Unknown) => {}
                Err(CommitError::TooLarge) => return Err(fault::internal()),
                Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
            }
        }
        Err(fault::internal())
    }
}
