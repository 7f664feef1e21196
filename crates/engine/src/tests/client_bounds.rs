//! What many clients can hold at once is bounded: definitions of tables, images of items being written.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::{DeleteTable, Request};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::{EngineConfig, ImageMemory, Presence};

/// Far more than the memory that the test gives to images.
const ITEMS: i64 = 20;

fn large_key(number: i64) -> keywright_semantics::value::Item {
    item([("pk", s("large")), ("sk", s(&number.to_string()))])
}

#[test]
fn definitions_of_tables_are_bounded_and_a_deleted_table_makes_room() {
    let mut config = EngineConfig { record_bytes_max: 1, ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config.clone(), create_request(schema()));
    let mut second = create_request(schema());
    second.name = "second".to_owned();
    let create = |bench: &Bench<MemoryStore>, request: &_| {
        let request = Request::CreateTable(Box::new(Clone::clone(request)));
        block_on(bench.engine.execute(&caller(), request))
    };
    let refused = create(&bench, &second).expect_err("the first table takes all room");
    assert_eq!(refused.kind, ErrorKind::LimitExceeded);
    config.record_bytes_max = bench.engine.catalogue().record_bytes() + 8;
    let bench = bench_with(MemoryStore::new(), config, create_request(schema()));
    let one_table = bench.engine.catalogue().record_bytes();
    create(&bench, &second).expect("there are eight bytes of room left");
    let mut third = create_request(schema());
    third.name = "third".to_owned();
    create(&bench, &third).expect_err("two tables take more than there is");
    let delete = Request::DeleteTable(DeleteTable { table: table_ref() });
    block_on(bench.engine.execute(&caller(), delete)).expect("the table is active");
    for _ in 0..4 {
        block_on(bench.engine.step(bench.env.now_ms.load(Ordering::Relaxed)));
    }
    assert!(bench.engine.catalogue().record_bytes() <= one_table + 8, "the deleted table's record is gone");
    create(&bench, &third).expect("the deleted table made room");
}

#[test]
fn a_change_of_a_table_is_not_begun_for_a_client_that_has_left() {
    let bench = bench();
    let presence = Presence::default();
    let engine = bench.engine.for_client(presence.clone());
    let table = engine.catalogue().find(&namespace(), TABLE).expect("the table exists");
    let tag = |table: &mut crate::catalogue::Table| {
        table.tags.insert("a".to_owned(), "b".to_owned());
        Ok(())
    };
    presence.leave();
    assert!(block_on(engine.change_table(table.id, tag)).is_err());
    let tags =
        |bench: &Bench<_>| bench.engine.catalogue().find(&namespace(), TABLE).map(|table| table.tags.len());
    assert_eq!(tags(&bench), Some(0));
    block_on(bench.engine.change_table(table.id, tag)).expect("this client waits");
    assert_eq!(tags(&bench), Some(1));
}

#[test]
fn large_updates_that_find_no_room_wait_for_it_and_are_all_carried_out() {
    let images = Arc::new(ImageMemory::new(1024 * 1024));
    let config = EngineConfig { images, ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config, create_request(schema()));
    for number in 0..ITEMS {
        let mut large = large_key(number);
        large.insert("v".to_owned(), s(&"x".repeat(100_000)));
        bench.put(large).expect("it is put");
    }
    std::thread::scope(|scope| {
        for client in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                for number in 0..ITEMS {
                    let add = update("ADD n :one", [(":one", n(1))]);
                    let key = large_key((number + client) % ITEMS);
                    bench.update(&update_request(key, Some(add))).expect("it waits for its turn");
                }
            });
        }
    });
    for number in 0..ITEMS {
        let found = bench.get(large_key(number)).expect("it is there");
        assert_eq!(found.get("n"), Some(&n(8)));
    }
}
