//! The kit: each check has a prefix of its own.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use keywright_store::Store as _;
use keywright_store::kit::{Subject, block_on};
use keywright_store_tikv::{TikvOptions, TikvStore};
use tokio::runtime::Runtime;

use crate::engine::{is_other, url_or_say};

pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());

/// A whole round of upkeep.
pub(crate) async fn tend(store: &TikvStore) {
    while store.tend().await.unwrap() < Some(Duration::from_secs(10)) {}
}

struct Tikv;

impl Subject for Tikv {
    type Store = TikvStore;

    fn is_available(&self) -> bool {
        url_or_say("kit").is_some()
    }

    /// The test engine takes no entry of its Raft log above 8 MiB, and writes the whole of a commit as one.
    fn passed_over(&self) -> &'static [&'static str] {
        if is_other() {
            return &[];
        }
        &[
            "a_large_transaction_is_written_whole",
            "clearing_a_range_leaves_its_neighbours",
            "a_trimmed_log_keeps_what_comes_after",
        ]
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
