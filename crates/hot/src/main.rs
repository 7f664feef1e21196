//! Repeats one hot operation for `cargo xtask instructions` and profilers: without sockets and disks, or,
//! with the feature `http`, by the whole server over a pair of sockets. Usage: `keywright-hot OPERATION
//! TIMES`; without arguments it lists the operations.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_store::memory::MemoryStore;
use keywright_wire::sigv4::{
    Keyring, SignedRequest, Signer, SigningKeys, TimeCheck, TimeMs, read_claim, verify,
};
use keywright_wire::{Operation, decode, render};

/// The server's allocator.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OPERATIONS: [&str; 10] = [
    "decode-get-item",
    "decode-put-item",
    "get-item",
    "put-item",
    "update-item",
    "query-10",
    "query-100",
    "batch-write-item",
    "transact-write-items",
    "verify-signature",
];

/// By the whole server, on one connection.
#[cfg(feature = "http")]
const OVER_HTTP: [&str; 2] = ["http-get-item", "http-put-item"];
#[cfg(not(feature = "http"))]
const OVER_HTTP: [&str; 0] = [];

/// What a put that changes an item costs: alone, with a stream, in a group of two replicas, and with its
/// arrival at the other one. The gate does not count these.
const OF_REPLICAS: [&str; 4] =
    ["put-item-changed", "put-item-stream", "put-item-group", "put-item-group-arrived"];

const TABLE: &str = r#"{"TableName":"orders","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST"}"#;
const PARTITIONS: u64 = 10;
const PARTITION_ITEMS: u64 = 100;
const NOW: TimeMs = TimeMs(1_795_000_000_000);

/// A fixed time and counting random numbers, so that every run does the same.
#[derive(Default)]
struct StillEnv(AtomicU64);

impl Env for StillEnv {
    fn now_ms(&self) -> u64 {
        NOW.0
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

struct Database {
    engine: Engine<MemoryStore>,
    caller: Caller,
}

impl Database {
    fn filled() -> Self {
        let engine = block_on(Engine::open(
            MemoryStore::new(),
            Arc::new(StillEnv::default()),
            EngineConfig::default(),
        ));
        let caller = Caller::account(Namespace {
            account: AccountId::from("000000000000"),
            region: Region::from("us-east-1"),
        });
        let database = Self { engine: engine.expect("an empty store opens"), caller };
        database.ask(Operation::CreateTable, TABLE);
        for number in 0..PARTITIONS * PARTITION_ITEMS {
            database.ask(Operation::PutItem, &put(number));
        }
        database
    }

    /// The same with a stream of both images.
    fn with_stream(self) -> Self {
        self.ask(
            Operation::UpdateTable,
            r#"{"TableName":"orders","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#,
        );
        self.settle();
        self
    }

    /// The same in a group of two replicas, which have all items.
    fn with_replica(self) -> Self {
        self.ask(
            Operation::UpdateTable,
            r#"{"TableName":"orders","ReplicaUpdates":[{"Create":{"RegionName":"eu-west-1"}}]}"#,
        );
        self.settle();
        self
    }

    /// Does background work until none is due.
    fn settle(&self) {
        while block_on(self.engine.step(NOW.0)).at_ms.is_some_and(|at_ms| at_ms <= NOW.0) {}
    }

    fn ask(&self, operation: Operation, body: &str) -> Vec<u8> {
        let request = decode(operation, body.as_bytes()).expect("the bodies are valid");
        render(&block_on(self.engine.execute(&self.caller, request)).expect("the requests succeed"))
    }
}

fn key(number: u64) -> String {
    let (partition, sort) = (number / PARTITION_ITEMS % PARTITIONS, number % PARTITION_ITEMS);
    format!(r#""pk":{{"S":"customer#{partition:010}"}},"sk":{{"S":"order#{sort:03}"}}"#)
}

/// An item of about 500 bytes.
fn put_fields(number: u64) -> String {
    let note = "please ring twice, the dog is friendly and the bell is broken; ".repeat(7);
    format!(
        r#""Item":{{{},"status":{{"S":"SHIPPED"}},"total":{{"N":"129.95"}},"version":{{"N":"{number}"}},"note":{{"S":"{note}"}}}}"#,
        key(number)
    )
}

fn put(number: u64) -> String {
    format!(r#"{{"TableName":"orders",{}}}"#, put_fields(number))
}

fn get(number: u64) -> String {
    format!(r#"{{"TableName":"orders","Key":{{{}}}}}"#, key(number))
}

fn update(number: u64) -> String {
    format!(
        r##""TableName":"orders","Key":{{{}}},"UpdateExpression":"SET #v = #v + :one","ConditionExpression":"attribute_exists(pk)","ExpressionAttributeNames":{{"#v":"version"}},"ExpressionAttributeValues":{{":one":{{"N":"1"}}}}"##,
        key(number)
    )
}

fn query(number: u64, limit: u64) -> String {
    format!(
        r#"{{"TableName":"orders","KeyConditionExpression":"pk = :p AND sk >= :s","ExpressionAttributeValues":{{":p":{{"S":"customer#{:010}"}},":s":{{"S":"order#000"}}}},"Limit":{limit}}}"#,
        number % PARTITIONS
    )
}

fn batch(number: u64) -> String {
    let puts: Vec<String> =
        (0..25).map(|step| format!(r#"{{"PutRequest":{{{}}}}}"#, put_fields(number + step * 37))).collect();
    format!(r#"{{"RequestItems":{{"orders":[{}]}}}}"#, puts.join(","))
}

fn transact(number: u64) -> String {
    format!(
        r#"{{"TransactItems":[{{"ConditionCheck":{{"TableName":"orders","Key":{{{}}},"ConditionExpression":"attribute_exists(pk)"}}}},{{"Update":{{{}}}}},{{"Put":{}}}]}}"#,
        key(number),
        update(number + 333),
        put(number + 666)
    )
}

struct OneKey;

impl Keyring for OneKey {
    fn secret(&self, _access_key_id: &str) -> Option<&str> {
        Some("secret")
    }
}

fn verify_signatures(times: u64) {
    let (body, date) = (get(7), NOW.to_basic());
    let mut headers = vec![
        ("content-type", "application/x-amz-json-1.0"),
        ("host", "localhost:8000"),
        ("x-amz-date", date.as_str()),
        ("x-amz-target", "DynamoDB_20120810.GetItem"),
    ];
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let unsigned = headers.clone();
    let request =
        SignedRequest { method: "POST", path: "/", query: "", headers: &unsigned, body: body.as_bytes() };
    let authorization = Signer::new("key", "secret", "us-east-1").authorization(&request, &names, NOW);
    headers.push(("authorization", &authorization));
    let signed = SignedRequest { headers: &headers, ..request };
    let keys = SigningKeys::default();
    for _ in 0..times {
        let claim =
            read_claim(black_box(&signed), "dynamodb", TimeCheck::Now(NOW)).expect("the claim is whole");
        verify(&signed, &claim, &OneKey, &keys).expect("the signature holds");
    }
}

fn repeat(database: &Database, operation: Operation, times: u64, body: fn(u64) -> String) {
    // Bodies are built beforehand and add little to the count.
    let bodies: Vec<String> = (0..16).map(|number| body(number * 61)).collect();
    for body in bodies.iter().cycle().take(usize::try_from(times).unwrap_or(usize::MAX)) {
        black_box(database.ask(operation, black_box(body)));
    }
}

/// Puts another version of each item in turn.
fn change(database: &Database, times: u64, after_each: fn(&Database)) {
    for number in 0..times {
        black_box(database.ask(Operation::PutItem, &put(PARTITIONS * PARTITION_ITEMS + number)));
        after_each(database);
    }
}

/// Sends requests of one connection, with the headers that `keywright bench` sends.
#[cfg(feature = "http")]
fn repeat_over_http(operation: Operation, times: u64, body: fn(u64) -> String) {
    let mut server = keywright::counted::Counted::start();
    // As clients do, each request has its own signature.
    let mut signature = 0;
    let mut request = |operation: Operation, body: &str| {
        signature += 1;
        format!(
            "POST / HTTP/1.1\r\nhost: 127.0.0.1:8000\r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-target: \
             DynamoDB_20120810.{}\r\nx-amz-date: 20261118T163500Z\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential=bench/20261118/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
             Signature={signature:064x}\r\ncontent-length: {}\r\n\r\n{body}",
            operation.name(),
            body.len()
        )
    };
    let mut ask = |request: &str| {
        let answer = server.ask(request.as_bytes());
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(answer));
        black_box(answer);
    };
    ask(&request(Operation::CreateTable, TABLE));
    let numbers = || (0..16).map(|number| number * 61);
    numbers().for_each(|number| ask(&request(Operation::PutItem, &put(number))));
    let requests: Vec<String> = numbers().map(|number| request(operation, &body(number))).collect();
    for request in requests.iter().cycle().take(usize::try_from(times).unwrap_or(usize::MAX)) {
        ask(black_box(request));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(times)) = (arguments.next(), arguments.next().and_then(|times| times.parse().ok()))
    else {
        for name in OPERATIONS.iter().chain(&OVER_HTTP) {
            println!("{name}");
        }
        return;
    };
    #[cfg(feature = "http")]
    match name.as_str() {
        "http-get-item" => return repeat_over_http(Operation::GetItem, times, get),
        "http-put-item" => return repeat_over_http(Operation::PutItem, times, put),
        _ => {}
    }
    let database = Database::filled();
    let (one_get, one_put) = (get(7), put(7));
    match name.as_str() {
        "decode-get-item" => {
            (0..times).for_each(|_| drop(black_box(decode(Operation::GetItem, one_get.as_bytes()))));
        }
        "decode-put-item" => {
            (0..times).for_each(|_| drop(black_box(decode(Operation::PutItem, one_put.as_bytes()))));
        }
        "get-item" => repeat(&database, Operation::GetItem, times, get),
        "put-item" => repeat(&database, Operation::PutItem, times, put),
        "put-item-changed" => change(&database, times, |_| {}),
        "put-item-stream" => change(&database.with_stream(), times, |_| {}),
        "put-item-group" => change(&database.with_replica(), times, |_| {}),
        "put-item-group-arrived" => change(&database.with_replica(), times, Database::settle),
        "update-item" => {
            repeat(&database, Operation::UpdateItem, times, |number| format!("{{{}}}", update(number)));
        }
        "query-10" => repeat(&database, Operation::Query, times, |number| query(number, 10)),
        "query-100" => repeat(&database, Operation::Query, times, |number| query(number, 100)),
        "batch-write-item" => repeat(&database, Operation::BatchWriteItem, times, batch),
        "transact-write-items" => repeat(&database, Operation::TransactWriteItems, times, transact),
        "verify-signature" => verify_signatures(times),
        unknown => {
            println!("{unknown} is not one of {}, {}", OPERATIONS.join(", "), OF_REPLICAS.join(", "));
        }
    }
}
