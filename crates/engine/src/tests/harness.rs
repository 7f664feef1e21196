//! An engine on the memory store with one table, and short constructors of requests.

use std::collections::BTreeMap;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::{
    Condition, ConditionKind, KeyCondition, Placeholders, Projection, Update, parse_condition,
    parse_key_condition, parse_projection, parse_update,
};
use keywright_semantics::request::ConditionalWrite;
use keywright_semantics::request::Request;
use keywright_semantics::request::common::{Consistency, OnConditionFailure, SelectMode, SortOrder};
use keywright_semantics::request::create_table::{CreateTable, NewIndex};
use keywright_semantics::request::delete_item::DeleteItem;
use keywright_semantics::request::get_item::GetItem;
use keywright_semantics::request::parts::{
    BillingMode, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue,
};
use keywright_semantics::request::put_item::PutItem;
use keywright_semantics::request::query::{FilterDialect, Query};
use keywright_semantics::request::scan::Scan;
use keywright_semantics::request::table_ref::TableRef;
use keywright_semantics::request::update_item::UpdateItem;
use keywright_semantics::request::update_table::{IndexUpdate, UpdateTable};
use keywright_semantics::response::{PageOutput, WriteItemOutput};
use keywright_semantics::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection as IndexProjection, TableSchema,
};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::{AccountId, Caller, Env, Namespace, Region};
use crate::support::lane;

pub(crate) const TABLE: &str = "t";

/// Time stands still unless a test moves it; random numbers count up.
#[derive(Default)]
pub(crate) struct TestEnv {
    pub now_ms: AtomicU64,
    /// How far each look at the clock moves it.
    pub look_ms: AtomicU64,
    pub random: AtomicU64,
    /// What was waited for.
    pub pauses_ms: Mutex<Vec<u64>>,
}

impl Env for TestEnv {
    fn now_ms(&self) -> u64 {
        self.now_ms.fetch_add(self.look_ms.load(Ordering::Relaxed), Ordering::Relaxed)
    }

    fn pause(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.pauses_ms.lock().expect("not poisoned").push(ms);
        Box::pin(lane::yield_now())
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The seeds of a random test. Long runs (`cargo xtask test --long`) take more of them, from a random first
/// one.
pub(crate) fn seeds(short: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("KEYWRIGHT_SEED").unwrap_or(0);
    first..first + short * number("KEYWRIGHT_TEST_LONG").unwrap_or(1)
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn n(number: i64) -> AttributeValue {
    AttributeValue::from(number)
}

pub(crate) fn item<const N: usize>(pairs: [(&str, AttributeValue); N]) -> Item {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn attribute(name: &str, key_type: KeyType) -> KeyAttribute {
    KeyAttribute { name: name.into(), key_type }
}

pub(crate) fn key(partition: &[(&str, KeyType)], sort: &[(&str, KeyType)]) -> KeySchema {
    let attributes =
        |list: &[(&str, KeyType)]| list.iter().map(|(name, kind)| attribute(name, *kind)).collect();
    KeySchema { partition: attributes(partition), sort: attributes(sort) }
}

pub(crate) fn index(name: &str, kind: IndexKind, key: KeySchema, projection: IndexProjection) -> IndexSchema {
    IndexSchema { name: name.into(), kind, key, projection }
}

/// `pk` and `sk` strings; an LSI on `l` (S) that includes `x`; a keys-only GSI on `g` (S) and `h` (N); a GSI
/// of all attributes with a key of several.
pub(crate) fn schema() -> TableSchema {
    use KeyType::{N, S};
    let include = IndexProjection::Include(["x".to_owned()].into());
    let several = key(&[("g", S), ("m", S)], &[("l", S), ("h", N)]);
    TableSchema {
        key: key(&[("pk", S)], &[("sk", S)]),
        indexes: vec![
            index("lsi", IndexKind::Local, key(&[("pk", S)], &[("l", S)]), include),
            index("gsi", IndexKind::Global, key(&[("g", S)], &[("h", N)]), IndexProjection::KeysOnly),
            index("multi", IndexKind::Global, several, IndexProjection::All),
        ],
    }
}

pub(crate) fn caller() -> Caller {
    Caller::account(namespace())
}

/// The account and region of `caller`.
pub(crate) fn namespace() -> Namespace {
    Namespace { account: AccountId::from("000000000000"), region: Region::from("us-east-1") }
}

pub(crate) fn table_ref() -> TableRef {
    TableRef::named(TABLE.into())
}

/// An engine with its environment, for tests.
pub(crate) struct Bench<S: Store> {
    pub engine: Engine<S>,
    pub env: Arc<TestEnv>,
}

pub(crate) fn bench() -> Bench<MemoryStore> {
    bench_on(MemoryStore::new(), schema(), u64::MAX)
}

pub(crate) fn bench_on<S: Store>(store: S, schema: TableSchema, collection_bytes_max: u64) -> Bench<S> {
    let config = EngineConfig { item_collection_bytes_max: collection_bytes_max, ..EngineConfig::default() };
    bench_with(store, config, create_request(schema))
}

/// An engine with these settings and one table.
pub(crate) fn bench_with<S: Store>(store: S, config: EngineConfig, table: CreateTable) -> Bench<S> {
    let env = Arc::new(TestEnv::default());
    let shared_env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
    let engine = block_on(Engine::open(store, shared_env, config));
    let engine = engine.expect("an empty store opens");
    let created = block_on(engine.execute(&caller(), Request::CreateTable(Box::new(table))));
    created.expect("there is no such table yet");
    Bench { engine, env }
}

pub(crate) fn create_request(schema: TableSchema) -> CreateTable {
    let index = |schema| NewIndex { schema, throughput: None, on_demand: None, warm: None };
    CreateTable {
        name: TABLE.into(),
        definitions: Vec::new(),
        key: schema.key,
        indexes: schema.indexes.into_iter().map(index).collect(),
        billing: BillingMode::PayPerRequest,
        throughput: None,
        on_demand: None,
        warm: None,
        stream: None,
        class: None,
        encryption: None,
        deletion_protection: false,
        tags: BTreeMap::new(),
        policy: None,
    }
}

/// Adds or deletes an index of the test's table; `g` is a number.
pub(crate) fn index_request(update: IndexUpdate) -> Request {
    Request::UpdateTable(Box::new(UpdateTable {
        table: table_ref(),
        definitions: vec![attribute("g", KeyType::N)],
        billing: None,
        throughput: None,
        index_updates: vec![update],
        stream: None,
        encryption: None,
        class: None,
        deletion_protection: None,
        on_demand: None,
        warm: None,
        settings_replication: None,
        disassociation_protection: None,
        replicas: None,
    }))
}

fn values(values: &Item) -> Vec<(String, Result<AttributeValue, keywright_semantics::value::ValueFault>)> {
    values.iter().map(|(name, value)| (name.clone(), Ok(value.clone()))).collect()
}

fn bound<T>(with: &Item, parse: impl FnOnce(&mut Placeholders<'_>) -> Result<T, Error>) -> T {
    let with = values(with);
    let with = (!with.is_empty()).then_some(&with);
    let mut placeholders = Placeholders::new(None, with, keywright_semantics::messages::Wording::Present)
        .expect("placeholders of tests are right");
    parse(&mut placeholders).expect("expressions of tests are right")
}

pub(crate) fn condition<const N: usize>(text: &str, with: [(&str, AttributeValue); N]) -> Condition {
    bound(&item(with), |placeholders| parse_condition(text, ConditionKind::Condition, placeholders))
}

pub(crate) fn update<const N: usize>(text: &str, with: [(&str, AttributeValue); N]) -> Update {
    bound(&item(with), |placeholders| parse_update(text, placeholders))
}

pub(crate) fn key_condition<const N: usize>(text: &str, with: [(&str, AttributeValue); N]) -> KeyCondition {
    bound(&item(with), |placeholders| parse_key_condition(text, placeholders))
}

pub(crate) fn projection(text: &str) -> Projection {
    bound(&Item::new(), |placeholders| parse_projection(text, placeholders))
}

/// No condition; the response reports all figures.
fn unconditional() -> ConditionalWrite {
    ConditionalWrite {
        condition: None,
        return_values: ReturnValue::None,
        on_condition_failure: OnConditionFailure::Nothing,
        capacity: ReturnConsumedCapacity::Indexes,
        metrics: ReturnItemCollectionMetrics::Size,
    }
}

pub(crate) fn put_request(item: Item) -> PutItem {
    PutItem { table: table_ref(), item, write: unconditional() }
}

pub(crate) fn delete_request(key: Item) -> DeleteItem {
    DeleteItem { table: table_ref(), key, write: unconditional() }
}

pub(crate) fn update_request(key: Item, update: Option<Update>) -> UpdateItem {
    UpdateItem { table: table_ref(), key, update, write: unconditional() }
}

pub(crate) fn get_request(key: Item) -> GetItem {
    GetItem {
        table: table_ref(),
        key,
        projection: None,
        consistency: Consistency::Strong,
        capacity: ReturnConsumedCapacity::Indexes,
    }
}

pub(crate) fn query_request(index: Option<&str>, key_condition: KeyCondition) -> Query {
    Query {
        table: table_ref(),
        index: index.map(str::to_owned),
        key_condition,
        filter: None,
        filter_dialect: FilterDialect::Expression,
        projection: None,
        select: None,
        limit: None,
        consistency: Consistency::Eventual,
        order: SortOrder::Ascending,
        exclusive_start_key: None,
        capacity: ReturnConsumedCapacity::Indexes,
    }
}

pub(crate) fn scan_request(index: Option<&str>) -> Scan {
    Scan {
        table: table_ref(),
        index: index.map(str::to_owned),
        filter: None,
        projection: None,
        select: None,
        limit: None,
        segment: None,
        consistency: Consistency::Eventual,
        exclusive_start_key: None,
        capacity: ReturnConsumedCapacity::Indexes,
    }
}

pub(crate) fn limit(rows: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(rows)
}

pub(crate) const ALL: Option<SelectMode> = Some(SelectMode::AllAttributes);

pub(crate) fn items(page: &PageOutput) -> Vec<Item> {
    page.items.as_ref().map_or_else(Vec::new, |items| items.iter().map(EncodedItem::decode).collect())
}

impl<S: Store> Bench<S> {
    pub(crate) fn put(&self, item: Item) -> Result<WriteItemOutput, Error> {
        self.put_with(&put_request(item))
    }

    pub(crate) fn put_with(&self, request: &PutItem) -> Result<WriteItemOutput, Error> {
        block_on(crate::write::put_item::put_item(&self.engine, &caller(), request))
    }

    pub(crate) fn update(&self, request: &UpdateItem) -> Result<WriteItemOutput, Error> {
        block_on(crate::write::update_item::update_item(&self.engine, &caller(), request))
    }

    pub(crate) fn delete(&self, request: &DeleteItem) -> Result<WriteItemOutput, Error> {
        block_on(crate::write::delete_item::delete_item(&self.engine, &caller(), request))
    }

    pub(crate) fn get(&self, key: Item) -> Option<Item> {
        let output = block_on(crate::read::get_item::get_item(&self.engine, &caller(), &get_request(key)));
        output.expect("a well-formed get succeeds").item.map(|item| item.decode())
    }

    pub(crate) fn query(&self, request: &Query) -> Result<PageOutput, Error> {
        block_on(crate::read::query::query(&self.engine, &caller(), request))
    }

    pub(crate) fn scan(&self, request: &Scan) -> Result<PageOutput, Error> {
        block_on(crate::read::scan::scan(&self.engine, &caller(), request))
    }

    /// Every row of the table or an index, over all pages.
    pub(crate) fn scan_all(&self, index: Option<&str>) -> Vec<Item> {
        let mut rows = Vec::new();
        let mut request = scan_request(index);
        loop {
            let page = self.scan(&request).expect("a scan succeeds");
            rows.extend(items(&page));
            match page.last_evaluated_key {
                Some(key) => request.exclusive_start_key = Some(key.decode()),
                None => return rows,
            }
        }
    }
}
