//! Branches in a store that several processes serve: each is whole or not there, at every process, and what a
//! process that died has left of one is removed by the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::create_table::CreateTable;
use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::request::{DescribeTable, Request, TtlChange, UpdateTimeToLive};
use keywright_semantics::response::{Response, TableDescription};
use keywright_semantics::schema::{IndexKind, KeyType, Projection, TableSchema};
use keywright_store::{Store, Transaction};

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::history::START_MS;
use super::stamps::{OwnClock, Process};
use crate::catalogue::{format_key, known_records, next_id_key};
use crate::support::config::EngineConfig;
use crate::support::env::{Caller, Env, Namespace, Region};
use crate::support::layout::{Space, prefix_range};
use crate::support::member_row::{Knows, MemberId, MemberRow};
use crate::support::rows::each_row;
use crate::{Branch, BranchFault, BranchLimits, CountedTogether, Engine};

const ITEMS: usize = 10;
/// The same, as it is described.
const COUNT: u64 = 10;
/// A process that says nothing for so long is counted out.
const SILENT_MS: u64 = 8_000;

type Servers = [Process<FlakyStore>; 2];

/// A store where writers of a table protect its record, and one where they have slots.
fn stores() -> [FlakyStore; 2] {
    [FlakyStore::shared(), FlakyStore::exclusive()]
}

fn at(region: &'static str) -> Caller {
    Caller::account(Namespace { region: Region::from(region), ..namespace() })
}

fn open(store: &FlakyStore, number: u64, config: EngineConfig) -> Process<FlakyStore> {
    let clock = OwnClock::new(number, START_MS);
    let env: Arc<dyn Env> = Arc::<OwnClock>::clone(&clock);
    let engine = block_on(Engine::open(store.clone(), env, config)).expect("the store opens");
    Process { engine, clock }
}

fn run(engine: &Engine<FlakyStore>, caller: &Caller, request: Request) -> Result<Response, Error> {
    block_on(engine.execute(caller, request))
}

fn creation() -> Request {
    let by_g = index("by-g", IndexKind::Global, key(&[("g", KeyType::N)], &[]), Projection::All);
    let schema = TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: vec![by_g] };
    let stream = Some(StreamViewType::NewAndOldImages);
    Request::CreateTable(Box::new(CreateTable { stream, ..create_request(schema) }))
}

fn put(engine: &Engine<FlakyStore>, caller: &Caller, number: usize) -> Result<Response, Error> {
    let due = i64::try_from(START_MS / 1000).expect("it is small") + 1_000_000;
    let item = item([("pk", s(&number.to_string())), ("g", n(1)), ("due", n(due))]);
    run(engine, caller, Request::PutItem(Box::new(put_request(item))))
}

/// Two processes over the store, with a table that has an index, a stream and time to live.
fn servers(store: &FlakyStore) -> Servers {
    servers_with(store, &EngineConfig::default())
}

fn servers_with(store: &FlakyStore, config: &EngineConfig) -> Servers {
    let servers = [1, 2].map(|number| open(store, number, config.clone()));
    let maker = &servers[0].engine;
    run(maker, &caller(), creation()).expect("it is new");
    let ttl = UpdateTimeToLive { table: table_ref(), attribute: "due".into(), change: TtlChange::Enable };
    run(maker, &caller(), Request::UpdateTimeToLive(ttl)).expect("it is disabled");
    for number in 0..ITEMS {
        put(maker, &caller(), number).expect("it is written");
    }
    work(&[&servers[0], &servers[1]], 20_000);
    store.take_commits();
    servers
}

/// Lets time pass for processes, in which they do their background work.
fn work(processes: &[&Process<FlakyStore>], ms: u64) {
    for _ in 0..ms / 250 {
        for process in processes {
            block_on(process.engine.step(process.clock.pass(250)));
        }
    }
}

fn branch(engine: &Engine<FlakyStore>, to: &'static str) -> Result<Branch, BranchFault> {
    block_on(engine.branch(&namespace(), &at(to).namespace))
}

fn describe(engine: &Engine<FlakyStore>, caller: &Caller) -> Result<TableDescription, Error> {
    match run(engine, caller, Request::DescribeTable(DescribeTable { table: table_ref() }))? {
        Response::DescribeTable(table) => Ok(*table),
        other => panic!("not a description: {other:?}"),
    }
}

fn scanned(engine: &Engine<FlakyStore>, caller: &Caller, index: Option<&str>) -> usize {
    match run(engine, caller, Request::Scan(Box::new(scan_request(index)))) {
        Ok(Response::Scan(output)) => items(&output).len(),
        other => panic!("not a page: {other:?}"),
    }
}

/// The keys of tables' rows, records and names.
fn keys(store: &FlakyStore) -> BTreeSet<Bytes> {
    let spaces =
        [Space::Catalogue, Space::Items, Space::IndexEntries, Space::Expiries, Space::Stats, Space::Slots];
    let mut keys = BTreeSet::new();
    block_on(async {
        let view = store.snapshot().await.expect("a view");
        for space in spaces {
            let range = prefix_range(vec![space.byte()]);
            each_row(&view, range, |row| keys.extend([row.key.clone()])).await.expect("it reads");
        }
    });
    // Raised by any change of a table.
    let raised = [next_id_key(), format_key(), Bytes::from_static(&[1, 6])];
    keys.retain(|key| !raised.contains(key));
    keys
}

#[test]
fn a_branch_of_one_process_is_whole_at_the_other_and_either_drops_it() {
    for store in stores() {
        let [one, other] = servers(&store);
        let before = keys(&store);
        let made = branch(&one.engine, "branch").expect("it is empty");
        let tables = vec![TABLE.to_owned()];
        assert_eq!(made, Branch { tables: tables.clone(), items: COUNT, kept: Vec::new() });
        let place = at("branch");
        let described = describe(&other.engine, &place).expect("it is found in the store");
        assert!(described.latest_stream_arn.is_some_and(|arn| arn.contains(":branch:")));
        for index in [None, Some("by-g")] {
            assert_eq!(scanned(&other.engine, &place, index), ITEMS);
        }
        assert_eq!(describe(&one.engine, &place).expect("it is there").item_count, COUNT);
        put(&other.engine, &place, ITEMS).expect("it is written");
        put(&one.engine, &caller(), ITEMS + 1).expect("it is written");
        put(&one.engine, &caller(), ITEMS + 2).expect("it is written");
        assert_eq!(scanned(&one.engine, &place, Some("by-g")), ITEMS + 1);
        work(&[&one, &other], 20_000);
        for (process, caller, count) in [(&one, &place, 11), (&other, &place, 11), (&other, &caller(), 12)] {
            let table = describe(&process.engine, caller).expect("it is there");
            assert_eq!(table.item_count, count);
        }
        let of_branch = block_on(other.engine.branch(&place.namespace, &at("second").namespace));
        assert_eq!(of_branch.expect("a branch has branches").items, 11);
        for (process, region) in [(&other, "branch"), (&one, "second")] {
            let dropped = block_on(process.engine.drop_branch(&at(region).namespace)).expect("it is one");
            assert_eq!(dropped.tables, tables);
        }
        assert_eq!(put(&one.engine, &place, 0).unwrap_err().kind, ErrorKind::ResourceNotFound);
        assert!(matches!(block_on(one.engine.drop_branch(&place.namespace)), Err(BranchFault::NoBranch)));
        work(&[&one, &other], 20_000);
        let is_own = |key: &&Bytes| !before.contains(*key);
        let left = keys(&store);
        assert_eq!(left.iter().filter(is_own).filter(|key| key[0] == Space::Catalogue.byte()).count(), 0);
        // Two items and their entries and expiries came to the source, and counters of its other writer.
        let rows = [Space::Items, Space::IndexEntries, Space::Expiries].map(Space::byte);
        assert_eq!(left.iter().filter(is_own).filter(|key| rows.contains(&key[0])).count(), 6);
        branch(&other.engine, "branch").expect("the place is empty again");
    }
}

#[test]
fn others_leave_a_branch_alone_that_is_being_made() {
    for store in stores() {
        let [one, other] = servers(&store);
        let other = Arc::new(other);
        // Of so many copies the other process would own some.
        for region in ["branch-1", "branch-2", "branch-3", "branch-4"] {
            let (newcomer, meanwhile) = (store.clone(), Arc::clone(&other));
            store.before_next_rows(move || {
                work(&[&meanwhile], 3_000);
                // It comes when the branch has begun.
                work(&[&open(&newcomer, 3, EngineConfig::default())], 3_000);
            });
            branch(&one.engine, region).expect("nobody purges it");
            assert_eq!(scanned(&one.engine, &at(region), Some("by-g")), ITEMS);
            work(&[&one, &other], SILENT_MS);
        }
    }
}

#[test]
fn a_process_that_others_have_not_seen_yet_makes_a_branch() {
    for store in stores() {
        let [one, other] = servers(&store);
        drop(one);
        work(&[&other], SILENT_MS);
        // Its next look at the members is a while away.
        block_on(other.engine.step(other.clock.pass(1_600)));
        let young = open(&store, 3, EngineConfig::default());
        // It follows the catalogue meanwhile.
        store.before_next_rows(move || {
            block_on(other.engine.step(other.clock.pass(300)));
        });
        branch(&young.engine, "branch").expect("its row says that it is there");
        assert_eq!(scanned(&young.engine, &at("branch"), Some("by-g")), ITEMS);
    }
}

#[test]
fn what_a_dead_process_has_left_of_a_branch_is_removed_and_made_by_the_next_try() {
    for store in stores() {
        let [one, other] = servers(&store);
        let before = keys(&store);
        let script = store.clone();
        // Its first rows are written, and nothing after them.
        store.before_next_rows(move || script.next(&[Fate::Failed; 1_000]));
        assert!(matches!(branch(&one.engine, "branch"), Err(BranchFault::Store(_))));
        store.calm();
        assert!(keys(&store).len() > before.len(), "something is left");
        drop(one);
        assert!(describe(&other.engine, &at("branch")).is_err(), "nothing of it is shown");
        work(&[&other], 2 * SILENT_MS);
        let left: Vec<Bytes> = keys(&store).into_iter().filter(|key| !before.contains(key)).collect();
        assert_eq!(left, Vec::<Bytes>::new());
        branch(&other.engine, "branch").expect("nothing is in its way");
        assert_eq!(scanned(&other.engine, &at("branch"), Some("by-g")), ITEMS);
    }
}

#[test]
fn a_process_removes_what_it_could_not_remove_while_the_store_failed() {
    for store in stores() {
        let [one, _other] = servers(&store);
        let before = keys(&store);
        let script = store.clone();
        store.before_next_rows(move || script.next(&[Fate::Failed; 1_000]));
        assert!(matches!(branch(&one.engine, "branch"), Err(BranchFault::Store(_))));
        store.calm();
        // The other process says nothing any more: this one takes over its tables.
        work(&[&one], 2 * SILENT_MS);
        let left: Vec<Bytes> = keys(&store).into_iter().filter(|key| !before.contains(key)).collect();
        assert_eq!(left, Vec::<Bytes>::new());
        branch(&one.engine, "branch").expect("nothing is in its way");
    }
}

#[test]
fn a_process_that_others_took_for_gone_completes_no_branch() {
    // It was frozen before its first rows, and before the commit that names the tables.
    for is_naming in [false, true] {
        for store in stores() {
            let [one, other] = servers(&store);
            let before = keys(&store);
            let count_out = move || work(&[&other], 2 * SILENT_MS);
            let script = store.clone();
            store.before_next_rows(move || {
                if !is_naming {
                    return count_out();
                }
                // Two more commits of rows, for the index and for time to live.
                let (next, last) = (script.clone(), script.clone());
                script.before_next_rows(move || {
                    next.before_next_rows(move || last.before_next_commit(count_out));
                });
            });
            let refused = branch(&one.engine, "branch").expect_err("its copy is purged");
            assert!(matches!(refused, BranchFault::GivenUp), "naming: {is_naming}, {refused:?}");
            work(&[&one], 2 * SILENT_MS);
            assert!(describe(&one.engine, &at("branch")).is_err());
            let left: Vec<Bytes> = keys(&store).into_iter().filter(|key| !before.contains(key)).collect();
            assert_eq!(left, Vec::<Bytes>::new(), "naming: {is_naming}");
            branch(&one.engine, "branch").expect("nothing is in its way");
        }
    }
}

#[test]
fn of_two_processes_that_fill_one_place_at_once_one_is_refused() {
    for makes_branch in [true, false] {
        for store in stores() {
            let [one, other] = servers(&store);
            let engine = other.engine.clone();
            store.before_next_rows(move || {
                if makes_branch {
                    branch(&engine, "branch").expect("it is the first to end");
                } else {
                    run(&engine, &at("branch"), creation()).expect("the name is free");
                }
            });
            assert!(matches!(branch(&one.engine, "branch"), Err(BranchFault::Occupied)));
            let count = if makes_branch { ITEMS } else { 0 };
            assert_eq!(scanned(&one.engine, &at("branch"), None), count);
            work(&[&one, &other], 20_000);
            assert_eq!(one.engine.catalogue().all().len(), 2, "the copy of the other one is purged");
        }
    }
}

#[test]
fn branches_of_several_processes_share_their_limits() {
    for (count_max, bytes_max) in [(Some(1), None), (None, Some(6_000))] {
        for store in stores() {
            let branches = BranchLimits { count_max, bytes_max, counted: CountedTogether::Account };
            let config = EngineConfig { branches, ..EngineConfig::default() };
            let [one, other] = servers_with(&store, &config);
            let engine = other.engine.clone();
            store.before_next_rows(move || drop(branch(&engine, "first").expect("there is room for one")));
            let refused = branch(&one.engine, "second").expect_err("there is room for one");
            match count_max {
                Some(_) => assert!(matches!(refused, BranchFault::TooManyBranches { count_max: 1 })),
                None => assert!(matches!(refused, BranchFault::TooLarge { held: 1.., .. }), "{refused:?}"),
            }
            assert!(describe(&one.engine, &at("second")).is_err());
            block_on(one.engine.drop_branch(&at("first").namespace)).expect("it is a branch");
            branch(&other.engine, "second").expect("its share is free at once");
        }
    }
}

#[test]
fn no_branch_is_made_while_a_process_of_an_earlier_release_may_purge_it() {
    let store = FlakyStore::shared();
    let [one, _other] = servers(&store);
    let mut knows = known_records();
    knows.sections.retain(|section| *section != 43);
    let older = MemberId(77).row_key(Space::Members);
    let join = |knows: Knows| {
        store.plant_row(older.clone(), Some(MemberRow { beat: 1, knows }.encode()));
    };
    join(knows);
    assert!(matches!(branch(&one.engine, "branch"), Err(BranchFault::OlderServers)));
    join(known_records());
    branch(&one.engine, "branch").expect("all know how");
}

#[test]
fn records_that_say_who_copies_are_purged_in_a_store_of_one_process() {
    let store = FlakyStore::shared();
    let [one, _other] = servers(&store);
    let script = store.clone();
    store.before_next_rows(move || script.next(&[Fate::Failed; 1_000]));
    branch(&one.engine, "branch").expect_err("the store fails");
    store.calm();
    // As a copy of the store to a folder has them.
    let folder = FlakyStore::default();
    block_on(async {
        let view = store.snapshot().await.expect("a view");
        let mut txn = folder.begin().await.expect("a transaction");
        for space in [Space::Catalogue, Space::Items, Space::IndexEntries, Space::Expiries] {
            let range = prefix_range(vec![space.byte()]);
            each_row(&view, range, |row| txn.put(row.key.clone(), row.value.clone()))
                .await
                .expect("it reads");
        }
        txn.commit().await.expect("it commits");
    });
    let alone = open(&folder, 9, EngineConfig::default());
    assert!(describe(&alone.engine, &at("branch")).is_err());
    work(&[&alone], 5_000);
    assert_eq!(alone.engine.catalogue().all().len(), 1, "only the source is left");
    block_on(alone.engine.branch(&namespace(), &at("branch").namespace)).expect("nothing is in its way");
}
