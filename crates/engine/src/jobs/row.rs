//! Jobs as they are stored.
//!
//! ```text
//! jobs | 0 | id             a job that has not ended
//! jobs | 1 | id             one that has
//! jobs | 2 | id | number    what a caller remembers of an object that a job has written, from number 0 on
//! jobs | 3 | account        the last restore that has begun in an account
//! jobs | 4 | kind | account the last transfer of a kind that has begun in an account
//! jobs | 5 | id | number    errors of a job that reads objects, the first of which has this number
//! ```
//!
//! An id begins with the time of the request, so jobs are in the order of their beginning. All ids have the
//! same length.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Direction, Entry, KeyRange, Snapshot, Store};
use serde::{Deserialize, Serialize};

use super::rollback::stored::Rollback;
use crate::catalogue::Table;
use crate::catalogue::backup::BackupName;
use crate::support::env::{AccountId, Env, Namespace};
use crate::support::fault;
use crate::support::layout::{self, Space, TableId};
use crate::support::rows::{each_row_until, is_empty, keep};
use crate::support::stamp::Stamp;
use crate::transfers::row::{Counts as TransferCounts, Kind};

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
const OPEN: u8 = 0;
const ENDED: u8 = 1;
const OBJECTS: u8 = 2;
const LAST_RESTORE: u8 = 3;
const LAST_TRANSFER: u8 = 4;
const ERRORS: u8 = 5;
const LANES: u8 = 6;
const FINDINGS: u8 = 7;

/// What a job does. Stored as its place in this list: a new kind comes at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    Restore(Restore),
    Seal(Seal),
    DeleteObjects(DeleteObjects),
    Rollback(Rollback),
    Verify(Verify),
    Export(Export),
    Import(Import),
    BulkPut(BulkPut),
}

/// Where the items of a restore come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Source {
    /// A table, live or deleted, as of a stamp, which the job holds.
    History { table: u64, stamp: Stamp },
    /// A sealed backup at this place of the backup store.
    Sealed { place: Vec<u8> },
}

/// A restore. The table of the job is the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restore {
    pub source: Source,
    /// The backup that is restored.
    pub backup: Option<BackupName>,
}

impl Restore {
    /// The table whose history is read.
    pub(super) const fn source_table(&self) -> Option<TableId> {
        match self.source {
            Source::History { table, .. } => Some(TableId(table)),
            Source::Sealed { .. } => None,
        }
    }
}

/// A backup that is copied to the backup store. The table of the job is the backup's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    pub backup: BackupName,
    pub stamp: Stamp,
    /// How many objects stand. What the caller remembers of each is in a row of its own.
    pub objects: u32,
}

impl Seal {
    /// The seal of a backup whose stamp is not drawn yet.
    pub(crate) fn of(backup: BackupName) -> Self {
        Self { backup, stamp: Stamp::default(), objects: 0 }
    }
}

/// The objects of a deleted backup, to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeleteObjects {
    pub backup: BackupName,
    /// Where they are; `None` if the backup was not sealed yet.
    pub place: Option<Vec<u8>>,
}

/// The copy of a backup in the backup store, to be read whole. The table of the job is the backup's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verify {
    pub backup: BackupName,
    /// Where it is.
    pub place: Vec<u8>,
}

/// An export, whose id is the job's. The table of the job is the one that is exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Export {
    /// The beginning of an increment.
    pub from: Option<Stamp>,
    /// The table is exported as of this stamp.
    pub to: Stamp,
    /// Parts of the table, which are exported one after the other.
    pub parts: u32,
    /// The part that the cursor is in.
    pub part: u32,
    /// Files of that part that stand.
    pub files: u32,
    /// Files that stand. What the caller remembers of each is in a row of its own.
    pub objects: u32,
}

impl Export {
    /// An export of which no file stands.
    pub(crate) const fn new((from, to): (Option<Stamp>, Stamp), parts: u32) -> Self {
        Self { from, to, parts, part: 0, files: 0, objects: 0 }
    }
}

/// How far the objects of an import or a bulk put are listed and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Objects that are listed so far. What the caller remembers of each is in a row of its own.
    pub objects: u32,
    /// The sum of their sizes.
    pub objects_bytes: u64,
    /// Whether the list is complete. Nothing is read before.
    pub is_listed: bool,
    pub counts: TransferCounts,
    /// Errors that are kept, in rows of their own: the first ones.
    pub errors_kept: u32,
}

/// An import, whose id is the job's. The table of the job is the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Import {
    pub reading: Reading,
}

/// A bulk put, whose id is the job's. The table of the job is the one that is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BulkPut {
    /// What the objects hold is counted by the lanes.
    pub reading: Reading,
    /// Lanes, each with a row of its own, which read objects side by side.
    pub lanes: u32,
    /// The table's next number of an index at the beginning: it has no new one while this stays.
    pub next_index_id: u32,
    /// Whether a client has cancelled it.
    pub is_cancelled: bool,
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Nothing of it is done: others are before it.
    Waiting,
    Running,
    Completed,
    Failed {
        code: String,
        message: String,
    },
    /// It cannot go on, and what it has made is being removed.
    Failing {
        code: String,
        message: String,
    },
}

/// How far a job has come. Only its own kind knows what the place means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// Where the next piece begins; empty at the beginning.
    pub place: Vec<u8>,
    /// What is done already of the piece that begins there.
    pub taken: u64,
    /// Whether no piece is left.
    pub is_at_end: bool,
}

/// What a job has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub items: u64,
    pub bytes: u64,
}

/// A job. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: String,
    pub work: Work,
    pub account: String,
    pub region: String,
    /// The name of the table that it is about: of a restore, the new one.
    pub table_name: String,
    /// The number of the table whose owner does the work.
    pub table: u64,
    pub state: State,
    /// Why it waits at present, for people.
    pub waits_for: Option<String>,
    pub cursor: Cursor,
    pub counts: Counts,
    pub created_ms: u64,
    pub started_ms: Option<u64>,
    pub ended_ms: Option<u64>,
}

/// A job that is asked for.
pub(crate) struct NewJob<'n> {
    pub work: Work,
    pub namespace: &'n Namespace,
    /// The table that it is about, whose owner does the work.
    pub table: &'n Table,
    pub now_ms: u64,
}

impl Job {
    /// A job with a new id.
    pub(crate) fn new(env: &dyn Env, new: NewJob<'_>) -> Self {
        Self::with_id(new_id(env, new.now_ms), new)
    }

    pub(crate) fn with_id(id: String, new: NewJob<'_>) -> Self {
        Self {
            id,
            work: new.work,
            account: new.namespace.account.to_string(),
            region: new.namespace.region.to_string(),
            table_name: new.table.name.clone(),
            table: new.table.id.0,
            state: State::Waiting,
            waits_for: None,
            cursor: Cursor::default(),
            counts: Counts::default(),
            created_ms: new.now_ms,
            started_ms: None,
            ended_ms: None,
        }
    }

    /// The table whose owner does the work.
    pub(crate) const fn owner(&self) -> TableId {
        TableId(self.table)
    }

    /// The key of its row while it has not ended.
    pub(crate) fn open_key(&self) -> Bytes {
        open_key(&self.id)
    }

    /// The key of its row once it has ended.
    pub(crate) fn ended_key(&self) -> Bytes {
        key(ENDED, &self.id)
    }

    /// The same job at work.
    #[must_use]
    pub(crate) fn begun(&self, now_ms: u64) -> Self {
        assert!(self.ended_ms.is_none(), "a job that has ended is not begun again");
        let mut begun = self.clone();
        begun.state = State::Running;
        begun.waits_for = None;
        begun.started_ms.get_or_insert(now_ms);
        begun
    }

    /// The same job after its end.
    #[must_use]
    pub(crate) fn ended(&self, state: State, now_ms: u64) -> Self {
        assert!(matches!(state, State::Completed | State::Failed { .. }), "the end of a job is good or bad");
        Self { state, ended_ms: Some(now_ms), ..self.begun(now_ms) }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a job of owned values encodes into a vector").into()
    }

    pub(crate) fn decode(row: &[u8]) -> Option<Self> {
        postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()
    }
}

/// A new id of a job, a backup or a set: `<14 digits of ms>-<8 hexadecimal digits>`. Eight zeros are those of
/// the system's own backups.
pub(crate) fn new_id(env: &dyn Env, now_ms: u64) -> String {
    let low = u32::try_from(env.random_u128() & u128::from(u32::MAX)).unwrap_or(u32::MAX);
    format!("{now_ms:014}-{:08x}", low.max(1))
}

/// The key of the row of a job that has not ended.
pub(crate) fn open_key(id: &str) -> Bytes {
    key(OPEN, id)
}

fn key(stage: u8, id: &str) -> Bytes {
    [&[Space::Jobs.byte(), stage][..], id.as_bytes()].concat().into()
}

/// The key of what the caller remembers of an object.
pub(crate) fn object_key(id: &str, number: u32) -> Bytes {
    [&key(OBJECTS, id)[..], &number.to_be_bytes()].concat().into()
}

/// The same of some of the objects, from a number on.
pub(crate) async fn objects_from(
    view: &impl Snapshot,
    id: &str,
    from: u32,
    most: usize,
) -> Result<Vec<Bytes>, Error> {
    let mut found = Vec::new();
    let range = KeyRange { start: object_key(id, from), ..layout::prefix_range(key(OBJECTS, id).into()) };
    let take = |entry: &Entry| keep(&mut found, entry.value.clone(), most);
    let read = each_row_until(view, (range, Direction::Forward), take);
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found)
}

/// The key of errors, the first of which has this number.
pub(crate) fn error_key(id: &str, number: u32) -> Bytes {
    [&key(ERRORS, id)[..], &number.to_be_bytes()].concat().into()
}

/// The rows of a job's errors, in their order.
pub(crate) async fn error_rows(view: &impl Snapshot, id: &str) -> Result<Vec<Entry>, Error> {
    let mut found = Vec::new();
    let range = layout::prefix_range(key(ERRORS, id).into());
    let read = each_row_until(view, (range, Direction::Forward), |entry| {
        found.push(entry.clone());
        ControlFlow::Continue(())
    });
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found)
}

/// The keys of such rows; at most so many.
pub(super) async fn error_keys(view: &impl Snapshot, id: &str, most: usize) -> Result<Vec<Bytes>, Error> {
    let mut found = Vec::new();
    let range = layout::prefix_range(key(ERRORS, id).into());
    let take = |entry: &Entry| keep(&mut found, entry.key.clone(), most);
    let read = each_row_until(view, (range, Direction::Forward), take);
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found)
}

/// What the caller remembers of the objects of a job, in their order.
pub(crate) async fn objects(view: &impl Snapshot, id: &str) -> Result<Vec<Bytes>, Error> {
    let mut found = Vec::new();
    let range = layout::prefix_range(key(OBJECTS, id).into());
    let read = each_row_until(view, (range, Direction::Forward), |entry| {
        found.push(entry.value.clone());
        ControlFlow::Continue(())
    });
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found)
}

/// The keys of such rows, and of findings, whose jobs have ended, at most so many.
pub(crate) async fn objects_of_ended(view: &impl Snapshot, most: usize) -> Result<Vec<Bytes>, Error> {
    let open = open(view, usize::MAX).await?;
    let mut found = Vec::new();
    for (stage, number_bytes) in [(OBJECTS, size_of::<u32>()), (FINDINGS, FINDING_BYTES)] {
        let open: BTreeSet<Bytes> = open.iter().map(|job| key(stage, &job.id)).collect();
        let take = |entry: &Entry| {
            let (of_job, _number) = entry.key.split_at(entry.key.len().saturating_sub(number_bytes));
            if open.contains(of_job) {
                ControlFlow::Continue(())
            } else {
                keep(&mut found, entry.key.clone(), most)
            }
        };
        let read = each_row_until(view, (all(stage), Direction::Forward), take);
        read.await.map_err(|error| fault::storage(&error))?;
    }
    Ok(found)
}

/// The key of the row of a lane of a bulk put.
pub(crate) fn lane_key(id: &str, number: u32) -> Bytes {
    [&key(LANES, id)[..], &number.to_be_bytes()].concat().into()
}

/// Bytes of a finding's key after the job's id: its report, the number of the object and that of the record.
const FINDING_BYTES: usize = 1 + size_of::<u32>() + size_of::<u64>();

/// The key of what a bulk put has found out about a record.
pub(super) fn finding_key(id: &str, report: u8, (object, record): (u32, u64)) -> Bytes {
    [&key(FINDINGS, id)[..], &[report], &object.to_be_bytes(), &record.to_be_bytes()].concat().into()
}

/// The keys of all findings of a report.
pub(super) fn findings(id: &str, report: u8) -> KeyRange {
    layout::prefix_range([&key(FINDINGS, id)[..], &[report]].concat())
}

/// The key of a row that every restore of an account writes when it begins: of two that begin at a time, the
/// later one finds that the other has begun.
pub(crate) fn last_restore_key(account: &AccountId) -> Bytes {
    key(LAST_RESTORE, account.as_str())
}

/// The same for transfers of a kind.
pub(super) fn last_transfer_key(kind: Kind, account: &AccountId) -> Bytes {
    [&[Space::Jobs.byte(), LAST_TRANSFER, kind.byte()][..], account.as_str().as_bytes()].concat().into()
}

/// The restores of an account that have not ended.
pub(crate) async fn open_restores(view: &impl Snapshot, account: &AccountId) -> Result<usize, Error> {
    count_open(view, account, |work| matches!(work, Work::Restore(_))).await
}

/// The jobs of an account that have not ended and do this work.
pub(super) async fn count_open(
    view: &impl Snapshot,
    account: &AccountId,
    is_counted: impl Fn(&Work) -> bool,
) -> Result<usize, Error> {
    let jobs = open(view, usize::MAX).await?;
    let is_counted = |job: &&Job| job.account == account.as_str() && is_counted(&job.work);
    Ok(jobs.iter().filter(is_counted).count())
}

fn all(stage: u8) -> KeyRange {
    layout::prefix_range(vec![Space::Jobs.byte(), stage])
}

/// Whether all jobs have ended.
pub(super) async fn none_is_open<S: Store>(store: &S) -> Result<bool, Error> {
    is_empty(store, all(OPEN)).await.map_err(|error| fault::storage(&error))
}

/// Jobs that have not ended, oldest first; at most so many.
pub(crate) async fn open(view: &impl Snapshot, most: usize) -> Result<Vec<Job>, Error> {
    read(view, (all(OPEN), Direction::Forward), most).await
}

/// Jobs that have ended, newest first; at most so many.
pub(crate) async fn ended(view: &impl Snapshot, most: usize) -> Result<Vec<Job>, Error> {
    read(view, (all(ENDED), Direction::Backward), most).await
}

/// Ended jobs that were asked for before a time, oldest first; at most so many.
pub(crate) async fn ended_before(view: &impl Snapshot, ms: u64, most: usize) -> Result<Vec<Job>, Error> {
    let range = KeyRange { end: Some(key(ENDED, &format!("{ms:014}"))), ..all(ENDED) };
    read(view, (range, Direction::Forward), most).await
}

async fn read(view: &impl Snapshot, range: (KeyRange, Direction), most: usize) -> Result<Vec<Job>, Error> {
    let mut jobs = Vec::new();
    let mut is_whole = true;
    let take = |entry: &Entry| {
        let job = Job::decode(&entry.value);
        is_whole &= job.is_some();
        job.map_or(ControlFlow::Continue(()), |job| keep(&mut jobs, job, most))
    };
    each_row_until(view, range, take).await.map_err(|error| fault::storage(&error))?;
    if is_whole { Ok(jobs) } else { Err(fault::internal()) }
}

/// The job of an id, whether it has ended or not.
pub(crate) async fn find(view: &impl Snapshot, id: &str) -> Result<Option<Job>, Error> {
    let rows = view.get_many(&[key(OPEN, id), key(ENDED, id)]).await;
    let row = rows.map_err(|error| fault::storage(&error))?.into_iter().flatten().next();
    row.map(|row| Job::decode(&row).ok_or_else(fault::internal)).transpose()
}
