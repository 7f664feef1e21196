//! Connections are few, and nobody waits for one while others wait for his.

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, LogId, LogRead, Snapshot as _, Store as _, Transaction as _};
use keywright_store_postgres::{PostgresOptions, PostgresStore, PostgresView};

use crate::kit::RUNTIME;
use crate::server::{server, url_or_say};

const VIEWS: usize = 3;

#[test]
fn views_that_take_all_connections_read_their_logs() {
    let Some(url) = url_or_say("pool") else { return };
    let mut options = PostgresOptions::parse(&url).unwrap();
    options.connections_max = VIEWS;
    let store = block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap();
    let id = LogId { log: 1, shard: 1 };
    let mut transaction = block_on(store.begin()).unwrap();
    transaction.append(id, Bytes::from_static(b"entry"));
    block_on(transaction.commit()).unwrap();
    let views: Vec<PostgresView> = (0..VIEWS).map(|_| block_on(store.snapshot()).unwrap()).collect();
    for view in &views {
        let read = LogRead { id, after: None, entries_max: 10, bytes_max: usize::MAX };
        assert_eq!(block_on(view.read_log(read)).unwrap().len(), 1);
    }
}

#[test]
fn a_commit_that_waits_long_for_a_lock_ends_as_a_conflict() {
    let Some(url) = url_or_say("locked") else { return };
    let options = PostgresOptions::parse(&url).unwrap();
    let store = block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap();
    let server = server().expect("it runs");
    let lock = "LOCK TABLE locked.keywright_rows IN EXCLUSIVE MODE; SELECT pg_sleep(11)";
    let locking = std::thread::Builder::new().spawn(|| server.query(lock)).unwrap();
    let held = "SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND granted \
                AND relation = 'locked.keywright_rows'::regclass";
    while server.query(held) != "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut transaction = block_on(store.begin()).unwrap();
    transaction.put(Bytes::from_static(b"a"), Bytes::from_static(b"1"));
    assert_eq!(block_on(transaction.commit()), Err(CommitError::Conflict));
    locking.join().unwrap();
}
