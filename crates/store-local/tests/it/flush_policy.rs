//! A row that is overwritten again and again is flushed before the memtable is full.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_store::{Snapshot, Store, Transaction};
use keywright_store_local::{Durability, LocalOptions, LocalStore};

const WRITES: u64 = 4_000;

/// The number of table files in the engine's folders.
fn tables(folder: &Path) -> usize {
    let inside = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    inside
        .map(|path| {
            let is_table = || path.parent().is_some_and(|parent| parent.ends_with("tables"));
            if path.is_dir() { tables(&path) } else { usize::from(is_table()) }
        })
        .sum()
}

async fn over_and_over(store: &LocalStore, key: impl Fn(u64) -> u64, writes: u64) {
    for number in 0..writes {
        let mut transaction = store.begin().await.expect("begins");
        transaction.put(key(number).to_be_bytes().to_vec().into(), number.to_be_bytes().to_vec().into());
        transaction.commit().await.expect("commits");
    }
}

/// A store after `WRITES` writes, and its number of tables before them.
fn write(folder: &Path, key: impl Fn(u64) -> u64) -> (LocalStore, usize) {
    let options =
        LocalOptions { durability: Durability::Relaxed, replaced_rows: 2048, ..LocalOptions::default() };
    let store = LocalStore::open(folder, options).expect("a new store");
    let before = tables(folder);
    pollster::block_on(over_and_over(&store, key, WRITES));
    (store, before)
}

#[expect(clippy::disallowed_methods, reason = "the flush happens on the engine's threads")]
fn wait_for_table(folder: &Path, before: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while tables(folder) == before {
        assert!(Instant::now() < until, "no table was written");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_row_written_over_and_over_is_flushed_before_the_memtable_is_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, before) = write(folder.path(), |_| 7);
    wait_for_table(folder.path(), before);
    let newest = || {
        let key = Bytes::from(7_u64.to_be_bytes().to_vec());
        pollster::block_on(async { store.snapshot().await.expect("a view").get(&key).await.expect("reads") })
    };
    assert_eq!(newest().as_deref(), Some((WRITES - 1).to_be_bytes().as_slice()));
}

#[test]
fn a_row_written_over_and_over_among_many_others_is_flushed_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        LocalOptions { durability: Durability::Relaxed, replaced_rows: 2048, ..LocalOptions::default() };
    let store = LocalStore::open(folder.path(), options).expect("a new store");
    pollster::block_on(async {
        let mut transaction = store.begin().await.expect("begins");
        for number in 0..40_000_u64 {
            transaction.put(number.to_be_bytes().to_vec().into(), Bytes::from_static(b"once"));
        }
        transaction.commit().await.expect("commits");
    });
    let before = tables(folder.path());
    pollster::block_on(over_and_over(&store, |_| u64::MAX, 5_000));
    wait_for_table(folder.path(), before);
}

#[test]
fn rows_written_once_wait_until_the_memtable_is_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, before) = write(folder.path(), |number| number);
    assert_eq!(tables(folder.path()), before);
}
