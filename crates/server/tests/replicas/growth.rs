//! A replica of a large table is created while clients write: `KEYWRIGHT_REPLICA_ITEMS` sets its size,
//! `KEYWRIGHT_WRITERS` how many clients there are, `KEYWRIGHT_WRITES_PER_SECOND` how many writes they send
//! together at most, and `KEYWRIGHT_BINARY` another build of the server.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::db::{Db, HERE, TABLE, THERE};
use crate::support::Server;
use crate::support::dice::wanted;
use crate::writers::{Client, Writers, check};

/// The server, of another build if that is named.
fn server_on(folder: &Path) -> Server {
    if std::env::var_os("KEYWRIGHT_BINARY").is_none() {
        return Server::on(folder);
    }
    let mut shell = Command::new("bash");
    // The path of the usual build becomes `$0`.
    shell.args(["-c", "exec \"$KEYWRIGHT_BINARY\" \"$@\""]);
    Server::under(shell, &["--data", folder.to_str().unwrap()]).unwrap()
}

fn key_of(number: u64) -> Value {
    json!({"k": {"S": format!("old{number}")}})
}

/// How many of these items there are.
fn count_of(db: &mut Db, numbers: &[u64]) -> usize {
    let found = numbers.chunks(100).map(|some| {
        let keys: Vec<Value> = some.iter().map(|number| key_of(*number)).collect();
        let answer = db.call("BatchGetItem", &json!({"RequestItems": {TABLE: {"Keys": keys}}}));
        assert_eq!(answer["UnprocessedKeys"], json!({}));
        answer["Responses"][TABLE].as_array().unwrap().len()
    });
    found.sum()
}

#[test]
fn a_replica_that_is_made_under_writes_and_deletes_is_equal() {
    let items = wanted("KEYWRIGHT_REPLICA_ITEMS", 5_000);
    let folder = tempfile::tempdir().unwrap();
    let server = server_on(folder.path());
    let mut here = Db::of(&server, HERE);
    here.create(TABLE);
    let begun = Instant::now();
    let numbers: Vec<u64> = (0..items).collect();
    for some in numbers.chunks(25) {
        let put = |number: &u64| {
            let item = json!({"k": {"S": format!("old{number}")}, "g": {"S": "g"}, "n": {"N": "1"},
                "text": {"S": "x".repeat(100)}});
            json!({"PutRequest": {"Item": item}})
        };
        let puts: Vec<_> = some.iter().map(put).collect();
        here.call("BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}));
    }
    println!("{items} items, loaded in {:.1?}", begun.elapsed());
    let count = wanted("KEYWRIGHT_WRITERS", 4);
    let rate = wanted("KEYWRIGHT_WRITES_PER_SECOND", u64::MAX);
    let every = Duration::from_nanos(count * 1_000_000_000 / rate);
    let client = |number: u64| Client::new(&number.to_string(), HERE, 2_000).every(every);
    let clients = (0..count).map(client).collect();
    let writers = Writers::start(server.address(), TABLE, clients, 3);
    let (begun, before) = (Instant::now(), writers.count());
    here.change_replica(TABLE, "Create", THERE);
    let mut deleted = Vec::new();
    while !here.is_settled(TABLE) {
        // Items that the pass may have sent, or not yet.
        let number = u64::try_from(deleted.len()).unwrap() * 7 % items;
        here.call("DeleteItem", &json!({"TableName": TABLE, "Key": key_of(number)}));
        deleted.push(number);
        assert!(begun.elapsed() < Duration::from_hours(1), "the replica is not filled");
    }
    let (filled, written) = (begun.elapsed(), u128::from(writers.count() - before));
    println!(
        "replica active after {filled:.1?} under {written} writes ({} in a second) and {} deletes",
        written * 1000 / filled.as_millis().max(1),
        deleted.len()
    );
    let mut clients = writers.stop();
    let begun = Instant::now();
    let found = here.assert_equal(TABLE);
    println!("{} compared in {:.1?}", found["replicas"][0]["items"], begun.elapsed());
    let mut regions = [here, Db::of(&server, THERE)];
    check(&mut clients, &mut regions, TABLE);
    for db in &mut regions {
        assert_eq!(count_of(db, &deleted), 0, "a deleted item is in {}", db.region);
    }
}
