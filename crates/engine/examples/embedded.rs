//! Keywright without a server: opens a database in a folder and executes typed requests in this process.
//!
//! Run: `cargo run --example embedded -p keywright-engine`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;
use std::sync::Arc;

use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_semantics::request::parts::{
    AttributeDefinitionParts, BillingMode, CreateTableParts, KeySchemaElementParts, KeyType, PutItemParts,
    QueryParts, ScalarAttributeType,
};
use keywright_semantics::request::{CreateTable, PutItem, Query, Request};
use keywright_semantics::response::Response;
use keywright_semantics::value::AttributeValue;
use keywright_store_local::{LocalOptions, LocalStore};

/// The machine's clock and random numbers; a test would use its own.
struct Machine;

impl Env for Machine {
    #[expect(clippy::disallowed_methods, reason = "this program is where time enters")]
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn random_u128(&self) -> u128 {
        fastrand::u128(..)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let store = LocalStore::open(folder.path(), LocalOptions::default())?;
    pollster::block_on(async {
        let engine = Engine::open(store, Arc::new(Machine), EngineConfig::default()).await?;
        let caller = Caller::account(Namespace {
            account: AccountId::from("123456789012"),
            region: Region::from("us-east-1"),
        });
        engine.execute(&caller, create_table()?).await?;
        for (sort_key, total) in [("ORDER#2026-001", "59.90"), ("ORDER#2026-002", "12"), ("PROFILE", "0")] {
            engine.execute(&caller, put_item(sort_key, total)?).await?;
        }
        let Response::Query(page) = engine.execute(&caller, query()?).await? else {
            return Err("a Query is answered by a page".into());
        };
        for item in page.items.into_iter().flatten() {
            println!("{:?}", item.decode());
        }
        engine.shutdown().await?;
        Ok(())
    })
}

fn create_table() -> Result<Request, keywright_semantics::error::Error> {
    let attribute = |name: &str| AttributeDefinitionParts {
        attribute_name: name.to_owned(),
        attribute_type: ScalarAttributeType::S,
    };
    let key = |name: &str, key_type| KeySchemaElementParts { attribute_name: name.to_owned(), key_type };
    let parts = CreateTableParts {
        table_name: "Shop".to_owned(),
        attribute_definitions: Some(vec![attribute("PK"), attribute("SK")]),
        key_schema: Some(vec![key("PK", KeyType::Hash), key("SK", KeyType::Range)]),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTableParts::default()
    };
    Ok(Request::CreateTable(Box::new(CreateTable::validate(parts)?)))
}

fn put_item(sort_key: &str, total: &str) -> Result<Request, keywright_semantics::error::Error> {
    let parts = PutItemParts {
        table_name: "Shop".to_owned(),
        item: vec![
            ("PK".to_owned(), Ok("USER#u123".into())),
            ("SK".to_owned(), Ok(sort_key.into())),
            ("total".to_owned(), AttributeValue::number(total)),
        ],
        condition_expression: Some("attribute_not_exists(PK)".to_owned()),
        ..PutItemParts::default()
    };
    Ok(Request::PutItem(Box::new(PutItem::validate(parts)?)))
}

fn query() -> Result<Request, keywright_semantics::error::Error> {
    let parts = QueryParts {
        table_name: "Shop".to_owned(),
        key_condition_expression: Some("PK = :user AND begins_with(SK, :order)".to_owned()),
        expression_attribute_values: Some(vec![
            (":user".to_owned(), Ok("USER#u123".into())),
            (":order".to_owned(), Ok("ORDER#".into())),
        ]),
        scan_index_forward: Some(false),
        ..QueryParts::default()
    };
    Ok(Request::Query(Box::new(Query::validate(parts)?)))
}

#[test]
fn the_example_runs() {
    main().expect("the example runs to its end");
}
