//! Any text as the legacy members of requests that are right otherwise: nothing panics, and no answer is an
//! internal error. What a legacy form says in a request, it says again in the same request.
//!
//! The first byte chooses the operation, the second the legacy member; the rest is the member's JSON text.

#![no_main]

use std::sync::{Arc, LazyLock};

use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_semantics::error::ErrorKind;
use keywright_store::memory::MemoryStore;
use keywright_wire::{Operation, decode, render, render_error};
use libfuzzer_sys::{Corpus, fuzz_target};

struct Clock;

impl Env for Clock {
    fn now_ms(&self) -> u64 {
        1_800_000_000_000
    }

    fn random_u128(&self) -> u128 {
        7
    }
}

struct Database {
    engine: Engine<MemoryStore>,
    caller: Caller,
}

const TABLE: &str = r#"{"TableName":"table","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}"#;
const ITEM: &str = r#""pk":{"S":"a"},"sk":{"N":"1"},"a":{"S":"x"},"n":{"N":"5"},"l":{"L":[{"S":"x"},{"N":"1"}]},"m":{"M":{"a":{"NULL":true}}},"s":{"SS":["x","y"]},"t":{"NS":["1","2"]},"b":{"B":"AAE="},"o":{"BOOL":true}"#;
const KEY: &str = r#""pk":{"S":"a"},"sk":{"N":"1"}"#;
const QUERY: &str = r#""KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}}"#;

static DATABASE: LazyLock<Database> = LazyLock::new(|| {
    let engine =
        pollster::block_on(Engine::open(MemoryStore::new(), Arc::new(Clock), EngineConfig::default()));
    let account = AccountId::from("000000000000");
    let caller = Caller::account(Namespace { account, region: Region::from("us-east-1") });
    let database = Database { engine: engine.expect("an empty store opens"), caller };
    assert!(run(&database, Operation::CreateTable, TABLE).is_some());
    database
});

/// The rendered response; `None` for an error of the client's.
fn run(database: &Database, operation: Operation, body: &str) -> Option<Vec<u8>> {
    let error = match decode(operation, body.as_bytes()) {
        Ok(request) => match pollster::block_on(database.engine.execute(&database.caller, request)) {
            Ok(response) => return Some(render(&response)),
            Err(error) => error,
        },
        Err(error) => error,
    };
    assert!(error.kind != ErrorKind::InternalServerError, "{body}");
    assert_eq!(render_error(&error).status, 400);
    None
}

fn put_item(database: &Database) {
    let body = format!(r#"{{"TableName":"table","Item":{{{ITEM}}}}}"#);
    assert!(run(database, Operation::PutItem, &body).is_some());
}

/// The operation, and the rest of its request.
fn operation(choice: u8) -> (Operation, String) {
    match choice % 6 {
        0 => (Operation::PutItem, format!(r#""Item":{{{ITEM}}},"ReturnValues":"ALL_OLD""#)),
        1 => (Operation::UpdateItem, format!(r#""Key":{{{KEY}}},"ReturnValues":"ALL_NEW""#)),
        2 => (Operation::DeleteItem, format!(r#""Key":{{{KEY}}},"ReturnValues":"ALL_OLD""#)),
        3 => (Operation::Query, QUERY.to_owned()),
        4 => (Operation::Scan, r#""Limit":3"#.to_owned()),
        _ => (Operation::GetItem, format!(r#""Key":{{{KEY}}}"#)),
    }
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let [first, second, text @ ..] = data else { return Corpus::Reject };
    let Ok(text) = std::str::from_utf8(text) else { return Corpus::Reject };
    let (operation, rest) = operation(*first);
    let member = match second % 8 {
        0 => r#""Expected":"#,
        1 => r#""ConditionalOperator":"OR","Expected":"#,
        2 => r#""AttributeUpdates":"#,
        3 => r#""ScanFilter":"#,
        4 => r#""ConditionalOperator":"OR","ScanFilter":"#,
        5 => r#""QueryFilter":"#,
        6 => r#""AttributesToGet":"#,
        _ => r#""KeyConditions":"#,
    };
    let rest =
        if second % 8 == 7 && operation == Operation::Query { String::new() } else { format!(",{rest}") };
    let body = format!(r#"{{"TableName":"table",{member}{text}{rest}}}"#);
    let answers = [(); 2].map(|()| {
        put_item(&DATABASE);
        run(&DATABASE, operation, &body)
    });
    assert_eq!(answers[0], answers[1], "{body}");
    Corpus::Keep
});
