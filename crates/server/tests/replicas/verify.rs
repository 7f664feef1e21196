//! The command, and comparisons while clients write.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::db::{Db, HERE, TABLE, THERE, global};
use crate::support::Server;
use crate::support::management::{get, sample};
use crate::writers::{Client, Writers, check};

fn start(more: &[&str]) -> (Server, Db, Db) {
    let server = Server::start(&[&["--in-memory", "--simulate"], more].concat());
    let mut here = Db::of(&server, HERE);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    let there = Db::of(&server, THERE);
    (server, here, there)
}

#[test]
fn the_command_says_that_replicas_are_equal_or_that_changes_are_on_their_way() {
    let (server, mut here, mut there) = start(&[]);
    here.put(TABLE, "a", 1);
    here.put(TABLE, "b", 1);
    there.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"k": {"S": "b"}}}));
    let (status, said) = global(&server, THERE, &["verify", TABLE]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.starts_with("Carts in eu-west-1\n    us-east-1: equal up to "), "{said}");
    let (_, said) = global(&server, HERE, &["status"]);
    assert!(said.contains("    equal, verified at "), "{said}");
    here.cut(true);
    // Concurrent writes: the later one wins once both have met.
    here.put(TABLE, "a", 2);
    there.put(TABLE, "a", 3);
    let begun = here.own("/_keywright/global-tables", &json!({"verify": TABLE, "repair": true}));
    assert_eq!((&begun["verdict"], &begun["repairs"]), (&json!("running"), &json!(true)));
    std::thread::sleep(Duration::from_millis(500));
    let again = here.own("/_keywright/global-tables", &json!({"verify": TABLE}));
    assert_eq!(again["begun"], begun["begun"], "the one that runs goes on");
    here.cut(false);
    let (status, said) = global(&server, HERE, &["verify", TABLE, "--json"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains(r#""verdict":"equal""#), "{said}");
    let (_, metrics) = get(&server, "/metrics");
    let equal = sample(&metrics, r#"keywright_replica_verifications_total{outcome="equal"}"#);
    assert!(equal >= Some(2.0), "{equal:?}");
    assert_eq!(sample(&metrics, "keywright_replica_differences"), Some(0.0));
    let (status, said) = global(&server, HERE, &["verify", "None"]);
    assert!(status == Some(1) && said.contains("no table None"), "{said}");
    here.create("Alone");
    let (status, said) = global(&server, HERE, &["verify", "Alone"]);
    assert!(status == Some(1) && said.contains("The table Alone has no replicas"), "{said}");
}

#[test]
fn while_clients_write_in_both_regions_there_is_no_false_alarm() {
    let seconds = crate::support::dice::wanted("KEYWRIGHT_VERIFY_SECONDS", 4);
    let (server, mut here, there) = start(&[]);
    let link =
        json!({"from": "*", "to": "*", "latency_ms": 20, "jitter_ms": 60, "reorder": 0.2, "duplicate": 0.2});
    here.simulate(&json!({"links": [link]}));
    let client = |number: usize| Client::new(&number.to_string(), [HERE, THERE][number % 2], 40);
    let writers = Writers::start(server.address(), TABLE, (0..4).map(client).collect(), 5);
    let begun = Instant::now();
    let mut comparisons = 0;
    while comparisons < 2 || begun.elapsed() < Duration::from_secs(seconds) {
        here.assert_equal(TABLE);
        comparisons += 1;
    }
    let written = writers.count();
    let mut clients = writers.stop();
    here.assert_equal(TABLE);
    check(&mut clients, &mut [here, there], TABLE);
    assert!(written > 100, "{comparisons} comparisons, {written} writes");
    println!("{comparisons} comparisons during {written} writes in {seconds} s, all equal");
}
