//! A replica of a large table is created while clients write: `KEYWRIGHT_REPLICA_ITEMS` sets its size.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::db::{Db, HERE, TABLE, THERE};
use crate::support::Server;
use crate::support::dice::wanted;
use crate::writers::{Client, Writers, check};

#[test]
fn a_replica_that_is_made_under_writes_and_deletes_is_equal() {
    let items = wanted("KEYWRIGHT_REPLICA_ITEMS", 5_000);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
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
    let loaded = begun.elapsed();
    let client = |number: usize| Client::new(&number.to_string(), HERE, 2_000);
    let writers = Writers::start(server.address(), TABLE, (0..4).map(client).collect(), 3);
    let (begun, before) = (Instant::now(), writers.count());
    here.change_replica(TABLE, "Create", THERE);
    let mut deleted = 0;
    while !here.is_settled(TABLE) {
        // Items that the pass may have sent, or not yet.
        let key = json!({"k": {"S": format!("old{}", deleted * 7 % items)}});
        here.call("DeleteItem", &json!({"TableName": TABLE, "Key": key}));
        deleted += 1;
        assert!(begun.elapsed() < Duration::from_hours(1), "the replica is not filled");
    }
    let (filled, written) = (begun.elapsed(), writers.count() - before);
    let mut clients = writers.stop();
    let begun = Instant::now();
    let found = here.assert_equal(TABLE);
    let verified = begun.elapsed();
    check(&mut clients, &mut [here, Db::of(&server, THERE)], TABLE);
    println!(
        "{items} items, loaded in {loaded:.1?}; replica active after {filled:.1?} under {written} writes ({} in a \
         second) and {deleted} deletes; {} compared in {verified:.1?}",
        written / filled.as_secs().max(1),
        found["replicas"][0]["items"]
    );
}
