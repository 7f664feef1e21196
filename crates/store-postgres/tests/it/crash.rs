//! A crash of the server.

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Snapshot as _, Store as _, Transaction as _};
use keywright_store_postgres::{PostgresOptions, PostgresStore};

use crate::kit::RUNTIME;
use crate::server::PostgresServer;

/// Another server than the tests share, because it crashes.
const PORT: u16 = 5434;
/// The server writes the next id to disk now and then, and then does not give it again.
const CRASHES_MAX: usize = 10;

/// After a crash PostgreSQL gives ids of lost transactions again. The commit of another transaction with the
/// id must not be taken for the lost one's.
#[test]
fn a_transaction_that_a_crash_took_is_not_reported_as_committed() {
    let server = match PostgresServer::start(PORT, &[], "-c listen_addresses=") {
        Ok(server) => server,
        Err(reason) => return eprintln!("PASSED OVER: {reason}"),
    };
    let options = PostgresOptions::parse(&server.url("crash")).unwrap();
    let store = block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap();
    let write = |key: &'static [u8]| {
        let mut transaction = block_on(store.begin()).unwrap();
        transaction.put(Bytes::from_static(key), Bytes::from_static(b"v"));
        transaction
    };
    let before = block_on(write(b"before").commit()).unwrap();
    for _ in 0..CRASHES_MAX {
        let lost = write(b"lost");
        server.restart().unwrap();
        // The other one has its id, if the server gave it again.
        let other = block_on(write(b"other").commit()).unwrap();
        assert!(other > before, "{other:?}");
        let lost_is_other = block_on(lost.commit()).is_ok();
        assert!(!lost_is_other, "{other:?}");
        assert_eq!(block_on(block_on(store.snapshot()).unwrap().get(b"lost")).unwrap(), None);
    }
}
