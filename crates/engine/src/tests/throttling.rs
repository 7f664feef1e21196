//! Throttled requests: which operation fails how, what is charged, and what is written.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::create_table::CreateTable;
use keywright_semantics::request::parts::BillingMode;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use keywright_semantics::request::transact_write_items::{TransactAction, TransactWrite, TransactWriteItems};
use keywright_semantics::request::{Request, Throughput};
use keywright_semantics::schema::TableSchema;
use keywright_semantics::throttle::ThrottlingReason;
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::support::config::EngineConfig;
use crate::support::throughput::{Throttle, ThroughputConfig};

fn config(throttle: Throttle) -> EngineConfig {
    let throughput = ThroughputConfig { throttle, burst_start_s: 1, ..ThroughputConfig::default() };
    EngineConfig { throughput, ..EngineConfig::default() }
}

/// A provisioned table with a global index.
fn provisioned(units: u64, index_units: u64) -> CreateTable {
    let throughput = |units| Some(Throughput { read_units: units, write_units: units });
    let mut schema: TableSchema = schema();
    schema.indexes.retain(|index| index.name == "gsi");
    let mut request = create_request(schema);
    request.billing = BillingMode::Provisioned;
    request.throughput = throughput(units);
    request.indexes.iter_mut().for_each(|index| index.throughput = throughput(index_units));
    request
}

fn row(number: i64) -> Item {
    item([("pk", s(&number.to_string())), ("sk", s("s"))])
}

fn indexed(number: i64) -> Item {
    item([("pk", s(&number.to_string())), ("sk", s("s")), ("g", s("g")), ("h", n(number))])
}

fn bench_of(throttle: Throttle, table: CreateTable) -> Bench<MemoryStore> {
    bench_with(MemoryStore::new(), config(throttle), table)
}

impl Bench<MemoryStore> {
    fn wait(&self, seconds: u64) {
        self.env.now_ms.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    /// Puts until one is refused: how many passed, and the refusal.
    fn puts(&self, item: impl Fn(i64) -> Item) -> (i64, Error) {
        (0..)
            .find_map(|number| self.put(item(number)).err().map(|error| (number, error)))
            .expect("a limited table refuses at some time")
    }
}

fn reasons(error: &Error) -> Vec<(String, String)> {
    match &*error.detail {
        ErrorDetail::Throttling(reasons) => {
            reasons.iter().map(|reason: &ThrottlingReason| (reason.name(), reason.resource.clone())).collect()
        }
        _ => Vec::new(),
    }
}

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/t";

#[test]
fn without_throttling_a_table_of_one_unit_takes_everything() {
    let bench = bench_of(Throttle::Off, provisioned(1, 1));
    assert!((0..1000).all(|number| bench.put(row(number)).is_ok()));
}

#[test]
fn five_idle_minutes_are_saved_and_then_the_table_refuses_writes_only() {
    let bench = bench_of(Throttle::Table, provisioned(10, 10));
    bench.puts(row);
    bench.wait(600);
    let (passed, error) = bench.puts(row);
    assert_eq!((passed, error.kind), (3000, ErrorKind::ProvisionedThroughputExceeded));
    assert_eq!(reasons(&error), [("TableWriteProvisionedThroughputExceeded".to_owned(), ARN.to_owned())]);
    assert!(bench.get(row(1)).is_some(), "reads have units of their own");
}

#[test]
fn a_full_index_refuses_the_writes_that_change_it_and_nothing_is_written() {
    let bench = bench_of(Throttle::Table, provisioned(100, 1));
    assert!(bench.put(indexed(0)).is_ok());
    let error = bench.put(indexed(1)).expect_err("the index has used its unit");
    let index = format!("{ARN}/index/gsi");
    assert_eq!(reasons(&error), [("IndexWriteProvisionedThroughputExceeded".to_owned(), index)]);
    assert!(bench.get(row(1)).is_none());
    assert!(bench.put(row(2)).is_ok(), "a write that leaves the index alone passes");
    assert!(bench.put(indexed(0)).is_ok(), "an unchanged entry costs the index nothing");
}

#[test]
fn a_large_query_passes_a_small_table_and_is_repaid_by_time() {
    let bench = bench_of(Throttle::Table, provisioned(5, 5));
    for number in 0..10 {
        bench.wait(600);
        let mut item = row(number);
        item.insert("d".into(), s(&"d".repeat(100_000)));
        bench.put(item).expect("the table has saved enough");
    }
    bench.wait(600);
    // 122.5 units each, of which 1,500 are saved.
    let scans = || (0..1000).take_while(|_| bench.scan(&scan_request(None)).is_ok()).count();
    assert_eq!(scans(), 13);
    // The debt is 92.5 units.
    bench.wait(18);
    assert_eq!(scans(), 0);
    bench.wait(1);
    assert_eq!(scans(), 1);
}

#[test]
fn a_failed_condition_costs_the_write_of_its_item() {
    let bench = bench_of(Throttle::Table, provisioned(10, 10));
    bench.wait(10);
    let mut request = put_request(row(1));
    request.write.condition = Some(Box::new(condition("attribute_exists(nothing)", [])));
    let refused = |kind| {
        (0..1000).take_while(|_| bench.put_with(&request).is_err_and(|error| error.kind == kind)).count()
    };
    assert_eq!(refused(ErrorKind::ConditionalCheckFailed), 10 + 10 * 10);
    let error = bench.put_with(&request).expect_err("nothing is left");
    assert_eq!(error.kind, ErrorKind::ProvisionedThroughputExceeded);
}

#[test]
fn a_throttled_table_cancels_a_transaction() {
    let bench = bench_of(Throttle::Table, provisioned(3, 3));
    let put = |number| TransactWrite {
        table: table_ref(),
        action: TransactAction::Put { item: row(number) },
        condition: None,
        on_condition_failure: OnConditionFailure::Nothing,
    };
    let request = TransactWriteItems {
        actions: vec![put(1), put(2)],
        token: None,
        capacity: ReturnConsumedCapacity::None,
        metrics: ReturnItemCollectionMetrics::None,
    };
    let run = || {
        block_on(crate::batch::transact_write_items::transact_write_items(&bench.engine, &caller(), &request))
    };
    assert!(run().is_ok(), "more than nothing is left: it may go into debt");
    let error = run().expect_err("the table is in debt");
    assert_eq!(error.kind, ErrorKind::TransactionCanceled);
    let ErrorDetail::Reasons(reasons) = &*error.detail else { panic!("{error:?}") };
    let codes: Vec<&str> = reasons.iter().map(CancellationReason::code).collect();
    assert_eq!(codes, ["ProvisionedThroughputExceeded", "ProvisionedThroughputExceeded"]);
}

#[test]
fn a_tag_chooses_for_its_table() {
    let tagged = |word: &str| {
        let tags = BTreeMap::from([(Throttle::TAG.to_owned(), word.to_owned())]);
        CreateTable { tags, ..provisioned(1, 1) }
    };
    let freed = bench_of(Throttle::Full, tagged("off"));
    assert!((0..100).all(|number| freed.put(row(number)).is_ok()));
    let armed = bench_of(Throttle::Off, tagged("table"));
    assert_eq!(armed.puts(row).0, 1);
}

#[test]
fn a_misspelt_mode_of_the_tag_is_refused() {
    let bench = bench_of(Throttle::Off, provisioned(1, 1));
    let tags = BTreeMap::from([(Throttle::TAG.to_owned(), "fulll".to_owned())]);
    let request = CreateTable { name: "other".to_owned(), tags, ..provisioned(1, 1) };
    let created = block_on(bench.engine.execute(&caller(), Request::CreateTable(Box::new(request))));
    assert_eq!(created.expect_err("no such mode").kind, ErrorKind::Validation);
}

#[test]
fn the_busiest_keys_are_named_with_their_share_where_partitions_are_enforced() {
    let bench = bench_of(Throttle::Full, provisioned(900, 900));
    for number in 0..200 {
        let mut row = indexed(if number % 2 == 0 { 7 } else { number });
        row.insert("h".into(), n(number));
        bench.put(row).expect("the table has units");
    }
    let heat = |index| block_on(bench.engine.heat(&namespace(), TABLE, index)).expect("the store answers");
    let found = heat(None).expect("there is a table");
    assert_eq!((found.mode, found.partitions.len()), (Throttle::Full, 1));
    let [busiest, next, ..] = found.keys.as_slice() else { panic!("{:?}", found.keys) };
    assert_eq!(busiest.key, item([("pk", s("7"))]));
    // An old and a new index key are charged too, but to the index.
    let all: u64 = found.keys.iter().map(|key| key.milli_units).sum();
    assert!(busiest.milli_units * 5 > all * 2, "{} of {all}", busiest.milli_units);
    assert!(busiest.milli_units > 5 * next.milli_units);
    assert_eq!(busiest.item.as_ref().map(|item| item.sort.clone()), Some(item([("sk", s("s"))])));
    let of_index = heat(Some("gsi")).expect("there is an index");
    assert_eq!(of_index.keys.first().map(|key| key.key.clone()), Some(item([("g", s("g"))])));
    assert_eq!(heat(Some("none")), None);
    // Minutes later nothing is left of it.
    bench.wait(180);
    assert!(heat(None).is_some_and(|heat| heat.keys.is_empty()));
    let open = bench_of(Throttle::Table, provisioned(900, 900));
    open.put(row(1)).expect("the table has units");
    let unknown = block_on(open.engine.heat(&namespace(), TABLE, None)).expect("the store answers");
    assert!(unknown.is_some_and(|heat| heat.mode == Throttle::Table && heat.partitions.is_empty()));
}
