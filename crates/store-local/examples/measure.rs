//! Measures the local store on this machine: reads per second, durable commits per second, and for comparison
//! the rate at which the disk syncs.
//!
//! `cargo run --release -p keywright-store-local --example measure [FOLDER [reads]]`
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "measures time and prints it")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store, Transaction};
use keywright_store_local::{Durability, LocalOptions, LocalStore};

const ROWS: u64 = 200_000;
const VALUE_BYTES: usize = 300;
const SECONDS: u64 = 3;

fn main() {
    let folder = match std::env::args().nth(1) {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    }
    .expect("a folder is made");
    if std::env::args().nth(2).as_deref() == Some("reads") {
        reads(&folder.path().join("reads"));
        return;
    }
    syncs(folder.path());
    for threads in [1, 4, 16, 64] {
        commits(&folder.path().join(format!("synced{threads}")), threads, Durability::Synced);
    }
    for threads in [1, 16] {
        commits(&folder.path().join(format!("relaxed{threads}")), threads, Durability::Relaxed);
    }
    reads(&folder.path().join("reads"));
}

fn rate(name: &str, count: u64, elapsed: Duration) {
    let micros = u64::try_from(elapsed.as_micros()).expect("a short time").max(1);
    println!("{name:<44} {:>10}/s  {:>9} ns each", count * 1_000_000 / micros, micros * 1000 / count.max(1));
}

/// The disk's own rate: small appends, each with a sync, to a file that is preallocated like a journal.
fn syncs(folder: &Path) {
    for name in ["bare fsync", "bare fdatasync"] {
        let sync = |file: &File| if name == "bare fsync" { file.sync_all() } else { file.sync_data() };
        let mut file = File::create(folder.join("sync")).expect("a file is made");
        file.set_len(64 * 1024 * 1024).and_then(|()| file.sync_all()).expect("the file is laid out");
        let (started, mut count) = (Instant::now(), 0);
        while started.elapsed() < Duration::from_secs(SECONDS) {
            file.write_all(&[7; 400]).and_then(|()| sync(&file)).expect("the file is synced");
            count += 1;
        }
        rate(name, count, started.elapsed());
    }
}

fn key(number: u64) -> Bytes {
    // Spread over the key space like hashes.
    let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Bytes::from([spread.to_be_bytes().as_slice(), &[1; 40]].concat())
}

fn commits(folder: &Path, threads: u64, durability: Durability) {
    let store =
        LocalStore::open(folder, LocalOptions { durability, ..LocalOptions::default() }).expect("it opens");
    let (done, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (store, done, count) = (&store, &done, &count);
            scope.spawn(move || {
                let mut number = thread << 32;
                while !done.load(Ordering::Relaxed) {
                    number += 1;
                    let mut transaction = block_on(store.begin()).expect("a transaction begins");
                    let own = key(number);
                    block_on(transaction.get_for_write(std::slice::from_ref(&own))).expect("a read succeeds");
                    transaction.put(own, Bytes::from(vec![7; VALUE_BYTES]));
                    block_on(transaction.commit()).expect("nothing conflicts");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs(SECONDS));
        done.store(true, Ordering::Relaxed);
    });
    rate(
        &format!("{durability:?} commits, {threads} threads"),
        count.load(Ordering::Relaxed),
        started.elapsed(),
    );
}

fn reads(folder: &Path) {
    let store = LocalStore::open(folder, LocalOptions::default()).expect("it opens");
    for batch in 0..ROWS / 1000 {
        let mut transaction = block_on(store.begin()).expect("a transaction begins");
        for number in batch * 1000..(batch + 1) * 1000 {
            transaction.put(key(number), Bytes::from(vec![7; VALUE_BYTES]));
        }
        block_on(transaction.commit()).expect("nothing conflicts");
    }
    gets("gets, newest rows in memory", &store, ROWS - 1000..ROWS);
    gets("gets, all rows", &store, 0..ROWS);
    gets("gets, all rows, again", &store, 0..ROWS);
    gets("gets of absent keys", &store, ROWS..2 * ROWS);
    scans(&store);
    drop(store);
    let started = Instant::now();
    let store = LocalStore::open(folder, LocalOptions::default()).expect("it opens");
    println!("{:<44} {:>10} ms", "opening it again", started.elapsed().as_millis());
    gets("gets after opening, cold blocks", &store, 0..ROWS);
    gets("gets after opening, cached blocks", &store, 0..ROWS);
}

/// This thread's CPU time, where the system reports it. Unlike wall time it excludes other programs.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn gets(name: &str, store: &LocalStore, numbers: std::ops::Range<u64>) {
    let (started, processor_started) = (Instant::now(), processor_time());
    let mut count = 0;
    while count < ROWS {
        for number in numbers.clone() {
            let view = block_on(store.snapshot()).expect("a snapshot opens");
            std::hint::black_box(block_on(view.get(&key(number))).expect("a read succeeds"));
            count += 1;
        }
    }
    rate(name, count, started.elapsed());
    if let (Some(before), Some(after)) = (processor_started, processor_time()) {
        rate("  in processor time", count, after.saturating_sub(before));
    }
}

fn scans(store: &LocalStore) {
    let started = Instant::now();
    let mut count = 0;
    for number in 0..2000 {
        let view = block_on(store.snapshot()).expect("a snapshot opens");
        let range = KeyRange { start: key(number), end: None };
        let scan = Scan { range, direction: Direction::Forward, rows_max: 100, bytes_max: usize::MAX };
        count += block_on(view.scan(&scan)).expect("a scan succeeds").entries.len();
    }
    rate("rows scanned, 100 at a time", u64::try_from(count).expect("a small number"), started.elapsed());
}
