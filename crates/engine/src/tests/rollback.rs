//! Rollbacks: a table becomes what it was, also if its commits fail and others write meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::parts::{BillingMode, StreamViewType};
use keywright_semantics::request::{DeleteTable, Request, Throughput, TtlChange};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::history;
use super::stamps::Process;
use crate::catalogue::Table;
use crate::jobs::{JobState, JobView, RollbackCounts, RollbackFilter, RollbackPreview, RollbackRequest};
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::throughput::{Throttle, ThroughputConfig};

const START_S: i64 = 1_800_000_000;
const START_MS: u64 = 1_800_000_000_000;

fn numbered(number: i64, value: i64) -> Item {
    let key = [("pk", s(&(number % 5).to_string())), ("sk", s(&format!("{number:05}")))];
    item(key).into_iter().chain(item([("v", n(value)), ("g", s("g")), ("h", n(value))])).collect()
}

fn key_of(item: &Item) -> Item {
    let is_key = |name: &str| matches!(name, "pk" | "sk");
    item.iter().filter(|(name, _)| is_key(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn with_stream() -> Bench<FlakyStore> {
    let mut table = create_request(schema());
    table.stream = Some(StreamViewType::NewAndOldImages);
    let bench = bench_with(FlakyStore::default(), EngineConfig::default(), table);
    bench.go_to(START_S);
    bench.keep_history(35);
    bench
}

fn to(to_ms: u64) -> RollbackRequest {
    RollbackRequest { table: TABLE.to_owned(), to_ms, ..RollbackRequest::default() }
}

impl<S: Store> Bench<S> {
    fn after(&self, ms: u64) -> u64 {
        self.env.now_ms.fetch_add(ms, Ordering::Relaxed) + ms
    }

    fn preview(&self, request: &RollbackRequest) -> Result<RollbackPreview, Error> {
        let mut all = RollbackPreview::default();
        loop {
            let (namespace, from) = (namespace(), all.next.take());
            let page = block_on(self.engine.preview_rollback(&namespace, request, from.as_ref()))?;
            let (sum, one) = (&mut all.counts, page.counts);
            sum.put_back += one.put_back;
            sum.removed += one.removed;
            sum.overwritten += one.overwritten;
            sum.unchanged += one.unchanged;
            sum.expired += one.expired;
            sum.changed_meanwhile += one.changed_meanwhile;
            sum.write_units += one.write_units;
            all.examples.extend(page.examples);
            all.expired.extend(page.expired);
            all.next = page.next;
            if all.next.is_none() {
                return Ok(all);
            }
        }
    }

    fn begin(&self, request: &RollbackRequest) -> Result<JobView, Error> {
        block_on(self.engine.rollback(&namespace(), request))
    }

    fn job(&self, id: &str) -> JobView {
        block_on(self.engine.job(id)).expect("it is read").expect("the job is listed")
    }

    /// Rolls back to the end.
    fn roll_back(&self, request: &RollbackRequest) -> RollbackCounts {
        let begun = self.begin(request).expect("it begins");
        self.work();
        self.completed(&begun.id)
    }

    fn completed(&self, id: &str) -> RollbackCounts {
        let job = self.job(id);
        assert_eq!(job.state, JobState::Completed);
        assert!(self.table().history.holds().is_empty(), "the history is held no longer");
        let counts = job.rollback.expect("it is a rollback");
        assert_eq!(job.items, counts.changed());
        counts
    }

    fn table(&self) -> Arc<Table> {
        self.engine.catalogue().find(&namespace(), TABLE).expect("the table exists")
    }

    /// The table and its indexes.
    fn all_rows(&self) -> [Vec<Item>; 4] {
        [None, Some("lsi"), Some("gsi"), Some("multi")].map(|index| self.scan_all(index))
    }
}

fn random_write<S: Store>(bench: &Bench<S>, random: &mut fastrand::Rng) {
    let written = numbered(random.i64(..60), random.i64(..9));
    let _may_conflict = match random.u8(..3) {
        0 => bench.delete(&delete_request(key_of(&written))),
        _ => bench.put(written),
    };
}

#[test]
fn a_table_becomes_what_it_was_with_its_indexes_and_the_stream_has_each_change() {
    for seed in seeds(15) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bench = with_stream();
        for _ in 0..random.usize(..80) {
            random_write(&bench, &mut random);
            bench.after(random.u64(..3));
        }
        let then_ms = bench.after(1);
        let then = bench.all_rows();
        for _ in 0..random.usize(..120) {
            random_write(&bench, &mut random);
            bench.after(random.u64(..3));
        }
        let before = bench.all_rows();
        let before_ms = bench.after(1);
        let preview = bench.preview(&to(then_ms)).expect("it is shown").counts;
        assert_eq!(bench.all_rows(), before, "a preview writes nothing");

        let store = bench.engine.store().clone();
        store.take_commits();
        let begun = bench.begin(&to(then_ms)).expect("it begins");
        // The process ends before each step, and commits fail.
        while bench.job(&begun.id).ended_ms.is_none() {
            let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&bench.env);
            bench.engine =
                block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("opens");
            if store.untouched() == 0 && random.bool() {
                let fates = [Fate::Conflict, Fate::UnknownWritten, Fate::UnknownLost, Fate::TooLarge];
                store.next(&[fates[random.usize(..fates.len())]]);
            }
            let now_ms = bench.after(200);
            let _wake = block_on(bench.engine.step(now_ms));
        }
        while store.untouched() > 0 {
            let mut txn = block_on(store.begin()).expect("a transaction");
            txn.put(Bytes::from_static(b"\xff"), Bytes::new());
            let _scripted = block_on(txn.commit());
        }
        assert_eq!(bench.completed(&begun.id), preview, "{seed}");
        assert_eq!(bench.all_rows(), then, "{seed}");
        let records: usize =
            store.take_commits().iter().filter(|commit| commit.is_written).map(|c| c.records).sum();
        assert_eq!(u64::try_from(records).ok(), Some(preview.changed()), "{seed}");

        let again = bench.roll_back(&to(before_ms));
        assert_eq!(bench.all_rows(), before, "{seed}: a rollback is rolled back");
        assert_eq!((again.put_back, again.removed), (preview.removed, preview.put_back));
    }
}

#[test]
fn a_rollback_of_many_pages_counts_as_its_preview_and_shows_some_of_its_items() {
    let bench = with_stream();
    for number in 0..1_300 {
        bench.put(numbered(number, 1)).expect("written");
    }
    let then_ms = bench.after(1);
    for number in 0..1_300 {
        match number % 3 {
            0 => bench.delete(&delete_request(key_of(&numbered(number, 1)))),
            1 => bench.put(numbered(number, 2)),
            _ => bench.put(numbered(number + 1_300, 3)),
        }
        .expect("written");
    }
    bench.after(1);
    let preview = bench.preview(&to(then_ms)).expect("it is shown");
    let expected = RollbackCounts { put_back: 434, removed: 433, overwritten: 433, ..preview.counts };
    assert_eq!(preview.counts, expected);
    // An item and its entry in an index, which is written twice where it moves.
    assert_eq!(preview.counts.write_units, 434 * 2 + 433 * 2 + 433 * 3);
    assert!(preview.examples.len() >= 10);
    for example in &preview.examples {
        let image = |image: &Option<EncodedItem>| image.as_ref().map(EncodedItem::decode);
        let (before, after) = (image(&example.before), image(&example.after));
        let key = key_of(before.as_ref().or(after.as_ref()).expect("one of both"));
        assert_eq!(bench.get(key.clone()), before);
        assert_eq!(bench.item_at(&key, then_ms).expect("it is kept"), after);
    }
    assert_eq!(bench.roll_back(&to(then_ms)), preview.counts);
    assert_eq!(bench.scan_all(None).len(), 1_300);
    assert_eq!(bench.preview(&to(then_ms)).expect("it is shown").counts.unchanged, 1_300);
}

#[test]
fn a_filter_is_judged_on_the_item_as_it_was_and_else_on_the_present_one() {
    let bench = with_stream();
    for number in 0..4 {
        bench.put(numbered(number, number)).expect("written");
    }
    let then_ms = bench.after(1);
    for number in 0..4 {
        bench.put(numbered(number, 9)).expect("written");
    }
    bench.put(numbered(7, 1)).expect("written");
    bench.put(numbered(8, 5)).expect("written");
    bench.after(1);
    let filter = RollbackFilter {
        expression: "#v < :two".to_owned(),
        names: vec![("#v".to_owned(), "v".to_owned())],
        values: item([(":two", n(2))]),
    };
    let request = RollbackRequest { filter: Some(filter), ..to(then_ms) };
    let counts = bench.roll_back(&request);
    assert_eq!((counts.overwritten, counts.removed, counts.changed()), (2, 1, 3));
    let value = |number| bench.get(key_of(&numbered(number, 0))).map(|item| item["v"].clone());
    assert_eq!([0, 1, 2, 3].map(value), [0, 1, 9, 9].map(|value| Some(n(value))));
    assert_eq!([value(7), value(8)], [None, Some(n(5))]);
}

#[test]
fn a_key_is_one_item_or_a_partition() {
    let bench = with_stream();
    let then_ms = bench.after(1);
    for number in 0..20 {
        bench.put(numbered(number, 1)).expect("written");
    }
    bench.after(1);
    let with = |key: Item| RollbackRequest { key: Some(key), ..to(then_ms) };
    assert_eq!(bench.roll_back(&with(key_of(&numbered(3, 1)))).removed, 1);
    assert_eq!(bench.scan_all(None).len(), 19);
    assert_eq!(bench.get(key_of(&numbered(3, 1))), None);
    assert_eq!(bench.roll_back(&with(item([("pk", s("3"))]))).removed, 3);
    assert!(bench.scan_all(None).iter().all(|item| item["pk"] != s("3")));
    assert_eq!(bench.scan_all(None).len(), 16);
    for key in [item([("sk", s("3"))]), item([("pk", n(3))]), item([("pk", s("3")), ("other", s("3"))])] {
        let fault = bench.begin(&with(key)).expect_err("it is no key");
        assert_eq!(fault.kind, ErrorKind::Validation);
    }
}

#[test]
fn items_whose_time_to_live_has_passed_stay_away_unless_they_are_asked_for() {
    let bench = with_stream();
    let expiring = |number: i64, at_s: i64| {
        numbered(number, 1).into_iter().chain(item([("ttl", n(at_s))])).collect::<Item>()
    };
    bench.set_ttl("ttl", TtlChange::Enable).expect("it is enabled");
    bench.work();
    for (number, at_s) in [(0, START_S + 100), (1, START_S + 1_000_000)] {
        bench.put(expiring(number, at_s)).expect("written");
    }
    let then_ms = bench.after(1);
    bench.go_to(START_S + 1_000);
    bench.work();
    assert_eq!(bench.scan_all(None).len(), 1, "one has expired");
    bench.delete(&delete_request(key_of(&expiring(1, 0)))).expect("deleted");
    bench.after(1);
    let preview = bench.preview(&to(then_ms)).expect("it is shown");
    assert_eq!((preview.counts.put_back, preview.counts.expired), (1, 1));
    let shown: Vec<Item> = preview.expired.iter().map(EncodedItem::decode).collect();
    assert_eq!(shown, [expiring(0, START_S + 100)]);
    assert_eq!(bench.roll_back(&to(then_ms)), preview.counts);
    assert_eq!(bench.scan_all(None), [expiring(1, START_S + 1_000_000)]);
    bench.check_expiry_rows("ttl");

    let all = RollbackRequest { with_expired: true, ..to(then_ms) };
    bench.begin(&all).expect("it begins");
    // Only the job: a later step lets the item expire again.
    let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
    let _wake = block_on(crate::jobs::step(&bench.engine, now_ms));
    assert_eq!(bench.scan_all(None).len(), 2);
    bench.check_expiry_rows("ttl");
}

#[test]
fn an_item_that_is_changed_after_the_beginning_is_left_alone() {
    let bench = with_stream();
    for number in 0..4 {
        bench.put(numbered(number, 1)).expect("written");
    }
    let then_ms = bench.after(1);
    for number in 0..4 {
        bench.put(numbered(number, 2)).expect("written");
    }
    bench.after(1);
    let begun = bench.begin(&to(then_ms)).expect("it begins");
    bench.after(1);
    bench.put(numbered(0, 3)).expect("written");
    bench.delete(&delete_request(key_of(&numbered(1, 2)))).expect("deleted");
    bench.put(numbered(9, 3)).expect("written");
    bench.work();
    let counts = bench.completed(&begun.id);
    assert_eq!((counts.overwritten, counts.changed_meanwhile, counts.changed()), (2, 2, 2));
    let mut left = bench.scan_all(None);
    left.sort_by_key(|item| format!("{:?}", item["sk"]));
    assert_eq!(left, [numbered(0, 3), numbered(2, 1), numbered(3, 1), numbered(9, 3)]);
}

#[test]
fn limits_of_throughput_slow_a_rollback_down_and_do_not_stop_it() {
    let throughput =
        ThroughputConfig { throttle: Throttle::Table, burst_start_s: 1, ..ThroughputConfig::default() };
    let config = EngineConfig { throughput, ..EngineConfig::default() };
    let mut table = create_request(schema());
    table.indexes.clear();
    table.billing = BillingMode::Provisioned;
    table.throughput = Some(Throughput { read_units: 100, write_units: 10 });
    let bench = bench_with(MemoryStore::new(), config, table);
    bench.keep_history(35);
    let then_ms = bench.after(1);
    for number in 0..100 {
        while bench.put(numbered(number, 1)).is_err() {
            bench.after(100);
        }
    }
    let begun_ms = bench.after(1);
    assert!(begun_ms > then_ms + 8_000, "the limit is reached");
    let begun = bench.begin(&to(then_ms)).expect("it begins");
    let mut seconds: BTreeMap<u64, u64> = BTreeMap::new();
    let mut done = 0;
    while bench.job(&begun.id).ended_ms.is_none() {
        bench.work();
        let now_ms = bench.after(50);
        let items = bench.job(&begun.id).items;
        *seconds.entry((now_ms - begun_ms) / 1_000).or_default() += items - done;
        done = items;
        assert!(now_ms < begun_ms + 60_000, "it ends");
    }
    assert_eq!(bench.completed(&begun.id).removed, 100);
    assert!(seconds.len() >= 8 && seconds.values().all(|items| *items <= 21), "{seconds:?}");
}

#[test]
fn an_item_that_its_collection_has_no_room_for_is_left_out_and_counted() {
    let bench = bench_on(MemoryStore::new(), schema(), 2_000);
    bench.go_to(START_S);
    bench.keep_history(35);
    let large = |sk: &str| item([("pk", s("a")), ("sk", s(sk)), ("x", s(&"x".repeat(900)))]);
    bench.put(large("1")).expect("written");
    bench.put(large("2")).expect("written");
    let then_ms = bench.after(1);
    for sk in ["1", "2"] {
        bench.delete(&delete_request(key_of(&large(sk)))).expect("deleted");
    }
    bench.after(1);
    let begun = bench.begin(&to(then_ms)).expect("it begins");
    bench.put(large("3")).expect("written");
    bench.work();
    let counts = bench.completed(&begun.id);
    assert_eq!((counts.put_back, counts.refused), (1, 1));
    assert_eq!(bench.scan_all(None).len(), 2);
}

#[test]
fn a_rollback_needs_recovery_and_a_time_within_its_window() {
    let bench = bench();
    bench.go_to(START_S);
    let fault = bench.begin(&to(START_MS)).expect_err("recovery is off");
    assert_eq!(fault.kind, ErrorKind::PointInTimeRecoveryUnavailable);
    assert_eq!(fault.message, "Point in time recovery is not enabled for table 't'");
    bench.keep_history(35);
    bench.after(5_000);
    for to_ms in [START_MS - 1, START_MS + 6_000] {
        assert_eq!(bench.begin(&to(to_ms)).expect_err("outside").kind, ErrorKind::InvalidRestoreTime);
        assert_eq!(bench.preview(&to(to_ms)).expect_err("outside").kind, ErrorKind::InvalidRestoreTime);
    }
    let other = RollbackRequest { table: "other".to_owned(), ..to(START_MS + 1) };
    assert_eq!(bench.begin(&other).expect_err("no table").kind, ErrorKind::ResourceNotFound);
    let filter = RollbackFilter { expression: "v <".to_owned(), ..RollbackFilter::default() };
    let request = RollbackRequest { filter: Some(filter), ..to(START_MS + 1) };
    assert_eq!(bench.begin(&request).expect_err("no expression").kind, ErrorKind::Validation);
    assert!(bench.table().history.holds().is_empty());
}

#[test]
fn a_rollback_goes_on_when_recovery_is_turned_off_and_ends_when_its_table_is_deleted() {
    let bench = with_stream();
    bench.put(numbered(0, 1)).expect("written");
    let then_ms = bench.after(1);
    bench.put(numbered(0, 2)).expect("written");
    bench.after(1);
    let begun = bench.begin(&to(then_ms)).expect("it begins");
    let disable = |table: &mut Table| {
        table.history.disable_recovery();
        Ok(())
    };
    block_on(bench.engine.catalogue().change(bench.table().id, disable)).expect("it is turned off");
    bench.work();
    assert_eq!(bench.completed(&begun.id).overwritten, 1);
    assert!(!bench.table().history.is_on());

    bench.keep_history(35);
    let then_ms = bench.after(1);
    bench.put(numbered(0, 3)).expect("written");
    bench.after(1);
    let begun = bench.begin(&to(then_ms)).expect("it begins");
    let delete = Request::DeleteTable(DeleteTable { table: table_ref() });
    block_on(bench.engine.execute(&caller(), delete)).expect("it is deleted");
    bench.work();
    let JobState::Failed { code, message } = bench.job(&begun.id).state else { panic!("its table is gone") };
    assert_eq!(code, "TableDeleted");
    assert!(message.contains("table t was deleted"), "{message}");
}

#[test]
fn a_change_of_a_process_whose_clock_is_behind_is_left_alone_once_the_rollback_has_begun() {
    let store = MemoryStore::shared();
    let processes = [(1, START_MS + 40_000), (2, START_MS)];
    let processes = processes.map(|(number, now_ms)| Process::open(&store, number, now_ms));
    let [ahead, behind] = &processes;
    let put = |process: &Process<MemoryStore>, item| {
        let put = Request::PutItem(Box::new(put_request(item)));
        block_on(process.engine.execute(&caller(), put)).expect("written");
    };
    let create = Request::CreateTable(Box::new(create_request(schema())));
    block_on(ahead.engine.execute(&caller(), create)).expect("it is new");
    history::enable(&ahead.engine, 35);
    let pass = |ms: u64| {
        for _ in 0..ms / 500 {
            for process in &processes {
                let _wake = block_on(process.engine.step(process.clock.pass(500)));
            }
        }
    };
    put(ahead, numbered(0, 1));
    let to_ms = ahead.clock.pass(1);
    put(ahead, numbered(0, 2));
    pass(90_000);
    let begun = block_on(ahead.engine.rollback(&namespace(), &to(to_ms))).expect("it begins");
    put(behind, numbered(0, 3));
    put(behind, numbered(1, 3));
    pass(20_000);
    let job = block_on(ahead.engine.job(&begun.id)).expect("it is read").expect("the job is listed");
    assert_eq!(job.state, JobState::Completed);
    assert_eq!(job.rollback.map(|counts| (counts.changed_meanwhile, counts.changed())), Some((1, 0)));
    assert_eq!(history::present(&ahead.engine).len(), 2);
}
