//! The safe point of PD moves, and not past what anybody still reads.

use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, Snapshot as _, Store as _, StoreError, Transaction as _};
use keywright_store_tikv::{OpenError, TikvOptions, TikvStore};

use crate::engine::TikvEngine;
use crate::kit::{RUNTIME, tend};
use crate::raw::{Client, safe_point, set_service_safe_point};

/// How long versions are kept in these tests.
const RETENTION: Duration = Duration::from_secs(2);
/// The clock of PD's timestamps moves in steps that are shorter.
const CLOCK_STEP: Duration = Duration::from_millis(200);

fn open(engine: &TikvEngine, prefix: &str, retention: Duration) -> TikvStore {
    let options = TikvOptions::parse(&engine.url(prefix)).unwrap().keeping(retention);
    block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap()
}

async fn put(store: &TikvStore, key: &str, value: String) {
    let mut transaction = store.begin().await.unwrap();
    transaction.put(Bytes::from(key.to_owned()), Bytes::from(value));
    transaction.commit().await.unwrap();
}

/// What happens to a cluster that other tests share would happen to them too, so these have one of their own,
/// and come one after the other.
#[test]
fn the_safe_point_follows_and_respects_readers_writers_and_services() {
    let Some(engine) = TikvEngine::start_or_say() else { return };
    let _inside = RUNTIME.enter();
    let store = open(&engine, "versions", RETENTION);
    block_on(async {
        let raw = Client::open(&engine.url("versions")).await;
        follows(&store, &raw).await;
        respects_a_running_transaction(&store, &raw).await;
        respects_services(&store, &raw).await;
        outdated_views_are_refused(&store).await;
        leaves_it_to_tidb(&engine, &store, &raw).await;
    });
}

async fn follows(store: &TikvStore, raw: &Client) {
    put(store, "a", "1".to_owned()).await;
    let before = raw.now().await;
    std::thread::sleep(RETENTION + CLOCK_STEP);
    tend(store).await;
    let now = raw.now().await;
    let point = safe_point(&raw.cluster).await;
    assert!(point >= before, "it is where the retention begins: {point}, {before}, {now}");
    assert!((now >> 18) - (point >> 18) >= u64::try_from(RETENTION.as_millis()).unwrap());
    assert_eq!(store.get(b"a").await.unwrap(), Some(Bytes::from("1")));
    let kept = store.versions_kept().unwrap();
    assert!((RETENTION..RETENTION * 2).contains(&kept), "{kept:?}");
    std::thread::sleep(RETENTION);
    assert!(store.versions_kept().unwrap() >= kept + RETENTION, "nothing moves it");
}

async fn respects_a_running_transaction(store: &TikvStore, raw: &Client) {
    let primary = b"somebody else's".to_vec();
    let transaction = raw.begin(&primary).await;
    assert!(transaction.lock(&primary, "x", 60_000).await);
    std::thread::sleep(RETENTION * 2);
    tend(store).await;
    assert!(safe_point(&raw.cluster).await < transaction.start, "it runs, and is of another prefix");
    assert!(transaction.commit(&primary).await, "nobody rolled it back");
    std::thread::sleep(RETENTION + CLOCK_STEP);
    tend(store).await;
    assert!(safe_point(&raw.cluster).await > transaction.start);
}

async fn respects_services(store: &TikvStore, raw: &Client) {
    let needed = raw.now().await;
    set_service_safe_point(&raw.cluster, "backup", 60, needed).await;
    std::thread::sleep(RETENTION * 2);
    tend(store).await;
    assert!(safe_point(&raw.cluster).await <= needed, "a backup of the cluster needs these versions");
    set_service_safe_point(&raw.cluster, "backup", -1, needed).await;
    tend(store).await;
    assert!(safe_point(&raw.cluster).await > needed);
}

async fn outdated_views_are_refused(store: &TikvStore) {
    let view = store.snapshot().await.unwrap();
    let mut transaction = store.begin().await.unwrap();
    transaction.put(Bytes::from("late"), Bytes::from("x"));
    assert_eq!(view.get(b"a").await.unwrap(), Some(Bytes::from("1")));
    std::thread::sleep(RETENTION / 2 + Duration::from_millis(100));
    assert!(matches!(view.get(b"a").await, Err(StoreError::Io(_))), "the version may be gone");
    assert!(matches!(view.get_many(&[Bytes::from("a"), Bytes::from("b")]).await, Err(StoreError::Io(_))));
    assert_eq!(transaction.commit().await, Err(CommitError::Conflict));
    assert_eq!(store.get(b"late").await.unwrap(), None);
}

async fn leaves_it_to_tidb(engine: &TikvEngine, store: &TikvStore, raw: &Client) {
    let database = b"mDBs\0\0\0\0\0\xfa\0\0\0\0\0\0\0h".to_vec();
    let transaction = raw.begin(&database).await;
    assert!(transaction.lock(&database, "x", 1_000).await && transaction.commit(&database).await);
    let point = safe_point(&raw.cluster).await;
    std::thread::sleep(RETENTION + CLOCK_STEP);
    tend(store).await;
    assert_eq!(safe_point(&raw.cluster).await, point, "TiDB moves it");
    let services = engine.ask_pd("/pd/api/v1/gc/safepoint").unwrap();
    assert!(services.contains("keywright-versions"), "TiDB learns what is needed: {services}");
    // An installation in the same cluster opens, because this PD takes its safe point.
    let other = open(engine, "with-tidb", RETENTION);
    put(&other, "a", "1".to_owned()).await;
    // TiDB removes versions that are needed here. What services said counts for a while.
    std::thread::sleep(RETENTION * 2);
    set_service_safe_point(&raw.cluster, "gc_worker", i64::MAX, raw.now().await).await;
    let Err(StoreError::Io(reason)) = other.tend().await else { panic!("its versions are not kept") };
    assert!(reason.contains("set tidb_gc_life_time to 2 s or more"), "{reason}");
    let options = TikvOptions::parse(&engine.url("too-late")).unwrap().keeping(RETENTION);
    let opened = TikvStore::open(options, RUNTIME.handle().clone()).await;
    let Err(refused) = opened else { panic!("its versions would not be kept") };
    assert_eq!(refused, OpenError::Lifetime(RETENTION));
}

/// Updates of one item, and how long a read takes, in turns. An hour at one update a second is the default;
/// `KEYWRIGHT_UPDATES` sets another number.
#[test]
fn reads_of_a_hot_item_do_not_slow_down() {
    const ROUNDS: u64 = 12;
    const READS: usize = 300;
    let Some(engine) = TikvEngine::start_or_say() else { return };
    let updates = std::env::var("KEYWRIGHT_UPDATES").ok().map_or(3_600, |updates| updates.parse().unwrap());
    let _inside = RUNTIME.enter();
    let store = open(&engine, "hot", RETENTION);
    let value = |round: u64, number: u64| format!("{round} {number} {}", "x".repeat(400));
    let mut medians = Vec::new();
    block_on(async {
        put(&store, "hot", value(0, 0)).await;
        for round in 0..ROUNDS {
            for number in 0..updates / ROUNDS {
                put(&store, "hot", value(round, number)).await;
            }
            tend(&store).await;
            let mut times = Vec::new();
            for _ in 0..READS {
                let began = Instant::now();
                assert!(store.get(b"hot").await.unwrap().is_some());
                times.push(began.elapsed());
            }
            times.sort_unstable();
            medians.push(times[READS / 2]);
        }
    });
    println!("{updates} updates of one item: median of a read {medians:?}; {}", engine.sizes());
    let (early, late) = (medians[..3].iter().min().unwrap(), medians[9..].iter().min().unwrap());
    assert!(*late <= *early * 6 / 5 + Duration::from_micros(100), "reads slow down: {medians:?}");
}
