//! A way that is cut under writes of both sides, and a server that is away: both acknowledge all their
//! writes, and are equal afterwards.

use std::time::Duration;

use crate::db::global;
use crate::pair::{HERE, Pair, TABLE, THERE};
use crate::support::dice::wanted;
use crate::writers::{Client, Writers, check};

/// How long the way is cut. `KEYWRIGHT_CUT_SECONDS` sets another time; with `--long` it is ten minutes.
fn cut_seconds() -> u64 {
    wanted("KEYWRIGHT_CUT_SECONDS", if wanted("KEYWRIGHT_TEST_LONG", 1) > 1 { 600 } else { 3 })
}

#[test]
fn both_sides_take_writes_during_a_cut_and_are_equal_after_it() {
    let pair = Pair::start();
    let mut here = pair.db(0);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    pair.db(1).wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let writers = Writers::start(&pair, (0..4).map(Client::new).collect(), 5);
    std::thread::sleep(Duration::from_millis(300));
    pair.roads.iter().for_each(crate::road::Road::cut);
    std::thread::sleep(Duration::from_secs(cut_seconds()));
    // The server has closed a connection that was idle meanwhile.
    let mut here = pair.db(0);
    here.wait("the backlog is shown with its reason", |db| {
        let replica = db.replica(TABLE);
        replica["backlog"].as_u64().unwrap() > 0 && replica["error"].as_str().is_some()
    });
    assert_eq!(here.replicas(TABLE), [(THERE.to_owned(), "ACTIVE".to_owned())]);
    for own in 0..2 {
        pair.roads[own].lead_to(pair.server(own).address());
    }
    let mut clients = writers.stop();
    let acknowledged: Vec<u64> = clients.iter().map(|client| client.acknowledged).collect();
    assert!(clients.iter().all(Client::knows_all), "a write was not acknowledged");
    assert!(acknowledged.iter().all(|count| *count > 20), "each went on all the time: {acknowledged:?}");
    check(&pair, &mut clients);
    for (own, region) in [(0, HERE), (1, THERE)] {
        let (status, said) = global(pair.server(own), region, &["verify", TABLE]);
        assert!(status == Some(0) && said.contains("equal up to"), "{said}");
    }
    println!("cut for {} s; {acknowledged:?} writes acknowledged, both sides equal", cut_seconds());
    pair.db(0).wait("no error is left", |db| db.replica(TABLE)["error"].is_null());
}

#[test]
fn a_server_that_was_away_gets_what_it_lacks_and_one_that_starts_alone_serves() {
    let mut pair = Pair::start();
    let mut here = pair.db(0);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    pair.db(1).wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    pair.db(1).put(TABLE, "there", 1);
    pair.wait_quiet(TABLE);
    pair.stop(1);
    for number in 0..500 {
        here.put(TABLE, &format!("k{}", number % 90), number);
    }
    pair.stop(0);
    pair.start_server(0);
    assert_eq!(pair.db(0).get(TABLE, "there"), Some(1));
    pair.start_server(1);
    pair.wait_quiet(TABLE);
    let items = pair.db(0).scan(TABLE, None);
    assert_eq!(items.len(), 91);
    assert_eq!(pair.db(1).scan(TABLE, None), items);
}
