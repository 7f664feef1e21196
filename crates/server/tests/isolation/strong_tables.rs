//! A strongly consistent table is linearizable, of three regions with one client in each, and of two regions
//! and a witness, which has no copy.
//! `KEYWRIGHT_STRONG_HISTORIES` sets the number of histories.

use keywright_engine::{Chance, RegionRule, Simulation, TableRule};
use keywright_store::faulty::{Faults, FaultyStore};
use serde_json::{Value, json};

use super::histories::{
    CLIENTS, Event, FAILING, INTERLEAVED, KEYS, Op, STEPS, Simulated, answers, create_table, interleave_ops,
    is_linearizable,
};
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::{Answer, Api, block_on};

const REGIONS: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];
const HISTORIES_DEFAULT: u64 = 400;

/// A client of one region. It reads as its requests say, or as this says.
#[derive(Clone)]
struct Regional {
    database: Simulated,
    region: &'static str,
    reads_eventually: bool,
}

impl Api for Regional {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        let mut body = body.clone();
        if self.reads_eventually && operation == "GetItem" {
            body["ConsistentRead"] = json!(false);
        }
        let here = self.database.now().in_region(self.region);
        self.database.until_loss(here.call(operation, &body)).await
    }
}

/// What a strongly consistent table takes: no transactions.
fn random_op(dice: &mut Dice) -> Op {
    let key = usize::try_from(dice.roll(KEYS.try_into().unwrap())).unwrap();
    let register = |dice: &mut Dice| Some(dice.roll(4)).filter(|value| *value > 0);
    let value = dice.roll(3) + 1;
    match dice.roll(9) {
        0..3 => Op::Get(key),
        3 => Op::Put(key, value),
        4..6 => Op::PutIf(key, register(dice), value),
        6..8 => Op::Add(key),
        _ => Op::Delete(key),
    }
}

/// How a history is recorded.
#[derive(Clone, Copy)]
struct Way {
    faults: Faults,
    crashes: bool,
    /// How often a write is refused as if another region wrote its item.
    conflict_millionths: u32,
    /// The last region is cut off at some time, and reads eventually.
    reads_lagging_copy: bool,
    /// The last of the regions is a witness: clients are in the others.
    witness: bool,
}

const PLAIN: Way = Way {
    faults: INTERLEAVED,
    crashes: false,
    conflict_millionths: 0,
    reads_lagging_copy: false,
    witness: false,
};

impl Way {
    /// The regions that have the table.
    fn regions(&self) -> &'static [&'static str] {
        if self.witness { &REGIONS[..REGIONS.len() - 1] } else { &REGIONS }
    }
}

/// Makes the table strongly consistent.
fn make_strong(database: &Simulated, way: Way) {
    let creates: Vec<Value> =
        way.regions()[1..].iter().map(|region| json!({"Create": {"RegionName": region}})).collect();
    let mut strong =
        json!({"TableName": "tab", "ReplicaUpdates": creates, "MultiRegionConsistency": "STRONG"});
    if way.witness {
        let witness = json!({"Create": {"RegionName": REGIONS[REGIONS.len() - 1]}});
        strong["GlobalTableWitnessUpdates"] = json!([witness]);
    }
    block_on(database.call("UpdateTable", &strong)).good();
}

fn record(seed: u64, way: Way) -> Vec<Event> {
    let store = FaultyStore::new(seed, Faults::NONE);
    let database = Simulated::open(&store);
    block_on(database.call("CreateTable", &create_table())).good();
    make_strong(&database, way);
    let regions = way.regions();
    let last = regions[regions.len() - 1];
    let simulate = |simulation: Simulation| database.now().simulate(simulation);
    let conflict = Chance::of_millionths(way.conflict_millionths).unwrap();
    let rule = TableRule { conflict, ..TableRule::none("tab".to_owned()) };
    let conflicts = Simulation { tables: vec![rule], ..Simulation::default() };
    simulate(conflicts.clone());
    store.set_faults(way.faults);
    let api = |client: usize| {
        let region = regions[client % regions.len()];
        let reads_eventually = way.reads_lagging_copy && region == last;
        Regional { database: database.clone(), region, reads_eventually }
    };
    interleave_ops(seed, random_op, api, |dice| {
        if way.crashes && dice.roll(60) == 0 {
            store.crash();
            store.set_faults(Faults::NONE);
            database.reopen(&store);
            simulate(conflicts.clone());
            store.set_faults(way.faults);
        }
        if way.reads_lagging_copy && dice.roll(10) == 0 {
            let region = last.to_owned();
            let cut = RegionRule { region, pause: false, clock_ms: 0, isolated_ms: Some(0), until_ms: None };
            simulate(Simulation { regions: vec![cut], ..Simulation::default() });
        }
    })
}

#[test]
fn regions_of_a_strongly_consistent_table_are_linearizable() {
    let histories = wanted("KEYWRIGHT_STRONG_HISTORIES", HISTORIES_DEFAULT);
    for (name, way) in [
        ("interleaved", PLAIN),
        ("conflicts between regions", Way { conflict_millionths: 200_000, ..PLAIN }),
        ("failing store and losses of power", Way { faults: FAILING, crashes: true, ..PLAIN }),
        (
            "two regions and a witness",
            Way { faults: FAILING, crashes: true, conflict_millionths: 100_000, witness: true, ..PLAIN },
        ),
    ] {
        let mut answered = 0;
        for seed in 0..histories {
            let history = record(seed, way);
            answered += answers(&history);
            assert!(is_linearizable(&history), "{name}, seed {seed}: {history:#?}");
        }
        // What is refused or of unknown outcome fits any history, so most requests must have been answered.
        let asked = histories * CLIENTS * STEPS;
        assert!(u64::try_from(answered).unwrap() * 10 >= asked * 7, "{name}: {answered} answers of {asked}");
        println!("{name}: {histories} histories, {answered} answers, all linearizable");
    }
}

#[test]
fn the_checker_finds_a_region_that_reads_a_lagging_copy() {
    let tries = 200;
    for witness in [false, true] {
        let way = Way { reads_lagging_copy: true, witness, ..PLAIN };
        let found = (0..tries).find(|seed| !is_linearizable(&record(*seed, way)));
        let found = found.expect("reads of a lagging copy went unnoticed");
        println!("lagging copy, witness {witness}: found in history {found}");
    }
}
