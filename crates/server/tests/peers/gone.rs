//! A server that is gone, for a while or for good, and a command that has nothing to do.

use std::time::Duration;

use serde_json::json;

use crate::db::global;
use crate::pair::{HERE, Pair, TABLE, THERE};

#[test]
fn a_replica_whose_server_is_gone_for_good_is_removed_without_it() {
    let mut pair = Pair::start();
    pair.db(0).create(TABLE);
    pair.db(0).replicate(TABLE, THERE);
    pair.db(0).put(TABLE, "a", 1);
    pair.stop(1);
    pair.stop(0);
    std::fs::write(pair.path("server-0.toml"), "").unwrap();
    pair.start_server(0);
    let mut here = pair.db(0);
    let said = here.replica(TABLE)["error"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("no [[peer]] names the server of region eu-west-1"), "{said}");
    here.change_replica(TABLE, "Delete", THERE);
    assert!(here.replicas(TABLE).is_empty());
    assert_eq!(here.get(TABLE, "a"), Some(1));
    here.wait("it is an ordinary table", |db| {
        db.try_call("DeleteTable", &json!({"TableName": TABLE})).unwrap().0 == 200
    });
    here.wait("it is gone", |db| db.status(TABLE).is_empty());
}

#[test]
fn a_table_that_waits_for_a_server_that_is_away_does_not_fill_the_log() {
    let other = "shop-orders";
    let mut pair = Pair::start();
    for table in [TABLE, other] {
        pair.db(0).create(table);
        pair.db(0).replicate(table, THERE);
        pair.wait_quiet(table);
    }
    pair.stop(1);
    let mut here = pair.db(0);
    here.call("DeleteTable", &json!({"TableName": other}));
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(here.status(other), "DELETING");
    let log = pair.stop(0);
    let count = |part: &str| log.matches(part).count();
    // Not each second: tries are further and further apart, and a reason that repeats is not logged again.
    assert!((1..=4).contains(&count("server is not reached")), "{log}");
    assert_eq!(count("answers again"), 0, "{log}");
}

#[test]
fn a_table_that_is_not_lost_rejoins_nothing_and_leaves_no_file() {
    let pair = Pair::start();
    pair.db(0).create(TABLE);
    pair.db(0).replicate(TABLE, THERE);
    let file = pair.path("discarded.jsonl");
    for _ in 0..2 {
        let (status, said) =
            global(pair.server(0), HERE, &["rejoin", TABLE, "--discard", file.to_str().unwrap()]);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("is lost to no other replica"), "{said}");
        assert!(!file.exists());
    }
    let (_, said) = global(pair.server(0), HERE, &["rejoin", TABLE]);
    assert!(said.contains("pass --keep or --discard FILE"), "{said}");
    let (_, said) = global(pair.server(0), "us-west-2", &["status"]);
    assert!(said.contains("no tables with replicas in us-west-2") && said.contains(HERE), "{said}");
}
