//! Members on several servers are compared and repaired by `keywright global verify`.

use crate::db::global;
use crate::pair::{HERE, Pair, TABLE, THERE};
use crate::trio::Trio;
use crate::writers::{Client, Writers};

#[test]
fn two_servers_are_equal_also_while_clients_write_to_both() {
    let pair = Pair::start();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    for number in 0..2_500 {
        here.put(TABLE, &format!("old-{number}"), number);
    }
    here.replicate(TABLE, THERE);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let (status, said) = global(pair.server(0), HERE, &["verify", TABLE]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains(THERE) && said.contains("equal up to") && said.contains("2500 items"), "{said}");
    let writers = Writers::start(&pair, (0..4).map(Client::new).collect(), 3);
    for (own, region) in [(0, HERE), (1, THERE), (0, HERE)] {
        let (status, said) = global(pair.server(own), region, &["verify", TABLE]);
        assert_eq!(status, Some(0), "no false alarm in {region}: {said}");
    }
    writers.stop();
    let (status, said) = global(pair.server(1), THERE, &["rejoin", TABLE, "--keep"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("is lost to no other replica"), "{said}");
}

#[test]
fn a_write_that_only_one_of_two_has_reaches_the_other_once_its_server_is_named_no_more() {
    let mut trio = Trio::start();
    trio.db(0).create(TABLE);
    trio.add(TABLE, 1);
    trio.add(TABLE, 2);
    for own in 0..3 {
        trio.db(own).wait("it knows both others", |db| db.replicas(TABLE).len() == 2);
        trio.db(own).put(TABLE, &format!("of-{own}"), 1);
    }
    for own in 0..3 {
        trio.db(own).wait("all have all", |db| db.scan(TABLE, None).len() == 3);
    }
    trio.cut(2, 1);
    trio.db(2).put(TABLE, "orphan", 7);
    trio.db(0).wait("one has it", |db| db.get(TABLE, "orphan") == Some(7));
    trio.kill(2);
    assert_eq!(trio.db(1).get(TABLE, "orphan"), None);
    for own in 0..2 {
        trio.stop(own);
        trio.start_server(own, &[0, 1]);
    }
    trio.db(1).wait("the other one gets it", |db| db.get(TABLE, "orphan") == Some(7));
    assert_eq!(trio.db(1).scan(TABLE, Some("by_g")).len(), 4, "by the write core, so with its indexes");
    let (_, said) = global(trio.server(0), HERE, &["verify", TABLE]);
    assert!(said.contains(&format!("{THERE}: equal up to")), "{said}");
}
