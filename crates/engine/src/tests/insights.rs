//! Contributor insights: what is counted, the rules and their quota, reports, restarts and processes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::monitoring::document::Document;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::insight_rules::{RuleMetric, RuleReport};
use keywright_semantics::monitoring::response::Response as Answer;
use keywright_semantics::monitoring::{Operation, request::Request as Query};
use keywright_semantics::request::contributor_insights::{
    DescribeContributorInsights, InsightsTarget, ListContributorInsights, UpdateContributorInsights,
};
use keywright_semantics::request::create_table::CreateTable;
use keywright_semantics::request::parts::{BillingMode, ContributorInsightsMode};
use keywright_semantics::request::update_table::IndexUpdate;
use keywright_semantics::request::{Request, TableRef, Throughput};
use keywright_semantics::response::{InsightsDescription, InsightsStatus, Response};
use keywright_semantics::schema::KeyType;
use keywright_semantics::value::Item;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::partiql;
use crate::support::config::EngineConfig;
use crate::support::layout::{Space, prefix_range};
use crate::support::rows::each_row;
use crate::support::throughput::{Throttle, ThroughputConfig};
use crate::{Engine, Env};

const MINUTE_MS: u64 = 60_000;
const BOTH: ContributorInsightsMode = ContributorInsightsMode::AccessedAndThrottledKeys;
const THROTTLED: ContributorInsightsMode = ContributorInsightsMode::ThrottledKeys;

fn target(table: &str, index: Option<&str>) -> InsightsTarget {
    let table = TableRef::named(table.into());
    InsightsTarget { table, index: index.map(str::to_owned) }
}

fn ask<S: Store>(engine: &Engine<S>, request: Request) -> Response {
    block_on(engine.execute(&caller(), request)).expect("the request is right")
}

/// Switches insights on, or off without a mode.
fn switch<S: Store>(
    engine: &Engine<S>,
    of: (&str, Option<&str>),
    mode: Option<ContributorInsightsMode>,
) -> InsightsStatus {
    let request = UpdateContributorInsights { target: target(of.0, of.1), mode };
    match ask(engine, Request::UpdateContributorInsights(request)) {
        Response::UpdateContributorInsights(answer) => answer.status,
        other => panic!("{other:?}"),
    }
}

fn describe<S: Store>(engine: &Engine<S>, of: (&str, Option<&str>)) -> InsightsDescription {
    let request = DescribeContributorInsights { target: target(of.0, of.1) };
    match ask(engine, Request::DescribeContributorInsights(request)) {
        Response::DescribeContributorInsights(answer) => *answer,
        other => panic!("{other:?}"),
    }
}

fn rules<S: Store>(engine: &Engine<S>, of: (&str, Option<&str>)) -> Vec<String> {
    describe(engine, of).rules.unwrap_or_default()
}

fn list<S: Store>(engine: &Engine<S>, limit: usize) -> Vec<Vec<(String, Option<String>)>> {
    let (mut pages, mut next_token) = (Vec::new(), None);
    loop {
        let request = ListContributorInsights { table: None, next_token, limit };
        let Response::ListContributorInsights(page) = ask(engine, Request::ListContributorInsights(request))
        else {
            panic!("a list is answered by its output");
        };
        pages.push(page.summaries.into_iter().map(|entry| (entry.table_name, entry.index_name)).collect());
        if page.next_token.is_none() {
            return pages;
        }
        next_token = page.next_token;
    }
}

fn monitor<S: Store>(engine: &Engine<S>, operation: Operation, body: &Document) -> Result<Answer, Fault> {
    block_on(engine.monitor(&caller(), Query::validate(operation, body)?))
}

/// The report on the rule of this kind over the first hours.
fn report<S: Store>(engine: &Engine<S>, rule: &str) -> Result<RuleReport, Fault> {
    let body = Document::object([
        ("RuleName", Document::text(rule)),
        ("StartTime", Document::Integer(0)),
        ("EndTime", Document::Integer(48 * 3600)),
        ("Period", Document::Integer(3600)),
        ("Metrics", Document::List(["Maximum", "UniqueContributors"].map(Document::text).to_vec())),
    ]);
    monitor(engine, Operation::GetInsightRuleReport, &body).map(|answer| match answer {
        Answer::GetInsightRuleReport(report) => report,
        other => panic!("{other:?}"),
    })
}

fn of_kind(rules: &[String], kind: &str) -> String {
    let found = rules.iter().find(|rule| rule.contains(&format!("-{kind}-")));
    found.cloned().unwrap_or_else(|| panic!("no rule {kind} in {rules:?}"))
}

/// The contributors of a rule with their values, the heaviest first.
fn contributors<S: Store>(
    engine: &Engine<S>,
    of: (&str, Option<&str>),
    kind: &str,
) -> Vec<(Vec<String>, f64)> {
    let rule = of_kind(&rules(engine, of), kind);
    let report = report(engine, &rule).expect("the rule exists");
    report.contributors.into_iter().map(|contributor| (contributor.keys, contributor.value)).collect()
}

fn keys(texts: &[&str]) -> Vec<String> {
    texts.iter().copied().map(str::to_owned).collect()
}

fn row(pk: &str, sk: &str) -> Item {
    item([("pk", s(pk)), ("sk", s(sk))])
}

const OF_TABLE: (&str, Option<&str>) = (TABLE, None);
const OF_INDEX: (&str, Option<&str>) = (TABLE, Some("gsi"));

#[test]
fn keys_are_ranked_by_three_times_their_writes_and_their_reads() {
    let bench = bench();
    bench.put(row("before", "1")).expect("put");
    assert_eq!(switch(&bench.engine, OF_TABLE, Some(BOTH)), InsightsStatus::Enabling);
    for number in 0..3 {
        bench.put(row("hot", &number.to_string())).expect("put");
    }
    bench.put(row("cold", "1")).expect("put");
    bench.get(row("hot", "2")).expect("it is there");
    bench.delete(&delete_request(row("never", "1"))).expect("a delete of nothing costs a unit");
    let mut failing = put_request(row("hot", "9"));
    failing.write.condition = Some(Box::new(condition("attribute_exists(nothing)", [])));
    assert!(bench.put_with(&failing).is_err());
    let query = query_request(None, key_condition("pk = :p", [(":p", s("hot"))]));
    bench.query(&query).expect("a query");
    let (get_units, query_units) = (1.0, 0.5);
    let partitions = contributors(&bench.engine, OF_TABLE, "PKC");
    assert_eq!(partitions[0], (keys(&["hot"]), 3.0 * 4.0 + get_units + query_units));
    assert_eq!(partitions[1..], [(keys(&["cold"]), 3.0), (keys(&["never"]), 3.0)]);
    // A query is an event of its partition alone.
    let items = contributors(&bench.engine, OF_TABLE, "SKC");
    assert_eq!(items[0], (keys(&["hot", "2"]), 3.0 + get_units));
    assert_eq!(items.len(), 6);
    assert_eq!(contributors(&bench.engine, OF_TABLE, "PKT"), []);
}

#[test]
fn statements_and_scans_are_not_counted() {
    let bench = bench();
    switch(&bench.engine, OF_TABLE, Some(BOTH));
    bench.scan(&scan_request(None)).expect("a scan");
    for statement in
        [r#"INSERT INTO "t" VALUE {'pk': 'a', 'sk': 'b'}"#, r#"SELECT * FROM "t" WHERE pk = 'c'"#]
    {
        partiql::run(&bench, partiql::parts(statement)).expect("the statement is right");
    }
    assert_eq!(contributors(&bench.engine, OF_TABLE, "PKC"), [], "no statement is counted");
    assert!(bench.get(row("a", "b")).is_some());
    assert_eq!(contributors(&bench.engine, OF_TABLE, "PKC").len(), 1, "the get is counted");
}

#[test]
fn entries_of_an_index_count_for_the_index_under_both_of_their_keys() {
    let bench = bench();
    switch(&bench.engine, OF_INDEX, Some(BOTH));
    let indexed = |g: &str, h: i64| item([("pk", s("a")), ("sk", s("b")), ("g", s(g)), ("h", n(h))]);
    bench.put(indexed("one", 1)).expect("put");
    bench.put(indexed("other", 2)).expect("it moves the entry");
    bench.put(row("c", "d")).expect("it leaves the index alone");
    let query = query_request(Some("gsi"), key_condition("g = :g", [(":g", s("other"))]));
    bench.query(&query).expect("a query");
    assert_eq!(
        contributors(&bench.engine, OF_INDEX, "PKC"),
        [(keys(&["one"]), 6.0), (keys(&["other"]), 3.5)]
    );
    assert_eq!(
        contributors(&bench.engine, OF_INDEX, "SKC"),
        [(keys(&["one", "1"]), 6.0), (keys(&["other", "2"]), 3.0)]
    );
    assert_eq!(describe(&bench.engine, OF_TABLE).status, InsightsStatus::Disabled);
}

fn provisioned(units: u64, index_units: u64) -> CreateTable {
    let throughput = |units| Some(Throughput { read_units: units, write_units: units });
    let mut schema = schema();
    schema.indexes.retain(|index| index.name == "gsi");
    let mut request = create_request(schema);
    request.billing = BillingMode::Provisioned;
    request.throughput = throughput(units);
    request.indexes.iter_mut().for_each(|index| index.throughput = throughput(index_units));
    request
}

#[test]
fn throttles_of_the_table_count_and_those_of_back_pressure_do_not() {
    let throughput =
        ThroughputConfig { throttle: Throttle::Table, burst_start_s: 1, ..ThroughputConfig::default() };
    let config = EngineConfig { throughput, ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config, provisioned(3, 1));
    switch(&bench.engine, OF_TABLE, Some(THROTTLED));
    switch(&bench.engine, OF_INDEX, Some(THROTTLED));
    let indexed = |pk: &str| item([("pk", s(pk)), ("sk", s("1")), ("g", s("g")), ("h", n(1))]);
    bench.put(indexed("a")).expect("the index has a unit");
    bench.put(indexed("b")).expect_err("the index has none left");
    for _ in 0..2 {
        bench.put(row("c", "1")).expect("the table has two left");
    }
    for _ in 0..2 {
        bench.put(row("d", "1")).expect_err("the table has none left");
    }
    for kind in ["PKT", "SKT"] {
        let found = contributors(&bench.engine, OF_TABLE, kind);
        assert_eq!((found.len(), found[0].0[0].as_str(), found[0].1), (1, "d", 2.0), "{kind}");
        assert_eq!(contributors(&bench.engine, OF_INDEX, kind), [], "{kind}");
    }
    let kinds: Vec<_> = rules(&bench.engine, OF_TABLE).iter().map(|rule| rule[28..31].to_owned()).collect();
    assert_eq!(kinds, ["PKT", "SKT"]);
    // Reads of the index are throttled as its own.
    let query = query_request(Some("gsi"), key_condition("g = :g", [(":g", s("g"))]));
    for _ in 0..4 {
        let _ = bench.query(&query);
    }
    assert_eq!(contributors(&bench.engine, OF_INDEX, "PKT")[0].0, keys(&["g"]));
}

#[test]
fn the_setting_is_described_as_the_service_does() {
    let bench = bench();
    bench.env.now_ms.store(5000, Ordering::Relaxed);
    let fresh = describe(&bench.engine, OF_TABLE);
    assert_eq!(
        (fresh.status, fresh.rules, fresh.mode, fresh.updated),
        (InsightsStatus::Disabled, None, None, None)
    );
    assert_eq!(switch(&bench.engine, OF_TABLE, None), InsightsStatus::Disabled);
    assert_eq!(switch(&bench.engine, OF_TABLE, Some(BOTH)), InsightsStatus::Enabling);
    let of = |kind: &str, ms: u64| format!("DynamoDBContributorInsights-{kind}-t-{ms}");
    let all = |ms| ["PKC", "PKT", "SKC", "SKT"].map(|kind| of(kind, ms)).to_vec();
    assert_eq!(rules(&bench.engine, OF_TABLE), all(5000));
    bench.env.now_ms.store(6000, Ordering::Relaxed);
    assert_eq!(switch(&bench.engine, OF_TABLE, Some(BOTH)), InsightsStatus::Enabled, "nothing changes");
    assert_eq!(switch(&bench.engine, OF_TABLE, Some(THROTTLED)), InsightsStatus::Enabling);
    assert_eq!(rules(&bench.engine, OF_TABLE), [of("PKT", 5000), of("SKT", 5000)], "the rules stay");
    assert_eq!(switch(&bench.engine, OF_TABLE, None), InsightsStatus::Disabling);
    let off = describe(&bench.engine, OF_TABLE);
    assert_eq!((off.status, off.rules, off.mode), (InsightsStatus::Disabled, None, Some(THROTTLED)));
    switch(&bench.engine, OF_TABLE, Some(BOTH));
    assert_eq!(rules(&bench.engine, OF_TABLE), all(6000), "new rules are made");
    switch(&bench.engine, OF_INDEX, Some(BOTH));
    assert_eq!(rules(&bench.engine, OF_INDEX)[0], "DynamoDBContributorInsights-PKC-t-gsi-6000");
    let entry = |index: Option<&str>| (TABLE.to_owned(), index.map(str::to_owned));
    assert_eq!(list(&bench.engine, 1), [vec![entry(None)], vec![entry(Some("gsi"))]]);
    let unknown = |index: &str| {
        let request = DescribeContributorInsights { target: target(TABLE, Some(index)) };
        block_on(bench.engine.execute(&caller(), Request::DescribeContributorInsights(request)))
    };
    for index in ["ghost", "lsi"] {
        let error = unknown(index).expect_err("it is no global index");
        let text = format!("Requested resource not found: Index: {index} not found for table: t");
        assert_eq!(error.message, text);
    }
}

#[test]
fn an_index_takes_its_rules_along() {
    let bench = bench();
    let rows = || {
        let mut rows = 0;
        let view = block_on(bench.engine.store().snapshot()).expect("a view");
        let range = prefix_range(vec![Space::Insights.byte()]);
        block_on(each_row(&view, range, |_| rows += 1)).expect("it is read");
        rows
    };
    switch(&bench.engine, OF_INDEX, Some(BOTH));
    assert_eq!(list(&bench.engine, 100), [vec![(TABLE.to_owned(), Some("gsi".to_owned()))]]);
    bench.put(item([("pk", s("a")), ("sk", s("b")), ("g", s("one")), ("h", n(1))])).expect("put");
    bench.env.now_ms.store(MINUTE_MS, Ordering::Relaxed);
    block_on(bench.engine.step(MINUTE_MS));
    assert!(rows() > 0, "the minute is written");
    ask(&bench.engine, index_request(IndexUpdate::Delete { name: "gsi".to_owned() }));
    for _ in 0..10 {
        block_on(bench.engine.step(MINUTE_MS));
    }
    assert_eq!(list(&bench.engine, 100), [Vec::new()]);
    bench.env.now_ms.store(20 * MINUTE_MS, Ordering::Relaxed);
    block_on(bench.engine.step(20 * MINUTE_MS));
    assert_eq!(rows(), 0, "its minutes go too");
}

#[test]
fn beyond_a_hundred_rules_insights_fail_until_they_are_switched_on_again() {
    let bench = bench();
    let create = |name: &str, has_sort_key: bool| {
        let sort: &[(&str, KeyType)] = if has_sort_key { &[("sk", KeyType::S)] } else { &[] };
        let mut schema = schema();
        schema.key = key(&[("pk", KeyType::S)], sort);
        schema.indexes.clear();
        let request = CreateTable { name: name.to_owned(), ..create_request(schema) };
        ask(&bench.engine, Request::CreateTable(Box::new(request)));
    };
    create("small", false);
    switch(&bench.engine, ("small", None), Some(BOTH));
    for number in 0..24 {
        let name = format!("table{number}");
        create(&name, true);
        switch(&bench.engine, (&name, None), Some(BOTH));
    }
    // 98 rules; four more are too many, two are not.
    create("last", true);
    assert_eq!(switch(&bench.engine, ("last", None), Some(BOTH)), InsightsStatus::Enabling);
    let failed = describe(&bench.engine, ("last", None));
    assert_eq!((failed.status, failed.rules, failed.mode), (InsightsStatus::Failed, None, Some(BOTH)));
    assert_eq!(failed.failure.map(|(name, _)| name), Some("LimitExceededException"));
    assert_eq!(list(&bench.engine, 100)[0].len(), 26, "what failed is listed");
    create("two", false);
    switch(&bench.engine, ("two", None), Some(BOTH));
    assert_eq!(describe(&bench.engine, ("two", None)).status, InsightsStatus::Enabled);
    switch(&bench.engine, ("table0", None), None);
    assert_eq!(describe(&bench.engine, ("last", None)).status, InsightsStatus::Failed, "not by itself");
    switch(&bench.engine, ("last", None), Some(BOTH));
    let on = describe(&bench.engine, ("last", None));
    assert_eq!((on.status, on.failure), (InsightsStatus::Enabled, None));
}

#[test]
fn rules_are_listed_and_those_that_are_gone_are_not_found() {
    let bench = bench();
    switch(&bench.engine, OF_TABLE, Some(BOTH));
    let rule = of_kind(&rules(&bench.engine, OF_TABLE), "SKC");
    let page = Document::object([("MaxResults", Document::Integer(3))]);
    let Answer::DescribeInsightRules { rules, next_token } =
        monitor(&bench.engine, Operation::DescribeInsightRules, &page).expect("a page")
    else {
        panic!("rules are listed");
    };
    assert_eq!((rules.len(), next_token.as_deref()), (3, Some("3")));
    assert!(rules.iter().any(|found| found.name == rule && found.definition.contains("SortKey")));
    let labels = report(&bench.engine, &rule).expect("the rule exists").labels;
    assert_eq!(labels, ["PartitionKey", "SortKey"]);
    switch(&bench.engine, OF_TABLE, None);
    let gone = report(&bench.engine, &rule).expect_err("the rule is gone");
    assert_eq!(gone.kind, FaultKind::ResourceNotFoundException);
}

#[test]
fn finished_minutes_survive_a_restart_and_end_after_a_day() {
    let bench = bench();
    switch(&bench.engine, OF_TABLE, Some(BOTH));
    for (minute, puts) in [(1, 2), (2, 3)] {
        bench.env.now_ms.store(minute * MINUTE_MS, Ordering::Relaxed);
        for _ in 0..puts {
            bench.put(row("a", "1")).expect("put");
        }
    }
    block_on(bench.engine.step(3 * MINUTE_MS));
    bench.env.now_ms.store(3 * MINUTE_MS, Ordering::Relaxed);
    bench.put(row("lost", "1")).expect("put");
    // Not shut down: the last minute is lost, the finished ones are kept.
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&bench.env);
    let again = block_on(Engine::open(bench.engine.store().clone(), env, EngineConfig::default()));
    let again = again.expect("the store opens again");
    assert_eq!(contributors(&again, OF_TABLE, "PKC"), [(keys(&["a"]), 15.0)]);
    let whole = report(&again, &of_kind(&rules(&again, OF_TABLE), "PKC")).expect("the rule exists");
    assert_eq!((whole.value, whole.unique, whole.contributors[0].points.len()), (15.0, 1, 1));
    assert_eq!(whole.points[0].1, [(RuleMetric::Maximum, 3.0), (RuleMetric::UniqueContributors, 1.0)]);
    for (hours, values) in [(23, 1), (25, 0)] {
        let now_ms = hours * 60 * MINUTE_MS;
        bench.env.now_ms.store(now_ms, Ordering::Relaxed);
        block_on(again.step(now_ms));
        assert_eq!(contributors(&again, OF_TABLE, "PKC").len(), values, "after {hours} hours");
    }
}

#[test]
fn a_report_adds_up_the_finished_minutes_of_all_processes() {
    let store = MemoryStore::shared();
    let env = Arc::new(TestEnv::default());
    env.now_ms.store(10 * MINUTE_MS, Ordering::Relaxed);
    let open = || {
        let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
        block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("the store opens")
    };
    let (one, other) = (open(), open());
    ask(&one, Request::CreateTable(Box::new(create_request(schema()))));
    switch(&one, OF_TABLE, Some(BOTH));
    let put = |engine: &Engine<_>| ask(engine, Request::PutItem(Box::new(put_request(row("a", "1")))));
    put(&one);
    put(&other);
    put(&other);
    env.now_ms.store(11 * MINUTE_MS, Ordering::Relaxed);
    for engine in [&one, &other] {
        block_on(engine.step(11 * MINUTE_MS));
    }
    for engine in [&one, &other] {
        assert_eq!(contributors(engine, OF_TABLE, "PKC"), [(keys(&["a"]), 9.0)]);
    }
}
