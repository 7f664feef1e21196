//! Long random sequences of all operations return the same answers as a naive table: a map of items that
//! every read scans. A sequence that does not is shrunk. `KEYWRIGHT_SEQUENCES` sets the number of sequences,
//! `KEYWRIGHT_STEPS` their length.

use std::cell::Cell;

use keywright_store::memory::MemoryStore;
use keywright_store_local::{Durability, LocalOptions, LocalStore};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
#[cfg(feature = "postgres")]
use serde_json::{Value, json};

use crate::support::dice::wanted;
use crate::support::in_process::{Api, InProcess, block_on};
use crate::support::naive::pair::{Pair, Planted};
use crate::support::naive::random::{Op, ops};
use crate::support::naive::reading::Reading;
#[cfg(feature = "postgres")]
use crate::support::{
    Server,
    in_process::{Answer, Http},
};

const SEQUENCES_DEFAULT: u32 = 60;
const STEPS_DEFAULT: u32 = 80;
/// Maximum number of steps of shrinking.
const SHRINKS_MAX: u32 = 600;
/// A planted fault must be found within this many sequences.
const SEQUENCES_OF_PLANTED: u32 = 400;
const STEPS_OF_PLANTED: u32 = 60;

/// Runs the sequences, each on a database without a table. The error is the smallest sequence that differs,
/// and the difference.
fn run<A: Api>(
    database: impl Fn() -> A,
    (sequences, steps): (u32, u32),
    planted: Planted,
    asked: &Cell<u64>,
) -> Result<(), (String, Vec<Op>)> {
    let config = Config {
        cases: sequences,
        failure_persistence: None,
        max_shrink_iters: SHRINKS_MAX,
        ..Config::default()
    };
    let steps = 1..usize::try_from(steps).unwrap();
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(ops(), steps), |ops| {
        let mut pair = Pair::new(database(), planted);
        for op in &ops {
            asked.set(asked.get() + 1);
            pair.step(op).map_err(TestCaseError::fail)?;
        }
        for index in [None, Some("gsi"), Some("lsi")] {
            pair.read(&Reading::everything(index)).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    match outcome {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, ops)) => Err((reason.to_string(), ops)),
        Err(other) => panic!("{other}"),
    }
}

fn number(variable: &str, otherwise: u32) -> u32 {
    u32::try_from(wanted(variable, otherwise.into())).unwrap()
}

/// Fails on a difference; returns a line for the log.
fn assert_equal<A: Api>(name: &str, database: impl Fn() -> A, share: u32) -> String {
    let sequences = number("KEYWRIGHT_SEQUENCES", SEQUENCES_DEFAULT).div_ceil(share);
    let steps = number("KEYWRIGHT_STEPS", STEPS_DEFAULT);
    let asked = Cell::new(0);
    if let Err((reason, ops)) = run(database, (sequences, steps), Planted::Nothing, &asked) {
        panic!("{name}: {reason}\nafter {ops:?}");
    }
    format!("{name}: {sequences} sequences, {} requests, all as the naive table answers", asked.get())
}

fn in_memory() -> InProcess<MemoryStore> {
    block_on(InProcess::open(MemoryStore::new())).unwrap()
}

#[test]
fn random_sequences_of_all_operations_answer_as_a_naive_table_does() {
    println!("{}", assert_equal("in memory", in_memory, 1));
}

/// With write buffers of a few rows, so that most reads come from tables and tables are merged.
#[test]
fn random_sequences_on_the_durable_store_answer_as_a_naive_table_does() {
    let folders = std::cell::RefCell::new(Vec::new());
    let store = || {
        let folder = tempfile::tempdir().unwrap();
        let options = LocalOptions {
            durability: Durability::Relaxed,
            memtable_bytes: 2 * 1024,
            journal_bytes: 64 * 1024,
            ..LocalOptions::default()
        };
        let store = LocalStore::open(folder.path(), options).unwrap();
        // The store of the folder before is closed by now.
        folders.replace(vec![folder]);
        block_on(InProcess::open(store)).unwrap()
    };
    println!("{}", assert_equal("on disk", store, 4));
}

/// Every request goes to another server than the one before.
#[cfg(feature = "postgres")]
#[test]
fn random_sequences_over_three_servers_answer_as_a_naive_table_does() {
    let Some(url) = crate::support::shared_store::url_or_say("sequences") else { return };
    let servers = [Server::on_store(&url), Server::on_store(&url), Server::on_store(&url)];
    let turns = Turns {
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        servers: servers.each_ref().map(|server| Http::new(server.address())).into(),
        turn: Cell::new(0),
    };
    let database = || {
        turns.drop_table();
        &turns
    };
    println!("{}", assert_equal("three servers", database, 15));
}

/// Servers over one store, asked in turn.
#[cfg(feature = "postgres")]
struct Turns {
    runtime: tokio::runtime::Runtime,
    servers: Vec<Http>,
    turn: Cell<usize>,
}

#[cfg(feature = "postgres")]
impl Turns {
    fn ask(&self, operation: &str, body: &Value) -> Answer {
        let turn = self.turn.get();
        self.turn.set((turn + 1) % self.servers.len());
        self.runtime.block_on(self.servers[turn].call(operation, body))
    }

    /// Drops the table of the sequence before.
    fn drop_table(&self) {
        let table = json!({"TableName": "tab"});
        self.ask("DeleteTable", &table);
        while matches!(self.ask("DescribeTable", &table), Answer::Good(_)) {}
    }
}

#[cfg(feature = "postgres")]
impl Api for &Turns {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        self.ask(operation, body)
    }
}

#[test]
fn a_planted_fault_is_found_and_shrunk_to_a_few_requests() {
    let planted = [
        Planted::Unconditional,
        Planted::Backwards,
        Planted::ShortBatch,
        Planted::Unfiltered,
        Planted::Replaced,
    ];
    for planted in planted {
        let Err((reason, ops)) =
            run(in_memory, (SEQUENCES_OF_PLANTED, STEPS_OF_PLANTED), planted, &Cell::new(0))
        else {
            panic!("{planted:?} was not found");
        };
        println!("{planted:?} shows after {} requests: {reason}", ops.len());
        assert!(ops.len() <= 5, "{planted:?} was not shrunk: {ops:#?}");
    }
}
