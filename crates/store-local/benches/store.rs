//! Latency of single reads and commits of the local store. `cargo bench -p keywright-store-local`; for many
//! threads see `examples/measure`.

use bytes::Bytes;
use divan::Bencher;
use keywright_store::kit::block_on;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store, Transaction};
use keywright_store_local::{Durability, LocalOptions, LocalStore};

const ROWS: u64 = 20_000;
const VALUE_BYTES: usize = 500;
const ROWS_PER_COMMIT: u64 = 500;

fn main() {
    divan::main();
}

fn key(number: u64) -> Bytes {
    format!("row{:08}", number % ROWS).into_bytes().into()
}

async fn put(store: &LocalStore, numbers: std::ops::Range<u64>) {
    let mut transaction = store.begin().await.expect("the store is open");
    for number in numbers {
        transaction.put(key(number), vec![7; VALUE_BYTES].into());
    }
    transaction.commit().await.expect("nothing conflicts");
}

fn filled(folder: &tempfile::TempDir, durability: Durability) -> LocalStore {
    let options = LocalOptions { durability, ..LocalOptions::default() };
    let store = LocalStore::open(folder.path(), options).expect("an empty folder opens");
    for first in (0..ROWS).step_by(usize::try_from(ROWS_PER_COMMIT).unwrap_or(1)) {
        block_on(put(&store, first..first + ROWS_PER_COMMIT));
    }
    store
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let store = filled(&folder, Durability::Synced);
    let mut number = 0;
    bencher.bench_local(|| {
        number += 7919;
        block_on(async { store.snapshot().await.expect("it is open").get(&key(number)).await })
    });
}

#[divan::bench(args = [10, 100])]
fn scan(bencher: Bencher<'_, '_>, rows: usize) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let store = filled(&folder, Durability::Synced);
    let mut number = 0;
    bencher.bench_local(|| {
        number += 7919;
        let range = KeyRange { start: key(number), end: None };
        let scan = Scan { range, direction: Direction::Forward, rows_max: rows, bytes_max: usize::MAX };
        block_on(async { store.snapshot().await.expect("it is open").scan(&scan).await })
    });
}

#[divan::bench(args = [true, false])]
fn commit(bencher: Bencher<'_, '_>, synced: bool) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let store = filled(&folder, if synced { Durability::Synced } else { Durability::Relaxed });
    let mut number = 0;
    bencher.bench_local(|| {
        number += 7919;
        block_on(put(&store, number..number + 1));
    });
}
