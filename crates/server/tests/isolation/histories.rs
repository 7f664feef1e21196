//! Concurrent requests are linearizable: a published checker judges recorded histories of reads, conditional
//! writes and transactions. `KEYWRIGHT_HISTORIES` sets their number.
//!
//! In process, a seed decides the schedule, the store's failures and the losses of power; over HTTP, the
//! machine decides.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use keywright_store::faulty::{Faults, FaultyStore, Schedule};
use serde_json::{Value, json};
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};

use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::{Answer, Api, Http, InProcess, block_on};

pub(super) const KEYS: usize = 3;
pub(super) const CLIENTS: u64 = 3;
pub(super) const STEPS: u64 = 7;
const HISTORIES_DEFAULT: u64 = 150;

type Register = Option<u64>;

/// One request on a few registers, which are items with a number `v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Get(usize),
    /// Returns the previous value.
    Put(usize, u64),
    /// Only if the register holds this.
    PutIf(usize, Register, u64),
    /// Increments and returns the new value.
    Add(usize),
    Delete(usize),
    /// If the first register has the expected value, writes the second and increments the third.
    Transact {
        check: (usize, Register),
        put: (usize, u64),
        add: usize,
    },
    TransactGet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ret {
    Value(Register),
    Done(bool),
    Values([Register; KEYS]),
}

/// The sequential meaning of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Registers([Register; KEYS]);

impl SequentialSpec for Registers {
    type Op = Op;
    type Ret = Ret;

    fn invoke(&mut self, op: &Op) -> Ret {
        match *op {
            Op::Get(key) => Ret::Value(self.0[key]),
            Op::Put(key, value) => Ret::Value(self.0[key].replace(value)),
            Op::PutIf(key, expected, value) => {
                let holds = self.0[key] == expected;
                if holds {
                    self.0[key] = Some(value);
                }
                Ret::Done(holds)
            }
            Op::Add(key) => {
                self.0[key] = Some(self.0[key].unwrap_or(0) + 1);
                Ret::Value(self.0[key])
            }
            Op::Delete(key) => Ret::Value(self.0[key].take()),
            Op::Transact { check, put, add } => {
                let holds = self.0[check.0] == check.1;
                if holds {
                    self.0[put.0] = Some(put.1);
                    self.0[add] = Some(self.0[add].unwrap_or(0) + 1);
                }
                Ret::Done(holds)
            }
            Op::TransactGet => Ret::Values(self.0),
        }
    }
}

/// The keys of one history's registers.
#[derive(Clone)]
struct Names(String);

impl Names {
    fn key(&self, key: usize) -> Value {
        json!({"pk": {"S": format!("{}/{key}", self.0)}})
    }

    fn item(&self, key: usize, value: u64) -> Value {
        let mut item = self.key(key);
        item["v"] = json!({"N": value.to_string()});
        item
    }

    fn get(&self, key: usize) -> Value {
        json!({"TableName": "tab", "Key": self.key(key), "ConsistentRead": true})
    }

    fn add(&self, key: usize) -> Value {
        json!({
            "TableName": "tab",
            "Key": self.key(key),
            "UpdateExpression": "SET v = if_not_exists(v, :zero) + :one",
            "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
        })
    }

    fn request(&self, op: Op) -> (&'static str, Value) {
        match op {
            Op::Get(key) => ("GetItem", self.get(key)),
            Op::Put(key, value) => (
                "PutItem",
                json!({"TableName": "tab", "Item": self.item(key, value), "ReturnValues": "ALL_OLD"}),
            ),
            Op::PutIf(key, expected, value) => {
                let mut body = json!({"TableName": "tab", "Item": self.item(key, value)});
                require(&mut body, expected);
                ("PutItem", body)
            }
            Op::Add(key) => {
                let mut body = self.add(key);
                body["ReturnValues"] = json!("ALL_NEW");
                ("UpdateItem", body)
            }
            Op::Delete(key) => {
                ("DeleteItem", json!({"TableName": "tab", "Key": self.key(key), "ReturnValues": "ALL_OLD"}))
            }
            Op::Transact { check, put, add } => {
                let mut checked = json!({"TableName": "tab", "Key": self.key(check.0)});
                require(&mut checked, check.1);
                let put = json!({"TableName": "tab", "Item": self.item(put.0, put.1)});
                let actions = json!([{"ConditionCheck": checked}, {"Put": put}, {"Update": self.add(add)}]);
                ("TransactWriteItems", json!({"TransactItems": actions}))
            }
            Op::TransactGet => {
                let get = |key| json!({"Get": {"TableName": "tab", "Key": self.key(key)}});
                let gets: Vec<Value> = (0..KEYS).map(get).collect();
                ("TransactGetItems", json!({"TransactItems": gets}))
            }
        }
    }
}

fn require(body: &mut Value, expected: Register) {
    match expected {
        None => body["ConditionExpression"] = json!("attribute_not_exists(pk)"),
        Some(value) => {
            body["ConditionExpression"] = json!("v = :expected");
            body["ExpressionAttributeValues"] = json!({":expected": {"N": value.to_string()}});
        }
    }
}

fn register(item: &Value) -> Register {
    item["v"]["N"].as_str().map(|digits| digits.parse().unwrap())
}

/// How a request ended.
enum End {
    Returned(Ret),
    /// Rejected because of a conflict; it had no effect.
    Nothing,
    Unknown,
}

fn end(op: Op, answer: Answer) -> End {
    match answer {
        Answer::Good(body) => End::Returned(match op {
            Op::Get(_) => Ret::Value(register(&body["Item"])),
            Op::Put(..) | Op::Add(_) | Op::Delete(_) => Ret::Value(register(&body["Attributes"])),
            Op::PutIf(..) | Op::Transact { .. } => Ret::Done(true),
            Op::TransactGet => {
                let mut values = [None; KEYS];
                for (value, answer) in values.iter_mut().zip(body["Responses"].as_array().unwrap()) {
                    *value = register(&answer["Item"]);
                }
                Ret::Values(values)
            }
        }),
        Answer::Fault(name, body) => match name.as_str() {
            "TransactionConflictException" | "ReplicatedWriteConflictException" => End::Nothing,
            "TransactionCanceledException" if body.to_string().contains("TransactionConflict") => {
                End::Nothing
            }
            "TransactionCanceledException" | "ConditionalCheckFailedException" => {
                End::Returned(Ret::Done(false))
            }
            _ => panic!("{op:?} was refused: {body}"),
        },
        Answer::Unknown(_) => End::Unknown,
    }
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Called(u64, Op),
    Returned(u64, Ret),
    Nothing(u64),
}

type History = Rc<RefCell<Vec<Event>>>;

fn random_op(dice: &mut Dice) -> Op {
    let sides = KEYS.try_into().unwrap();
    let key = |dice: &mut Dice| usize::try_from(dice.roll(sides)).unwrap();
    let register = |dice: &mut Dice| Some(dice.roll(4)).filter(|value| *value > 0);
    let (one, value) = (key(dice), dice.roll(3) + 1);
    match dice.roll(10) {
        0..2 => Op::Get(one),
        2 => Op::Put(one, value),
        3..5 => Op::PutIf(one, register(dice), value),
        5 => Op::Add(one),
        6 => Op::Delete(one),
        7..9 => Op::Transact {
            check: (one, register(dice)),
            put: ((one + 1) % KEYS, value),
            add: (one + 2) % KEYS,
        },
        _ => Op::TransactGet,
    }
}

/// A client that sends one request at a time and records each call and return.
async fn client(
    (api, ops): (impl Api, fn(&mut Dice) -> Op),
    names: Names,
    (number, seed): (u64, u64),
    history: History,
) {
    let mut dice = Dice::new(seed * CLIENTS + number);
    let mut id = number;
    for _ in 0..STEPS {
        let op = ops(&mut dice);
        let (operation, body) = names.request(op);
        history.borrow_mut().push(Event::Called(id, op));
        match end(op, api.call(operation, &body).await) {
            End::Returned(ret) => history.borrow_mut().push(Event::Returned(id, ret)),
            End::Nothing => history.borrow_mut().push(Event::Nothing(id)),
            // It may still take effect, so the client continues under another id.
            End::Unknown => id += CLIENTS,
        }
    }
}

/// Whether some order of the requests, each between its call and its return, explains every answer. Every
/// prefix is checked on its own: a prefix of an invalid history is refuted sooner, because the search grows
/// with each wrong choice.
pub(super) fn is_linearizable(history: &[Event]) -> bool {
    let returns = |place: &usize| matches!(history[*place], Event::Returned(..));
    (0..history.len()).filter(returns).all(|place| is_explained(&history[..=place], history))
}

/// Whether a prefix of the whole history is linearizable.
fn is_explained(beginning: &[Event], whole: &[Event]) -> bool {
    let mut tester = LinearizabilityTester::new(Registers::default());
    for (place, event) in beginning.iter().enumerate() {
        match event {
            Event::Called(id, op) => {
                let ends = whole[place + 1..].iter().find(|later| match later {
                    Event::Returned(other, _) | Event::Nothing(other) => other == id,
                    Event::Called(..) => false,
                });
                if !matches!(ends, Some(Event::Nothing(_))) {
                    tester.on_invoke(*id, *op).unwrap();
                }
            }
            Event::Returned(id, ret) => {
                tester.on_return(*id, *ret).unwrap();
            }
            Event::Nothing(_) => {}
        }
    }
    tester.is_consistent()
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs tasks on this thread in an order that the dice choose; `between` is called before each step.
fn run_interleaved(
    tasks: Vec<Pin<Box<dyn Future<Output = ()>>>>,
    dice: &mut Dice,
    mut between: impl FnMut(&mut Dice),
) {
    let mut tasks: Vec<_> =
        tasks.into_iter().map(|task| (task, Arc::new(Flag(AtomicBool::new(true))))).collect();
    while !tasks.is_empty() {
        between(dice);
        let ready: Vec<usize> =
            (0..tasks.len()).filter(|place| tasks[*place].1.0.load(Ordering::Relaxed)).collect();
        assert!(!ready.is_empty(), "all tasks wait for something that never comes");
        let place = ready[usize::try_from(dice.roll(ready.len().try_into().unwrap())).unwrap()];
        let (task, flag) = &mut tasks[place];
        flag.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(flag));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            drop(tasks.swap_remove(place));
        }
    }
}

/// Faults that the checker must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Planted {
    /// Reads return an earlier answer.
    StaleReads,
    /// Some writes are acknowledged and not executed.
    LostWrites,
    /// A transaction's writes become visible one by one.
    TornTransactions,
}

impl Planted {
    pub(super) const ALL: [Self; 3] = [Self::StaleReads, Self::LostWrites, Self::TornTransactions];
}

/// A database with a planted fault.
#[derive(Clone)]
pub(super) struct Planting<A> {
    real: A,
    planted: Option<Planted>,
    remembered: Rc<RefCell<std::collections::BTreeMap<String, Answer>>>,
}

impl<A: Api> Planting<A> {
    pub(super) fn new(real: A, planted: Option<Planted>) -> Self {
        Self { real, planted, remembered: Rc::default() }
    }

    async fn tear(&self, body: &Value) -> Answer {
        let actions = &body["TransactItems"];
        let checked = self.real.call("TransactWriteItems", &json!({"TransactItems": [actions[0]]})).await;
        if matches!(checked, Answer::Good(_)) {
            self.real.call("PutItem", &actions[1]["Put"]).await;
            self.real.call("UpdateItem", &actions[2]["Update"]).await;
        }
        checked
    }
}

impl<A: Api> Api for Planting<A> {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        match (self.planted, operation) {
            (Some(Planted::StaleReads), "GetItem") => {
                let key = body.to_string();
                let remembered = self.remembered.borrow().get(&key).cloned();
                let answer = self.real.call(operation, body).await;
                self.remembered.borrow_mut().insert(key, answer.clone());
                remembered.unwrap_or(answer)
            }
            (Some(Planted::LostWrites), "UpdateItem") => {
                let asked = json!({"TableName": "tab", "Key": body["Key"], "ConsistentRead": true});
                let before = self.real.call("GetItem", &asked).await.good();
                let sum = register(&before["Item"]).unwrap_or(0) + 1;
                Answer::Good(json!({"Attributes": {"v": {"N": sum.to_string()}}}))
            }
            (Some(Planted::TornTransactions), "TransactWriteItems") => self.tear(body).await,
            _ => self.real.call(operation, body).await,
        }
    }
}

/// A database of a simulation. A loss of power replaces it.
#[derive(Clone)]
pub(super) struct Simulated {
    database: Rc<RefCell<InProcess<FaultyStore>>>,
    /// How often the power was lost.
    losses: Rc<Cell<u64>>,
}

impl Simulated {
    /// The database as it is now.
    pub(super) fn now(&self) -> InProcess<FaultyStore> {
        self.database.borrow().clone()
    }

    pub(super) fn open(store: &FaultyStore) -> Self {
        let database = block_on(InProcess::open(store.clone())).unwrap();
        Self { database: Rc::new(RefCell::new(database)), losses: Rc::default() }
    }

    pub(super) fn reopen(&self, store: &FaultyStore) {
        *self.database.borrow_mut() = block_on(InProcess::open(store.clone())).unwrap();
        self.losses.set(self.losses.get() + 1);
    }

    /// A request ends with its process: otherwise two processes would write a store that has room for one.
    pub(super) async fn until_loss(&self, request: impl Future<Output = Answer>) -> Answer {
        let (before, mut request) = (self.losses.get(), pin!(request));
        let with_process = poll_fn(|context| {
            if self.losses.get() != before {
                return Poll::Ready(Answer::Unknown("the power was lost".to_owned()));
            }
            request.as_mut().poll(context)
        });
        with_process.await
    }
}

impl Api for Simulated {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        let database = self.now();
        self.until_loss(database.call(operation, body)).await
    }
}

pub(super) fn create_table() -> Value {
    json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

/// Records one history on a store with these failures; `crashes` adds losses of power.
fn simulate(seed: u64, faults: Faults, crashes: bool, planted: Option<Planted>) -> Vec<Event> {
    let store = FaultyStore::new(seed, Faults::NONE);
    let database = Simulated::open(&store);
    block_on(database.call("CreateTable", &create_table())).good();
    store.set_faults(faults);
    let api = Planting::new(database.clone(), planted);
    interleave(
        seed,
        |_client| api.clone(),
        |dice| {
            if crashes && dice.roll(60) == 0 {
                store.crash();
                store.set_faults(Faults::NONE);
                database.reopen(&store);
                store.set_faults(faults);
            }
        },
    )
}

/// Records one history of clients that each have a database of their own over one store, as processes do.
fn simulate_processes(seed: u64, faults: Faults) -> Vec<Event> {
    let store = FaultyStore::shared(seed, Faults::NONE);
    block_on(Simulated::open(&store).call("CreateTable", &create_table())).good();
    let databases: Vec<Simulated> = (0..CLIENTS).map(|_| Simulated::open(&store)).collect();
    store.set_faults(faults);
    interleave(seed, |client| databases[client].clone(), |_dice| {})
}

/// The history of clients whose steps the dice put in order.
fn interleave<A: Api + 'static>(
    seed: u64,
    api: impl Fn(usize) -> A,
    between: impl FnMut(&mut Dice),
) -> Vec<Event> {
    interleave_ops(seed, random_op, api, between)
}

/// The same with requests of these kinds.
pub(super) fn interleave_ops<A: Api + 'static>(
    seed: u64,
    ops: fn(&mut Dice) -> Op,
    api: impl Fn(usize) -> A,
    between: impl FnMut(&mut Dice),
) -> Vec<Event> {
    let history = History::default();
    let names = Names("r".to_owned());
    let clients = (0..CLIENTS).map(|number| -> Pin<Box<dyn Future<Output = ()>>> {
        let api = api(usize::try_from(number).unwrap());
        Box::pin(client((api, ops), names.clone(), (number, seed), Rc::clone(&history)))
    });
    let clients = clients.collect();
    run_interleaved(clients, &mut Dice::new(seed), between);
    history.take()
}

pub(super) const INTERLEAVED: Faults = Faults { yield_per_mille: 400, ..Faults::NONE };

/// Spurious conflicts, failed reads and commits, and commits with an unknown outcome.
pub(super) const FAILING: Faults = Faults {
    conflict_per_mille: 60,
    read_error_per_mille: 10,
    commit_error_per_mille: 30,
    unknown_per_mille: 40,
    yield_per_mille: 300,
    ..Faults::NONE
};

pub(super) fn answers(history: &[Event]) -> usize {
    history.iter().filter(|event| matches!(event, Event::Returned(..))).count()
}

#[test]
fn histories_in_process_are_linearizable_under_store_failures() {
    let histories = wanted("KEYWRIGHT_HISTORIES", HISTORIES_DEFAULT);
    for (name, faults, crashes) in [
        ("interleaved", INTERLEAVED, false),
        ("failing store", FAILING, false),
        ("failing store and losses of power", FAILING, true),
    ] {
        let mut answered = 0;
        for seed in 0..histories {
            let history = simulate(seed, faults, crashes, None);
            answered += answers(&history);
            assert!(is_linearizable(&history), "{name}, seed {seed}: {history:#?}");
        }
        println!("{name}: {histories} histories, {answered} answers, all linearizable");
    }
}

#[test]
fn the_checker_finds_each_planted_fault() {
    for planted in Planted::ALL {
        let tries = 200;
        let found = (0..tries)
            .find(|seed| !is_linearizable(&simulate(*seed, INTERLEAVED, false, Some(planted))))
            .unwrap_or_else(|| panic!("{planted:?} went unnoticed"));
        println!("{planted:?}: found in history {found}");
    }
}

#[test]
fn the_checker_finds_a_store_that_acknowledges_before_it_syncs() {
    let faults = Faults { schedule: Schedule::Relaxed { commits_per_sync: 8 }, ..INTERLEAVED };
    let tries = 200;
    let found = (0..tries).find(|seed| !is_linearizable(&simulate(*seed, faults, true, None)));
    let found = found.expect("writes that were lost went unnoticed");
    println!("acknowledged before the sync: found in history {found}");
}

#[test]
fn histories_of_several_processes_are_linearizable_and_need_what_they_protect() {
    let histories = wanted("KEYWRIGHT_HISTORIES", HISTORIES_DEFAULT);
    for (name, faults) in [("interleaved", INTERLEAVED), ("failing store", FAILING)] {
        for seed in 0..histories {
            let history = simulate_processes(seed, faults);
            assert!(is_linearizable(&history), "{name}, seed {seed}: {history:#?}");
        }
    }
    let unprotected = Faults { forgets_protected: true, ..INTERLEAVED };
    let tries = 400;
    let found = (0..tries).find(|seed| !is_linearizable(&simulate_processes(*seed, unprotected)));
    let found = found.expect("a store that protects nothing went unnoticed");
    println!("protection left out: found in history {found}");
}

/// Records one history of clients whose steps the machine puts in order.
pub(super) async fn record<A: Api + 'static>(seed: u64, api: impl Fn(usize) -> A) -> Vec<Event> {
    let history = History::default();
    let names = Names(format!("h{seed}"));
    let local = tokio::task::LocalSet::new();
    for number in 0..CLIENTS {
        let api = api(usize::try_from(number).unwrap());
        let history = Rc::clone(&history);
        local.spawn_local(client((api, random_op), names.clone(), (number, seed), history));
    }
    local.await;
    history.take()
}

/// Runs histories over HTTP and returns the number of their answers.
fn over_http(servers: &[&Server], histories: u64) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http: Vec<Rc<Http>> = servers.iter().map(|server| Rc::new(Http::new(server.address()))).collect();
    runtime.block_on(http[0].call("CreateTable", &create_table())).good();
    let mut answered = 0;
    for seed in 0..histories {
        let first = usize::try_from(seed).unwrap();
        let server = |client| Shared(Rc::clone(&http[(first + client) % http.len()]));
        let history = runtime.block_on(record(seed, server));
        answered += answers(&history);
        assert!(is_linearizable(&history), "history {seed}: {history:#?}");
    }
    answered
}

struct Shared(Rc<Http>);

impl Api for Shared {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        self.0.call(operation, body).await
    }
}

#[test]
fn histories_over_http_are_linearizable() {
    let histories = wanted("KEYWRIGHT_HISTORIES", HISTORIES_DEFAULT);
    let folder = tempfile::tempdir().unwrap();
    for (name, server) in [("in memory", Server::in_memory()), ("on disk", Server::on(folder.path()))] {
        let answered = over_http(&[&server], histories);
        // An unknown outcome fits any history, so most requests must have been answered.
        let asked = histories * CLIENTS * STEPS;
        assert!(u64::try_from(answered).unwrap() * 10 >= asked * 8, "{name}: {answered} answers of {asked}");
        println!("over HTTP, {name}: {histories} histories, {answered} answers, all linearizable");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn histories_over_three_servers_of_one_store_are_linearizable() {
    let Some(url) = crate::support::shared_store::url_or_say("histories") else { return };
    let histories = wanted("KEYWRIGHT_HISTORIES", HISTORIES_DEFAULT);
    let servers = [Server::on_store(&url), Server::on_store(&url), Server::on_store(&url)];
    let answered = over_http(&servers.each_ref(), histories);
    let asked = histories * CLIENTS * STEPS;
    assert!(u64::try_from(answered).unwrap() * 10 >= asked * 8, "{answered} answers of {asked}");
    println!("three servers: {histories} histories, {answered} answers, all linearizable");
}
