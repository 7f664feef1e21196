//! Removed rows are swept, but never one on which an open view depends.

use std::time::Duration;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, Snapshot as _, Store as _, Transaction as _};
use keywright_store_postgres::{PostgresOptions, PostgresStore};
use tokio_postgres::NoTls;

use crate::kit::RUNTIME;
use crate::server::server;

#[test]
fn removed_rows_are_swept_when_no_view_needs_them() {
    let Ok(server) = server() else { return };
    // The views of other tests would hold the sweep back: they are in another database.
    server.execute("CREATE DATABASE swept");
    let url = server.url_in("swept", "swept");
    let mut options = PostgresOptions::parse(&url).unwrap();
    options.sweep_after = Duration::from_millis(50);
    let store = block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap();
    let key = Bytes::from_static(b"key");
    let write = |value: Option<&'static str>| {
        let mut transaction = block_on(store.begin()).unwrap();
        match value {
            Some(value) => transaction.put(key.clone(), Bytes::from_static(value.as_bytes())),
            None => transaction.delete(key.clone()),
        }
        block_on(transaction.commit()).unwrap();
    };
    // A view that began while the key was absent, and protects it.
    let mut early = block_on(store.begin()).unwrap();
    assert_eq!(block_on(early.get(&key)).unwrap(), None);
    early.protect(&key);
    early.put(Bytes::from_static(b"other"), key.clone());
    write(Some("there"));
    write(None);
    let rows = || {
        let count = RUNTIME.spawn(count(url.split('?').next().unwrap().to_owned()));
        block_on(count).unwrap()
    };
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(rows(), 1, "the open transaction depends on the removed row");
    assert_eq!(block_on(early.commit()), Err(CommitError::Conflict));
    for _ in 0..600 {
        if rows() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the removed row is still there");
}

async fn count(url: String) -> i64 {
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one("SELECT count(*) FROM swept.keywright_rows", &[]).await.unwrap().get(0)
}
