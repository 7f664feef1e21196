//! The kit: each check has a prefix of its own.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use keywright_store::kit::{Subject, block_on};
use keywright_store_tikv::{TikvOptions, TikvStore};
use tokio::runtime::Runtime;

use crate::engine::url_or_say;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());

struct Tikv;

impl Subject for Tikv {
    type Store = TikvStore;

    fn is_available(&self) -> bool {
        url_or_say("kit").is_some()
    }

    fn create(&self) -> TikvStore {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("kit{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let options = TikvOptions::parse(&url_or_say(&prefix).unwrap()).unwrap();
        block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap()
    }

    fn reopen(&self, store: TikvStore) -> TikvStore {
        let options = store.options().clone();
        drop(store);
        block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap()
    }
}

keywright_store::store_kit!(Tikv);
