//! The guard between writers and changes of their table: every commit of rows of a table has it, and none
//! that answers after a change was answered has missed the change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
use keywright_semantics::request::partiql::{BatchExecuteStatement, ExecuteStatement, ExecuteTransaction};
use keywright_semantics::request::parts::{
    BatchExecuteStatementParts, BatchStatementRequestParts, ExecuteTransactionParts,
    ParameterizedStatementParts, ReturnConsumedCapacity, ReturnItemCollectionMetrics, StreamViewType,
};
use keywright_semantics::request::transact_write_items::TransactAction;
use keywright_semantics::request::update_table::{IndexUpdate, StreamChange};
use keywright_semantics::request::{DeleteTable, Request, TtlChange, UpdateTimeToLive};
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::value::Item;
use keywright_store::Store;

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::partiql::parts;
use super::tables::{new_index, nothing};
use super::transactions::{act, transaction};
use crate::bind::expiry::EpochSeconds;
use crate::catalogue::TtlGeneration;
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::layout::{TableId, item_key};
use crate::write::expiry_rows::row_key;
use crate::{Engine, Namespace, Region};

const START: i64 = 1_800_000_000;

/// The table's key alone; items have `g` (a number) for an index and `due` for time to live.
fn plain() -> TableSchema {
    TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() }
}

fn row(pk: &str) -> Item {
    item([("pk", s(pk)), ("g", n(1)), ("due", n(START + 10_000))])
}

fn ask<S: Store>(engine: &Engine<S>, request: Request) -> Result<(), Error> {
    block_on(engine.execute(&caller(), request)).map(drop)
}

fn create_index() -> Request {
    index_request(IndexUpdate::Create(new_index("by-g", "g")))
}

fn time_to_live(change: TtlChange) -> Request {
    Request::UpdateTimeToLive(UpdateTimeToLive { table: table_ref(), attribute: "due".into(), change })
}

fn stream(change: StreamChange) -> Request {
    Request::UpdateTable(Box::new(keywright_semantics::request::UpdateTable {
        stream: Some(change),
        ..nothing(TABLE)
    }))
}

fn delete_table() -> Request {
    Request::DeleteTable(DeleteTable { table: table_ref() })
}

fn on(store: &FlakyStore, schema: TableSchema) -> Bench<FlakyStore> {
    let bench = bench_with(store.clone(), EngineConfig::default(), create_request(schema));
    bench.go_to(START);
    bench
}

/// A kind of change, after some others, and what a write leaves that answers after it.
struct Case {
    name: &'static str,
    before: Vec<Request>,
    change: Request,
    /// The kinds of rows that the write leaves; `None` if it is refused.
    rows: Option<&'static [&'static str]>,
    records: usize,
}

fn cases() -> Vec<Case> {
    let case = |name, before, change, rows, records| Case { name, before, change, rows, records };
    let images = StreamViewType::NewAndOldImages;
    let enabled = || stream(StreamChange::Enable(images));
    let items: Option<&[&str]> = Some(&["items"]);
    vec![
        case("an index is added", vec![], create_index(), Some(&["index entries", "items"]), 0),
        case(
            "an index is deleted",
            vec![create_index()],
            index_request(IndexUpdate::Delete { name: "by-g".into() }),
            items,
            0,
        ),
        case(
            "time to live is enabled",
            vec![],
            time_to_live(TtlChange::Enable),
            Some(&["expiry times", "items"]),
            0,
        ),
        case(
            "time to live is disabled",
            vec![time_to_live(TtlChange::Enable)],
            time_to_live(TtlChange::Disable),
            items,
            0,
        ),
        case("the stream is enabled", vec![], enabled(), items, 1),
        case("the stream is disabled", vec![enabled()], stream(StreamChange::Disable), items, 0),
        case("the table is deleted", vec![], delete_table(), None, 0),
    ]
}

/// Whether the writer has written to the table before: then it knows the record without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    New,
    KnowsTheTable,
}

fn check_change(case: Case, store: &FlakyStore, writer: Writer) {
    let bench = on(store, plain());
    for request in case.before {
        ask(&bench.engine, request).expect("it is accepted");
        bench.work();
    }
    bench.go_to(START + 5_000);
    if writer == Writer::KnowsTheTable {
        bench.put(item([("pk", s("earlier"))])).expect("put");
    }
    let changer = if bench.engine.is_shared() {
        let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&bench.env);
        block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("it opens")
    } else {
        bench.engine.clone()
    };
    let change = case.change;
    store.take_commits();
    store.before_next_rows(move || ask(&changer, change).expect("the change is answered"));
    let answer = bench.put(row("a"));
    let name = format!("{}, {writer:?}, shared: {}", case.name, bench.engine.is_shared());
    let commits = store.take_commits();
    assert!(commits.first().is_some_and(|commit| !commit.is_written), "{name}: {commits:?}");
    let Some(rows) = case.rows else {
        let refused = answer.expect_err("there is no table");
        return assert_eq!((refused.kind, commits.len()), (ErrorKind::ResourceNotFound, 1), "{name}");
    };
    answer.expect("it is written at last");
    let last = commits.last().expect("it was committed");
    let found: Vec<&str> = last.spaces.iter().copied().collect();
    assert_eq!((last.is_written, found.as_slice(), last.records), (true, rows, case.records), "{name}");
}

#[test]
fn a_write_bound_before_a_change_has_seen_it_once_the_change_is_answered() {
    for writer in [Writer::New, Writer::KnowsTheTable] {
        for case in cases() {
            check_change(case, &FlakyStore::default(), writer);
        }
        for case in cases() {
            check_change(case, &FlakyStore::shared(), writer);
        }
        for case in cases() {
            check_change(case, &FlakyStore::exclusive(), writer);
        }
    }
}

#[test]
fn a_backfill_bound_before_a_change_has_seen_it_once_the_change_is_answered() {
    let enable = || time_to_live(TtlChange::Enable);
    let drop_index = || index_request(IndexUpdate::Delete { name: "by-g".into() });
    for (begin, change) in [(create_index(), drop_index()), (enable(), delete_table())] {
        let name = format!("{begin:?}, then {change:?}");
        let store = FlakyStore::default();
        let bench = on(&store, plain());
        bench.put(row("a")).expect("put");
        store.take_commits();
        let changer = bench.engine.clone();
        store.before_next_rows(move || ask(&changer, change).expect("the change is answered"));
        ask(&bench.engine, begin).expect("it is accepted");
        bench.work();
        let ends: Vec<bool> = store.take_commits().iter().map(|commit| commit.is_written).collect();
        assert_eq!(ends, [false], "{name}");
    }
}

/// A way to write rows of a table.
type Write = fn(&Bench<FlakyStore>, &FlakyStore);

fn batch(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    let table = BatchWriteTable {
        table: table_ref(),
        writes: vec![BatchWrite::Put(row("batch")), BatchWrite::Delete(item([("pk", s("a"))]))],
        orders: Vec::new(),
    };
    let request = BatchWriteItem {
        tables: vec![table],
        capacity: ReturnConsumedCapacity::Total,
        metrics: ReturnItemCollectionMetrics::None,
    };
    ask(&bench.engine, Request::BatchWriteItem(request)).expect("it is written");
}

fn statements(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    let texts = [
        "INSERT INTO t VALUE {'pk': 's', 'due': 1800009000}",
        "UPDATE t SET g = 2 WHERE pk = 's'",
        "DELETE FROM t WHERE pk = 's'",
    ];
    for text in texts {
        let request = ExecuteStatement::validate(parts(text)).expect("it is right");
        ask(&bench.engine, Request::ExecuteStatement(Box::new(request))).expect("it is executed");
    }
}

fn batch_of_statements(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    let statement = BatchStatementRequestParts {
        statement: "INSERT INTO t VALUE {'pk': 'sb'}".to_owned(),
        parameters: None,
        consistent_read: None,
        return_values_on_condition_check_failure: None,
    };
    let parts = BatchExecuteStatementParts { statements: vec![statement], return_consumed_capacity: None };
    ask(&bench.engine, Request::BatchExecuteStatement(BatchExecuteStatement::validate(parts)))
        .expect("it is executed");
}

fn transaction_of_statements(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    let statement = ParameterizedStatementParts {
        statement: "INSERT INTO t VALUE {'pk': 'st'}".to_owned(),
        parameters: None,
        return_values_on_condition_check_failure: None,
    };
    let parts = ExecuteTransactionParts {
        transact_statements: vec![statement],
        client_request_token: None,
        return_consumed_capacity: None,
    };
    let request = ExecuteTransaction::validate(parts).expect("it is right");
    ask(&bench.engine, Request::ExecuteTransaction(request)).expect("it is executed");
}

fn transact(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    let request = transaction(vec![
        act(TransactAction::Put { item: row("t1") }),
        act(TransactAction::Delete { key: item([("pk", s("b"))]) }),
    ]);
    ask(&bench.engine, Request::TransactWriteItems(request)).expect("it is written");
}

fn unknown(bench: &Bench<FlakyStore>, store: &FlakyStore) {
    bench.put(row("u")).expect("put");
    store.take_commits();
    store.next(&[Fate::UnknownLost]);
    bench.put(item([("pk", s("u")), ("g", n(5))])).expect("it is settled");
    let ends: Vec<bool> = store.take_commits().iter().map(|commit| commit.is_written).collect();
    assert_eq!(ends, [false, true, true], "the first try, the commit that rules it out, the second try");
    bench.put(row("u")).expect("put");
}

fn expiry(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    bench.go_to(START + 20_000);
    bench.work();
}

/// An expiry row that no writer left.
fn stray_row(bench: &Bench<FlakyStore>, store: &FlakyStore) {
    let item = item_key(TableId(1), keywright_semantics::key::KeyValueRef::S("nobody"), None);
    let row = row_key(TableId(1), TtlGeneration(0), EpochSeconds(1_800_000_001), &item);
    store.plant(row.clone());
    bench.go_to(START + 20_000);
    // Another process looks at the rows anew.
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&bench.env);
    let engine = block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("it opens");
    block_on(engine.step(bench.env.now_ms.load(Ordering::Relaxed)));
    assert_eq!(block_on(store.get(&row)), Ok(None));
}

fn backfill(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    let request = index_request(IndexUpdate::Create(new_index("later", "g")));
    ask(&bench.engine, request).expect("it is accepted");
    bench.work();
}

fn branch(bench: &Bench<FlakyStore>, _: &FlakyStore) {
    if !bench.engine.is_shared() {
        let to = Namespace { region: Region::from("branch"), ..namespace() };
        block_on(bench.engine.branch(&namespace(), &to)).expect("it is empty");
    }
}

const WRITES: [(&str, Write); 12] = [
    ("PutItem", |bench, _| drop(bench.put(row("p")).expect("put"))),
    ("UpdateItem", |bench, _| {
        let request = update_request(item([("pk", s("a"))]), Some(update("SET g = :g", [(":g", n(3))])));
        bench.update(&request).expect("update");
    }),
    ("DeleteItem", |bench, _| drop(bench.delete(&delete_request(item([("pk", s("a"))]))).expect("delete"))),
    ("BatchWriteItem", batch),
    ("TransactWriteItems", transact),
    ("ExecuteStatement", statements),
    ("BatchExecuteStatement", batch_of_statements),
    ("ExecuteTransaction", transaction_of_statements),
    ("a commit of unknown outcome", unknown),
    ("expiry", expiry),
    ("an expiry row that nothing explains", stray_row),
    ("a new index's backfill", backfill),
];

#[test]
fn every_commit_of_rows_of_a_table_has_the_guard() {
    // The store fails a commit of such rows without the table's record, or a slot, in its conflict set.
    for store in [FlakyStore::default, FlakyStore::shared, FlakyStore::exclusive] {
        for (name, write) in WRITES {
            let store = store();
            let bench = on(&store, plain());
            for request in [create_index(), stream(StreamChange::Enable(StreamViewType::KeysOnly))] {
                ask(&bench.engine, request).expect("it is accepted");
                bench.work();
            }
            for pk in ["a", "b"] {
                bench.put(row(pk)).expect("put");
            }
            store.take_commits();
            // It fills the expiry rows of both items.
            ask(&bench.engine, time_to_live(TtlChange::Enable)).expect("it is accepted");
            assert_eq!(store.take_commits().len(), 1);
            write(&bench, &store);
            let commits = store.take_commits();
            assert!(commits.iter().any(|commit| commit.is_written), "{name}: {commits:?}");
        }
    }
}

#[test]
fn a_branch_has_the_guard_of_the_tables_that_it_fills() {
    let store = FlakyStore::default();
    let bench = on(&store, plain());
    bench.put(row("a")).expect("put");
    store.take_commits();
    branch(&bench, &store);
    assert!(!store.take_commits().is_empty());
}
