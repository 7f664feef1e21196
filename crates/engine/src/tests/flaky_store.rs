//! A memory store whose commits can end as a test wants, and that checks the guard of tables.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use keywright_store::memory::{MemorySnapshot, MemoryStore, MemoryTransaction};
use keywright_store::{
    Capabilities, CommitError, CommitVersion, KeyRange, LogEntry, LogId, LogPosition, LogRead, Scan,
    ScanPage, Snapshot, Store, StoreError, Transaction,
};

use crate::KeyMap;
use crate::support::layout::{Owner, Space, Written, space_of};

/// The time between two rounds of the store's upkeep.
pub(super) const UPKEEP: Duration = Duration::from_mins(1);

/// The end of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Written,
    Conflict,
    /// Written, with an unknown outcome for the caller.
    UnknownWritten,
    /// Not written, with an unknown outcome for the caller.
    UnknownLost,
    TooLarge,
    /// Not written, and the store says so.
    Failed,
}

/// A commit of rows that need the guard of their table.
#[derive(Debug)]
pub(super) struct Commit {
    /// The kinds of rows.
    pub spaces: BTreeSet<&'static str>,
    /// The number of records of streams.
    pub records: usize,
    pub is_written: bool,
}

/// What is checked of a commit of guarded rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Check {
    /// That the record of the table, or a slot, is in its conflict set.
    #[default]
    ConflictSet,
    Nothing,
}

#[derive(Default)]
struct Script {
    check: Check,
    fates: VecDeque<Fate>,
    /// Runs before the next commit of guarded rows.
    before: Option<Box<dyn FnOnce() + Send>>,
    /// Runs before the next commit.
    before_any: Option<Box<dyn FnOnce() + Send>>,
    /// The next commit of guarded rows waits until this is sent, or dropped.
    hold: Option<oneshot::Receiver<()>>,
    /// Runs before a snapshot, which comes after so many others.
    before_view: Option<(usize, Box<dyn FnOnce() + Send>)>,
    commits: Vec<Commit>,
    /// Rounds of upkeep.
    rounds: usize,
    /// What rounds of upkeep come to, if not to a round's end.
    upkeep: Option<Result<Option<Duration>, StoreError>>,
}

/// A memory store with scripted ends of the next commits; without a script they succeed.
///
/// A commit of guarded rows, or of records of a stream, panics if neither the record nor a slot of their
/// table is in its conflict set.
#[derive(Clone, Default)]
pub(super) struct FlakyStore {
    inner: MemoryStore,
    script: Arc<Mutex<Script>>,
}

impl FlakyStore {
    /// Over a store that was filled past everything that is checked here.
    pub(super) fn over(inner: MemoryStore) -> Self {
        Self { inner, ..Self::default() }
    }

    /// As `MemoryStore::shared`.
    pub(super) fn shared() -> Self {
        Self { inner: MemoryStore::shared(), ..Self::default() }
    }

    /// The same, where commits that protect one row conflict.
    pub(super) fn exclusive() -> Self {
        Self { inner: MemoryStore::shared().with_exclusive_protection(), ..Self::default() }
    }

    /// What a copy of the data folder has now.
    pub(super) fn copy(&self) -> MemoryStore {
        self.inner.copy()
    }

    pub(super) fn next(&self, fates: &[Fate]) {
        self.script.lock().expect("not poisoned").fates.extend(fates);
    }

    /// From now on all commits succeed.
    pub(super) fn calm(&self) {
        self.script.lock().expect("not poisoned").fates.clear();
    }

    pub(super) fn untouched(&self) -> usize {
        self.script.lock().expect("not poisoned").fates.len()
    }

    /// Runs this before the next commit of guarded rows, and leaves it to the test whether the guard holds.
    pub(super) fn before_next_rows(&self, run: impl FnOnce() + Send + 'static) {
        let mut script = self.script.lock().expect("not poisoned");
        script.before = Some(Box::new(run));
        script.check = Check::Nothing;
    }

    /// Runs this before the next commit.
    pub(super) fn before_next_commit(&self, run: impl FnOnce() + Send + 'static) {
        self.script.lock().expect("not poisoned").before_any = Some(Box::new(run));
    }

    /// Holds the next commit of guarded rows until the answer is sent to, or dropped.
    pub(super) fn hold(&self) -> oneshot::Sender<()> {
        let (release, held) = oneshot::channel();
        self.script.lock().expect("not poisoned").hold = Some(held);
        release
    }

    /// Runs this before a snapshot, which comes after so many others.
    pub(super) fn before_view(&self, others: usize, run: impl FnOnce() + Send + 'static) {
        self.script.lock().expect("not poisoned").before_view = Some((others, Box::new(run)));
    }

    /// Forgets what was to run before a snapshot; whether it did not run.
    pub(super) fn forget_before_view(&self) -> bool {
        self.script.lock().expect("not poisoned").before_view.take().is_some()
    }

    /// The commits of guarded rows since the last call.
    pub(super) fn take_commits(&self) -> Vec<Commit> {
        std::mem::take(&mut self.script.lock().expect("not poisoned").commits)
    }

    /// Rounds of upkeep since the last call.
    pub(super) fn take_rounds(&self) -> usize {
        std::mem::take(&mut self.script.lock().expect("not poisoned").rounds)
    }

    /// Rounds of upkeep come to this from now on.
    pub(super) fn set_upkeep(&self, round: Option<Result<Option<Duration>, StoreError>>) {
        self.script.lock().expect("not poisoned").upkeep = round;
    }

    /// Writes an empty row past everything.
    pub(super) fn plant(&self, key: Bytes) {
        self.plant_row(key, Some(Bytes::new()));
    }

    /// Writes a row past everything, or removes it.
    pub(super) fn plant_row(&self, key: Bytes, row: Option<Bytes>) {
        pollster::block_on(async {
            let mut txn = self.inner.begin().await.expect("a store in memory begins");
            match row {
                Some(row) => txn.put(key, row),
                None => txn.delete(key),
            }
            txn.commit().await.expect("a store in memory commits");
        });
    }
}

pub(super) struct FlakyTransaction {
    inner: MemoryTransaction,
    script: Arc<Mutex<Script>>,
    conflict_set: BTreeSet<Bytes>,
    written: Vec<Bytes>,
    appended: Vec<LogId>,
}

impl FlakyTransaction {
    fn note_write(&mut self, key: &Bytes) {
        self.conflict_set.insert(key.clone());
        self.written.push(key.clone());
    }

    /// The commit as far as it needs the guard; `None` if it does not.
    ///
    /// # Panics
    ///
    /// If it needs the guard and has not got it, unless nothing shall be checked.
    fn guarded(&self, check: Check) -> Option<Commit> {
        let is_guarded =
            |space: &Space| matches!(space.traits().owner, Owner::Table { written: Written::Guarded, .. });
        let space = |key: &Bytes| key.first().copied().and_then(space_of).filter(is_guarded);
        let records = KeyMap::wanted().start;
        let rows = self.written.iter().filter_map(|key| Some((space(key)?, key.get(1..9)?.to_vec())));
        let rows: Vec<(Space, Vec<u8>)> = rows.collect();
        let logs = self.appended.iter().map(|id| id.log.to_be_bytes().to_vec());
        for table in rows.iter().map(|(_, table)| table.clone()).chain(logs) {
            let record = [&*records, &table].concat();
            let slots = [&[Space::Slots.byte()][..], &table].concat();
            let has_slot =
                self.conflict_set.iter().any(|key| key.len() > slots.len() && key.starts_with(&slots));
            let is_protected = self.conflict_set.contains(record.as_slice()) || has_slot;
            assert!(
                is_protected || check == Check::Nothing,
                "rows of table {table:?} are committed without its guard: {rows:?}"
            );
        }
        let spaces: BTreeSet<_> = rows.iter().map(|(space, _)| space.name()).collect();
        let is_any = !spaces.is_empty() || !self.appended.is_empty();
        is_any.then_some(Commit { spaces, records: self.appended.len(), is_written: false })
    }
}

impl Snapshot for FlakyTransaction {
    fn version(&self) -> CommitVersion {
        self.inner.version()
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        self.inner.changed_at(first_byte)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.inner.scan(scan).await
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.inner.read_log(read).await
    }
}

impl Transaction for FlakyTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.conflict_set.extend(keys.iter().cloned());
        self.inner.get_for_write(keys).await
    }

    fn protect(&mut self, key: &[u8]) {
        self.conflict_set.insert(Bytes::copy_from_slice(key));
        self.inner.protect(key);
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.note_write(&key);
        self.inner.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.note_write(&key);
        self.inner.delete(key);
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.appended.push(id);
        self.inner.append(id, bytes);
    }

    async fn commit(self) -> Result<CommitVersion, CommitError> {
        let check = self.script.lock().expect("not poisoned").check;
        let guarded = self.guarded(check);
        let (fate, before) = {
            let mut script = self.script.lock().expect("not poisoned");
            let before = [script.before_any.take(), script.before.take_if(|_| guarded.is_some())];
            (script.fates.pop_front(), before)
        };
        before.into_iter().flatten().for_each(|before| before());
        let held = self.script.lock().expect("not poisoned").hold.take_if(|_| guarded.is_some());
        if let Some(held) = held {
            // It may be sent to, or dropped.
            let _either = held.await;
        }
        let ended = match fate {
            None | Some(Fate::Written) => self.inner.commit().await,
            Some(Fate::Conflict) => Err(CommitError::Conflict),
            Some(Fate::Failed) => Err(CommitError::Failed(StoreError::Closed)),
            Some(Fate::TooLarge) => Err(CommitError::TooLarge),
            Some(Fate::UnknownLost) => Err(CommitError::Unknown),
            Some(Fate::UnknownWritten) => {
                self.inner.commit().await?;
                Err(CommitError::Unknown)
            }
        };
        if let Some(commit) = guarded {
            let is_written = ended.is_ok() || fate == Some(Fate::UnknownWritten);
            let commit = Commit { is_written, ..commit };
            self.script.lock().expect("not poisoned").commits.push(commit);
        }
        ended
    }
}

impl Store for FlakyStore {
    type Snapshot = MemorySnapshot;
    type Transaction = FlakyTransaction;

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, StoreError> {
        let due = {
            let mut script = self.script.lock().expect("not poisoned");
            let due = script.before_view.take_if(|(others, _)| *others == 0);
            if let Some((others, _)) = &mut script.before_view {
                *others -= 1;
            }
            due
        };
        if let Some((_, run)) = due {
            run();
        }
        self.inner.snapshot().await
    }

    async fn begin(&self) -> Result<Self::Transaction, StoreError> {
        Ok(FlakyTransaction {
            inner: self.inner.begin().await?,
            script: Arc::clone(&self.script),
            conflict_set: BTreeSet::new(),
            written: Vec::new(),
            appended: Vec::new(),
        })
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        self.inner.clear_range(range).await
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        self.inner.trim_log(id, through).await
    }

    async fn tend(&self) -> Result<Option<Duration>, StoreError> {
        let mut script = self.script.lock().expect("not poisoned");
        script.rounds += 1;
        script.upkeep.clone().unwrap_or(Ok(Some(UPKEEP)))
    }

    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        self.inner.size_estimate_bytes(range).await
    }
}
