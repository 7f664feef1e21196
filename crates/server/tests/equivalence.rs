//! Long random sequences of all operations answer as a naive table does: a map of items, and every read a walk over it.
//! A sequence that does not is shrunk to its smallest form. `KEYWRIGHT_SEQUENCES` asks for more of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

#[path = "support/dice.rs"]
mod dice;
#[path = "support/in_process.rs"]
mod in_process;
#[path = "support/naive.rs"]
mod naive;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dice::wanted;
use in_process::{Answer, Api as _, InProcess};
use keywright_store::memory::MemoryStore;
use naive::{Action, Condition, Item, Key, Naive, Reading, Update};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

const SEQUENCES_DEFAULT: u32 = 60;
const STEPS_MAX: usize = 60;

/// One request.
#[derive(Clone, Debug)]
enum Op {
    Write(Action),
    Get(Key),
    BatchGet(Vec<Key>),
    BatchWrite(Vec<Action>),
    TransactGet(Vec<Key>),
    TransactWrite(Vec<Action>),
    Read(Reading),
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

fn create_table() -> Value {
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let index = |name: &str, hash: &str, range: &str| {
        json!({
            "IndexName": name,
            "KeySchema": [key(hash, "HASH"), key(range, "RANGE")],
            "Projection": {"ProjectionType": "ALL"},
        })
    };
    json!({
        "TableName": "tab",
        "AttributeDefinitions":
            [attribute("pk", "S"), attribute("sk", "S"), attribute("g", "S"), attribute("n", "N"), attribute("l", "S")],
        "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
        "GlobalSecondaryIndexes": [index("gsi", "g", "n")],
        "LocalSecondaryIndexes": [index("lsi", "pk", "l")],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

fn keys() -> impl Strategy<Value = Key> {
    (0..3_u8, 0..5_u8).prop_map(|(pk, sk)| (format!("p{pk}"), format!("s{sk}")))
}

/// Several keys, none twice.
fn several(max: usize) -> impl Strategy<Value = Vec<Key>> {
    proptest::collection::btree_set(keys(), 1..=max).prop_map(|keys| keys.into_iter().collect())
}

fn conditions() -> impl Strategy<Value = Condition> {
    let atom = prop_oneof![
        Just(Condition::Exists("pk")),
        Just(Condition::Exists("g")),
        Just(Condition::Exists("t")),
        (0..3_u8).prop_map(|value| Condition::TextIs("g", format!("v{value}"))),
        (0..3_u8).prop_map(|value| Condition::TextIs("l", format!("v{value}"))),
        (-2..5_i64).prop_map(Condition::LessThan),
        (0..3_usize).prop_map(Condition::LongerThan),
    ];
    atom.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| Condition::Not(Box::new(one))),
            (inner.clone(), inner.clone())
                .prop_map(|(one, two)| Condition::And(Box::new(one), Box::new(two))),
            (inner.clone(), inner).prop_map(|(one, two)| Condition::Or(Box::new(one), Box::new(two))),
        ]
    })
}

fn perhaps_condition() -> impl Strategy<Value = Option<Condition>> {
    proptest::option::of(conditions())
}

fn rests() -> impl Strategy<Value = Item> {
    let text = || proptest::option::of((0..3_u8).prop_map(|value| json!({"S": format!("v{value}")})));
    let number = proptest::option::of((-3..5_i64).prop_map(|value| json!({"N": value.to_string()})));
    let list = proptest::option::of((0..3_usize).prop_map(
        |length| json!({"L": (0..length).map(|place| json!({"N": place.to_string()})).collect::<Vec<_>>()}),
    ));
    (text(), text(), number, list).prop_map(|(g, l, n, t)| {
        let pairs = [("g", g), ("l", l), ("n", n), ("t", t)];
        pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

fn updates() -> impl Strategy<Value = Update> {
    prop_oneof![
        (0..3_u8).prop_map(|value| Update::Set("l", json!({"S": format!("v{value}")}))),
        (0..3_u8).prop_map(|value| Update::Set("g", json!({"S": format!("v{value}")}))),
        (-2..3_i64).prop_map(Update::Add),
        (0..5_i64).prop_map(Update::SetUnlessThere),
        (0..5_i64).prop_map(Update::Append),
        prop_oneof![Just("g"), Just("n"), Just("l"), Just("t")].prop_map(Update::Remove),
    ]
}

/// A write of this key.
fn action_on(key: Key) -> impl Strategy<Value = Action> {
    let (put, update, delete, check) = (key.clone(), key.clone(), key.clone(), key);
    prop_oneof![
        4 => (rests(), perhaps_condition())
            .prop_map(move |(rest, condition)| Action::Put { key: put.clone(), rest, condition }),
        4 => (updates(), perhaps_condition())
            .prop_map(move |(change, condition)| Action::Update { key: update.clone(), change, condition }),
        2 => perhaps_condition().prop_map(move |condition| Action::Delete { key: delete.clone(), condition }),
        1 => conditions().prop_map(move |condition| Action::Check { key: check.clone(), condition }),
    ]
}

fn actions(max: usize) -> impl Strategy<Value = Vec<Action>> {
    several(max).prop_flat_map(|keys| keys.into_iter().map(action_on).collect::<Vec<_>>())
}

fn readings() -> impl Strategy<Value = Reading> {
    let index = prop_oneof![Just(None), Just(Some("gsi")), Just(Some("lsi"))];
    let hash = proptest::option::weighted(0.7, 0..3_u8);
    let from = proptest::option::of(0..5_u8);
    let limit = proptest::option::of(1..4_usize);
    (index, hash, from, any::<bool>(), limit, perhaps_condition(), 1..4_u32).prop_map(
        |(index, hash, from, forward, limit, filter, segments)| Reading {
            index,
            hash: hash.map(|hash| if index == Some("gsi") { format!("v{hash}") } else { format!("p{hash}") }),
            from,
            forward,
            limit,
            filter,
            segments,
        },
    )
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => keys().prop_flat_map(action_on)
            .prop_filter("a check stands in transactions only", |action| !matches!(action, Action::Check { .. }))
            .prop_map(Op::Write),
        2 => keys().prop_map(Op::Get),
        1 => several(6).prop_map(Op::BatchGet),
        2 => actions(6).prop_map(|actions| {
            Op::BatchWrite(actions.into_iter().map(Action::without_condition).collect())
        }),
        1 => several(4).prop_map(Op::TransactGet),
        3 => actions(4).prop_map(Op::TransactWrite),
        4 => readings().prop_map(Op::Read),
    ]
}

/// The database beside its naive double.
struct Pair {
    database: InProcess<MemoryStore>,
    naive: Naive,
}

impl Pair {
    fn new() -> Self {
        let database = block_on(InProcess::open(MemoryStore::new())).unwrap();
        block_on(database.call("CreateTable", &create_table())).good();
        Self { database, naive: Naive::default() }
    }

    fn call(&self, operation: &str, body: &Value) -> Answer {
        block_on(self.database.call(operation, body))
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Write(action) => self.write(action),
            Op::Get(key) => {
                let found = self.call("GetItem", &json!({"TableName": "tab", "Key": naive::key_json(key)}));
                assert_eq!(found.good().get("Item"), self.naive.item_json(key).as_ref());
            }
            Op::BatchGet(keys) => self.batch_get(keys),
            Op::BatchWrite(actions) => self.batch_write(actions),
            Op::TransactGet(keys) => {
                let get = |key| json!({"Get": {"TableName": "tab", "Key": naive::key_json(key)}});
                let gets: Vec<Value> = keys.iter().map(get).collect();
                let answer = self.call("TransactGetItems", &json!({"TransactItems": gets})).good();
                for (key, found) in keys.iter().zip(answer["Responses"].as_array().unwrap()) {
                    assert_eq!(found.get("Item"), self.naive.item_json(key).as_ref());
                }
            }
            Op::TransactWrite(actions) => self.transact(actions),
            Op::Read(reading) => self.read(reading),
        }
    }

    fn write(&mut self, action: &Action) {
        let (operation, mut body) = action.request();
        body["ReturnValues"] = json!("ALL_OLD");
        let answer = self.call(operation, &body);
        let before = self.naive.item_json(action.key());
        match self.naive.apply(action) {
            Ok(()) => assert_eq!(answer.good().get("Attributes"), before.as_ref()),
            Err(fault) => {
                assert!(matches!(&answer, Answer::Fault(name, _) if name == fault), "{fault}: {answer:?}");
            }
        }
    }

    fn batch_get(&self, keys: &[Key]) {
        let asked: Vec<Value> = keys.iter().map(naive::key_json).collect();
        let answer = self.call("BatchGetItem", &json!({"RequestItems": {"tab": {"Keys": asked}}})).good();
        let found = sorted(answer["Responses"]["tab"].as_array().unwrap().clone());
        let expected = keys.iter().filter_map(|key| self.naive.item_json(key)).collect();
        assert_eq!(found, sorted(expected));
    }

    fn batch_write(&mut self, actions: &[Action]) {
        let requests: Vec<Value> = actions.iter().filter_map(Action::batch_request).collect();
        if requests.is_empty() {
            return;
        }
        let body = json!({"RequestItems": {"tab": requests}});
        assert_eq!(self.call("BatchWriteItem", &body).good()["UnprocessedItems"], json!({}));
        for action in actions.iter().filter(|action| action.batch_request().is_some()) {
            self.naive.apply(action).unwrap();
        }
    }

    fn transact(&mut self, actions: &[Action]) {
        let requests: Vec<Value> = actions.iter().map(Action::transact_request).collect();
        let answer = self.call("TransactWriteItems", &json!({"TransactItems": requests}));
        let mut after = self.naive.clone();
        let failed = actions.iter().any(|action| after.apply(action).is_err());
        if failed {
            assert!(
                matches!(&answer, Answer::Fault(name, _) if name == "TransactionCanceledException"),
                "{answer:?}"
            );
        } else {
            answer.good();
            self.naive = after;
        }
    }

    fn read(&self, reading: &Reading) {
        let mut found = Vec::new();
        let (mut count, mut scanned) = (0, 0);
        let segments = if reading.hash.is_none() { reading.segments } else { 1 };
        for segment in 0..segments {
            let (operation, mut body) = reading.request(segment, segments);
            loop {
                let page = self.call(operation, &body).good();
                let items = page["Items"].as_array().unwrap();
                count += page["Count"].as_u64().unwrap();
                scanned += page["ScannedCount"].as_u64().unwrap();
                assert_eq!(Some(items.len().try_into().unwrap()), page["Count"].as_u64());
                found.extend(items.iter().cloned());
                match page.get("LastEvaluatedKey") {
                    Some(last) => body["ExclusiveStartKey"] = last.clone(),
                    None => break,
                }
            }
        }
        let (expected, examined) = self.naive.read(reading);
        assert_eq!((count, scanned), (u64::try_from(expected.len()).unwrap(), examined));
        if reading.hash.is_some() {
            let order = |items: &[Value]| items.iter().map(|item| reading.order_of(item)).collect::<Vec<_>>();
            assert_eq!(order(&found), order(&expected), "the order of a query");
        }
        assert_eq!(sorted(found), sorted(expected));
    }
}

fn sorted(mut items: Vec<Value>) -> Vec<Value> {
    items.sort_by_key(|item| (item["pk"].to_string(), item["sk"].to_string()));
    items
}

#[test]
fn random_sequences_of_all_operations_answer_as_a_naive_table_does() {
    let cases = u32::try_from(wanted("KEYWRIGHT_SEQUENCES", SEQUENCES_DEFAULT.into())).unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let steps = std::cell::Cell::new(0);
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(ops(), 1..STEPS_MAX), |ops| {
        let mut pair = Pair::new();
        for op in &ops {
            pair.step(op);
            steps.set(steps.get() + 1);
        }
        for index in [None, Some("gsi"), Some("lsi")] {
            pair.read(&Reading::everything(index));
        }
        Ok(())
    });
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
    println!("{cases} sequences, {} requests, all as the naive table answers", steps.get());
}
