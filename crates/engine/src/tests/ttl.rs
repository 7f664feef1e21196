//! Time to live in virtual time: no item expires early, every due item expires, and no row remains.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::TTL_CHANGE_INTERVAL_MS;
use keywright_semantics::number::Number;
use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::request::{DescribeTimeToLive, Request, TtlChange, UpdateTimeToLive};
use keywright_semantics::response::{Response, StreamEvent, StreamIdentity, TimeToLiveStatus};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, Entry, Scan, Snapshot, Store};

use super::flaky_store::Fate::{self, Conflict, TooLarge, UnknownLost, UnknownWritten};
use super::flaky_store::FlakyStore;
use super::harness::*;
use crate::bind::expiry::{EpochSeconds, expiry};
use crate::support::config::EngineConfig;
use crate::support::layout::{Space, TableId, prefix_range, table_prefix};
use crate::write::expiry_rows::read_row_key;

/// Seconds since 1970 at which the tests begin.
const START: i64 = 1_800_000_000;
const DELAY_MS: u64 = 60_000;

fn expiring() -> Bench<MemoryStore> {
    let mut table = create_request(schema());
    table.stream = Some(StreamViewType::NewAndOldImages);
    let bench = bench_with(MemoryStore::new(), EngineConfig::default(), table);
    bench.go_to(START);
    bench
}

impl<S: Store> Bench<S> {
    pub(super) fn go_to(&self, second: i64) {
        let now_ms = u64::try_from(second).expect("after 1970") * 1000;
        self.env.now_ms.store(now_ms, Ordering::Relaxed);
    }

    pub(super) fn work(&self) {
        let now_ms = self.env.now_ms.load(Ordering::Relaxed);
        while block_on(self.engine.step(now_ms)).at_ms.is_some_and(|wake| wake <= now_ms) {}
    }

    pub(super) fn set_ttl(&self, attribute: &str, change: TtlChange) -> Result<(), Error> {
        let request = UpdateTimeToLive { table: table_ref(), attribute: attribute.into(), change };
        block_on(self.engine.execute(&caller(), Request::UpdateTimeToLive(request))).map(|_| ())
    }

    fn ttl(&self) -> (TimeToLiveStatus, Option<String>) {
        let request = Request::DescribeTimeToLive(DescribeTimeToLive { table: table_ref() });
        match block_on(self.engine.execute(&caller(), request)) {
            Ok(Response::DescribeTimeToLive(ttl)) => (ttl.status, ttl.attribute_name),
            other => panic!("{other:?}"),
        }
    }

    /// The expiry rows.
    fn expiry_rows(&self) -> usize {
        block_on(async {
            rows(&self.engine.store().snapshot().await.expect("snapshot"), Space::Expiries).await
        })
        .len()
    }

    /// Checks that the expiry rows are exactly those of the items.
    pub(super) fn check_expiry_rows(&self, attribute: &str) {
        let (found, items) = block_on(async {
            let snapshot = self.engine.store().snapshot().await.expect("snapshot");
            (rows(&snapshot, Space::Expiries).await, rows(&snapshot, Space::Items).await)
        });
        let found: BTreeSet<(EpochSeconds, Bytes)> = found
            .into_iter()
            .map(|row| read_row_key(TableId(1), &row.key).expect("it is a row of expiry"))
            .collect();
        let due = |row: Entry| {
            let item = EncodedItem::from_stored(row.value).expect("it is an item");
            expiry(item.view(), attribute).map(|time| (time, row.key))
        };
        assert_eq!(found, items.into_iter().filter_map(due).collect());
    }

    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self
            .scan_all(None)
            .iter()
            .map(|item| match &item["sk"] {
                AttributeValue::S(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        left.sort();
        left
    }
}

async fn rows<S: Snapshot>(snapshot: &S, space: Space) -> Vec<Entry> {
    let scan = Scan {
        range: prefix_range(table_prefix(space, TableId(1))),
        direction: Direction::Forward,
        rows_max: 100_000,
        bytes_max: 1 << 30,
    };
    snapshot.scan(&scan).await.expect("scan").entries
}

fn expiring_item(sk: &str, ttl: AttributeValue) -> Item {
    item([
        ("pk", s("a")),
        ("sk", s(sk)),
        ("ttl", ttl),
        ("g", s("g")),
        ("h", n(1)),
        ("l", s("l")),
        ("m", s("m")),
    ])
}

#[test]
fn an_item_goes_after_its_time_and_the_delay_and_never_before() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.put(expiring_item("1", n(START + 100))).expect("put");
    for second in [START, START + 99, START + 100, START + 159] {
        bench.go_to(second);
        bench.work();
        assert_eq!(bench.left(), ["1"], "at {}", second - START);
    }
    bench.go_to(START + 160);
    bench.work();
    assert!(bench.left().is_empty());
    for index in ["lsi", "gsi", "multi"] {
        assert!(bench.scan_all(Some(index)).is_empty(), "{index}");
    }
    assert_eq!(bench.expiry_rows(), 0);
}

#[test]
fn the_step_says_when_the_next_item_is_due() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.put(expiring_item("1", n(START + 5))).expect("put");
    bench.work();
    let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
    let wake = block_on(bench.engine.step(now_ms)).at_ms.expect("there is an item to expire");
    assert!(wake > now_ms && wake <= now_ms + 5000 + DELAY_MS, "{}", wake - now_ms);
}

#[test]
fn only_whole_numbers_of_the_last_five_years_count() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    let five_years = 5 * 365 * 86_400;
    for (sk, ttl) in [
        ("a text", s(&START.to_string())),
        ("b ancient", n(START - five_years - 1)),
        ("c old", n(START - five_years + 1000)),
        ("d negative", n(-5)),
        ("e milliseconds", n(START * 1000)),
        ("f list", AttributeValue::L(vec![n(START)])),
        ("g gone", n(START)),
        ("h zero", n(0)),
    ] {
        bench.put(expiring_item(sk, ttl)).expect("put");
    }
    bench.go_to(START + 1000 - 1);
    bench.work();
    assert_eq!(bench.left(), ["a text", "b ancient", "d negative", "e milliseconds", "f list", "h zero"]);
}

#[test]
fn a_changed_time_is_what_counts() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    for sk in ["kept", "renewed", "untimed"] {
        bench.put(expiring_item(sk, n(START + 10))).expect("put");
    }
    let key = |sk: &str| item([("pk", s("a")), ("sk", s(sk))]);
    let renewed = expiring_item("renewed", n(START + 1000));
    bench.put(renewed).expect("put");
    bench.update(&update_request(key("untimed"), Some(update("REMOVE l", [])))).expect("update");
    let mut untimed = expiring_item("untimed", n(1));
    untimed.remove("ttl");
    bench.put(untimed).expect("put");
    assert_eq!(bench.expiry_rows(), 2);
    bench.go_to(START + 100);
    bench.work();
    assert_eq!(bench.left(), ["renewed", "untimed"]);
    bench.go_to(START + 2000);
    bench.work();
    assert_eq!(bench.left(), ["untimed"]);
}

#[test]
fn items_that_were_there_before_expire_too() {
    let bench = expiring();
    for number in 0..1500 {
        let mut expiring = expiring_item(&format!("{number:04}"), n(START + number));
        expiring.insert("pk".into(), s(&format!("p{}", number % 7)));
        bench.put(expiring).expect("put");
    }
    assert_eq!(bench.expiry_rows(), 0);
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.work();
    assert_eq!(bench.expiry_rows(), 1500);
    bench.go_to(START + 60 + 999);
    bench.work();
    assert_eq!(bench.left().len(), 500);
    assert_eq!(bench.expiry_rows(), 500);
}

#[test]
fn filling_goes_on_after_a_restart() {
    let store = MemoryStore::new();
    let bench = bench_with(store.clone(), EngineConfig::default(), create_request(schema()));
    bench.go_to(START);
    for number in 0..1200 {
        let mut expiring = expiring_item(&format!("{number:04}"), n(START + 10));
        expiring.insert("pk".into(), s(&format!("p{}", number % 5)));
        bench.put(expiring).expect("put");
    }
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    block_on(bench.engine.step(bench.env.now_ms.load(Ordering::Relaxed)));
    let some = bench.expiry_rows();
    assert!(some > 0 && some < 1200, "{some}");
    let env = std::sync::Arc::clone(&bench.env);
    let shared: std::sync::Arc<dyn crate::support::env::Env> = std::sync::Arc::<TestEnv>::clone(&env);
    drop(bench);
    let engine = block_on(crate::Engine::open(store, shared, EngineConfig::default()));
    let bench = Bench { engine: engine.expect("it opens again"), env };
    bench.work();
    assert_eq!(bench.expiry_rows(), 1200);
    bench.go_to(START + 100);
    bench.work();
    assert!(bench.left().is_empty());
}

#[test]
fn a_table_has_one_attribute_and_one_change_an_hour() {
    use TtlChange::{Disable, Enable};
    let bench = expiring();
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Disabled, None));
    let text = |outcome: Result<(), Error>| outcome.expect_err("it must be refused").message;
    assert_eq!(text(bench.set_ttl("ttl", Disable)), "TimeToLive is already disabled");
    bench.set_ttl("ttl", Enable).expect("it is disabled");
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Enabled, Some("ttl".into())));
    let other = "TimeToLive is active on a different AttributeName: current AttributeName is ttl";
    assert_eq!(text(bench.set_ttl("x", Enable)), other);
    assert_eq!(text(bench.set_ttl("x", Disable)), other);
    assert_eq!(text(bench.set_ttl("ttl", Enable)), "TimeToLive is already enabled");
    let soon = "Time to live has been modified multiple times within a fixed interval";
    assert_eq!(text(bench.set_ttl("ttl", Disable)), soon);
    bench.env.now_ms.fetch_add(TTL_CHANGE_INTERVAL_MS - 1, Ordering::Relaxed);
    assert_eq!(text(bench.set_ttl("ttl", Disable)), soon);
    bench.env.now_ms.fetch_add(1, Ordering::Relaxed);
    bench.set_ttl("ttl", Disable).expect("an hour has passed");
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Disabled, None));
    let other_table = UpdateTimeToLive {
        table: keywright_semantics::request::TableRef::named("none".into()),
        attribute: "ttl".into(),
        change: Enable,
    };
    let missing = block_on(bench.engine.execute(&caller(), Request::UpdateTimeToLive(other_table)));
    assert_eq!(missing.unwrap_err().kind, ErrorKind::ResourceNotFound);
}

#[test]
fn disabling_keeps_the_items_and_clears_the_rows() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.put(expiring_item("1", n(START + 100_000))).expect("put");
    bench.go_to(START + 3600);
    bench.set_ttl("ttl", TtlChange::Disable).expect("an hour has passed");
    bench.work();
    assert_eq!(bench.expiry_rows(), 0);
    bench.go_to(START + 200_000);
    bench.work();
    assert_eq!(bench.left(), ["1"]);
    bench.set_ttl("other", TtlChange::Enable).expect("it is disabled");
    bench.work();
    assert_eq!((bench.left().len(), bench.expiry_rows()), (1, 0));
    bench.go_to(START + 300_000);
    bench.set_ttl("other", TtlChange::Disable).expect("long ago");
    bench.go_to(START + 400_000);
    bench.set_ttl("ttl", TtlChange::Enable).expect("long ago");
    bench.work();
    assert!(bench.left().is_empty());
}

#[test]
fn the_stream_says_who_deleted() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.put(expiring_item("expired", n(START + 1))).expect("put");
    bench.put(expiring_item("deleted", n(START + 5000))).expect("put");
    bench.delete(&delete_request(item([("pk", s("a")), ("sk", s("deleted"))]))).expect("delete");
    bench.go_to(START + 100);
    bench.work();
    let records = bench.read_stream(&bench.stream());
    let removed: Vec<(String, StreamIdentity)> = records
        .iter()
        .filter(|record| record.event == StreamEvent::Remove)
        .map(|record| (format!("{:?}", record.keys.decode()["sk"]), record.identity))
        .collect();
    assert_eq!(removed.len(), 2);
    assert!(removed[0].0.contains("deleted") && removed[0].1 == StreamIdentity::Caller);
    assert!(removed[1].0.contains("expired") && removed[1].1 == StreamIdentity::TimeToLive);
}

#[test]
fn a_table_deleted_while_it_was_enabling_leaves_no_row() {
    let bench = bench_with(MemoryStore::new(), EngineConfig::default(), create_request(schema()));
    bench.go_to(START);
    for number in 0..1200 {
        bench.put(expiring_item(&format!("{number:04}"), n(START + 100_000))).expect("put");
    }
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    block_on(bench.engine.step(bench.env.now_ms.load(Ordering::Relaxed)));
    assert!(bench.expiry_rows() > 0 && bench.expiry_rows() < 1200);
    let delete = keywright_semantics::request::DeleteTable { table: table_ref() };
    block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("it is active");
    bench.work();
    let left = block_on(async {
        let all = Scan {
            range: prefix_range(vec![Space::Catalogue.byte()]),
            direction: Direction::Forward,
            rows_max: 10,
            bytes_max: 1 << 20,
        };
        bench.engine.store().snapshot().await.expect("snapshot").scan(&all).await.expect("scan").entries
    });
    let left: Vec<Bytes> = left.into_iter().map(|entry| entry.key).collect();
    assert_eq!(left, [crate::catalogue::format_key(), crate::catalogue::next_id_key()]);
}

#[test]
fn a_deleted_table_takes_its_rows_along() {
    let bench = bench_with(MemoryStore::new(), EngineConfig::default(), create_request(schema()));
    bench.go_to(START);
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.put(expiring_item("1", n(START + 100_000))).expect("put");
    let delete = keywright_semantics::request::DeleteTable { table: table_ref() };
    bench.work();
    block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("it is active");
    bench.work();
    assert_eq!(bench.expiry_rows(), 0);
}

fn impatient() -> EngineConfig {
    EngineConfig { ttl_delay_ms: 0, ..EngineConfig::default() }
}

#[test]
fn a_fraction_of_a_second_does_not_bring_the_end_forward() {
    let bench = bench_with(MemoryStore::new(), impatient(), create_request(schema()));
    bench.go_to(START);
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    let time = Number::parse(&format!("{}.5", START + 10)).expect("a number");
    bench.put(expiring_item("1", AttributeValue::N(time))).expect("put");
    bench.go_to(START + 10);
    bench.env.now_ms.fetch_add(499, Ordering::Relaxed);
    bench.work();
    assert_eq!(bench.left(), ["1"]);
    bench.go_to(START + 11);
    bench.work();
    assert!(bench.left().is_empty());
}

#[test]
fn between_two_looks_at_the_store_a_writer_brings_the_next_one_forward() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.put(expiring_item("late", n(START + 100_000))).expect("put");
    bench.work();
    let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
    assert!(block_on(bench.engine.step(now_ms)).at_ms.is_some_and(|wake| wake > now_ms), "nothing is due");
    bench.put(expiring_item("soon", n(START - 59))).expect("put");
    bench.go_to(START + 1);
    bench.work();
    assert_eq!(bench.left(), ["late"]);
}

#[test]
fn a_table_is_enabling_until_every_item_has_its_row() {
    let bench = expiring();
    for number in 0..1200 {
        bench.put(expiring_item(&format!("{number:04}"), n(START + 10))).expect("put");
    }
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Enabling, Some("ttl".into())));
    bench.work();
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Enabled, Some("ttl".into())));
}

#[test]
fn with_a_transition_the_statuses_between_are_shown() {
    let config = EngineConfig { transition_ms: 500, ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config, create_request(schema()));
    let refused = |request| {
        let error = block_on(bench.engine.execute(&caller(), request)).expect_err("it is refused");
        (error.kind, error.message)
    };
    let settle = || {
        bench.env.now_ms.fetch_add(500, Ordering::Relaxed);
        bench.work();
    };
    let describe = || Request::DescribeTimeToLive(DescribeTimeToLive { table: table_ref() });
    let creating =
        "Cannot describe time to live while table is in CREATING state: Current table state is CREATING";
    assert_eq!(refused(describe()), (ErrorKind::Validation, creating.to_owned()));
    let error = bench.set_ttl("ttl", TtlChange::Enable).expect_err("it is being created");
    let in_use = "Attempt to change a resource which is still in use: Table t is being created";
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::ResourceInUse, in_use));
    settle();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Enabling, Some("ttl".into())));
    settle();
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Enabled, Some("ttl".into())));
    bench.env.now_ms.fetch_add(TTL_CHANGE_INTERVAL_MS, Ordering::Relaxed);
    bench.set_ttl("ttl", TtlChange::Disable).expect("long ago");
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Disabling, Some("ttl".into())));
    settle();
    assert_eq!(bench.ttl(), (TimeToLiveStatus::Disabled, None));
    bench.env.now_ms.fetch_add(TTL_CHANGE_INTERVAL_MS, Ordering::Relaxed);
    let delete = keywright_semantics::request::DeleteTable { table: table_ref() };
    block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("it is active");
    let deleting =
        "Cannot describe time to live while table is in DELETING state: Current table state is DELETING";
    assert_eq!(refused(describe()), (ErrorKind::Validation, deleting.to_owned()));
    bench.set_ttl("ttl", TtlChange::Enable).expect("a table that goes takes it");
    settle();
    assert_eq!(bench.expiry_rows(), 0);
}

/// Stops the writers even if the test panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes the worker's items repeatedly, some without an expiry time, until the stop flag is set.
fn write_until(bench: &Bench<MemoryStore>, stop: &AtomicBool, worker: i64) {
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let sk = format!("{:02}", (worker * 7 + round * 13) % 50);
        let outcome = match round % 4 {
            0 => bench.delete(&delete_request(item([("pk", s("a")), ("sk", s(&sk))]))),
            1 => bench.put(expiring_item(&sk, s("never"))),
            _ => bench.put(expiring_item(&sk, n(START + round % 5))),
        };
        outcome.expect("time to live does not fail a write");
    }
}

#[test]
fn rows_filled_under_writers_are_exactly_what_the_items_give() {
    let bench = expiring();
    for number in 0..50 {
        bench.put(expiring_item(&format!("{number:02}"), n(START + number))).expect("put");
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for worker in 0..2 {
            let (bench, stop) = (&bench, &stop);
            scope.spawn(move || write_until(bench, stop, worker));
        }
        for round in 0..6 {
            let change = if round % 2 == 0 { TtlChange::Enable } else { TtlChange::Disable };
            bench.set_ttl("ttl", change).expect("the last change is long ago");
            for _ in 0..50 {
                block_on(bench.engine.step(bench.env.now_ms.load(Ordering::Relaxed)));
            }
            // Late enough for the next change of time to live.
            bench.env.now_ms.fetch_add(TTL_CHANGE_INTERVAL_MS, Ordering::Relaxed);
        }
        bench.env.now_ms.fetch_add(TTL_CHANGE_INTERVAL_MS, Ordering::Relaxed);
        bench.set_ttl("ttl", TtlChange::Enable).expect("the last change is long ago");
    });
    bench.work();
    bench.check_expiry_rows("ttl");
}

/// Repeatedly makes an item due and then moves its expiry time; in the end it is far in the future.
fn renew(bench: &Bench<MemoryStore>, worker: i64) {
    let sk = format!("{worker:02}");
    for _ in 0..300 {
        for time in [START - 100, START + 100_000] {
            bench.put(expiring_item(&sk, n(time))).expect("the sweep does not fail a write");
        }
        let is_there = bench.get(item([("pk", s("a")), ("sk", s(&sk))])).is_some();
        assert!(is_there, "the sweep took an item whose time had been moved away");
    }
}

#[test]
fn the_sweep_never_takes_an_item_whose_time_was_moved_away_meanwhile() {
    let bench = expiring();
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let bench = &bench;
        let renewing: Vec<_> = (0..3).map(|worker| scope.spawn(move || renew(bench, worker))).collect();
        while renewing.iter().any(|worker| !worker.is_finished()) {
            block_on(bench.engine.step(now_ms));
        }
    });
    bench.work();
    assert_eq!(bench.left(), ["00", "01", "02"]);
    bench.check_expiry_rows("ttl");
}

#[test]
fn whatever_its_commits_do_the_sweep_takes_each_item_once() {
    let stories: [&[Fate]; 6] = [
        &[Conflict, Conflict],
        &[UnknownWritten],
        &[UnknownLost],
        &[UnknownLost, UnknownWritten],
        &[TooLarge],
        &[UnknownLost, Conflict, UnknownLost],
    ];
    for story in stories {
        let store = FlakyStore::default();
        let mut table = create_request(schema());
        table.stream = Some(StreamViewType::KeysOnly);
        let bench = bench_with(store.clone(), EngineConfig::default(), table);
        bench.go_to(START);
        for number in 0..30 {
            bench.put(expiring_item(&format!("{number:02}"), n(START - number))).expect("put");
        }
        bench.put(expiring_item("stays", n(START + 1000))).expect("put");
        store.next(story);
        if bench.set_ttl("ttl", TtlChange::Enable).is_err() {
            assert!(story.contains(&TooLarge), "{story:?}");
            bench.set_ttl("ttl", TtlChange::Enable).expect("it is not done yet");
        }
        bench.work();
        bench.check_expiry_rows("ttl");
        bench.go_to(START + 60);
        store.next(story);
        for _ in 0..10 {
            bench.env.now_ms.fetch_add(100, Ordering::Relaxed);
            bench.work();
        }
        assert_eq!((bench.left(), store.untouched()), (vec!["stays".to_owned()], 0), "{story:?}");
        bench.check_expiry_rows("ttl");
        let records = bench.read_stream(&bench.stream());
        let removed: BTreeSet<String> = records
            .iter()
            .filter(|record| record.event == StreamEvent::Remove)
            .map(|record| format!("{:?}", record.keys.decode()["sk"]))
            .collect();
        let events = records.iter().filter(|record| record.event == StreamEvent::Remove).count();
        assert_eq!((removed.len(), events), (30, 30), "{story:?}");
    }
}

#[test]
fn the_backlog_counts_what_is_due_what_is_kept_and_names_the_next() {
    let bench = expiring();
    let backlog = || block_on(bench.engine.expiry_backlog(&namespace(), TABLE)).expect("the store answers");
    assert_eq!(backlog(), None, "time to live is off");
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is disabled");
    bench.work();
    bench.go_to(START);
    let five_years = 5 * 365 * 86_400;
    for (sk, time) in
        [("1", START), ("2", START - 10), ("3", START + 1), ("4", START + 9), ("5", START - five_years - 1)]
    {
        bench.put(expiring_item(sk, n(time))).expect("put");
    }
    bench.put(expiring_item("6", s("soon"))).expect("put");
    let found = backlog().expect("time to live is on");
    let seconds = |time: i64| u64::try_from(time).ok();
    assert_eq!((found.due, found.past, found.is_filling), (2, 1, false));
    assert_eq!((found.oldest_due, found.next), (seconds(START - 10), seconds(START + 1)));
    bench.go_to(START + 200);
    bench.work();
    assert_eq!(backlog().map(|own| (own.due, own.past, own.next)), Some((0, 1, None)));
}
