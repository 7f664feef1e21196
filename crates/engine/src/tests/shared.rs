//! Two engines over one store, as two processes are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::create_table::NewIndex;
use keywright_semantics::request::delete_table::DeleteTable;
use keywright_semantics::request::describe_table::DescribeTable;
use keywright_semantics::request::partiql::{BatchExecuteStatement, ExecuteTransaction};
use keywright_semantics::request::parts::{
    BatchExecuteStatementParts, BatchStatementRequestParts, BillingMode, ExecuteTransactionParts,
    ParameterizedStatementParts,
};
use keywright_semantics::request::time_to_live::{TtlChange, UpdateTimeToLive};
use keywright_semantics::request::update_table::IndexUpdate;
use keywright_semantics::request::{Request, Throughput};
use keywright_semantics::response::Response;
use keywright_semantics::schema::{IndexKind, KeyType, Projection, TableSchema};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::throughput::{Throttle, ThroughputConfig};

type Process = Engine<MemoryStore>;

struct Pair {
    one: Process,
    other: Process,
    env: Arc<TestEnv>,
}

fn plain() -> TableSchema {
    TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() }
}

/// Two processes; the first one has made the table.
fn pair() -> Pair {
    let store = MemoryStore::shared();
    let env = Arc::new(TestEnv::default());
    env.now_ms.store(1_000_000, Ordering::Relaxed);
    let open = || {
        let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
        block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("the store opens")
    };
    let (one, other) = (open(), open());
    let pair = Pair { one, other, env };
    run(&pair.one, create()).expect("there is no such table yet");
    pair
}

impl Pair {
    fn pass(&self, ms: u64) -> u64 {
        self.env.now_ms.fetch_add(ms, Ordering::Relaxed) + ms
    }

    /// Lets time pass for both processes, in which they do their background work.
    fn work(&self, ms: u64) {
        self.work_of(&[&self.one, &self.other], ms);
    }

    fn work_of(&self, working: &[&Process], ms: u64) {
        for _ in 0..ms / 100 {
            let now_ms = self.pass(100);
            for process in working {
                block_on(process.step(now_ms));
            }
        }
    }
}

fn create() -> Request {
    Request::CreateTable(Box::new(create_request(plain())))
}

fn run(process: &Process, request: Request) -> Result<Response, Error> {
    block_on(process.execute(&caller(), request))
}

fn put(process: &Process, item: Item) -> Result<(), Error> {
    run(process, Request::PutItem(Box::new(put_request(item)))).map(drop)
}

fn get(process: &Process, pk: &str) -> Result<Option<Item>, Error> {
    match run(process, Request::GetItem(get_request(item([("pk", s(pk))]))))? {
        Response::GetItem(output) => Ok(output.item.map(|item| item.decode())),
        _ => panic!("a get is answered by its output"),
    }
}

fn scan(process: &Process, index: Option<&str>) -> Result<usize, Error> {
    match run(process, Request::Scan(Box::new(scan_request(index))))? {
        Response::Scan(output) => Ok(items(&output).len()),
        _ => panic!("a scan is answered by its output"),
    }
}

fn delete_table(process: &Process) {
    run(process, Request::DeleteTable(DeleteTable { table: table_ref() })).expect("it is there");
}

fn change_index(process: &Process, update: IndexUpdate) {
    run(process, index_request(update)).expect("it is accepted");
}

fn add_index(process: &Process) {
    let schema = index("live", IndexKind::Global, key(&[("g", KeyType::N)], &[]), Projection::All);
    change_index(
        process,
        IndexUpdate::Create(NewIndex { schema, throughput: None, on_demand: None, warm: None }),
    );
}

fn items_counted(process: &Process) -> u64 {
    match run(process, Request::DescribeTable(DescribeTable { table: table_ref() })) {
        Ok(Response::DescribeTable(table)) => table.item_count,
        other => panic!("the table is described: {other:?}"),
    }
}

#[test]
fn a_table_of_one_process_is_at_once_a_table_of_the_other() {
    let pair = pair();
    put(&pair.other, item([("pk", s("a"))])).expect("the table is found in the store");
    assert!(get(&pair.one, "a").expect("it is read").is_some());
    assert_eq!(run(&pair.other, create()).unwrap_err().kind, ErrorKind::ResourceInUse);
}

#[test]
fn a_deleted_table_is_gone_for_the_other_within_a_second() {
    let pair = pair();
    put(&pair.other, item([("pk", s("a"))])).expect("put");
    delete_table(&pair.one);
    pair.work_of(&[&pair.one], 100);
    pair.pass(1_001);
    assert_eq!(get(&pair.other, "a").unwrap_err().kind, ErrorKind::ResourceNotFound);
}

#[test]
fn a_deletion_that_another_process_has_ended_is_no_error() {
    let pair = pair();
    let found = pair.one.catalogue().lookup_any(&namespace(), &table_ref()).expect("it is there");
    delete_table(&pair.other);
    pair.work_of(&[&pair.other], 2_000);
    block_on(pair.one.catalogue().unname(&found)).expect("its name is free, and its record is gone");
    assert_eq!(get(&pair.one, "a").unwrap_err().kind, ErrorKind::ResourceNotFound);
    run(&pair.one, create()).expect("the name is free");
}

#[test]
fn a_table_made_anew_takes_the_writes_of_a_process_that_knows_the_old_one() {
    let pair = pair();
    put(&pair.other, item([("pk", s("old"))])).expect("put");
    delete_table(&pair.one);
    pair.work_of(&[&pair.one], 100);
    run(&pair.one, create()).expect("the name is free");
    put(&pair.other, item([("pk", s("new"))])).expect("it is bound again");
    assert!(get(&pair.one, "new").expect("it is read").is_some());
    assert!(get(&pair.one, "old").expect("it is read").is_none());
    pair.work(2_000);
    assert_eq!(scan(&pair.other, None).expect("it is scanned"), 1);
}

#[test]
fn a_process_that_does_not_know_an_index_yet_writes_its_entries() {
    let pair = pair();
    put(&pair.other, item([("pk", s("a")), ("g", n(1))])).expect("put");
    add_index(&pair.one);
    put(&pair.other, item([("pk", s("b")), ("g", n(2))])).expect("it is bound again");
    pair.work(3_000);
    for process in [&pair.one, &pair.other] {
        assert_eq!(scan(process, Some("live")).expect("the index is readable"), 2);
    }
    change_index(&pair.other, IndexUpdate::Delete { name: "live".to_owned() });
    pair.pass(1_001);
    assert_eq!(scan(&pair.one, Some("live")).unwrap_err().kind, ErrorKind::Validation);
}

#[test]
fn each_process_counts_its_own_writes_and_reports_those_of_all() {
    let pair = pair();
    for pk in ["a", "b", "c"] {
        put(&pair.one, item([("pk", s(pk))])).expect("put");
    }
    for pk in ["d", "e"] {
        put(&pair.other, item([("pk", s(pk))])).expect("put");
    }
    pair.work(25_000);
    assert_eq!((items_counted(&pair.one), items_counted(&pair.other)), (5, 5));
    // One stops cleanly, and its row is taken over.
    block_on(pair.other.shutdown()).expect("it stops");
    pair.work_of(&[&pair.one], 5_000);
    assert_eq!(items_counted(&pair.one), 5);
}

#[test]
fn an_idle_process_sleeps_between_its_looks_at_the_others() {
    let pair = pair();
    pair.work(25_000);
    let began_ms = pair.env.now_ms.load(Ordering::Relaxed);
    let mut next_ms = [began_ms; 2];
    let mut steps = [0; 2];
    while let Some(now_ms) = next_ms.into_iter().min().filter(|now_ms| *now_ms < began_ms + 10_000) {
        pair.env.now_ms.store(now_ms, Ordering::Relaxed);
        for (place, process) in [&pair.one, &pair.other].into_iter().enumerate() {
            if next_ms[place] == now_ms {
                let wake = block_on(process.step(now_ms));
                next_ms[place] = wake.at_ms.expect("it follows the others").max(now_ms);
                steps[place] += 1;
            }
        }
    }
    assert!(steps.into_iter().all(|steps| steps <= 100), "{steps:?} steps in ten seconds");
}

#[test]
fn what_a_dead_process_counted_and_owned_is_taken_over() {
    let pair = pair();
    let ttl = UpdateTimeToLive { table: table_ref(), change: TtlChange::Enable, attribute: "e".to_owned() };
    run(&pair.other, Request::UpdateTimeToLive(ttl)).expect("it is enabled");
    put(&pair.one, item([("pk", s("kept"))])).expect("put");
    pair.work(25_000);
    assert_eq!(pair.one.processes(), 2);
    // Both may own the table; each time the other one dies.
    for (alive, dead) in [(&pair.one, &pair.other), (&pair.other, &pair.one)] {
        pair.work(5_000);
        let due = i64::try_from(pair.env.now_ms.load(Ordering::Relaxed) / 1000).expect("it is small");
        put(dead, item([("pk", s("due")), ("e", n(due))])).expect("put");
        // A minute is the delay of expiry, ten seconds that of the change of owner.
        pair.work_of(&[alive], 71_000);
        assert_eq!(alive.processes(), 1);
        assert!(get(alive, "due").expect("it is read").is_none());
    }
    pair.work(25_000);
    assert_eq!((items_counted(&pair.one), items_counted(&pair.other)), (1, 1));
}

#[test]
fn statements_find_a_table_that_another_process_has_just_made() {
    let text = "INSERT INTO t VALUE {'pk': 'a'}".to_owned();
    let one = ParameterizedStatementParts {
        statement: text.clone(),
        parameters: None,
        return_values_on_condition_check_failure: None,
    };
    let parts = ExecuteTransactionParts {
        transact_statements: vec![one],
        client_request_token: None,
        return_consumed_capacity: None,
    };
    let transaction = ExecuteTransaction::validate(parts).expect("it is right");
    let fresh = pair();
    assert!(run(&fresh.other, Request::ExecuteTransaction(transaction)).is_ok());
    let batch = BatchExecuteStatement::validate(BatchExecuteStatementParts {
        statements: vec![BatchStatementRequestParts {
            statement: text,
            parameters: None,
            consistent_read: None,
            return_values_on_condition_check_failure: None,
        }],
        return_consumed_capacity: None,
    });
    let fresh = pair();
    match run(&fresh.other, Request::BatchExecuteStatement(batch)).expect("it is answered") {
        Response::BatchExecuteStatement(output) => assert!(output.responses[0].error.is_none()),
        _ => panic!("a batch is answered by its output"),
    }
}

/// Processes over one store, of which the first has made a table with so many units, and all limits hold.
fn limited(count: usize, units: u64) -> (Vec<Process>, Arc<TestEnv>) {
    let store = MemoryStore::shared();
    let env = Arc::new(TestEnv::default());
    env.now_ms.store(1_000_000, Ordering::Relaxed);
    let throughput =
        ThroughputConfig { throttle: Throttle::Full, burst_start_s: 1, ..ThroughputConfig::default() };
    let config = EngineConfig { throughput, ..EngineConfig::default() };
    let open = |_| {
        let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
        block_on(Engine::open(store.clone(), env, config.clone())).expect("the store opens")
    };
    let processes: Vec<Process> = (0..count).map(open).collect();
    let mut request = create_request(plain());
    request.billing = BillingMode::Provisioned;
    request.throughput = Some(Throughput { read_units: units, write_units: units });
    run(&processes[0], Request::CreateTable(Box::new(request))).expect("there is no such table yet");
    (processes, env)
}

/// What passes of the puts that come to each process every tenth of a second, of items in turn.
fn passed(processes: &[Process], env: &TestEnv, seconds: u64, puts: &[usize], items: &[Item]) -> usize {
    let (mut passed, mut items) = (0, items.iter().cycle());
    for _ in 0..seconds * 10 {
        let now_ms = env.now_ms.fetch_add(100, Ordering::Relaxed) + 100;
        for (process, puts) in processes.iter().zip(puts) {
            let mut next = || items.next().cloned().expect("there are items");
            passed += (0..*puts).filter(|_| put(process, next()).is_ok()).count();
            block_on(process.step(now_ms));
        }
    }
    passed
}

#[test]
fn processes_share_the_limits_of_a_table() {
    let (processes, env) = limited(3, 20);
    let items = [item([("pk", s("a"))])];
    // Alike, then almost all at one process: 20 a second and what a quarter of a second lets through.
    for puts in [[4, 4, 4], [12, 0, 1]] {
        let passed = passed(&processes, &env, 60, &puts, &items);
        assert!((1_150..=1_250).contains(&passed), "{passed} of {puts:?}");
    }
    // What nobody uses is saved for all together: 300 s of 20 units, and the 20 s of this load.
    assert_eq!(self::passed(&processes, &env, 330, &[0, 0, 0], &items), 0);
    let passed = passed(&processes, &env, 20, &[200, 200, 200], &items);
    assert!((6_300..=7_900).contains(&passed), "{passed} after idle minutes");
}

#[test]
fn processes_see_the_heat_of_a_partition_together_and_split_it_alike() {
    let (processes, env) = limited(3, 1_000);
    let partitions = |process: &Process| {
        process.limit_state(&namespace(), TABLE, None).expect("it is there").partitions.len()
    };
    assert_eq!(partitions(&processes[0]), 1);
    // 900 units a second of the 1,000 that one partition serves; each process alone sees 300.
    let large = "d".repeat(10_000);
    let items: Vec<Item> =
        (0..50).map(|number| item([("pk", s(&number.to_string())), ("d", s(&large))])).collect();
    let passed = passed(&processes, &env, 6 * 60, &[3, 3, 3], &items);
    assert!(passed * 10 > 300_000, "{passed} passed");
    let found: Vec<usize> = processes.iter().map(partitions).collect();
    assert_eq!(found, [2, 2, 2]);
}
