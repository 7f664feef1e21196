//! Opening an engine again on the same store, after a clean and after an unclean stop.

use keywright_semantics::request::Request;
use keywright_semantics::response::{IndexStatus, Response, TableStatus};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::harness::*;
use super::tables::{Bed, add_index, creation, drop_index, named, open, plain};
use crate::dispatch::OpenError;
use crate::{CatalogueFault, Engine, EngineConfig};

const ITEMS: i64 = 1500;

fn numbered(number: i64) -> Item {
    item([("pk", s(&number.to_string())), ("g", n(number % 7))])
}

fn filled(store: &MemoryStore) -> Bed<MemoryStore> {
    let bed = open(store.clone(), EngineConfig::default());
    bed.create(creation("Shop", plain())).expect("it is new");
    for number in 0..ITEMS {
        bed.put("Shop", numbered(number));
    }
    bed
}

fn scan(bed: &Bed<MemoryStore>, index: Option<&str>) -> Vec<String> {
    let mut request = scan_request(index);
    request.table = named("Shop");
    let mut rows = Vec::new();
    loop {
        let Ok(Response::Scan(page)) = bed.run(Request::Scan(Box::new(request.clone()))) else {
            panic!("it can be read")
        };
        rows.extend(items(&page).iter().map(|row| format!("{row:?}")));
        match page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key.decode()),
            None => break,
        }
    }
    rows.sort();
    rows
}

fn count(bed: &Bed<MemoryStore>) -> (u64, u64) {
    let description = bed.describe("Shop").expect("it is there");
    (description.item_count, description.table_size_bytes)
}

#[test]
fn tables_and_counters_are_there_after_a_clean_stop() {
    let store = MemoryStore::new();
    let bed = filled(&store);
    let (before, counted) = (bed.describe("Shop").expect("it is there"), count(&bed));
    assert_eq!(counted.0, u64::try_from(ITEMS).expect("small"));
    block_on(bed.engine.shutdown()).expect("it stops");
    let again = open(store, EngineConfig::default());
    assert_eq!(again.describe("Shop").expect("it is there"), before);
    assert_eq!(count(&again), counted);
}

#[test]
fn after_an_unclean_stop_counters_are_recounted_while_items_are_written() {
    let store = MemoryStore::new();
    let bed = filled(&store);
    let counted = count(&bed);
    drop(bed);
    let again = open(store, EngineConfig::default());
    assert_eq!(count(&again), (0, 0));
    again.step();
    let mut request = delete_request(item([("pk", s("7"))]));
    request.table = named("Shop");
    again.run(Request::DeleteItem(Box::new(request))).expect("it is deleted");
    again.put("Shop", numbered(ITEMS));
    again.put("Shop", numbered(ITEMS + 1));
    again.settle();
    assert_eq!(count(&again).0, counted.0 + 1);
    let rows = scan(&again, None);
    assert_eq!(u64::try_from(rows.len()).expect("small"), counted.0 + 1);
}

#[test]
fn a_backfill_goes_on_where_it_was_after_each_of_many_stops() {
    let store = MemoryStore::new();
    let bed = filled(&store);
    bed.update(add_index("Shop", "by-g", "g")).expect("it may be added");
    drop(bed);
    let mut restarts = 0;
    loop {
        let bed = open(store.clone(), EngineConfig::default());
        let description = bed.describe("Shop").expect("it is there");
        let index = description.global_secondary_indexes.expect("it has one").remove(0);
        if index.index_status == IndexStatus::Active {
            assert_eq!(scan(&bed, Some("by-g")), scan(&bed, None));
            break;
        }
        // Items written between two stops have one index entry each.
        bed.put("Shop", numbered(ITEMS + restarts));
        bed.put("Shop", numbered(restarts * 100));
        bed.step();
        restarts += 1;
        assert!(restarts < 100, "the backfill gets nowhere");
    }
    assert!(restarts > 3, "the backfill took several steps");
}

#[test]
fn deletions_go_on_after_a_stop() {
    let store = MemoryStore::new();
    let bed = filled(&store);
    bed.update(add_index("Shop", "by-g", "g")).expect("it may be added");
    bed.settle();
    bed.update(drop_index("Shop", "by-g")).expect("it may go");
    drop(bed);
    let bed = open(store.clone(), EngineConfig::default());
    bed.settle();
    assert!(bed.describe("Shop").expect("it is there").global_secondary_indexes.is_none());
    bed.delete("Shop").expect("it may go");
    drop(bed);
    let bed = open(store.clone(), EngineConfig::default());
    assert!(bed.describe("Shop").is_err());
    bed.settle();
    let bed = open(store, EngineConfig::default());
    bed.create(creation("Shop", plain())).expect("the name is free");
    assert_eq!(scan(&bed, None), Vec::<String>::new());
}

#[test]
fn a_transition_ends_after_a_stop() {
    let store = MemoryStore::new();
    let config = EngineConfig { transition_ms: 100, ..EngineConfig::default() };
    open(store.clone(), config.clone()).create(creation("Shop", plain())).expect("it is new");
    let bed = open(store, config);
    assert_eq!(bed.describe("Shop").expect("it is there").table_status, TableStatus::Creating);
    bed.env.now_ms.store(100, std::sync::atomic::Ordering::Relaxed);
    bed.settle();
    assert_eq!(bed.describe("Shop").expect("it is there").table_status, TableStatus::Active);
}

#[test]
fn a_record_that_cannot_be_read_is_named_at_open() {
    let store = MemoryStore::new();
    drop(filled(&store));
    block_on(async {
        let mut txn = store.begin().await.expect("begin");
        let key = [&[1_u8, 0][..], &1_u64.to_be_bytes()].concat();
        txn.put(key.into(), vec![9].into());
        txn.commit().await.expect("commit");
    });
    let env = std::sync::Arc::new(TestEnv::default());
    let fault = block_on(Engine::open(store, env, EngineConfig::default())).err().expect("it is refused");
    assert!(matches!(fault, OpenError::Catalogue(CatalogueFault::Record { .. })));
    assert!(fault.to_string().contains("its format version is 9"), "{fault}");
}
