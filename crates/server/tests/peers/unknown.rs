//! A new replica whose owner another server of the group does not know: refused with what is missing where,
//! before anything changes, and taken once it is there.

use std::fmt::Write as _;

use crate::db::{Db, replica_update};
use crate::pair::{CLIENT, HERE, PEER, Pair, TABLE, THERE};
use crate::trio::{REGIONS, Trio};

/// One more region of the first server: no `[[peer]]` there names it.
const MORE: &str = "eu-west-2";

#[test]
fn a_region_that_the_other_server_does_not_name_is_refused_until_it_does() {
    let mut pair = Pair::start();
    let mut here = pair.db(0);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    pair.db(1).wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let create = replica_update(TABLE, "Create", MORE);
    let said = here.refusal("UpdateTable", &create);
    assert!(said.contains("The server of eu-west-1 has no [[peer]] for region eu-west-2"), "{said}");
    assert_eq!(here.status(TABLE), "ACTIVE");
    assert_eq!(here.replicas(TABLE), [(THERE.to_owned(), "ACTIVE".to_owned())], "nothing was changed");
    pair.stop(1);
    let path = pair.path("server-1.toml");
    let mut sections = std::fs::read_to_string(&path).unwrap();
    let (port, key) = (pair.roads[0].address.port(), PEER.0);
    write!(
        sections,
        "[[peer]]\nregion = \"{MORE}\"\nendpoint = \"http://localhost:{port}\"\nkey-id = \"{key}\"\ntables = \
         [\"shop-*\"]\n"
    )
    .unwrap();
    std::fs::write(&path, sections).unwrap();
    pair.start_server(1);
    here.wait("it is taken", |db| db.try_call("UpdateTable", &create).unwrap().0 == 200);
    let mut more = Db::to(pair.server(0).address(), CLIENT, MORE).unwrap();
    more.wait("it is active", |db| db.status(TABLE) == "ACTIVE");
    pair.db(1).wait("it is known there", |db| db.replicas(TABLE).len() == 2);
    more.put(TABLE, "a", 1);
    pair.db(1).put(TABLE, "b", 2);
    pair.db(1).wait("a write of it arrives", |db| db.get(TABLE, "a") == Some(1));
    more.wait("and one goes there", |db| db.get(TABLE, "b") == Some(2));
}

#[test]
fn a_third_server_and_the_second_one_must_name_each_other() {
    let mut trio = Trio::start();
    trio.db(0).create(TABLE);
    trio.db(0).replicate(TABLE, THERE);
    let create = replica_update(TABLE, "Create", REGIONS[2]);
    for (server, missing) in [(2, THERE), (1, REGIONS[2])] {
        trio.stop(server);
        trio.start_server(server, &[0]);
        let said = trio.db(0).refusal("UpdateTable", &create);
        let what = format!("The server of {} has no [[peer]] for region {missing}", REGIONS[server]);
        assert!(said.contains(&what), "{said}");
        assert_eq!(trio.db(0).status(TABLE), "ACTIVE");
        assert_eq!(trio.db(0).replicas(TABLE), [(THERE.to_owned(), "ACTIVE".to_owned())]);
        trio.stop(server);
        trio.start_server(server, &[0, 1, 2]);
    }
    trio.db(0).wait("it is taken", |db| db.try_call("UpdateTable", &create).unwrap().0 == 200);
    trio.db(2).wait("it is active", |db| db.status(TABLE) == "ACTIVE" && db.replicas(TABLE).len() == 2);
    assert_eq!(trio.db(2).replicas(TABLE)[0].0, HERE);
}
