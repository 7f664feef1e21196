//! Rows that are overwritten or deleted again and again: neither the journal nor the tables grow with them,
//! and scans that skip them miss nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::random::Random;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store, Transaction};
use keywright_store_local::{Durability, LocalOptions, LocalStore};

use crate::form::open;

const MIB: u64 = 1024 * 1024;

fn options() -> LocalOptions {
    LocalOptions { durability: Durability::Relaxed, journal_bytes: MIB, ..LocalOptions::default() }
}

fn write(store: &LocalStore, key: u64, value: Option<Bytes>) {
    let mut transaction = block_on(store.begin()).expect("begins");
    let key = Bytes::from(key.to_be_bytes().to_vec());
    match value {
        Some(value) => transaction.put(key, value),
        None => transaction.delete(key),
    }
    block_on(transaction.commit()).expect("commits");
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries.map(|entry| entry.metadata().map_or(0, |metadata| metadata.len())).sum()
}

#[expect(clippy::disallowed_methods, reason = "the background threads work at their own pace")]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_journal_of_an_overwritten_row_stays_small_and_its_last_value_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), options()).expect("a new store");
    for number in 0..20_000_u64 {
        let value = [number.to_be_bytes().as_slice(), &[7; 1000]].concat();
        write(&store, 7, Some(value.into()));
    }
    let journal = folder.path().join("journal");
    // 20 MB were written.
    wait_until("the journal stays large", || bytes_in(&journal) <= 12 * MIB);
    drop(store);
    let store = open(folder.path(), options()).expect("opens again");
    let view = block_on(store.snapshot()).expect("a view");
    let found = block_on(view.get(&7_u64.to_be_bytes())).expect("reads").expect("is there");
    assert_eq!(found.first_chunk(), Some(&19_999_u64.to_be_bytes()));
}

#[test]
fn rows_that_came_and_went_leave_nothing_in_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), options()).expect("a new store");
    for number in 0..20_000_u64 {
        write(&store, number, Some(Bytes::from_static(&[7; 200])));
        write(&store, number, None);
    }
    let tables = folder.path().join("tables").join("tables");
    // Flushed several times, with the version of the newest commit and a few rows each.
    wait_until("tables are large", || bytes_in(&tables) <= MIB / 4);
}

const KEYS: u64 = 2_000;

fn key(number: u64) -> Bytes {
    Bytes::from(number.to_be_bytes().to_vec())
}

fn scanned(store: &LocalStore, start: u64, end: u64, direction: Direction) -> Vec<(Bytes, Bytes)> {
    let view = block_on(store.snapshot()).expect("a view");
    let range = KeyRange { start: key(start), end: Some(key(end)) };
    let scan = Scan { range, direction, rows_max: usize::MAX, bytes_max: usize::MAX };
    let page = block_on(view.scan(&scan)).expect("a scan succeeds");
    page.entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

/// Long ranges are deleted, single rows come back, and scans in both directions are compared with a sorted
/// map.
#[test]
fn scans_over_deleted_ranges_find_every_row_that_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = LocalOptions { memtable_bytes: 32 * 1024, ..options() };
    let store = open(folder.path(), options).expect("a new store");
    let mut random = Random::new(11);
    let mut model = BTreeMap::new();
    for step in 0..1_500_u64 {
        let mut transaction = block_on(store.begin()).expect("begins");
        let first = random.below(KEYS);
        match random.below(4) {
            0 => {
                for number in first..(first + 400).min(KEYS) {
                    transaction.delete(key(number));
                    model.remove(&key(number));
                }
            }
            1 => {
                for number in first..(first + 100).min(KEYS) {
                    transaction.put(key(number), key(step));
                    model.insert(key(number), key(step));
                }
            }
            _ => {
                transaction.put(key(first), key(step));
                model.insert(key(first), key(step));
            }
        }
        block_on(transaction.commit()).expect("commits");
        let (start, end) = (random.below(KEYS), random.below(KEYS));
        let (start, end) = (start.min(end), start.max(end) + 1);
        let expected = model.range(key(start)..key(end)).map(|(key, value)| (key.clone(), value.clone()));
        let expected: Vec<_> = expected.collect();
        assert!(scanned(&store, start, end, Direction::Forward) == expected, "step {step}: {start} to {end}");
        let backward: Vec<_> = expected.into_iter().rev().collect();
        assert!(scanned(&store, start, end, Direction::Backward) == backward, "step {step}: back from {end}");
    }
}
