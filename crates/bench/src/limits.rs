//! The bare store: the table's rows in the embedded storage engine, read and committed without DynamoDB on
//! top.
//!
//! Each request does only what a store must do: one read, one scan, or one durable commit with conflict
//! detection on its keys. There are no names, indexes, conditions or HTTP.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use keywright_process::environment;
use keywright_process::failure::Failure;
use keywright_store::{
    CommitError, Direction, KeyRange, Scan, Snapshot as _, Store as _, StoreError, Transaction as _,
};
use keywright_store_local::LocalStore;

use super::cli::Plan;
use super::keys::Chooser;
use super::pace::Times;
use super::processor::Process;
use super::tally::Tally;
use super::workload::{Kind, PARTITION_ITEMS, Step, letters, place, strided};
use crate::Settings;

/// Rows of one commit while the store is filled.
const FILL_ROWS: u64 = 1000;
/// More bytes than any scan here reads.
const SCAN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A filled store in a folder that is removed when this value is dropped.
pub(super) struct BareStore {
    store: LocalStore,
    runtime: tokio::runtime::Runtime,
    folder: std::path::PathBuf,
}

impl Drop for BareStore {
    fn drop(&mut self) {
        self.store.close();
        // If the folder cannot be removed, the system's cleanup of temporary files will.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl BareStore {
    /// Creates a store in a new subfolder and writes the rows.
    pub(super) fn fill(parent: &Path, plan: &Plan, settings: &dyn Settings) -> Result<Self, Failure> {
        let folder = parent.join(format!("keywright-bench-{:032x}", environment::random_u128()));
        let store = settings.bare_store(&folder)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot start a runtime: {error}")))?;
        let filled = Self { store, runtime, folder };
        for first in (0..plan.data.items).step_by(usize::try_from(FILL_ROWS).unwrap_or(1)) {
            let items: Vec<u64> = (first..(first + FILL_ROWS).min(plan.data.items)).collect();
            filled
                .runtime
                .block_on(commit(&filled.store, &items, plan.data.item_bytes, 0))
                .map_err(|error| Failure::new(format!("cannot fill the bare store: {error:?}")))?;
        }
        Ok(filled)
    }

    /// One measurement: as many tasks as the plan has connections, each with one operation at a time.
    pub(super) fn turn(&self, plan: &Plan, kind: Kind, turn: u64) -> Result<Tally, Failure> {
        let times = Times::starting_now(plan.warm_up, plan.measured);
        let before = Process::this().spent();
        let tally = Arc::new(Mutex::new(Tally::new()));
        let mut tasks = Vec::new();
        for number in 0..plan.connections {
            let seed = plan.seed ^ (turn << 32) ^ (u64::from(number) << 12);
            let worker = Worker {
                store: self.store.clone(),
                chooser: Chooser::new(plan.data.items, plan.spread, seed),
                items: plan.data.items,
                kind,
                item_bytes: plan.data.item_bytes,
            };
            tasks.push(self.runtime.spawn(worker.run(times, Arc::clone(&tally))));
        }
        for task in tasks {
            self.runtime
                .block_on(task)
                .map_err(|error| Failure::new(format!("a task on the bare store failed: {error}")))?;
        }
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tally.measured = plan.measured;
        if let (Some(before), Some(after)) = (before, Process::this().spent()) {
            tally.server_time = after.saturating_sub(before);
        }
        Ok(tally)
    }
}

/// A row's value, as incompressible as the items that are sent.
fn row(item: u64, version: u64, bytes: usize) -> Bytes {
    letters(item ^ (version << 40)).take(bytes).collect()
}

/// A row's key, like the engine's: a hashed partition and an ordered position in it.
fn key(item: u64) -> Bytes {
    let (partition, sort) = place(item);
    let spread = partition.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut key = Vec::with_capacity(40);
    key.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 1]);
    key.extend_from_slice(&spread.to_be_bytes());
    key.extend_from_slice(&partition.to_be_bytes());
    key.extend_from_slice(format!("order#{sort:03}").as_bytes());
    key.into()
}

async fn commit(store: &LocalStore, items: &[u64], bytes: usize, version: u64) -> Result<(), CommitError> {
    let mut transaction = store.begin().await.map_err(CommitError::Failed)?;
    let keys: Vec<Bytes> = items.iter().map(|item| key(*item)).collect();
    transaction.get_for_write(&keys).await.map_err(CommitError::Failed)?;
    for (key, item) in keys.into_iter().zip(items) {
        transaction.put(key, row(*item, version, bytes));
    }
    transaction.commit().await.map(drop)
}

struct Worker {
    store: LocalStore,
    chooser: Chooser,
    items: u64,
    kind: Kind,
    item_bytes: usize,
}

impl Worker {
    async fn run(mut self, times: Times, tally: Arc<Mutex<Tally>>) {
        // Each task has its own tally until the end, so that they share no counter.
        let mut own = Tally::new();
        loop {
            let begun = environment::instant();
            if begun >= times.until {
                break;
            }
            let outcome = self.step().await;
            let ended = environment::instant();
            own.sent += 1;
            if begun >= times.from {
                own.record(ended.duration_since(begun));
            }
            if times.covers(ended) {
                match outcome {
                    Ok(bytes) => own.good(bytes),
                    Err(error) => own.fault(format!("{error:?}")),
                }
            }
        }
        tally.lock().unwrap_or_else(PoisonError::into_inner).add(&own);
    }

    async fn step(&mut self) -> Result<usize, CommitError> {
        let step = self.kind.step(&mut self.chooser);
        let item = self.chooser.item();
        let count = match step {
            Step::Get => return self.get(item).await.map_err(CommitError::Failed),
            Step::Query { items } => return self.scan(item, items).await.map_err(CommitError::Failed),
            Step::Put | Step::Update => 1,
            Step::Batch { items } | Step::Transact { items } => items,
        };
        let items: Vec<u64> = strided(item, count, self.items).collect();
        let version = self.chooser.below(1000);
        commit(&self.store, &items, self.item_bytes, version).await.map(|()| 0)
    }

    async fn get(&self, item: u64) -> Result<usize, StoreError> {
        let row = self.store.snapshot().await?.get(&key(item)).await?;
        Ok(row.map_or(0, |row| row.len()))
    }

    async fn scan(&mut self, item: u64, items: u64) -> Result<usize, StoreError> {
        let from = self.chooser.below(PARTITION_ITEMS - items + 1);
        let start = key(item - place(item).1 + from);
        let scan = Scan {
            range: KeyRange { start, end: None },
            direction: Direction::Forward,
            rows_max: usize::try_from(items).unwrap_or(usize::MAX),
            bytes_max: SCAN_BYTES_MAX,
        };
        let page = self.store.snapshot().await?.scan(&scan).await?;
        Ok(page.entries.iter().map(|entry| entry.value.len()).sum())
    }
}
