//! Losses of power of a server that receives: what it has acknowledged to the sender is there afterwards, so
//! the sender's place is never ahead of it. `support/disk.rs` derives the folders that a disk can hold.
//!
//! A client writes at the sender, waits until the sender knows that everything has arrived, and leaves a mark
//! at the receiver. So the recording of the receiver says at which line what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::db::{Db, item};
use crate::pair::{Pair, TABLE, THERE};
use crate::support::dice::{Dice, wanted};
use crate::support::disk::{Forgotten, Model, Recording};
use crate::support::folders;
use crate::support::history::History;
use crate::support::in_process::{Answer, Api as _, InProcess, block_on};
use crate::support::strace::{self, Trace};

/// `KEYWRIGHT_POWER_LOSSES` sets another number; with `--long` there are twenty times as many, or more.
const LOSSES_DEFAULT: u64 = 40;
/// The last moment of the recording, at which the sender is killed too: a server is started for each.
const LAST_LOSSES: u64 = 2;
const ROUNDS: u64 = 25;
const WRITES_PER_ROUND: u64 = 6;
const KEYS: u64 = 30;
/// A table of the receiver alone.
const MARKS: &str = "marks";

/// The items after each round.
type States = Vec<BTreeMap<String, Option<u64>>>;

/// A recorded receiver, and what was sent to it.
struct Life {
    pair: Pair,
    recording: Recording,
    history: History,
    states: States,
    /// What each round has written, also what it has overwritten itself.
    writes: Vec<Vec<(String, Option<u64>)>>,
}

fn name_of(key: u64) -> String {
    format!("k{key}")
}

fn put_mark(db: &mut Db, round: u64) {
    let mark = json!({"pk": {"S": "mark"}, "sk": {"S": "0"}, "generation": {"N": round.to_string()}});
    db.call("PutItem", &json!({"TableName": MARKS, "Item": mark}));
}

fn create_marks(db: &mut Db) {
    let body = json!({
        "TableName": MARKS,
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    db.call("CreateTable", &body);
    db.wait("the table is active", |db| db.status(MARKS) == "ACTIVE");
}

/// Records a receiver that is killed after the last round, and the sender just then.
fn record(dice: &mut Dice) -> Life {
    let mut pair = Pair::prepare([crate::pair::PLAIN; 2]);
    let base = pair.path("receiver");
    std::fs::create_dir(&base).unwrap();
    let mut recording = Recording::begin(&base);
    let trace = pair.path("trace");
    pair.set_data(1, "receiver/data");
    pair.start_server(0);
    pair.start_server_under(1, strace::recorder(&trace));
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    create_marks(&mut there);
    let mut states: States = vec![(0..KEYS).map(|key| (name_of(key), None)).collect()];
    let mut writes = vec![Vec::new()];
    for round in 1..=ROUNDS {
        let mut state = states.last().unwrap().clone();
        let mut of_round = Vec::new();
        for write in 0..WRITES_PER_ROUND {
            let key = name_of(dice.roll(KEYS));
            let left = (dice.roll(4) > 0).then_some(round * WRITES_PER_ROUND + write);
            match left {
                Some(number) => here.put(TABLE, &key, number),
                None => {
                    here.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"k": {"S": key}}}));
                }
            }
            state.insert(key.clone(), left);
            of_round.push((key, left));
        }
        states.push(state);
        writes.push(of_round);
        here.wait("everything is sent", |db| db.replica(TABLE)["backlog"] == 0);
        put_mark(&mut there, round);
    }
    pair.kill_under(1);
    pair.kill(0);
    let trace = Trace::read(&trace);
    recording.follow(&trace);
    Life { pair, recording, history: History::read(&trace), states, writes }
}

impl Life {
    /// The last round whose mark was acknowledged before this line.
    fn round(&self, line: usize) -> usize {
        let marks = self.history.acknowledged_before(line);
        usize::try_from(marks.into_values().max().unwrap_or_default()).unwrap()
    }

    /// What is wrong in the folder of a receiver that has lost its power before this line.
    fn judge(&self, base: &Path, line: usize) -> Result<(), String> {
        let round = self.round(line);
        let store = folders::open(&base.join("data")).map_err(|fault| fault.to_string())?;
        let judged = block_on(async {
            let api = InProcess::open(store.clone()).await?.in_region(THERE);
            let found = match api.call("Scan", &json!({"TableName": TABLE})).await {
                Answer::Good(page) => page["Items"].as_array().unwrap().clone(),
                _ if round == 0 => return Ok(()),
                other => return Err(format!("the replica is not read: {other:?}")),
            };
            self.compare(&found, round)
        });
        store.close();
        judged
    }

    /// Each item is as it was after this round, or as a later one left it.
    fn compare(&self, found: &[Value], round: usize) -> Result<(), String> {
        let number = |item: &Value| item["n"]["N"].as_str().unwrap().parse::<u64>().unwrap();
        let found: BTreeMap<&str, u64> =
            found.iter().map(|item| (item["k"]["S"].as_str().unwrap(), number(item))).collect();
        let later = self.writes[round + 1..].iter().flatten();
        let mut possible: BTreeMap<&String, BTreeSet<Option<u64>>> = BTreeMap::new();
        for (key, left) in self.states[round].iter().chain(later.map(|(key, left)| (key, left))) {
            possible.entry(key).or_default().insert(*left);
        }
        for (key, possible) in possible {
            let own = found.get(key.as_str()).copied();
            if !possible.contains(&own) {
                return Err(format!(
                    "after round {round} {key} is {own:?}, and should be one of {possible:?}"
                ));
            }
        }
        Ok(())
    }

    fn faults(&self, losses: u64, dice: &mut Dice) -> Vec<String> {
        let mut faults = Vec::new();
        for number in 0..losses {
            let model = if number.is_multiple_of(2) { Model::Strict } else { Model::Journaled };
            let line = self.recording.moment(dice);
            let base = tempfile::tempdir().unwrap();
            self.recording.image(line, model, dice).write_to(base.path());
            // A folder that is not there yet holds nothing.
            if self.round(line) == 0 && !base.path().join("data").exists() {
                continue;
            }
            if let Err(fault) = self.judge(base.path(), line) {
                faults.push(format!("power lost before line {line} of {}: {fault}", self.recording.lines));
            }
        }
        faults
    }
}

#[test]
fn a_receiver_that_loses_its_power_has_what_it_acknowledged_and_the_sender_goes_on_behind_it() {
    if !strace::is_allowed("losses of power of a receiver") {
        return;
    }
    let long = if wanted("KEYWRIGHT_TEST_LONG", 1) > 1 { LOSSES_DEFAULT * 20 } else { 0 };
    let losses = wanted("KEYWRIGHT_POWER_LOSSES", LOSSES_DEFAULT).max(long);
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let mut life = record(&mut dice);
    let marks = life.round(usize::MAX);
    assert_eq!(u64::try_from(marks).unwrap(), ROUNDS, "each mark was acknowledged");
    let faults = life.faults(losses, &mut dice);
    assert!(faults.is_empty(), "{} of {losses} states are wrong, the first: {}", faults.len(), faults[0]);
    let careless = life.recording.without_syncs(Forgotten::Journals);
    let sound = std::mem::replace(&mut life.recording, careless);
    assert!(!life.faults(losses, &mut dice).is_empty(), "a receiver that leaves out syncs is found out");
    life.recording = sound;
    for number in 0..LAST_LOSSES * long.min(5) {
        go_on(&mut life, number, &mut dice);
    }
    println!("{losses} losses of power of a receiver: all is well");
}

/// Both servers lost their power at the end of the recording. They go on where they were: nothing is sent
/// that the receiver has.
fn go_on(life: &mut Life, number: u64, dice: &mut Dice) {
    let Life { pair, recording, states, .. } = life;
    let folder = format!("image-{number}");
    let model = if number.is_multiple_of(2) { Model::Strict } else { Model::Journaled };
    std::fs::create_dir(pair.path(&folder)).unwrap();
    recording.image(recording.lines, model, dice).write_to(&pair.path(&folder));
    pair.set_data(1, &format!("{folder}/data"));
    // The sender as it was at that moment.
    let sender = [pair.path("data-0"), pair.path(&folder).join("sender")];
    assert!(Command::new("cp").arg("-r").args(sender).status().unwrap().success());
    pair.set_data(0, &format!("{folder}/sender"));
    pair.start_server(1);
    pair.start_server(0);
    pair.db(0).put(TABLE, "after", number);
    pair.wait_quiet(TABLE);
    let sent = pair.db(0).replica(TABLE)["sent"].clone();
    let (there, here) = (pair.db(1).scan(TABLE, None), pair.db(0).scan(TABLE, None));
    assert_eq!(there, here);
    assert_eq!(there["after"], item("after", number));
    let present = states.last().unwrap().values().flatten().count();
    assert!(present > 10, "there are items that could be sent again: {present}");
    // What was sent last may be sent again: its answer is of no consequence.
    assert!(sent.as_u64().unwrap() <= WRITES_PER_ROUND + 1, "the sender's place is ahead: {sent} sent again");
    pair.kill(0);
    pair.kill(1);
}
