//! The cost of typed requests in the engine, on a memory store and on a durable one, without wire format and
//! HTTP.
//! `cargo bench -p keywright-engine`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use divan::{Bencher, black_box};
use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_semantics::request::parts::{
    AttributeDefinitionParts, AttributeMapPart, BillingMode, CreateTableParts, GetItemParts,
    GlobalSecondaryIndexParts, KeySchemaElementParts, KeyType, ProjectionParts, ProjectionType, PutItemParts,
    QueryParts, ScalarAttributeType, UpdateItemParts,
};
use keywright_semantics::request::{CreateTable, GetItem, PutItem, Query, Request, UpdateItem};
use keywright_semantics::value::AttributeValue;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;
use keywright_store_local::{LocalOptions, LocalStore};
use pollster::block_on;

const PARTITIONS: u64 = 10;
const PARTITION_ITEMS: u64 = 100;

fn main() {
    divan::main();
}

/// Time stands still and random numbers count up.
#[derive(Default)]
struct StillEnv(AtomicU64);

impl Env for StillEnv {
    fn now_ms(&self) -> u64 {
        1_795_000_000_000
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

struct Database<S: Store> {
    engine: Engine<S>,
    caller: Caller,
    /// Counts the writes, so that each changes its item.
    written: AtomicU64,
}

impl<S: Store> Database<S> {
    fn filled(store: S) -> Self {
        let engine = block_on(Engine::open(store, Arc::new(StillEnv::default()), EngineConfig::default()));
        let caller = Caller::account(Namespace {
            account: AccountId::from("000000000000"),
            region: Region::from("us-east-1"),
        });
        let engine = engine.expect("an empty store opens");
        let database = Self { engine, caller, written: AtomicU64::new(0) };
        for table in ["plain", "indexed"] {
            database.ask(create_table(table, table == "indexed"));
            for number in 0..PARTITIONS * PARTITION_ITEMS {
                database.ask(put(table, number, 0));
            }
        }
        database
    }

    fn ask(&self, request: Request) {
        black_box(block_on(self.engine.execute(&self.caller, request)).expect("the requests here are right"));
    }

    fn next(&self) -> u64 {
        self.written.fetch_add(1, Ordering::Relaxed)
    }
}

fn create_table(name: &str, indexed: bool) -> Request {
    let attribute = |name: &str| AttributeDefinitionParts {
        attribute_name: name.to_owned(),
        attribute_type: ScalarAttributeType::S,
    };
    let key = |name: &str, key_type| KeySchemaElementParts { attribute_name: name.to_owned(), key_type };
    let index = GlobalSecondaryIndexParts {
        index_name: "by-state".to_owned(),
        key_schema: vec![key("state", KeyType::Hash), key("sk", KeyType::Range)],
        projection: ProjectionParts {
            projection_type: Some(ProjectionType::All),
            ..ProjectionParts::default()
        },
        provisioned_throughput: None,
        on_demand_throughput: None,
        warm_throughput: None,
    };
    let mut attributes = vec![attribute("pk"), attribute("sk")];
    attributes.extend(indexed.then(|| attribute("state")));
    let parts = CreateTableParts {
        table_name: name.to_owned(),
        attribute_definitions: Some(attributes),
        key_schema: Some(vec![key("pk", KeyType::Hash), key("sk", KeyType::Range)]),
        global_secondary_indexes: indexed.then(|| vec![index]),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTableParts::default()
    };
    Request::CreateTable(Box::new(CreateTable::validate(parts).expect("the table is right")))
}

fn key(number: u64) -> AttributeMapPart {
    let (partition, sort) = (number / PARTITION_ITEMS % PARTITIONS, number % PARTITION_ITEMS);
    vec![
        ("pk".to_owned(), Ok(format!("customer#{partition:010}").as_str().into())),
        ("sk".to_owned(), Ok(format!("order#{sort:03}").as_str().into())),
    ]
}

/// An item of about 500 bytes.
fn put(table: &str, number: u64, change: u64) -> Request {
    let mut item = key(number);
    let state = if change.is_multiple_of(2) { "OPEN" } else { "SHIPPED" };
    item.extend([
        ("state".to_owned(), Ok(state.into())),
        ("version".to_owned(), AttributeValue::number(&change.to_string())),
        ("note".to_owned(), Ok("please ring twice; ".repeat(22).as_str().into())),
    ]);
    let parts = PutItemParts { table_name: table.to_owned(), item, ..PutItemParts::default() };
    Request::PutItem(Box::new(PutItem::validate(parts).expect("the item is right")))
}

fn get(table: &str, number: u64) -> Request {
    let parts = GetItemParts { table_name: table.to_owned(), key: key(number), ..GetItemParts::default() };
    Request::GetItem(GetItem::validate(parts).expect("the key is right"))
}

fn update(table: &str, number: u64) -> Request {
    let parts = UpdateItemParts {
        table_name: table.to_owned(),
        key: key(number),
        update_expression: Some("SET version = version + :one".to_owned()),
        condition_expression: Some("attribute_exists(pk)".to_owned()),
        expression_attribute_values: Some(vec![(":one".to_owned(), AttributeValue::number("1"))]),
        ..UpdateItemParts::default()
    };
    Request::UpdateItem(Box::new(UpdateItem::validate(parts).expect("the update is right")))
}

fn query(table: &str, number: u64, limit: i64) -> Request {
    let partition = format!("customer#{:010}", number % PARTITIONS);
    let parts = QueryParts {
        table_name: table.to_owned(),
        key_condition_expression: Some("pk = :p AND sk >= :s".to_owned()),
        expression_attribute_values: Some(vec![
            (":p".to_owned(), Ok(partition.as_str().into())),
            (":s".to_owned(), Ok("order#000".into())),
        ]),
        limit: Some(limit),
        ..QueryParts::default()
    };
    Request::Query(Box::new(Query::validate(parts).expect("the query is right")))
}

fn run<S: Store>(
    bencher: Bencher<'_, '_>,
    database: &Database<S>,
    request: fn(&Database<S>, u64) -> Request,
) {
    bencher.with_inputs(|| request(database, database.next())).bench_values(|request| database.ask(request));
}

fn in_memory() -> Database<MemoryStore> {
    Database::filled(MemoryStore::new())
}

#[divan::bench]
fn get_item(bencher: Bencher<'_, '_>) {
    run(bencher, &in_memory(), |_, number| get("plain", number));
}

#[divan::bench(args = ["plain", "indexed"])]
fn put_item(bencher: Bencher<'_, '_>, table: &str) {
    let database = in_memory();
    let request = || put(table, database.next(), database.next() / 7);
    bencher.with_inputs(request).bench_values(|request| database.ask(request));
}

#[divan::bench]
fn update_item(bencher: Bencher<'_, '_>) {
    run(bencher, &in_memory(), |_, number| update("plain", number));
}

#[divan::bench(args = [10, 100])]
fn query_items(bencher: Bencher<'_, '_>, limit: i64) {
    let database = in_memory();
    let request = || query("plain", database.next(), limit);
    bencher.with_inputs(request).bench_values(|request| database.ask(request));
}

/// With one sync for each write: there is one writer only.
#[divan::bench]
fn durable_put_item(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let store = LocalStore::open(folder.path(), LocalOptions::default()).expect("an empty folder opens");
    run(bencher, &Database::filled(store), |database, number| put("plain", number, database.next()));
}

#[divan::bench]
fn durable_get_item(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let store = LocalStore::open(folder.path(), LocalOptions::default()).expect("an empty folder opens");
    run(bencher, &Database::filled(store), |_, number| get("plain", number));
}
