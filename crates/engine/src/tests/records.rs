//! Records of tables that other releases wrote: what is kept, what is refused, and which form is written
//! while processes of several releases serve one store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::request::{
    ArnScope, CreateTable, DeleteTable, DescribeStream, DescribeTable, DescribeTimeToLive, ListStreams,
    ListTables, NewPolicy, PolicyResource, PutResourcePolicy, Request, ResourceRef, ShardSelection,
    StreamRef, TagResource, TtlChange, UpdateTable, UpdateTimeToLive,
};
use keywright_semantics::response::Response;
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::harness::*;
use super::tables::{Bed, creation, kind, named, nothing, open, plain};
use crate::catalogue::{CatalogueFault, known_records, with_section};
use crate::dispatch::OpenError;
use crate::support::env::{Env, Namespace, Region};
use crate::support::layout::Space;
use crate::support::member_row::MemberId;
use crate::support::member_row::{Knows, MemberRow};
use crate::{BranchFault, Copy, CopyFault, Engine, EngineConfig};

const UNTAGGED: u8 = 2;
const TAGGED: u8 = 3;
/// The first format that this release does not know.
const LATER: u8 = 8;
/// The tag of a section that this release does not know.
pub(super) const LATER_SECTION: u16 = 98;

/// The key of a table's record; number 0 has the format.
pub(super) fn record_key(number: u64) -> Bytes {
    [&[1, 0][..], &number.to_be_bytes()].concat().into()
}

pub(super) fn row(store: &MemoryStore, key: &[u8]) -> Option<Bytes> {
    block_on(store.get(key)).expect("it is read")
}

fn format_of(store: &MemoryStore) -> Option<u8> {
    row(store, &record_key(0)).map(|row| row[0])
}

fn form_of(store: &MemoryStore, number: u64) -> u8 {
    row(store, &record_key(number)).expect("the table has a record")[0]
}

pub(super) fn write(store: &MemoryStore, key: Bytes, value: Option<Bytes>) {
    let mut txn = block_on(store.begin()).expect("begin");
    match value {
        Some(value) => txn.put(key, value),
        None => txn.delete(key),
    }
    block_on(txn.commit()).expect("commit");
}

/// Adds a section to a table's record.
pub(super) fn add_section(store: &MemoryStore, number: u64, tag: u16, is_critical: bool) {
    let record = row(store, &record_key(number)).expect("the table has a record");
    let changed = with_section(&record, tag, is_critical, b"of a later release");
    write(store, record_key(number), Some(changed.into()));
}

/// A store with the tables `Shop`, which has a stream and an item, and `Other`. Its engine is stopped.
fn two_tables() -> MemoryStore {
    let store = MemoryStore::new();
    let bed = open(store.clone(), EngineConfig::default());
    let stream = Some(StreamViewType::KeysOnly);
    bed.create(CreateTable { stream, ..creation("Shop", plain()) }).expect("it is new");
    bed.create(creation("Other", plain())).expect("it is new");
    bed.put("Shop", item([("pk", s("a"))]));
    block_on(bed.engine.shutdown()).expect("it stops");
    store
}

fn arn(table: &str) -> String {
    format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}")
}

fn tag(table: &str, tag: &str) -> Request {
    let resource = ResourceRef {
        arn: arn(table),
        scope: ArnScope { region: "us-east-1".into(), account: "000000000000".into() },
        table: table.into(),
    };
    Request::TagResource(TagResource { resource, tags: [(tag.to_owned(), "v".to_owned())].into() })
}

#[test]
fn an_unknown_optional_section_survives_changes_of_its_table_and_restarts() {
    let store = two_tables();
    add_section(&store, 1, 99, false);
    for round in 0..2 {
        let bed = open(store.clone(), EngineConfig::default());
        let before = row(&store, &record_key(1));
        bed.update(UpdateTable { deletion_protection: Some(round == 0), ..nothing("Shop") })
            .expect("it is changed");
        let after = row(&store, &record_key(1)).expect("the table has a record");
        assert!(before.as_ref() != Some(&after), "the record was written anew");
        assert!(after.windows(18).any(|part| part == b"of a later release"), "round {round}");
    }
}

#[test]
fn an_unknown_critical_section_refuses_every_operation_on_its_table_and_no_other() {
    let store = two_tables();
    let known = row(&store, &record_key(1));
    add_section(&store, 1, LATER_SECTION, true);
    let before = row(&store, &record_key(1));
    let bed = open(store.clone(), EngineConfig::default());
    assert_eq!(bed.engine.refused_tables().len(), 1);
    let (mut put, mut get) = (put_request(item([("pk", s("b"))])), get_request(item([("pk", s("a"))])));
    let (mut delete, mut scan) = (delete_request(item([("pk", s("a"))])), scan_request(None));
    for table in [&mut put.table, &mut get.table, &mut delete.table, &mut scan.table] {
        *table = named("Shop");
    }
    let ttl = UpdateTimeToLive { table: named("Shop"), change: TtlChange::Enable, attribute: "e".to_owned() };
    let stream =
        StreamRef::parse(&format!("{}/stream/1970-01-01T00:00:00.000", arn("Shop"))).expect("an ARN");
    let requests = [
        Request::CreateTable(Box::new(creation("Shop", plain()))),
        Request::DescribeTable(DescribeTable { table: named("Shop") }),
        Request::UpdateTable(Box::new(nothing("Shop"))),
        Request::DeleteTable(DeleteTable { table: named("Shop") }),
        Request::UpdateTimeToLive(ttl),
        Request::DescribeTimeToLive(DescribeTimeToLive { table: named("Shop") }),
        tag("Shop", "k"),
        Request::PutItem(Box::new(put)),
        Request::GetItem(get),
        Request::DeleteItem(Box::new(delete)),
        Request::Scan(Box::new(scan)),
        Request::ListStreams(ListStreams {
            table_name: Some("Shop".to_owned()),
            limit: 10,
            exclusive_start: None,
        }),
        Request::DescribeStream(DescribeStream {
            stream,
            limit: 10,
            exclusive_start_shard_id: None,
            shards: ShardSelection::All,
        }),
    ];
    for request in requests {
        let shown = format!("{request:?}");
        let (kind, text) = kind(bed.run(request));
        assert_eq!(kind, ErrorKind::ResourceInUse, "{shown}: {text}");
        assert!(text.contains("The table Shop ") && text.contains("section 98"), "{shown}: {text}");
    }
    let branch = Namespace { region: Region::from("branch"), ..namespace() };
    let Err(BranchFault::Store(error)) = block_on(bed.engine.branch(&namespace(), &branch)) else {
        panic!("a branch cannot have the table")
    };
    assert_eq!(error.kind, ErrorKind::ResourceInUse);
    bed.put("Other", item([("pk", s("b"))]));
    bed.run(tag("Other", "k")).expect("other tables are served");
    let listed = Request::ListTables(ListTables { exclusive_start: None, limit: 10 });
    let Ok(Response::ListTables(names)) = bed.run(listed) else { panic!("listing does not fail") };
    assert_eq!(names.table_names, ["Other", "Shop"]);
    bed.env.now_ms.store(40 * 86_400_000, Ordering::Relaxed);
    bed.settle();
    bed.delete("Other").expect("it is deleted");
    bed.settle();
    block_on(bed.engine.shutdown()).expect("it stops");
    // The release that knows the section finds the table as it was.
    assert_eq!(row(&store, &record_key(1)), before);
    write(&store, record_key(1), known);
    let again = open(store, EngineConfig::default());
    let mut get = get_request(item([("pk", s("a"))]));
    get.table = named("Shop");
    let Ok(Response::GetItem(found)) = again.run(Request::GetItem(get)) else { panic!("it is served") };
    assert!(found.item.is_some());
    assert_eq!(again.describe("Shop").expect("it is described").item_count, 1);
}

#[test]
fn a_copy_does_not_begin_while_a_table_is_refused_or_the_format_is_later() {
    let begin = |store: &MemoryStore| {
        let target = MemoryStore::new();
        let fault = block_on(Copy::begin(store.clone(), target.clone(), "a")).err().expect("it is refused");
        assert_eq!(row(&target, &record_key(0)), None);
        let CopyFault::LaterRelease(sentence) = fault else { panic!("{fault}") };
        sentence
    };
    let store = two_tables();
    add_section(&store, 1, LATER_SECTION, true);
    assert!(begin(&store).contains("The table Shop "));
    let store = two_tables();
    write(&store, record_key(0), Some(Bytes::from_static(&[LATER])));
    assert!(begin(&store).contains("format 8"));
}

#[test]
fn a_store_of_a_later_format_is_not_opened() {
    let store = two_tables();
    write(&store, record_key(0), Some(Bytes::from_static(&[LATER])));
    let env = Arc::new(TestEnv::default());
    let fault = block_on(Engine::open(store, env, EngineConfig::default())).err().expect("it is refused");
    assert_eq!(fault, OpenError::Catalogue(CatalogueFault::LaterFormat(LATER)));
    let text = fault.to_string();
    assert!(
        text.contains("format 8") && text.contains("up to 7") && text.contains("newer release"),
        "{text}"
    );
}

#[test]
fn the_format_rises_with_the_first_record_in_sections_and_not_at_a_start() {
    let store = MemoryStore::new();
    let bed = open(store.clone(), EngineConfig::default());
    bed.settle();
    block_on(bed.engine.shutdown()).expect("it stops");
    assert_eq!(format_of(&store), None);
    let bed = open(store.clone(), EngineConfig::default());
    bed.create(creation("Shop", plain())).expect("it is new");
    assert_eq!((format_of(&store), form_of(&store, 1)), (Some(TAGGED), TAGGED));
}

/// A process over a shared store.
fn process(store: &MemoryStore, env: &Arc<TestEnv>) -> Bed<MemoryStore> {
    let shared: Arc<dyn Env> = Arc::<TestEnv>::clone(env);
    let engine = block_on(Engine::open(store.clone(), shared, EngineConfig::default())).expect("it opens");
    Bed { engine, env: Arc::clone(env), caller: caller() }
}

/// The row of a process of another release, whose next signs of life nobody gives.
fn member(store: &MemoryStore, row: Bytes) {
    write(store, MemberId(77).row_key(Space::Members), Some(row));
}

/// The row of a process of a release before records in sections.
fn older_row(beat: u64) -> Bytes {
    [&[1][..], &beat.to_be_bytes()].concat().into()
}

fn work(processes: &[&Bed<MemoryStore>], ms: u64) {
    for _ in 0..ms / 500 {
        let now_ms = processes[0].env.now_ms.fetch_add(500, Ordering::Relaxed) + 500;
        for process in processes {
            block_on(process.engine.step(now_ms));
        }
    }
}

#[test]
fn processes_of_two_releases_keep_the_old_form_and_upgrade_when_the_older_one_is_gone() {
    let (store, env) = (MemoryStore::shared(), Arc::new(TestEnv::default()));
    let (one, other) = (process(&store, &env), process(&store, &env));
    member(&store, older_row(1));
    one.create(creation("Shop", plain())).expect("it is new");
    one.create(creation("Other", plain())).expect("it is new");
    for beat in 2..20 {
        // The older process lives for a while.
        member(&store, older_row(beat));
        work(&[&one, &other], 5_000);
        other.run(tag("Shop", &beat.to_string())).expect("it is changed");
        assert_eq!((form_of(&store, 1), format_of(&store)), (UNTAGGED, None));
    }
    // It dies: the others forget it after a minute.
    work(&[&one, &other], 70_000);
    assert_eq!((form_of(&store, 1), format_of(&store)), (UNTAGGED, None), "nothing was changed");
    other.run(tag("Shop", "new")).expect("it is changed");
    assert_eq!((form_of(&store, 1), format_of(&store)), (TAGGED, Some(TAGGED)));
    assert_eq!(form_of(&store, 2), UNTAGGED, "each record is written anew on its first change");
    assert!(one.describe("Shop").is_ok() && one.describe("Other").is_ok());
    // The format never falls: a late process of the older release is refused by it.
    member(&store, older_row(30));
    one.run(tag("Other", "new")).expect("it is changed");
    assert_eq!(form_of(&store, 2), TAGGED);
}

#[test]
fn records_stay_in_the_old_form_while_a_process_lacks_a_critical_section() {
    let (store, env) = (MemoryStore::shared(), Arc::new(TestEnv::default()));
    let bed = process(&store, &env);
    let lacking = |tag: u16| {
        let mut knows = known_records();
        knows.sections.retain(|known| *known != tag);
        member(&store, MemberRow { beat: 1, knows }.encode());
    };
    let time_to_live = 6;
    lacking(time_to_live);
    bed.create(creation("Shop", plain())).expect("it is new");
    assert_eq!((form_of(&store, 1), format_of(&store)), (UNTAGGED, None));
    member(&store, MemberRow { beat: 1, knows: Knows { format: 2, ..known_records() } }.encode());
    bed.run(tag("Shop", "a")).expect("it is changed");
    assert_eq!(form_of(&store, 1), UNTAGGED);
    let tags_of_tables = 10;
    lacking(tags_of_tables);
    bed.run(tag("Shop", "b")).expect("it is changed");
    assert_eq!(form_of(&store, 1), TAGGED, "an optional section may be ignored");
}

#[test]
fn a_policy_waits_until_every_process_judges_by_it_and_is_known_to_all_within_a_second() {
    let (store, env) = (MemoryStore::shared(), Arc::new(TestEnv::default()));
    let (bed, other) = (process(&store, &env), process(&store, &env));
    bed.create(creation("Shop", plain())).expect("it is new");
    let text = r#"{"Statement":{"Effect":"Deny","Principal":"*","Action":"dynamodb:Scan","Resource":"*"}}"#;
    let put = || {
        let resource = PolicyResource::parse("arn:aws:dynamodb:us-east-1:000000000000:table/Shop");
        Request::PutResourcePolicy(Box::new(PutResourcePolicy {
            resource: resource.expect("an ARN"),
            policy: NewPolicy::new(text.to_owned()),
            expected: None,
            confirms_lock_out: false,
        }))
    };
    let policies = 33;
    let mut knows = known_records();
    knows.sections.retain(|known| *known != policies);
    member(&store, MemberRow { beat: 1, knows }.encode());
    let (refused, text) = kind(bed.run(put()));
    assert_eq!(refused, ErrorKind::ResourceInUse);
    assert!(text.contains("once every server over the store runs a release that knows it"), "{text}");
    assert!(!bed.engine.has_resource_policies());
    member(&store, MemberRow { beat: 1, knows: known_records() }.encode());
    bed.run(put()).expect("all know policies");
    assert!(bed.engine.has_resource_policies() && !other.engine.has_resource_policies());
    env.now_ms.fetch_add(1_001, Ordering::Relaxed);
    block_on(other.engine.follow_policies()).expect("the store is read");
    let found = other.engine.resource_policy(&namespace(), "Shop", None).expect("it has a policy");
    assert_eq!(found.document.statements().len(), 1);
    assert!(other.engine.resource_policy(&namespace(), "Shop", Some("label")).is_none());
}

#[test]
fn a_process_that_lives_while_the_format_rises_beyond_it_serves_nothing() {
    let (store, env) = (MemoryStore::shared(), Arc::new(TestEnv::default()));
    let bed = process(&store, &env);
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.put("Shop", item([("pk", s("a"))]));
    write(&store, record_key(0), Some(Bytes::from_static(&[LATER])));
    // Each change of the catalogue raises the epoch.
    write(&store, Bytes::from_static(&[1, 6]), Some(Bytes::copy_from_slice(&1_000_u64.to_be_bytes())));
    env.now_ms.fetch_add(1_001, Ordering::Relaxed);
    let mut get = get_request(item([("pk", s("a"))]));
    get.table = named("Shop");
    assert_eq!(kind(bed.run(Request::GetItem(get))).0, ErrorKind::InternalServerError);
    assert_eq!(kind(bed.run(tag("Shop", "a"))).0, ErrorKind::InternalServerError);
}

#[test]
fn a_table_that_another_process_gives_a_critical_section_is_refused_from_then_on() {
    let (store, env) = (MemoryStore::shared(), Arc::new(TestEnv::default()));
    let bed = process(&store, &env);
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.put("Shop", item([("pk", s("a"))]));
    let record = row(&store, &record_key(1)).expect("the table has a record");
    let mut changed = with_section(&record, LATER_SECTION, true, b"");
    let version = u64::from_be_bytes(*changed[1..].first_chunk().expect("a record has a version"));
    changed[1..9].copy_from_slice(&(version + 1).to_be_bytes());
    write(&store, record_key(1), Some(changed.into()));
    // Before the catalogue is followed: the writer finds a record that is not its own.
    let mut put = put_request(item([("pk", s("b"))]));
    put.table = named("Shop");
    let (kind, text) = kind(bed.run(Request::PutItem(Box::new(put))));
    assert_eq!(kind, ErrorKind::ResourceInUse, "{text}");
}
