//! Tables from their creation to their end: states, answers, quotas, tags, owners; and what a restart keeps
//! of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::create_table::{CreateTable, EncryptionKey, NewIndex};
use keywright_semantics::request::parts::{BillingMode, StreamViewType, TableClass};
use keywright_semantics::request::update_table::{EncryptionChange, IndexUpdate, StreamChange, UpdateTable};
use keywright_semantics::request::{
    ArnScope, DeleteTable, DescribeTable, ListTables, ListTagsOfResource, OnDemandThroughput, Request,
    ResourceRef, TableRef, TagResource, Throughput, UntagResource, WarmThroughput,
};
use keywright_semantics::response::{
    GlobalSecondaryIndexDescription, IndexStatus, OnDemandThroughputDescription, Response, TableDescription,
    TableStatus,
};
use keywright_semantics::schema::{IndexKind, KeyType, Projection, TableSchema};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store};

use super::harness::*;
use crate::support::env::{AccountId, Caller, Env, Namespace, Region};
use crate::support::throughput::ThroughputConfig;
use crate::{Engine, EngineConfig};

/// An engine, its clock, and short forms of the operations on tables.
pub(super) struct Bed<S: Store> {
    pub engine: Engine<S>,
    pub env: Arc<TestEnv>,
    pub caller: Caller,
}

pub(super) fn bed() -> Bed<MemoryStore> {
    open(MemoryStore::new(), EngineConfig::default())
}

pub(super) fn open<S: Store>(store: S, config: EngineConfig) -> Bed<S> {
    let env = Arc::new(TestEnv::default());
    let shared: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
    let engine = block_on(Engine::open(store, shared, config)).expect("the store opens");
    Bed { engine, env, caller: caller() }
}

pub(super) fn named(name: &str) -> TableRef {
    TableRef::named(name.into())
}

pub(super) fn plain() -> TableSchema {
    TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() }
}

pub(super) fn creation(name: &str, schema: TableSchema) -> CreateTable {
    let definitions = schema.key.attributes().cloned().collect();
    let new = |schema| NewIndex { schema, throughput: None, on_demand: None, warm: None };
    CreateTable {
        name: name.into(),
        definitions,
        key: schema.key,
        indexes: schema.indexes.into_iter().map(new).collect(),
        billing: BillingMode::PayPerRequest,
        throughput: None,
        on_demand: None,
        warm: None,
        stream: None,
        class: None,
        encryption: None,
        deletion_protection: false,
        tags: BTreeMap::new(),
        policy: None,
    }
}

fn provisioned(name: &str, units: u64) -> CreateTable {
    CreateTable {
        billing: BillingMode::Provisioned,
        throughput: Some(Throughput { read_units: units, write_units: units }),
        ..creation(name, plain())
    }
}

pub(super) fn nothing(name: &str) -> UpdateTable {
    UpdateTable {
        table: named(name),
        definitions: Vec::new(),
        billing: None,
        throughput: None,
        index_updates: Vec::new(),
        stream: None,
        encryption: None,
        class: None,
        deletion_protection: None,
        on_demand: None,
        warm: None,
        settings_replication: None,
        disassociation_protection: None,
        replicas: None,
    }
}

pub(super) fn new_index(name: &str, attribute: &str) -> NewIndex {
    let schema = index(name, IndexKind::Global, key(&[(attribute, KeyType::N)], &[]), Projection::All);
    NewIndex { schema, throughput: None, on_demand: None, warm: None }
}

pub(super) fn add_index(table: &str, name: &str, attribute_name: &str) -> UpdateTable {
    UpdateTable {
        definitions: vec![attribute(attribute_name, KeyType::N)],
        index_updates: vec![IndexUpdate::Create(new_index(name, attribute_name))],
        ..nothing(table)
    }
}

pub(super) fn drop_index(table: &str, name: &str) -> UpdateTable {
    UpdateTable { index_updates: vec![IndexUpdate::Delete { name: name.into() }], ..nothing(table) }
}

impl<S: Store> Bed<S> {
    pub(super) fn run(&self, request: Request) -> Result<Response, Error> {
        block_on(self.engine.execute(&self.caller, request))
    }

    pub(super) fn create(&self, request: CreateTable) -> Result<TableDescription, Error> {
        match self.run(Request::CreateTable(Box::new(request)))? {
            Response::CreateTable(description) => Ok(*description),
            other => panic!("not a creation: {other:?}"),
        }
    }

    pub(super) fn update(&self, request: UpdateTable) -> Result<TableDescription, Error> {
        match self.run(Request::UpdateTable(Box::new(request)))? {
            Response::UpdateTable(description) => Ok(*description),
            other => panic!("not an update: {other:?}"),
        }
    }

    pub(super) fn delete(&self, name: &str) -> Result<TableDescription, Error> {
        match self.run(Request::DeleteTable(DeleteTable { table: named(name) }))? {
            Response::DeleteTable(description) => Ok(*description),
            other => panic!("not a deletion: {other:?}"),
        }
    }

    pub(super) fn describe(&self, name: &str) -> Result<TableDescription, Error> {
        match self.run(Request::DescribeTable(DescribeTable { table: named(name) }))? {
            Response::DescribeTable(description) => Ok(*description),
            other => panic!("not a description: {other:?}"),
        }
    }

    fn index(&self, table: &str, name: &str) -> Option<GlobalSecondaryIndexDescription> {
        let description = self.describe(table).expect("the table is there");
        let indexes = description.global_secondary_indexes.unwrap_or_default();
        indexes.into_iter().find(|index| index.index_name == name)
    }

    fn names(&self, start: Option<&str>, limit: usize) -> (Vec<String>, Option<String>) {
        let request = ListTables { exclusive_start: start.map(Into::into), limit };
        match self.run(Request::ListTables(request)).expect("listing does not fail") {
            Response::ListTables(output) => (output.table_names, output.last_evaluated_table_name),
            other => panic!("not a list: {other:?}"),
        }
    }

    pub(super) fn put(&self, table: &str, item: Item) {
        let mut request = put_request(item);
        request.table = named(table);
        self.run(Request::PutItem(Box::new(request))).expect("it is written");
    }

    pub(super) fn step(&self) {
        block_on(self.engine.step(self.env.now_ms()));
    }

    /// Steps until no work is due.
    pub(super) fn settle(&self) {
        let bound = 100_000;
        for _ in 0..bound {
            let wake = block_on(self.engine.step(self.env.now_ms()));
            if wake.at_ms.is_none_or(|at_ms| at_ms > self.env.now_ms()) {
                return;
            }
        }
        panic!("background work did not end");
    }

    pub(super) fn pass_time(&self, ms: u64) {
        self.env.now_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

pub(super) fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> (ErrorKind, String) {
    let error = result.expect_err("it is refused");
    (error.kind, error.message)
}

/// Every key of the store that starts with this byte.
fn rows<S: Store>(store: &S, space: u8) -> usize {
    let range = KeyRange { start: vec![space].into(), end: Some(vec![space + 1].into()) };
    let scan = Scan { range, direction: Direction::Forward, rows_max: usize::MAX, bytes_max: usize::MAX };
    let page = block_on(async { store.snapshot().await.expect("snapshot").scan(&scan).await });
    page.expect("scan").entries.len()
}

#[test]
fn a_new_table_is_answered_as_creating_and_is_active_at_once() {
    let bed = bed();
    bed.pass_time(1_700_000_000_123);
    let answer = bed.create(creation("Shop", schema())).expect("it is new");
    assert_eq!(answer.table_status, TableStatus::Creating);
    assert_eq!(answer.table_arn, "arn:aws:dynamodb:us-east-1:000000000000:table/Shop");
    assert!(answer.warm_throughput.is_none());
    let description = bed.describe("Shop").expect("it is there");
    assert_eq!(description.table_status, TableStatus::Active);
    assert_eq!(description.table_id, answer.table_id);
    assert_eq!(description.creation_date_time.expect("always").0, 1_700_000_000_123);
    let warm = description.warm_throughput.expect("always");
    assert_eq!((warm.read_units_per_second, warm.write_units_per_second), (12_000, 4_000));
    let globals = description.global_secondary_indexes.expect("it has two");
    assert!(globals.iter().all(|index| index.index_status == IndexStatus::Active));
    assert!(globals.iter().all(|index| index.backfilling.is_none()));
    assert_eq!(description.local_secondary_indexes.expect("it has one").len(), 1);
    bed.put("Shop", item([("pk", s("a")), ("sk", s("b"))]));
}

#[test]
fn a_name_is_taken_once() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let again = kind(bed.create(creation("Shop", plain())));
    assert_eq!(again, (ErrorKind::ResourceInUse, "Table already exists: Shop".into()));
}

#[test]
fn with_a_transition_a_table_takes_data_only_when_it_is_active() {
    let config = EngineConfig { transition_ms: 500, ..EngineConfig::default() };
    let bed = open(MemoryStore::new(), config);
    bed.create(creation("Shop", plain())).expect("it is new");
    assert_eq!(bed.describe("Shop").expect("it is there").table_status, TableStatus::Creating);
    let mut request = put_request(item([("pk", s("a"))]));
    request.table = named("Shop");
    let early = kind(bed.run(Request::PutItem(Box::new(request))));
    assert_eq!(early, (ErrorKind::ResourceNotFound, "Requested resource not found".into()));
    let in_use = "Attempt to change a resource which is still in use: ";
    let busy = (ErrorKind::ResourceInUse, format!("{in_use}Table is being created: Shop"));
    assert_eq!(kind(bed.create(creation("Shop", plain()))), busy);
    assert_eq!(kind(bed.delete("Shop")), busy);
    bed.pass_time(499);
    bed.step();
    assert_eq!(bed.describe("Shop").expect("it is there").table_status, TableStatus::Creating);
    bed.pass_time(1);
    bed.step();
    assert_eq!(bed.describe("Shop").expect("it is there").table_status, TableStatus::Active);
    bed.put("Shop", item([("pk", s("a"))]));
    bed.delete("Shop").expect("it may go");
    assert_eq!(bed.describe("Shop").expect("it is still there").table_status, TableStatus::Deleting);
    assert_eq!(
        kind(bed.delete("Shop")),
        (ErrorKind::ResourceInUse, format!("{in_use}Table is being deleted: Shop"))
    );
    bed.pass_time(500);
    bed.settle();
    assert_eq!(kind(bed.describe("Shop")).0, ErrorKind::ResourceNotFound);
}

#[test]
fn a_deleted_table_leaves_no_rows_and_its_name_is_free_again() {
    let store = MemoryStore::new();
    let bed = open(store.clone(), EngineConfig::default());
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.put("Shop", item([("pk", s("a")), ("sk", s("b")), ("l", s("c")), ("g", s("d")), ("h", n(1))]));
    let gone = bed.delete("Shop").expect("it may go");
    assert_eq!(gone.table_status, TableStatus::Deleting);
    assert!(gone.global_secondary_indexes.is_none());
    let missing =
        (ErrorKind::ResourceNotFound, "Requested resource not found: Table: Shop not found".to_owned());
    assert_eq!(kind(bed.describe("Shop")), missing);
    assert_eq!(kind(bed.delete("Shop")), missing);
    bed.create(creation("Shop", schema())).expect("the name is free");
    let mut scan = scan_request(None);
    scan.table = named("Shop");
    let Ok(Response::Scan(page)) = bed.run(Request::Scan(Box::new(scan))) else { panic!("it can be read") };
    assert_eq!(page.count, 0);
    bed.delete("Shop").expect("it may go");
    bed.settle();
    for space in [2, 3, 4, 6] {
        assert_eq!(rows(&store, space), 0, "space {space}");
    }
    // Only the format and the next table id are left.
    assert_eq!(rows(&store, 1), 2);
}

#[test]
fn a_large_table_goes_piece_by_piece_also_when_the_engine_stops_between() {
    let store = MemoryStore::new();
    let bed = open(store.clone(), EngineConfig::default());
    bed.create(creation("Shop", plain())).expect("it is new");
    for place in 0..12_000 {
        bed.put("Shop", item([("pk", s(&place.to_string()))]));
    }
    bed.delete("Shop").expect("it may go");
    bed.step();
    assert_eq!(rows(&store, 2), 7000);
    drop(bed);
    let bed = open(store.clone(), EngineConfig::default());
    bed.step();
    assert_eq!(rows(&store, 2), 2000);
    bed.settle();
    assert_eq!((rows(&store, 1), rows(&store, 2)), (2, 0));
}

#[test]
fn deletion_protection_holds_until_it_is_taken_away() {
    let bed = bed();
    bed.create(CreateTable { deletion_protection: true, ..creation("Shop", plain()) }).expect("it is new");
    let refused = kind(bed.delete("Shop"));
    assert_eq!(refused.0, ErrorKind::Validation);
    assert!(
        refused.1.starts_with("Resource cannot be deleted as it is currently protected"),
        "{}",
        refused.1
    );
    let answer = bed
        .update(UpdateTable { deletion_protection: Some(false), ..nothing("Shop") })
        .expect("it may change");
    assert_eq!(answer.table_status, TableStatus::Active);
    assert_eq!(answer.deletion_protection_enabled, Some(false));
    bed.delete("Shop").expect("it may go");
}

#[test]
fn names_are_listed_in_order_and_in_pages() {
    let bed = bed();
    for name in ["b.table", "a-table", "B_table", "c"] {
        bed.create(creation(name, plain())).expect("it is new");
    }
    assert_eq!(
        bed.names(None, 3),
        (vec!["B_table".into(), "a-table".into(), "b.table".into()], Some("b.table".into()))
    );
    assert_eq!(bed.names(Some("b.table"), 3), (vec!["c".into()], None));
    assert_eq!(bed.names(Some("aa"), 1), (vec!["b.table".into()], Some("b.table".into())));
}

#[test]
fn accounts_and_regions_have_tables_of_their_own() {
    let mut bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let scope = |region: &str, account: &str| {
        TableRef::of(format!("arn:aws:dynamodb:{region}:{account}:table/Shop")).unwrap()
    };
    let describe = |bed: &Bed<MemoryStore>, table| bed.run(Request::DescribeTable(DescribeTable { table }));
    assert!(describe(&bed, scope("us-east-1", "000000000000")).is_ok());
    let elsewhere = kind(describe(&bed, scope("eu-west-1", "000000000000")));
    let text = "1 validation error detected: Invalid AWS region in 'arn:aws:dynamodb:eu-west-1:000000000000:table/Shop'";
    assert_eq!(elsewhere, (ErrorKind::Validation, text.into()));
    assert_eq!(kind(describe(&bed, scope("us-east-1", "111111111111"))).0, ErrorKind::AccessDenied);
    for (account, region) in [("111111111111", "us-east-1"), ("000000000000", "eu-west-1")] {
        let namespace = Namespace { account: AccountId::from(account), region: Region::from(region) };
        bed.caller = Caller::account(namespace);
        assert_eq!(bed.names(None, 10).0, Vec::<String>::new());
        assert_eq!(kind(bed.describe("Shop")).0, ErrorKind::ResourceNotFound);
        bed.create(creation("Shop", plain())).expect("it is new here");
    }
}

#[test]
fn an_account_has_a_quota_of_tables() {
    let config = EngineConfig { tables_max: 2, ..EngineConfig::default() };
    let mut bed = open(MemoryStore::new(), config);
    bed.create(creation("one", plain())).expect("the first");
    bed.create(creation("two", plain())).expect("the second");
    let over = kind(bed.create(creation("three", plain())));
    assert_eq!(
        over,
        (
            ErrorKind::LimitExceeded,
            "Subscriber limit exceeded: There is a limit of 2 tables per subscriber".into()
        )
    );
    bed.caller.namespace.region = Region::from("eu-west-1");
    bed.create(creation("three", plain())).expect("another region has its own quota");
}

#[test]
fn capacity_is_bounded_for_each_table() {
    let bed = bed();
    let (kind_of_error, message) = kind(bed.create(provisioned("Shop", 40_001)));
    assert_eq!(kind_of_error, ErrorKind::LimitExceeded);
    assert!(
        message.starts_with(
            "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in us-east-1."
        ),
        "{message}"
    );
}

#[test]
fn units_change_and_the_answer_still_shows_the_old_ones() {
    let bed = bed();
    bed.create(provisioned("Shop", 5)).expect("it is new");
    bed.pass_time(1000);
    let units = |read_units, write_units| UpdateTable {
        throughput: Some(Throughput { read_units, write_units }),
        ..nothing("Shop")
    };
    let (kind_of_error, message) = kind(bed.update(units(5, 5)));
    assert_eq!(kind_of_error, ErrorKind::Validation);
    assert!(message.starts_with("The provisioned throughput for the table will not change."), "{message}");
    let answer = bed.update(units(7, 3)).expect("it may change");
    assert_eq!(answer.table_status, TableStatus::Updating);
    assert_eq!(answer.provisioned_throughput.expect("always").read_capacity_units, 5);
    let now = bed.describe("Shop").expect("it is there");
    assert_eq!(now.table_status, TableStatus::Active);
    assert!(now.billing_mode_summary.is_none());
    let units = now.provisioned_throughput.expect("always");
    assert_eq!((units.read_capacity_units, units.write_capacity_units), (7, 3));
    assert_eq!(units.last_increase_date_time.expect("it went up").0, 1000);
    assert_eq!(units.last_decrease_date_time.expect("it went down").0, 1000);
    assert_eq!(units.number_of_decreases_today, 1);
    bed.pass_time(86_400_000);
    let tomorrow = bed.describe("Shop").expect("it is there").provisioned_throughput.expect("always");
    assert_eq!(tomorrow.number_of_decreases_today, 0);
}

#[test]
fn billing_modes_change_with_all_indexes() {
    let bed = bed();
    let creation = CreateTable {
        indexes: vec![new_index("one", "g"), new_index("two", "g")],
        ..creation("Shop", plain())
    };
    bed.create(creation).expect("it is new");
    let units = Throughput { read_units: 5, write_units: 5 };
    let to_provisioned = |index_updates| UpdateTable {
        billing: Some(BillingMode::Provisioned),
        throughput: Some(units),
        index_updates,
        ..nothing("Shop")
    };
    let (_, message) = kind(bed.update(to_provisioned(vec![])));
    assert_eq!(
        message,
        "One or more parameter values were invalid: ProvisionedThroughput must be specified for index: one,two"
    );
    let (_, message) = kind(bed.update(UpdateTable { throughput: Some(units), ..nothing("Shop") }));
    assert_eq!(
        message,
        "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be \
         specified when BillingMode is PAY_PER_REQUEST"
    );
    let index = |name: &str| IndexUpdate::Update {
        name: name.into(),
        throughput: Some(units),
        on_demand: None,
        warm: None,
    };
    bed.update(to_provisioned(vec![index("one"), index("two")])).expect("every index has units");
    let now = bed.describe("Shop").expect("it is there");
    assert_eq!(now.billing_mode_summary.expect("it was on demand").billing_mode, BillingMode::Provisioned);
    let indexes = now.global_secondary_indexes.expect("it has two");
    assert!(indexes.iter().all(|index| index.provisioned_throughput.read_capacity_units == 5));
    let on_demand = UpdateTable { billing: Some(BillingMode::PayPerRequest), ..nothing("Shop") };
    bed.update(on_demand.clone()).expect("it may change");
    let again = bed.update(on_demand).expect("the same again is fine");
    assert_eq!(again.table_status, TableStatus::Updating);
    let now = bed.describe("Shop").expect("it is there");
    assert_eq!(now.provisioned_throughput.expect("always").read_capacity_units, 0);
}

#[test]
fn ceilings_come_and_go_and_warm_throughput_only_grows() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let ceiling = |read| UpdateTable {
        on_demand: Some(OnDemandThroughput { read_units_max: Some(read), write_units_max: None }),
        ..nothing("Shop")
    };
    bed.update(ceiling(100)).expect("it may change");
    let limits = bed.describe("Shop").expect("it is there").on_demand_throughput.expect("it is set");
    assert_eq!((limits.max_read_request_units, limits.max_write_request_units), (Some(100), None));
    bed.update(ceiling(-1)).expect("it may change");
    assert!(bed.describe("Shop").expect("it is there").on_demand_throughput.is_none());
    let warm = |read| UpdateTable {
        warm: Some(WarmThroughput { read_units: Some(read), write_units: None }),
        ..nothing("Shop")
    };
    let answer = bed.update(warm(13_000)).expect("it may grow");
    let warming = answer.warm_throughput.expect("always");
    assert_eq!((warming.read_units_per_second, warming.status), (12_000, TableStatus::Updating));
    let warmed = bed.describe("Shop").expect("it is there").warm_throughput.expect("always");
    assert_eq!((warmed.read_units_per_second, warmed.status), (13_000, TableStatus::Active));
    let (_, message) = kind(bed.update(warm(12_500)));
    assert!(message.contains("is lower than current WarmThroughput, decreasing"), "{message}");
    assert_eq!(kind(bed.update(warm(40_001))).0, ErrorKind::LimitExceeded);
}

/// The ceilings that a description shows.
fn shown(limits: Option<OnDemandThroughputDescription>) -> Option<(Option<i64>, Option<i64>)> {
    limits.map(|limits| (limits.max_read_request_units, limits.max_write_request_units))
}

#[test]
fn a_ceiling_that_is_removed_is_echoed_once_as_minus_one() {
    let bed = bed();
    let schema = new_index("by-g", "g").schema;
    bed.create(creation("Shop", TableSchema { indexes: vec![schema], ..plain() })).expect("it is new");
    let limits = |read, write| OnDemandThroughput { read_units_max: read, write_units_max: write };
    let table = |read, write| {
        let request = UpdateTable { on_demand: Some(limits(read, write)), ..nothing("Shop") };
        shown(bed.update(request).expect("it may change").on_demand_throughput)
    };
    let index = |read, write| {
        let update = IndexUpdate::Update {
            name: "by-g".into(),
            throughput: None,
            on_demand: Some(limits(read, write)),
            warm: None,
        };
        let request = UpdateTable { index_updates: vec![update], ..nothing("Shop") };
        let answer = bed.update(request).expect("it may change").global_secondary_indexes;
        shown(answer.expect("it has one").remove(0).on_demand_throughput)
    };
    let table_now = || shown(bed.describe("Shop").expect("it is there").on_demand_throughput);
    let index_now = || shown(bed.index("Shop", "by-g").expect("it is there").on_demand_throughput);
    let cases: [(&dyn Fn(_, _) -> _, &dyn Fn() -> _); 2] = [(&table, &table_now), (&index, &index_now)];
    for (change, now) in cases {
        assert_eq!(change(Some(10), Some(20)), Some((Some(10), Some(20))));
        assert_eq!(change(Some(-1), None), Some((Some(-1), Some(20))));
        assert_eq!(now(), Some((None, Some(20))));
        assert_eq!(change(Some(-1), Some(-1)), Some((Some(-1), Some(-1))));
        assert_eq!(now(), None);
        assert_eq!(change(None, Some(-1)), Some((None, Some(-1))));
        assert_eq!(now(), None);
        assert_eq!(change(Some(7), None), Some((Some(7), None)));
        assert_eq!(now(), Some((Some(7), None)));
    }
    let units = Throughput { read_units: 5, write_units: 5 };
    let index =
        IndexUpdate::Update { name: "by-g".into(), throughput: Some(units), on_demand: None, warm: None };
    let provisioned = UpdateTable {
        billing: Some(BillingMode::Provisioned),
        throughput: Some(units),
        index_updates: vec![index],
        ..nothing("Shop")
    };
    bed.update(provisioned).expect("it may change");
    assert_eq!((table_now(), index_now()), (None, None), "a provisioned table has no such ceilings");
}

#[test]
fn a_raise_of_warm_throughput_takes_its_time_and_the_last_one_wins() {
    let throughput = ThroughputConfig { warm_s: 300, ..ThroughputConfig::default() };
    let store = MemoryStore::new();
    let config = EngineConfig { throughput, ..EngineConfig::default() };
    let bed = open(store.clone(), config.clone());
    let schema = new_index("by-g", "g").schema;
    bed.create(creation("Shop", TableSchema { indexes: vec![schema], ..plain() })).expect("it is new");
    bed.settle();
    let units = |read| Some(WarmThroughput { read_units: Some(read), write_units: None });
    let table = |read| UpdateTable { warm: units(read), ..nothing("Shop") };
    let index = |read| UpdateTable {
        index_updates: vec![IndexUpdate::Update {
            name: "by-g".into(),
            throughput: None,
            on_demand: None,
            warm: units(read),
        }],
        ..nothing("Shop")
    };
    let of_table = |bed: &Bed<MemoryStore>| {
        let shop = bed.describe("Shop").expect("it is there");
        assert_eq!(shop.table_status, TableStatus::Active, "requests go on");
        let warm = shop.warm_throughput.expect("always");
        (warm.read_units_per_second, warm.status)
    };
    let of_index = |bed: &Bed<MemoryStore>| {
        let warm = bed.index("Shop", "by-g").and_then(|index| index.warm_throughput).expect("always");
        (warm.read_units_per_second, warm.status)
    };
    bed.update(table(20_000)).expect("it may grow");
    assert_eq!(of_table(&bed), (12_000, TableStatus::Updating));
    bed.pass_time(200_000);
    let answer = bed.update(table(15_000)).expect("another raise takes its place");
    let warming = answer.warm_throughput.expect("always");
    assert_eq!((warming.read_units_per_second, warming.status), (12_000, TableStatus::Updating));
    bed.update(index(13_000)).expect("an index has a raise of its own");
    assert!(kind(bed.update(table(11_999))).1.contains("decreasing WarmThroughput is not supported"));
    // A raise outlives a restart.
    bed.pass_time(299_000);
    bed.settle();
    assert_eq!(of_table(&bed), (12_000, TableStatus::Updating));
    let shared: Arc<dyn Env> = Arc::<TestEnv>::clone(&bed.env);
    let engine = block_on(Engine::open(store, shared, config)).expect("the store opens");
    let again = Bed { engine, ..bed };
    again.pass_time(1_000);
    again.settle();
    assert_eq!(of_table(&again), (15_000, TableStatus::Active));
    assert_eq!(of_index(&again), (13_000, IndexStatus::Active));
    again.update(table(15_000)).expect("equal units are accepted");
    assert_eq!(of_table(&again), (15_000, TableStatus::Active));
    again.update(index(20_000)).expect("it may grow");
    assert_eq!(of_index(&again), (13_000, IndexStatus::Updating));
    again.update(drop_index("Shop", "by-g")).expect("it takes its raise along");
    again.pass_time(300_000);
    again.settle();
    assert_eq!(of_table(&again), (15_000, TableStatus::Active));
}

#[test]
fn streams_classes_and_keys_change() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.pass_time(1_440_938_160_007);
    let stream = |change| UpdateTable { stream: Some(change), ..nothing("Shop") };
    let enable = || stream(StreamChange::Enable(StreamViewType::NewImage));
    assert_eq!(
        kind(bed.update(stream(StreamChange::Disable))).1,
        "Table has no stream to disable: TableName: Shop"
    );
    bed.update(enable()).expect("it may change");
    let now = bed.describe("Shop").expect("it is there");
    assert_eq!(now.latest_stream_label.as_deref(), Some("2015-08-30T12:36:00.007"));
    assert!(now.stream_specification.is_some());
    assert_eq!(kind(bed.update(enable())).1, "Table already has an enabled stream: TableName: Shop");
    bed.update(stream(StreamChange::Disable)).expect("it may change");
    let now = bed.describe("Shop").expect("it is there");
    assert!(now.stream_specification.is_none() && now.latest_stream_arn.is_some());

    let class = UpdateTable { class: Some(TableClass::StandardInfrequentAccess), ..nothing("Shop") };
    bed.update(class).expect("it may change");
    let now = bed.describe("Shop").expect("it is there").table_class_summary.expect("it is set");
    assert_eq!(now.table_class, TableClass::StandardInfrequentAccess);

    let sse = |change| UpdateTable { encryption: Some(change), ..nothing("Shop") };
    let own = || sse(EncryptionChange::OwnKey(EncryptionKey::named("k".to_owned())));
    assert!(kind(bed.update(sse(EncryptionChange::ServiceKey))).1.ends_with("already encrypted by default"));
    assert_eq!(
        bed.update(own()).expect("it may change").sse_description.expect("it is set").status,
        "UPDATING"
    );
    let now = bed.describe("Shop").expect("it is there").sse_description.expect("it is set");
    assert_eq!(now.status, "ENABLED");
    assert_eq!(now.kms_master_key_arn.as_deref(), Some("arn:aws:kms:us-east-1:000000000000:key/k"));
    bed.update(sse(EncryptionChange::ServiceKey)).expect("it may change");
    assert!(bed.describe("Shop").expect("it is there").sse_description.is_none());
}

/// Status, type and key of a table's encryption, as a client reads them.
fn shown_key(description: &TableDescription) -> Option<(&'static str, bool, Option<&str>)> {
    let sse = description.sse_description.as_ref()?;
    Some((sse.status, sse.sse_type.is_some(), sse.kms_master_key_arn.as_deref()))
}

/// What the service does with each request on a table that has no key, the managed key and a customer's key
/// (recorded in October 2026).
#[test]
fn the_present_key_is_refused_by_its_arn_alone() {
    const MANAGED: &str = "arn:aws:kms:us-east-1:000000000000:alias/aws/dynamodb";
    const OWN: &str = "arn:aws:kms:us-east-1:000000000000:key/k";
    const WITH_KEY: &str = "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if \
                            you want to change Master Key";
    let managed = || EncryptionChange::OwnKey(EncryptionKey { key_id: None, found_arn: None });
    let own = |id: &str| EncryptionChange::OwnKey(EncryptionKey::named(id.to_owned()));
    let rows = [
        (None, EncryptionChange::ServiceKey, Err("Table is already encrypted by default")),
        (None, managed(), Ok(Some(MANAGED))),
        (None, own("k"), Ok(Some(OWN))),
        (Some(managed()), managed(), Ok(Some(MANAGED))),
        (Some(managed()), own("alias/aws/dynamodb"), Ok(Some(MANAGED))),
        (Some(managed()), own(MANAGED), Err(WITH_KEY)),
        (Some(managed()), own("k"), Ok(Some(OWN))),
        (Some(managed()), EncryptionChange::ServiceKey, Ok(None)),
        (Some(own("k")), own("k"), Ok(Some(OWN))),
        (Some(own("k")), own(OWN), Err(WITH_KEY)),
        (Some(own("k")), managed(), Ok(Some(MANAGED))),
        (Some(own("k")), EncryptionChange::ServiceKey, Ok(None)),
    ];
    for (place, (present, change, expected)) in rows.into_iter().enumerate() {
        let bed = bed();
        let mut request = creation("Shop", plain());
        request.encryption = present.and_then(|present| match present {
            EncryptionChange::OwnKey(key) => Some(key),
            EncryptionChange::ServiceKey => None,
        });
        bed.create(request).expect("it is new");
        let before = bed.describe("Shop").expect("it is there");
        let answer = bed.update(UpdateTable { encryption: Some(change), ..nothing("Shop") });
        let after = bed.describe("Shop").expect("it is there");
        match expected {
            Ok(key) => {
                let answer = answer.expect("it is accepted");
                let was = shown_key(&before)
                    .map_or(("UPDATING", false, None), |(_, has_type, key)| ("UPDATING", has_type, key));
                assert_eq!(
                    shown_key(&answer),
                    Some(was),
                    "row {place}: the answer shows the key that it had"
                );
                assert_eq!(answer.table_status, TableStatus::Active, "row {place}");
                assert_eq!(shown_key(&after), key.map(|key| ("ENABLED", true, Some(key))), "row {place}");
            }
            Err(text) => {
                let expected = format!("One or more parameter values were invalid: {text}");
                assert_eq!(kind(answer), (ErrorKind::Validation, expected), "row {place}");
                assert_eq!(shown_key(&after), shown_key(&before), "row {place}");
            }
        }
    }
}

#[test]
fn with_a_transition_a_change_of_the_key_shows_the_old_key_then_the_new_one() {
    let bed = open(MemoryStore::new(), EngineConfig { transition_ms: 1_000, ..EngineConfig::default() });
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.pass_time(1_000);
    bed.settle();
    let arn = |id: &str| format!("arn:aws:kms:us-east-1:000000000000:key/{id}");
    let own = |id: &str| EncryptionChange::OwnKey(EncryptionKey::named(id.to_owned()));
    let change = |change| bed.update(UpdateTable { encryption: Some(change), ..nothing("Shop") });
    let busy =
        "Attempt to change a resource which is still in use: Server-Side Encryption is still being updated";
    let busy = || (ErrorKind::ResourceInUse, busy.to_owned());
    let mut old: Option<String> = None;
    for (wanted, new) in
        [(own("k1"), Some(arn("k1"))), (own("k2"), Some(arn("k2"))), (EncryptionChange::ServiceKey, None)]
    {
        let updating = |key: Option<&String>| ("UPDATING", key.is_some(), key.cloned());
        let seen = || {
            let table = bed.describe("Shop").expect("it is there");
            assert_eq!(table.table_status, TableStatus::Active, "the table's own status stays");
            shown_key(&table).map(|(status, has_type, key)| (status, has_type, key.map(str::to_owned)))
        };
        change(wanted.clone()).expect("it is accepted");
        assert_eq!(seen(), Some(updating(old.as_ref())));
        change(wanted).expect("the same once more is accepted");
        assert_eq!(kind(change(own("k3"))), busy());
        assert_eq!(kind(bed.delete("Shop")), busy());
        bed.pass_time(399);
        assert_eq!(seen(), Some(updating(old.as_ref())));
        bed.pass_time(1);
        assert_eq!(seen(), Some(updating(new.as_ref())));
        bed.pass_time(599);
        assert_eq!(seen(), Some(updating(new.as_ref())));
        bed.pass_time(1);
        assert_eq!(seen(), new.as_ref().map(|key| ("ENABLED", true, Some(key.clone()))));
        old = new;
    }
    bed.delete("Shop").expect("it may go");
}

#[test]
fn an_index_leaves_out_items_whose_value_no_key_can_have() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    for (place, value) in ["fits", "", &"x".repeat(2049)].into_iter().enumerate() {
        bed.put("Shop", item([("pk", s(&place.to_string())), ("g", s(value))]));
    }
    let IndexUpdate::Create(mut index) = add_index("Shop", "by-g", "g").index_updates.remove(0) else {
        panic!("an index is added");
    };
    index.schema.key = key(&[("g", KeyType::S)], &[]);
    let request = UpdateTable { index_updates: vec![IndexUpdate::Create(index)], ..nothing("Shop") };
    bed.update(request).expect("it may be added");
    bed.settle();
    assert_eq!(bed.index("Shop", "by-g").expect("it is there").index_status, IndexStatus::Active);
    assert_eq!(bed.index("Shop", "by-g").expect("it is there").item_count, 1);
}

#[test]
fn an_attribute_that_is_a_key_keeps_its_type_in_a_new_index() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let (code, message) = kind(bed.update(add_index("Shop", "by-pk", "pk")));
    assert_eq!(code, ErrorKind::Validation);
    assert_eq!(
        message,
        "One or more parameter values were invalid: Attributes cannot be redefined. Please check that your attribute \
         has the same type as previously defined. Existing schema: Schema:[SchemaElement: key{pk:S:HASH}] New schema: \
         Schema:[SchemaElement: key{pk:N:HASH}]"
    );
}

#[test]
fn two_index_changes_at_once_are_refused_before_their_names_are_looked_at() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let delete = |name: &str| IndexUpdate::Delete { name: name.into() };
    let request = UpdateTable { index_updates: vec![delete("one"), delete("two")], ..nothing("Shop") };
    assert_eq!(kind(bed.update(request)).0, ErrorKind::LimitExceeded);
}

#[test]
fn a_deleted_table_is_described_without_keys_indexes_and_age() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    let request = DeleteTable { table: named("Shop") };
    let Response::DeleteTable(description) = bed.run(Request::DeleteTable(request)).expect("it may go")
    else {
        panic!("it is a DeleteTable");
    };
    assert_eq!(description.table_status, TableStatus::Deleting);
    assert!(description.key_schema.is_none() && description.attribute_definitions.is_none());
    assert!(description.global_secondary_indexes.is_none() && description.local_secondary_indexes.is_none());
    assert!(description.creation_date_time.is_none());
}

#[test]
fn an_index_comes_through_its_states_and_is_described_in_each() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.put("Shop", item([("pk", s("a")), ("g", n(1))]));
    bed.put("Shop", item([("pk", s("b"))]));
    bed.put("Shop", item([("pk", s("c")), ("g", s("of another type"))]));
    let answer = bed.update(add_index("Shop", "by-g", "g")).expect("it may be added");
    assert_eq!(answer.table_status, TableStatus::Updating);
    let index = bed.index("Shop", "by-g").expect("it is announced");
    assert_eq!((index.index_status, index.backfilling), (IndexStatus::Creating, Some(false)));
    assert!(index.warm_throughput.is_none());
    let status = || bed.describe("Shop").expect("it is there").table_status;
    assert_eq!(status(), TableStatus::Updating);
    let mut scan = scan_request(Some("by-g"));
    scan.table = named("Shop");
    let early = kind(bed.run(Request::Scan(Box::new(scan.clone()))));
    assert_eq!(
        early,
        (ErrorKind::Validation, "Cannot read from backfilling global secondary index: by-g".into())
    );
    let (_, message) = kind(bed.update(drop_index("Shop", "by-g")));
    assert!(message.contains("Index creation is in resource allocation phase."), "{message}");
    bed.step();
    let index = bed.index("Shop", "by-g").expect("it is being built");
    assert_eq!((index.index_status, index.backfilling), (IndexStatus::Creating, Some(true)));
    assert_eq!(status(), TableStatus::Active);
    let (kind_of_error, message) = kind(bed.delete("Shop"));
    assert_eq!(kind_of_error, ErrorKind::ResourceInUse);
    assert!(message.contains("Cannot delete table while indexes are being created"), "{message}");
    let (kind_of_error, message) = kind(bed.update(add_index("Shop", "another", "g")));
    assert_eq!(kind_of_error, ErrorKind::LimitExceeded);
    assert!(message.contains("Only 1 online index can be created or deleted simultaneously"), "{message}");
    bed.settle();
    let index = bed.index("Shop", "by-g").expect("it is built");
    assert_eq!((index.index_status, index.backfilling), (IndexStatus::Active, None));
    assert_eq!(index.item_count, 1);
    assert!(index.warm_throughput.is_some());
    let Ok(Response::Scan(page)) = bed.run(Request::Scan(Box::new(scan))) else { panic!("it can be read") };
    assert_eq!(items(&page), [item([("pk", s("a")), ("g", n(1))])]);
    bed.update(drop_index("Shop", "by-g")).expect("it is active");
    assert_eq!(status(), TableStatus::Updating);
    let leaving = bed.index("Shop", "by-g").expect("it is still described").index_status;
    assert_eq!(leaving, IndexStatus::Deleting);
    bed.settle();
    assert_eq!((status(), bed.index("Shop", "by-g").is_none()), (TableStatus::Active, true));
}

#[test]
fn index_changes_are_refused_when_their_names_are_wrong() {
    let bed = bed();
    let local =
        index("local", IndexKind::Local, key(&[("pk", KeyType::S)], &[("l", KeyType::N)]), Projection::All);
    let schema = TableSchema { key: key(&[("pk", KeyType::S)], &[("sk", KeyType::S)]), indexes: vec![local] };
    bed.create(creation("Shop", schema)).expect("it is new");
    assert_eq!(
        kind(bed.update(drop_index("Shop", "none"))),
        (ErrorKind::ResourceNotFound, "Requested resource not found: Index none for table Shop".into())
    );
    assert_eq!(
        kind(bed.update(drop_index("Shop", "local"))),
        (ErrorKind::Validation, "Cannot delete an index that is not a GlobalSecondaryIndex: local".into())
    );
    assert_eq!(
        kind(bed.update(add_index("Shop", "local", "g"))),
        (ErrorKind::Validation, "Attempting to create an index which already exists".into())
    );
    assert_eq!(
        kind(bed.update(drop_index("None", "idx"))).1,
        "Requested resource not found: Table: None not found"
    );
}

#[test]
fn a_deleted_index_goes_with_its_rows_and_definitions() {
    let store = MemoryStore::new();
    let bed = open(store.clone(), EngineConfig::default());
    bed.create(creation("Shop", plain())).expect("it is new");
    for place in 0..20 {
        bed.put("Shop", item([("pk", s(&place.to_string())), ("g", n(place))]));
    }
    bed.update(add_index("Shop", "by-g", "g")).expect("it may be added");
    bed.settle();
    assert_eq!(rows(&store, 3), 20);
    bed.update(drop_index("Shop", "by-g")).expect("it may go");
    let index = bed.index("Shop", "by-g").expect("it is going");
    assert_eq!(index.index_status, IndexStatus::Deleting);
    bed.settle();
    assert!(bed.index("Shop", "by-g").is_none());
    assert_eq!(rows(&store, 3), 0);
    let definitions = bed.describe("Shop").expect("it is there").attribute_definitions.expect("always");
    assert_eq!(definitions, [attribute("pk", KeyType::S)]);
    bed.update(add_index("Shop", "by-g", "g")).expect("the name is free again");
    bed.settle();
    assert_eq!(rows(&store, 3), 20);
}

#[test]
fn tags_are_merged_removed_and_bounded() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let resource = |table: &str, account: &str| ResourceRef {
        arn: format!("arn:aws:dynamodb:us-east-1:{account}:table/{table}"),
        scope: ArnScope { region: "us-east-1".into(), account: account.into() },
        table: table.into(),
    };
    let shop = || resource("Shop", "000000000000");
    let tag = |resource, keys: std::ops::Range<usize>| {
        let tags = keys.map(|number| (format!("k{number}"), "v".to_owned())).collect();
        bed.run(Request::TagResource(TagResource { resource, tags }))
    };
    tag(shop(), 0..30).expect("thirty");
    tag(shop(), 20..50).expect("fifty in all");
    assert_eq!(
        kind(tag(shop(), 50..51)).1,
        "Number of Tags exceed the current limit for the provided ResourceArn"
    );
    let keys = ["k0".to_owned(), "absent".to_owned()].into();
    bed.run(Request::UntagResource(UntagResource { resource: shop(), keys })).expect("absent keys are fine");
    let listed = bed.run(Request::ListTagsOfResource(ListTagsOfResource { resource: shop() }));
    let Ok(Response::ListTagsOfResource(listed)) = listed else { panic!("tags can be listed") };
    assert_eq!(listed.tags.len(), 49);
    assert_eq!(kind(tag(resource("None", "000000000000"), 0..1)).0, ErrorKind::ResourceNotFound);
    assert_eq!(kind(tag(resource("Shop", "111111111111"), 0..1)).0, ErrorKind::AccessDenied);
}
