//! The embedded engine in memory that a model runs on, driven without threads or clocks.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_semantics::error::Error;
use keywright_semantics::request::parts::{
    AttributeDefinitionParts, AttributeMapPart, BillingMode, CreateTableParts, DeleteItemParts, GetItemParts,
    GlobalSecondaryIndexParts, KeySchemaElementParts, KeyType as KeyRole, LocalSecondaryIndexParts,
    ProjectionParts, ProjectionType, PutItemParts, ScalarAttributeType,
};
use keywright_semantics::request::{CreateTable, DeleteItem, GetItem, PutItem, Request};
use keywright_semantics::response::Response;
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use keywright_model::data::{Sample, key_of, key_text};
use keywright_model::{Index, IndexKind, KeyAttribute, KeyType, Projection, Table};

/// The engine's clock: 2026-02-01T00:00:00Z. A check must not depend on when it runs.
const NOW_MS: u64 = 1_769_904_000_000;

/// A future of the memory store is ready at its first poll; one that is pending after this many never will
/// be.
const POLLS_MAX: usize = 10_000;

/// The engine answered with another operation's result: a bug in the engine.
pub(super) const UNEXPECTED: &str = "the engine answered with another operation's result";

struct Still {
    drawn: AtomicU64,
}

impl Env for Still {
    fn now_ms(&self) -> u64 {
        NOW_MS
    }

    /// Ids must be distinct; they need not be secret.
    fn random_u128(&self) -> u128 {
        let number = u128::from(self.drawn.fetch_add(1, Ordering::Relaxed)) + 1;
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

/// The purpose of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Run on the model's own data: puts write the example's values.
    #[default]
    Check,
    /// Meter the declared workload: puts write items of the declared size.
    Measure,
}

/// An engine over the memory store with a model's tables. Its clock stands still.
pub struct Database {
    engine: Engine<MemoryStore>,
    caller: Caller,
    /// The entity of each key, by table and key.
    owners: BTreeMap<(String, Vec<String>), Option<String>>,
    /// The purpose of the run; it decides the size of the items that patterns put.
    pub(super) purpose: Purpose,
}

impl Database {
    /// An empty one; an error is a fault of ours.
    pub fn open() -> Result<Self, String> {
        let env = Arc::new(Still { drawn: AtomicU64::new(0) });
        let engine = drive(Engine::open(MemoryStore::default(), env, EngineConfig::default()))?
            .map_err(|fault| fault.to_string())?;
        let caller = Caller::account(Namespace {
            account: AccountId::from("000000000000"),
            region: Region::from("us-east-1"),
        });
        Ok(Self { engine, caller, owners: BTreeMap::new(), purpose: Purpose::default() })
    }

    /// Sends one request, as any client would; its error is the service's.
    pub fn execute(&self, request: Request) -> Result<Response, Error> {
        match drive(self.engine.execute(&self.caller, request)) {
            Ok(answer) => answer,
            Err(stuck) => Err(Error::new(keywright_semantics::error::ErrorKind::InternalServerError, stuck)),
        }
    }

    /// Creates a table with its indexes; an error is the service's message.
    pub fn create(&self, table: &Table) -> Result<(), String> {
        let request = CreateTable::validate(create_parts(table)).map_err(|fault| fault.message)?;
        self.execute(Request::CreateTable(Box::new(request))).map_err(|fault| fault.message).map(drop)
    }

    /// Puts a sample; returns the entity that had its key before.
    #[expect(clippy::option_option, reason = "an earlier item, which may belong to no entity")]
    pub(super) fn load(&mut self, table: &Table, sample: &Sample) -> Result<Option<Option<String>>, String> {
        self.put(&table.name, &sample.item)?;
        let key = (table.name.clone(), key_texts(table, &sample.item));
        Ok(self.owners.insert(key, sample.entity.clone()))
    }

    /// Puts an item without a condition; an error is the service's message.
    pub fn put(&self, table: &str, item: &Item) -> Result<(), String> {
        let parts =
            PutItemParts { table_name: table.to_owned(), item: parts_of(item), ..PutItemParts::default() };
        let request = PutItem::validate(parts).map_err(|fault| fault.message)?;
        self.execute(Request::PutItem(Box::new(request))).map_err(|fault| fault.message).map(drop)
    }

    pub(super) fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, String> {
        let parts = GetItemParts {
            table_name: table.to_owned(),
            key: parts_of(key),
            consistent_read: Some(true),
            ..GetItemParts::default()
        };
        let request = GetItem::validate(parts).map_err(|fault| fault.message)?;
        match self.execute(Request::GetItem(request)) {
            Ok(Response::GetItem(output)) => Ok(output.item.map(|item| item.decode())),
            Ok(_) => Ok(None),
            Err(fault) => Err(fault.message),
        }
    }

    /// Restores an item to its previous state.
    pub fn restore(&self, table: &str, key: &Item, before: Option<&Item>) -> Result<(), String> {
        if let Some(item) = before {
            return self.put(table, item);
        }
        let parts = DeleteItemParts {
            table_name: table.to_owned(),
            key: parts_of(key),
            ..DeleteItemParts::default()
        };
        let request = DeleteItem::validate(parts).map_err(|fault| fault.message)?;
        self.execute(Request::DeleteItem(Box::new(request))).map_err(|fault| fault.message).map(drop)
    }

    /// Records the entity of a key; none if there is no item under it.
    #[expect(clippy::option_option, reason = "an item that may belong to no entity")]
    pub(super) fn own(&mut self, table: &Table, key: &[String], entity: Option<Option<String>>) {
        let key = (table.name.clone(), key.to_vec());
        match entity {
            Some(entity) => drop(self.owners.insert(key, entity)),
            None => drop(self.owners.remove(&key)),
        }
    }

    /// The entity that a key was loaded as.
    pub(super) fn owner(&self, table: &str, key: &[String]) -> Option<&str> {
        self.owners.get(&(table.to_owned(), key.to_vec())).and_then(Option::as_deref)
    }
}

/// The table key of an item as texts.
pub fn key_texts(table: &Table, item: &Item) -> Vec<String> {
    let key = key_of(table, item).unwrap_or_default();
    table
        .key_parts()
        .filter_map(|part| key.get(&part.name))
        .map(|value| key_text(value).unwrap_or_default())
        .collect()
}

/// An item as the parts of a request.
pub fn parts_of(item: &Item) -> AttributeMapPart {
    item.iter().map(|(name, value)| (name.clone(), Ok(value.clone()))).collect()
}

pub(crate) fn drive<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..POLLS_MAX {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
    }
    Err("the engine in memory waits for something that never comes".to_owned())
}

pub(crate) fn create_parts(table: &Table) -> CreateTableParts {
    let mut definitions: Vec<AttributeDefinitionParts> = Vec::new();
    for part in table.key_parts().chain(table.indexes.iter().flat_map(Index::key_parts)) {
        if definitions.iter().all(|known| known.attribute_name != part.name) {
            let attribute_type = match part.key_type {
                KeyType::S => ScalarAttributeType::S,
                KeyType::N => ScalarAttributeType::N,
                KeyType::B => ScalarAttributeType::B,
            };
            definitions.push(AttributeDefinitionParts { attribute_name: part.name.clone(), attribute_type });
        }
    }
    let some = |is_empty: bool| (!is_empty).then_some(());
    let globals: Vec<GlobalSecondaryIndexParts> = table
        .indexes
        .iter()
        .filter(|index| index.kind == IndexKind::Global)
        .map(|index| GlobalSecondaryIndexParts {
            index_name: index.name.clone(),
            key_schema: schema(&index.partition, &index.sort),
            projection: projection(&index.projection),
            provisioned_throughput: None,
            on_demand_throughput: None,
            warm_throughput: None,
        })
        .collect();
    let locals: Vec<LocalSecondaryIndexParts> = table
        .indexes
        .iter()
        .filter(|index| index.kind == IndexKind::Local)
        .map(|index| LocalSecondaryIndexParts {
            index_name: index.name.clone(),
            key_schema: schema(&index.partition, &index.sort),
            projection: projection(&index.projection),
        })
        .collect();
    CreateTableParts {
        table_name: table.name.clone(),
        attribute_definitions: Some(definitions),
        key_schema: Some(schema(std::slice::from_ref(&table.partition), table.sort.as_slice())),
        global_secondary_indexes: some(globals.is_empty()).map(|()| globals),
        local_secondary_indexes: some(locals.is_empty()).map(|()| locals),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTableParts::default()
    }
}

fn schema(partition: &[KeyAttribute], sort: &[KeyAttribute]) -> Vec<KeySchemaElementParts> {
    let element =
        |part: &KeyAttribute, key_type| KeySchemaElementParts { attribute_name: part.name.clone(), key_type };
    let partition = partition.iter().map(|part| element(part, KeyRole::Hash));
    partition.chain(sort.iter().map(|part| element(part, KeyRole::Range))).collect()
}

fn projection(projection: &Projection) -> ProjectionParts {
    let (kind, names) = match projection {
        Projection::All => (ProjectionType::All, None),
        Projection::KeysOnly => (ProjectionType::KeysOnly, None),
        Projection::Include(names) => (ProjectionType::Include, Some(names.iter().cloned().collect())),
    };
    ProjectionParts { projection_type: Some(kind), non_key_attributes: names }
}
