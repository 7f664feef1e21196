//! Indexes that are added and deleted while items are written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use keywright_semantics::request::create_table::NewIndex;
use keywright_semantics::request::update_table::IndexUpdate;
use keywright_semantics::schema::{IndexKind, KeyType, Projection, TableSchema};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;

/// Steps within which an index must be built; a build needs far fewer.
const STEPS_MAX: u64 = 10_000;

fn plain() -> TableSchema {
    TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() }
}

fn change(bench: &Bench<MemoryStore>, update: IndexUpdate) {
    block_on(bench.engine.execute(&caller(), index_request(update))).expect("it is accepted");
}

fn wait_until_readable(bench: &Bench<MemoryStore>) {
    for now_ms in 0..STEPS_MAX {
        block_on(bench.engine.step(now_ms));
        if bench.scan(&scan_request(Some("live"))).is_ok() {
            return;
        }
    }
    panic!("the index was not built");
}

fn sorted(mut rows: Vec<Item>) -> Vec<String> {
    rows.retain(|row| row.contains_key("g"));
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

fn write_until(bench: &Bench<MemoryStore>, stop: &AtomicBool, worker: i64) {
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let pk = s(&format!("p{}", (worker * 7 + round * 13) % 50));
        match round % 4 {
            0 => bench.delete(&delete_request(item([("pk", pk)]))).map(drop),
            1 => bench.put(item([("pk", pk), ("x", n(round))])).map(drop),
            _ => bench.put(item([("pk", pk), ("g", n(round % 5)), ("x", n(round))])).map(drop),
        }
        .expect("a schema change does not fail a write");
    }
}

#[test]
fn an_index_built_under_writers_holds_exactly_what_the_table_holds() {
    let bench = bench_on(MemoryStore::new(), plain(), u64::MAX);
    for place in 0..50 {
        bench.put(item([("pk", s(&format!("p{place}"))), ("g", n(place % 5))])).expect("put");
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for worker in 0..2 {
            let (bench, stop) = (&bench, &stop);
            scope.spawn(move || write_until(bench, stop, worker));
        }
        for _ in 0..5 {
            let schema = index("live", IndexKind::Global, key(&[("g", KeyType::N)], &[]), Projection::All);
            change(
                &bench,
                IndexUpdate::Create(NewIndex { schema, throughput: None, on_demand: None, warm: None }),
            );
            wait_until_readable(&bench);
            change(&bench, IndexUpdate::Delete { name: "live".into() });
            for now_ms in 0..100 {
                block_on(bench.engine.step(now_ms));
            }
        }
        let schema = index("live", IndexKind::Global, key(&[("g", KeyType::N)], &[]), Projection::All);
        change(
            &bench,
            IndexUpdate::Create(NewIndex { schema, throughput: None, on_demand: None, warm: None }),
        );
        wait_until_readable(&bench);
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(sorted(bench.scan_all(Some("live"))), sorted(bench.scan_all(None)));
}
