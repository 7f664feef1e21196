//! Faults on request between two servers that both simulate: lag, cuts from either side, and what is refused.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::db::{Db, replica_update};
use crate::pair::{HERE, PLAIN, Pair, TABLE, THERE};
use crate::support::signing::Ask;

const PATH: &str = "/_keywright/simulation";

fn simulating() -> Pair {
    let mut pair = Pair::prepare([PLAIN, PLAIN]);
    for own in 0..2 {
        pair.set_arguments(own, &["--simulate"]);
        pair.start_server(own);
    }
    pair.db(0).create(TABLE);
    pair.db(0).replicate(TABLE, THERE);
    pair.db(1).wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    pair
}

fn call(db: &mut Db, method: &str, path: &str, body: &str) -> (u16, Value) {
    let headers = vec![("x-keywright", "simulation"), ("content-type", "application/json")];
    db.send(&Ask { service: "dynamodb", method, path, headers, body }).unwrap()
}

fn simulate(db: &mut Db, rules: &Value) {
    let (status, answer) = call(db, "POST", PATH, &rules.to_string());
    assert_eq!(status, 200, "{rules}: {answer}");
}

fn heal(db: &mut Db) {
    assert_eq!(call(db, "DELETE", PATH, "").0, 200);
}

#[test]
fn a_cut_that_one_server_simulates_holds_both_directions_until_it_ends() {
    let pair = simulating();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    simulate(&mut here, &json!({"links": [{"from": "*", "to": "*", "partition": true}]}));
    here.put(TABLE, "a", 1);
    there.put(TABLE, "b", 2);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!((here.get(TABLE, "b"), there.get(TABLE, "a")), (None, None));
    let shown = here.replica(TABLE);
    assert!(shown["error"].is_null() && shown["held"] == true, "a simulated cut is no error: {shown}");
    let (_, quiet) = call(&mut here, "POST", &format!("{PATH}/wait-quiet"), r#"{"timeout_ms": 100}"#);
    assert_eq!(quiet["quiet"], false, "{quiet}");
    heal(&mut here);
    here.wait("it is healed here", |db| db.get(TABLE, "b") == Some(2));
    there.wait("it is healed there", |db| db.get(TABLE, "a") == Some(1));
    for db in [&mut here, &mut there] {
        let (_, quiet) = call(db, "POST", &format!("{PATH}/wait-quiet"), "{}");
        assert_eq!(quiet["quiet"], true, "{quiet}");
    }
}

#[test]
fn a_cut_by_the_receiver_ends_by_itself() {
    let pair = simulating();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    simulate(&mut there, &json!({"regions": [{"region": THERE, "pause": true, "for_ms": 1_500}]}));
    here.put(TABLE, "a", 1);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(there.get(TABLE, "a"), None);
    there.wait("the pause has ended", |db| db.get(TABLE, "a") == Some(1));
}

#[test]
fn changes_to_the_other_server_are_as_late_as_is_simulated() {
    let pair = simulating();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    simulate(&mut here, &json!({"links": [{"from": HERE, "to": THERE, "latency_ms": 1_500}]}));
    let begun = Instant::now();
    here.put(TABLE, "a", 1);
    there.put(TABLE, "b", 2);
    here.wait("the way back is as fast as ever", |db| db.get(TABLE, "b") == Some(2));
    assert!(begun.elapsed() < Duration::from_millis(1_400), "{:?}", begun.elapsed());
    there.wait("it arrives", |db| db.get(TABLE, "a") == Some(1));
    assert!(begun.elapsed() >= Duration::from_millis(1_500), "{:?}", begun.elapsed());
    for number in 0..300 {
        here.put(TABLE, &format!("k{}", number % 150), number);
    }
    heal(&mut here);
    pair.wait_quiet(TABLE);
    assert_eq!(here.scan(TABLE, None), there.scan(TABLE, None));
}

#[test]
fn what_only_the_other_server_could_do_is_refused() {
    let pair = simulating();
    let mut here = pair.db(0);
    for (rules, part) in [
        (json!({"links": [{"from": THERE, "to": HERE, "latency_ms": 5}]}), "its own server"),
        (json!({"links": [{"from": HERE, "to": THERE, "duplicate": 1}]}), "leave out duplicate"),
        (json!({"links": [{"from": "*", "to": "*", "duplicate": 1}]}), "leave out duplicate"),
        (json!({"tables": [{"table": TABLE, "step": true}]}), "leave out step"),
        (json!({"regions": [{"region": THERE, "clock_ms": 5}]}), "clock_ms"),
        (json!({"replicas": [{"table": TABLE, "region": HERE, "status": "REGION_DISABLED"}]}), "a status"),
        (json!({"regions": [{"region": "us-est-1", "pause": true}]}), "region `us-est-1`"),
        (json!({"tables": [{"table": "shop-crats", "mrsc_conflict": 1}]}), "no table `shop-crats`"),
    ] {
        let (status, answer) = call(&mut here, "POST", PATH, &rules.to_string());
        assert_eq!(status, 400, "{rules}: {answer}");
        assert!(answer.to_string().contains(part), "{rules}: {answer}");
    }
    let (_, shown) = call(&mut here, "GET", PATH, "");
    assert_eq!((&shown["links"], &shown["tables"]), (&json!([]), &json!([])), "nothing of it is simulated");
    let wish = json!({"table": TABLE, "from": HERE, "to": THERE, "count": 1}).to_string();
    let (status, answer) = call(&mut here, "POST", &format!("{PATH}/deliver"), &wish);
    assert_eq!(status, 400, "{answer}");
    assert!(answer.to_string().contains("another server"), "{answer}");
}

#[test]
fn a_server_that_simulates_and_one_that_does_not_refuse_each_other() {
    let mut pair = Pair::prepare([PLAIN, PLAIN]);
    pair.set_arguments(0, &["--simulate"]);
    pair.start_server(0);
    pair.start_server(1);
    let mut here = pair.db(0);
    here.create(TABLE);
    let said = here.refusal("UpdateTable", &replica_update(TABLE, "Create", THERE));
    assert!(said.contains("start both with --simulate, or none"), "{said}");
    assert!(pair.stop(1).contains("start both with --simulate, or none"), "it logs that");
}
