//! Tables of many regions: a page asks the regions that it needs, and a sweep leaves out no lock of any.

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Direction, Entry, KeyRange, Scan, Snapshot as _, Store as _, Transaction as _};
use keywright_store_tikv::{TikvOptions, TikvStore};

use crate::engine::TikvEngine;
use crate::kit::{RUNTIME, tend};
use crate::raw::Client;
use crate::wires::Wires;

const REGIONS: usize = 12;
const ROWS: usize = 30;
const VALUE_BYTES: usize = 4 * 1024;

fn key(region: usize, row: usize) -> Bytes {
    Bytes::from(format!("r{region:02}-{row:02}"))
}

fn scan(start: Bytes, end: Option<Bytes>, direction: Direction, rows_max: usize) -> Scan {
    Scan { range: KeyRange { start, end }, direction, rows_max, bytes_max: usize::MAX }
}

fn keys(entries: &[Entry]) -> Vec<Bytes> {
    entries.iter().map(|entry| entry.key.clone()).collect()
}

/// On a cluster of its own, whose regions other tests do not see.
#[test]
fn pages_and_sweeps_go_from_region_to_region() {
    let Some(engine) = TikvEngine::start_or_say() else { return };
    let _inside = RUNTIME.enter();
    let wires = block_on(Wires::to(&engine, None));
    let options = TikvOptions::parse(&format!("tikv://{}/divided", wires.pd)).unwrap();
    block_on(async {
        let open = async || TikvStore::open(options.clone(), RUNTIME.handle().clone()).await.unwrap();
        let store = open().await;
        let raw = Client::open(&engine.url("divided")).await;
        for region in 0..REGIONS {
            let mut transaction = store.begin().await.unwrap();
            for row in 0..ROWS {
                transaction.put(key(region, row), Bytes::from(vec![b'x'; VALUE_BYTES]));
            }
            transaction.commit().await.unwrap();
        }
        raw.split((0..REGIONS).map(|region| row(&format!("r{region:02}"))).collect()).await;
        // The store knows the one region that was there before, and reads across the new ones as well.
        pages_have_all_rows_of_all_regions(&store).await;
        let store = open().await;
        a_page_asks_no_more_regions_than_it_needs(&wires, &store).await;
        pages_have_all_rows_of_all_regions(&store).await;
        a_range_of_many_regions_is_cleared(&store).await;
        a_sweep_ends_all_locks_of_a_region_that_has_more_than_a_page(&wires, &store, &raw).await;
    });
}

/// The key in TiKV.
fn row(key: &str) -> Vec<u8> {
    format!("divided/\u{1}{key}").into_bytes()
}

async fn a_page_asks_no_more_regions_than_it_needs(wires: &Wires, store: &TikvStore) {
    const PAGE: usize = 10;
    for direction in [Direction::Forward, Direction::Backward] {
        let before = wires.answered_bytes();
        let view = store.snapshot().await.unwrap();
        let page = view.scan(&scan(Bytes::from("r"), None, direction, PAGE)).await.unwrap();
        assert_eq!((page.entries.len(), page.more), (PAGE, true));
        let answered = usize::try_from(wires.answered_bytes() - before).unwrap();
        let needed = (PAGE + 1) * VALUE_BYTES;
        assert!(answered < needed * 2, "{direction:?}: {answered} bytes for a page of {needed}");
    }
}

async fn pages_have_all_rows_of_all_regions(store: &TikvStore) {
    let all: Vec<Bytes> =
        (0..REGIONS).flat_map(|region| (0..ROWS).map(move |row| key(region, row))).collect();
    let reversed: Vec<Bytes> = all.iter().rev().cloned().collect();
    let view = store.snapshot().await.unwrap();
    for (direction, expected) in [(Direction::Forward, &all), (Direction::Backward, &reversed)] {
        let read = async |start: &str, end: Option<&str>, rows_max| {
            let end = end.map(|end| Bytes::from(end.to_owned()));
            let asked = scan(Bytes::from(start.to_owned()), end, direction, rows_max);
            let page = view.scan(&asked).await.unwrap();
            (keys(&page.entries), page.more)
        };
        assert_eq!(read("r", None, 1_000).await, (expected.clone(), false));
        assert_eq!(read("r", None, ROWS * 2 + 1).await, (expected[..=ROWS * 2].to_vec(), true));
        // From bound to bound, and a part of the regions at both ends.
        for (start, end) in [("r03", "r07"), ("r03-10", "r07-20"), ("r05", "r06"), ("r02-29", "r03")] {
            let within = |key: &&Bytes| **key >= start.as_bytes()[..] && **key < end.as_bytes()[..];
            let expected: Vec<Bytes> = expected.iter().filter(within).cloned().collect();
            assert_eq!(read(start, Some(end), 1_000).await, (expected, false), "{start} {end}");
        }
    }
    let bytes = VALUE_BYTES * REGIONS * ROWS;
    let range = KeyRange { start: Bytes::from("r"), end: None };
    let estimate = usize::try_from(store.size_estimate_bytes(&range).await.unwrap()).unwrap();
    assert!((bytes..bytes * 2).contains(&estimate), "{estimate} of {bytes}");
}

async fn a_range_of_many_regions_is_cleared(store: &TikvStore) {
    let range = KeyRange { start: key(1, 5), end: Some(key(10, 0)) };
    store.clear_range(&range).await.unwrap();
    let view = store.snapshot().await.unwrap();
    let left = view.scan(&scan(Bytes::from("r"), None, Direction::Forward, 1_000)).await.unwrap();
    assert_eq!(left.entries.len(), ROWS * 3 + 5);
    assert!(
        !left.entries.iter().any(|entry| entry.key >= range.start && Some(&entry.key) < range.end.as_ref())
    );
}

async fn a_sweep_ends_all_locks_of_a_region_that_has_more_than_a_page(
    wires: &Wires,
    store: &TikvStore,
    raw: &Client,
) {
    let many: Vec<Vec<u8>> = (0..2_100).map(|number| row(&format!("r03-lock{number:04}"))).collect();
    let transaction = raw.begin(&row("never written")).await;
    transaction.lock_all(&many, 1).await;
    // A later region has a lock too, with which the sweep's first page ends.
    let transaction = raw.begin(&row("not written either")).await;
    assert!(transaction.lock(&row("r09-lock"), "new", 1).await);
    std::thread::sleep(std::time::Duration::from_millis(100));
    let before = wires.connections();
    tend(store).await;
    assert_eq!(raw.locked(&row("r"), &row("s")).await.len(), 0);
    let connections = wires.connections() - before;
    assert!(connections < 10, "a sweep of 2,100 locks made {connections} connections");
}
