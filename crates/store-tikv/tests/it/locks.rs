//! Locks that dead clients left do not block their keys for ever, and those of running ones are respected.

use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, Direction, KeyRange, Scan, Snapshot as _, Store as _, Transaction as _};
use keywright_store_tikv::{TikvOptions, TikvStore};

use crate::engine::url_or_say;
use crate::kit::{RUNTIME, tend};
use crate::raw::Client;

/// Longer than a lock of these tests lives.
const AFTER_EXPIRY: Duration = Duration::from_millis(400);
const TTL_MS: u64 = 200;

/// A store whose rows `a`, `b` and `c` have the value `old`, and a client of the protocol.
struct Bench {
    store: TikvStore,
    raw: Client,
}

impl Bench {
    async fn open(prefix: &'static str) -> Option<Self> {
        let url = url_or_say(prefix)?;
        let store =
            TikvStore::open(TikvOptions::parse(&url).unwrap(), RUNTIME.handle().clone()).await.unwrap();
        let mut transaction = store.begin().await.unwrap();
        for key in ["a", "b", "c"] {
            transaction.put(Bytes::from(key), Bytes::from("old"));
        }
        transaction.commit().await.unwrap();
        Some(Self { store, raw: Client::open(&url).await })
    }

    /// The key in TiKV.
    fn row(&self, key: &str) -> Vec<u8> {
        format!("{}/\u{1}{key}", self.raw.prefix).into_bytes()
    }

    /// Leaves a lock on `b` whose primary was never written.
    async fn plant(&self, ttl_ms: u64) {
        let transaction = self.raw.begin(&self.row("never written")).await;
        assert!(transaction.lock(&self.row("b"), "new", ttl_ms).await);
    }

    async fn get(&self, key: &str) -> Option<Bytes> {
        self.store.get(key.as_bytes()).await.unwrap()
    }

    async fn locked(&self) -> usize {
        self.raw.locked(&self.row(""), &self.row("z")).await.len()
    }
}

fn run(prefix: &'static str, test: impl AsyncFnOnce(Bench)) {
    let _inside = RUNTIME.enter();
    block_on(async {
        if let Some(bench) = Bench::open(prefix).await {
            test(bench).await;
        }
    });
}

fn scan(direction: Direction) -> Scan {
    let range = KeyRange { start: Bytes::from("a"), end: None };
    Scan { range, direction, rows_max: 10, bytes_max: usize::MAX }
}

/// Why this crate resolves locks itself. If this fails, the client can do it, and the crate need not.
#[test]
fn the_client_alone_fails_on_both_kinds_of_locks() {
    run("client-alone", async |bench| {
        bench.plant(TTL_MS).await;
        let single = bench.row("c");
        let transaction = bench.raw.begin(&single).await;
        assert!(transaction.lock_async(&single, "new", &[], transaction.start + 1).await);
        std::thread::sleep(AFTER_EXPIRY);
        let mut reading = bench.raw.tikv.begin_optimistic().await.unwrap();
        for key in ["b", "c"] {
            let read = reading.get(bench.row(key)).await;
            assert!(read.is_err(), "{key}: {read:?}");
        }
        reading.rollback().await.unwrap();
        assert_eq!(bench.get("b").await, Some(Bytes::from("old")));
        assert_eq!(bench.get("c").await, Some(Bytes::from("new")));
    });
}

#[test]
fn reads_get_past_a_lock_whose_primary_was_never_written() {
    run("orphan-reads", async |bench| {
        let old = Some(Bytes::from("old"));
        bench.plant(TTL_MS).await;
        assert_eq!(bench.get("b").await, old);
        bench.plant(TTL_MS).await;
        let keys = ["a", "b", "c"].map(Bytes::from);
        let view = bench.store.snapshot().await.unwrap();
        assert_eq!(view.get_many(&keys).await.unwrap(), [old.clone(), old.clone(), old.clone()]);
        for direction in [Direction::Forward, Direction::Backward] {
            bench.plant(TTL_MS).await;
            let view = bench.store.snapshot().await.unwrap();
            let page = view.scan(&scan(direction)).await.unwrap();
            assert_eq!(page.entries.len(), 3, "{direction:?}");
            assert!(page.entries.iter().all(|entry| entry.value == "old"));
        }
        assert_eq!(bench.locked().await, 0);
    });
}

#[test]
fn writes_get_past_a_lock_whose_primary_was_never_written() {
    run("orphan-writes", async |bench| {
        for protects in [false, true] {
            bench.plant(TTL_MS).await;
            let began = Instant::now();
            loop {
                let mut transaction = bench.store.begin().await.unwrap();
                if protects {
                    transaction.protect(b"b");
                    transaction.put(Bytes::from("a"), Bytes::from("second"));
                } else {
                    transaction.put(Bytes::from("b"), Bytes::from("first"));
                }
                match transaction.commit().await {
                    Ok(_) => break,
                    Err(CommitError::Conflict) => {}
                    Err(error) => panic!("{error:?}"),
                }
                assert!(began.elapsed() < Duration::from_secs(20), "the lock stays for ever");
            }
        }
        assert_eq!(bench.get("a").await, Some(Bytes::from("second")));
        assert_eq!(bench.get("b").await, Some(Bytes::from("first")));
        bench.plant(TTL_MS).await;
        bench.store.clear_range(&KeyRange { start: Bytes::new(), end: None }).await.unwrap();
        assert_eq!((bench.get("b").await, bench.locked().await), (None, 0));
    });
}

#[test]
fn upkeep_finds_orphaned_locks_that_nobody_reads() {
    run("orphan-unread", async |bench| {
        bench.plant(TTL_MS).await;
        tend(&bench.store).await;
        assert_eq!(bench.locked().await, 1, "it may still be of a running transaction");
        std::thread::sleep(AFTER_EXPIRY);
        tend(&bench.store).await;
        assert_eq!(bench.locked().await, 0);
        assert_eq!(bench.get("b").await, Some(Bytes::from("old")));
    });
}

#[test]
fn a_transaction_that_wrote_its_secondary_first_is_left_alone() {
    run("secondary-first", async |bench| {
        let (primary, secondary) = (bench.row("a"), bench.row("b"));
        let transaction = bench.raw.begin(&primary).await;
        assert!(transaction.lock(&secondary, "new", 5_000).await);
        tend(&bench.store).await;
        assert!(transaction.lock(&primary, "new", 5_000).await);
        tend(&bench.store).await;
        assert!(transaction.commit(&primary).await, "nobody rolled it back");
        assert_eq!(bench.get("b").await, Some(Bytes::from("new")));
    });
}

#[test]
fn the_time_to_live_of_the_primary_counts() {
    run("extended", async |bench| {
        let (primary, secondary) = (bench.row("a"), bench.row("b"));
        let transaction = bench.raw.begin(&primary).await;
        assert!(transaction.lock(&primary, "new", 20_000).await);
        assert!(transaction.lock(&secondary, "new", TTL_MS).await);
        std::thread::sleep(AFTER_EXPIRY);
        tend(&bench.store).await;
        assert_eq!(bench.locked().await, 2, "its client keeps the primary alive");
        assert!(transaction.commit(&primary).await);
        tend(&bench.store).await;
        assert_eq!((bench.get("b").await, bench.locked().await), (Some(Bytes::from("new")), 0));
    });
}

#[test]
fn a_lock_whose_transaction_has_ended_is_in_nobodys_way() {
    const TTL_MS: u64 = 60_000;
    run("ended", async |bench| {
        let (primary, secondary) = (bench.row("a"), bench.row("b"));
        let transaction = bench.raw.begin(&primary).await;
        for key in [&primary, &secondary] {
            assert!(transaction.lock(key, "new", TTL_MS).await);
        }
        assert!(transaction.commit(&primary).await);
        assert_eq!(bench.get("b").await, Some(Bytes::from("new")));
        assert_eq!(bench.locked().await, 0);
    });
}

#[test]
fn reads_wait_for_the_longest_time_that_a_dead_clients_lock_lives() {
    run("long-lived", async |bench| {
        bench.plant(20_000).await;
        assert_eq!(bench.get("b").await, Some(Bytes::from("old")));
        assert_eq!(bench.locked().await, 0);
    });
}

#[test]
fn an_asynchronous_commit_whose_locks_are_all_there_has_succeeded() {
    run("async-whole", async |bench| {
        let (primary, secondary) = (bench.row("a"), bench.row("b"));
        let transaction = bench.raw.begin(&primary).await;
        let (low, high) = (transaction.start + 1, transaction.start + 1_000);
        assert!(transaction.lock_async(&primary, "new", &[&secondary], high).await);
        assert!(transaction.lock_async(&secondary, "new", &[], low).await);
        std::thread::sleep(AFTER_EXPIRY);
        assert_eq!(bench.get("b").await, Some(Bytes::from("new")));
        assert_eq!(bench.get("a").await, Some(Bytes::from("new")));
        // Alone, without secondaries.
        let single = bench.row("c");
        let transaction = bench.raw.begin(&single).await;
        assert!(transaction.lock_async(&single, "new", &[], transaction.start + 1).await);
        std::thread::sleep(AFTER_EXPIRY);
        assert_eq!(bench.get("c").await, Some(Bytes::from("new")));
        assert_eq!(bench.locked().await, 0);
    });
}

#[test]
fn an_asynchronous_commit_of_which_a_lock_is_missing_is_rolled_back() {
    run("async-part", async |bench| {
        let (primary, secondary) = (bench.row("a"), bench.row("b"));
        let transaction = bench.raw.begin(&primary).await;
        assert!(transaction.lock_async(&primary, "new", &[&secondary], transaction.start + 1).await);
        std::thread::sleep(AFTER_EXPIRY);
        assert_eq!(bench.get("a").await, Some(Bytes::from("old")));
        assert_eq!((bench.get("b").await, bench.locked().await), (Some(Bytes::from("old")), 0));
        // Its secondary alone.
        let transaction = bench.raw.begin(&primary).await;
        assert!(transaction.lock_async(&secondary, "new", &[], transaction.start + 1).await);
        std::thread::sleep(AFTER_EXPIRY);
        assert_eq!(bench.get("b").await, Some(Bytes::from("old")));
        assert!(!transaction.commit(&secondary).await, "it is rolled back");
        assert_eq!(bench.locked().await, 0);
    });
}
