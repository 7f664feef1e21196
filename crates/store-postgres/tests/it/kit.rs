//! The kit: each check has a schema of its own.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use keywright_store::kit::{Subject, block_on};
use keywright_store_postgres::{PostgresOptions, PostgresStore};
use tokio::runtime::Runtime;

use crate::server::{server, url_or_say};

pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());

struct Postgres;

fn open(url: &str) -> PostgresStore {
    let options = PostgresOptions::parse(url).unwrap();
    block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap()
}

impl Subject for Postgres {
    type Store = PostgresStore;

    fn is_available(&self) -> bool {
        url_or_say("kit").is_some()
    }

    fn create(&self) -> PostgresStore {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema = format!("kit{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let server = server().unwrap_or_else(|reason| panic!("{reason}"));
        open(&server.url(&schema))
    }

    fn reopen(&self, store: PostgresStore) -> PostgresStore {
        let options = store.options().clone();
        drop(store);
        block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap()
    }
}

keywright_store::store_kit!(Postgres);
