//! The scrub in virtual time: what it finds, how fast it reads, and that it goes on where it stopped.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Store, Transaction};
use keywright_store_local::{DamagedPart, FaultCause, LocalOptions, LocalStore, Round, ScrubStep};

use crate::damage::{get, merged, options, rows, sample, write};
use crate::form::{self, open};

const MINUTE: u64 = 60_000;
const WEEK: u64 = 7 * 24 * 60 * MINUTE;
/// Time begins late enough that nothing was ever read a week ago.
const START: u64 = 10 * WEEK;

fn unchecked() -> LocalOptions {
    LocalOptions { verify_bytes_max: 0, ..options() }
}

/// Steps until a round ends; returns it with the time then.
fn round(store: &LocalStore, mut now: u64) -> (Round, u64) {
    for _ in 0..100_000 {
        let step = store.scrub_step(now);
        if let Some(round) = step.finished {
            return (round, now);
        }
        now = step.wake_ms.expect("a round is to come").max(now);
    }
    panic!("the round does not end");
}

/// Damages a block of rows in the middle of the largest table; returns its file.
fn damage_a_block(folder: &Path) -> PathBuf {
    let tables = fs::read_dir(folder.join("tables/tables")).unwrap();
    let largest =
        tables.map(|file| file.unwrap().path()).max_by_key(|file| fs::metadata(file).unwrap().len());
    let table = largest.expect("there is a table");
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 4;
    fs::write(&table, bytes).unwrap();
    table
}

#[test]
fn a_round_reads_everything_at_a_pace_and_the_next_one_begins_a_week_later() {
    let (folder, _) = merged();
    let store = open(folder.path(), options()).unwrap();
    let first = store.scrub_step(START);
    assert_eq!(first.wake_ms, Some(START + 10 * MINUTE), "not at once");
    let (done, end) = round(&store, START);
    let figures = store.figures();
    // The journal's size can have changed since it was read.
    assert!(done.bytes > figures.table_bytes, "{done:?} of {figures:?}");
    assert_eq!((done.damaged_places, figures.scrub.read_bytes), (0, done.bytes));
    assert_eq!(figures.scrub.last_round_ms, Some(end));
    let took = end - (START + 10 * MINUTE);
    assert!(done.bytes * 1000 / took.max(1) <= 9 * 1024 * 1024, "{done:?} in {took} ms");
    assert_eq!(store.scrub_step(end).wake_ms, Some(end + WEEK));
    assert_eq!(store.scrub_step(end + WEEK - 1).wake_ms, Some(end + WEEK));
    let (again, _) = round(&store, end + WEEK);
    assert!(again.bytes >= figures.table_bytes);
}

#[test]
fn a_round_goes_on_after_a_restart_and_its_end_is_remembered() {
    let (folder, _) = merged();
    let open = || open(folder.path(), options()).unwrap();
    let store = open();
    let mut now = START;
    // Until it has read a table.
    while !folder.path().join("scrubbed").exists() {
        now = store.scrub_step(now).wake_ms.unwrap().max(now);
    }
    drop(store);
    let store = open();
    let before = store.figures().scrub;
    assert_eq!((before.last_round_ms, before.read_bytes), (None, 0));
    let (done, end) = round(&store, now);
    assert!(end - now < MINUTE, "it went on at once");
    assert!(done.bytes > store.figures().scrub.read_bytes, "with what it had read before");
    drop(store);
    let store = open();
    assert_eq!(store.scrub_step(end + 1).wake_ms, Some(end + WEEK));
    assert_eq!(store.figures().scrub.last_round_ms, Some(end));
}

#[test]
fn a_scrub_that_is_off_reads_nothing_and_still_explains_failed_reads() {
    let (folder, expected) = merged();
    let table = damage_a_block(folder.path());
    let off = LocalOptions { scrub_period: None, ..unchecked() };
    let store = open(folder.path(), off).unwrap();
    assert_eq!(store.scrub_step(START).wake_ms, None);
    let failed = expected.keys().filter(|key| get(&store, key).is_err()).count();
    assert!(failed > 1, "{failed}");
    let step = store.scrub_step(START + 1);
    let [damage] = step.damaged.as_slice() else { panic!("{step:?}") };
    assert_eq!((damage.file.as_path(), damage.part), (table.as_path(), DamagedPart::Rows));
    let figures = store.figures();
    assert_eq!((figures.damaged_places, figures.failed_reads), (1, u64::try_from(failed).unwrap()));
    // The same reads again: reported once a minute, and no new place.
    let (mut reports, mut passed) = (0, 0);
    for second in 1..=150 {
        for key in expected.keys().step_by(50) {
            let _ = get(&store, key);
        }
        let failing = expected.keys().find(|key| get(&store, key).is_err()).unwrap();
        assert!(get(&store, failing).is_err());
        let ScrubStep { damaged, unexplained, .. } = store.scrub_step(START + second * 1000);
        reports += damaged.len();
        passed += unexplained.len();
    }
    assert_eq!((passed, reports), (0, 2), "one a minute");
    assert_eq!(store.damage().len(), 1);
}

#[test]
fn a_scan_over_a_damaged_block_is_explained_too() {
    let (folder, _) = merged();
    damage_a_block(folder.path());
    let store = open(folder.path(), LocalOptions { scrub_period: None, ..unchecked() }).unwrap();
    let scanned = std::panic::catch_unwind(|| rows(&store));
    assert!(scanned.is_err(), "the scan fails");
    assert_eq!(store.scrub_step(START).damaged.len(), 1);
}

#[test]
fn the_scrub_finds_a_damaged_block_before_any_read_does() {
    let (folder, expected) = merged();
    let table = damage_a_block(folder.path());
    let store = open(folder.path(), unchecked()).unwrap();
    let (done, _) = round(&store, START);
    assert_eq!(done.damaged_places, 1);
    let found = store.damage();
    assert_eq!((found[0].file.as_path(), found[0].part), (table.as_path(), DamagedPart::Rows));
    assert_eq!(store.figures().failed_reads, 0);
    let sound =
        expected.iter().filter(|(key, value)| get(&store, key).ok().flatten().as_ref() == Some(value));
    assert!(sound.count() > expected.len() * 9 / 10, "all other rows are served");
}

#[test]
fn the_scrub_finds_a_damaged_journal_record_of_a_running_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), options()).unwrap();
    for number in 0..20 {
        write(&store, number);
    }
    let (done, end) = round(&store, START);
    assert_eq!(done.damaged_places, 0);
    let journal = folder.path().join("journal/00000001");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[form::START + 512 + 80] ^= 1;
    fs::write(&journal, bytes).unwrap();
    let (done, end) = round(&store, end + WEEK);
    assert_eq!(done.damaged_places, 1);
    let found = store.damage();
    assert_eq!(
        (found[0].part, found[0].offset),
        (DamagedPart::Journal, u64::try_from(form::START + 512).ok()),
        "{found:?}"
    );
    // Once its commits are in tables, the record is not needed any more.
    for number in 0..300 {
        write(&store, number);
    }
    while store.figures().tables == 0 {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(50));
    store.scrub_step(end + 1);
    assert_eq!(store.damage(), []);
}

#[test]
fn a_merge_that_meets_a_damaged_block_says_so_and_the_block_is_found() {
    let (folder, _) = sample();
    let table = damage_a_block(folder.path());
    let store = open(folder.path(), unchecked()).unwrap();
    for number in (0..100_000).map(|number| number % 600) {
        let mut transaction = block_on(store.begin()).unwrap();
        transaction.put(Bytes::from(format!("k{number:05}")), Bytes::from(vec![7; 2000]));
        if block_on(transaction.commit()).is_err() {
            break;
        }
    }
    let fault = store.fault().expect("the merge stops writes");
    assert_eq!(fault.cause, FaultCause::Damage, "{fault:?}");
    for time in START..START + 100 {
        store.scrub_step(time);
    }
    let found = store.damage();
    assert_eq!(found.iter().map(|damage| &damage.file).collect::<Vec<_>>(), [&table], "{found:?}");
}

/// Tables come and go and journal segments are used again while rounds read them.
#[test]
fn rounds_over_a_busy_store_find_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let busy = LocalOptions { memtable_bytes: 32 * 1024, journal_bytes: 1024 * 1024, ..options() };
    let store = open(folder.path(), busy).unwrap();
    let writer = {
        let store = store.clone();
        let work = move || {
            for number in 0..4_000_u64 {
                let mut transaction = block_on(store.begin()).expect("a transaction begins");
                let key = Bytes::from(format!("k{:05}", number * 7919 % 600));
                transaction.put(key, Bytes::from(vec![7; 900]));
                block_on(transaction.commit()).expect("nothing conflicts");
            }
        };
        std::thread::Builder::new().spawn(work).unwrap()
    };
    let (mut now, mut rounds) = (START, 0);
    while !writer.is_finished() || rounds < 3 {
        let step = store.scrub_step(now);
        assert!(step.damaged.is_empty() && step.unexplained.is_empty(), "{step:?}");
        rounds += u64::from(step.finished.is_some());
        now = step.wake_ms.expect("a round is to come").max(now);
    }
    writer.join().unwrap();
    assert_eq!(store.damage(), []);
    println!("{rounds} rounds");
}
