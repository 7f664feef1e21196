//! Branches: complete copies at one instant, of which nothing remains after they are dropped or broken off.

use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::request::{Request, TtlChange, UpdateTimeToLive};
use keywright_semantics::response::Response;
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, Entry, KeyRange, Scan, Snapshot, Store};

use super::harness::{block_on, item, items, n, s, scan_request};
use super::tables::{Bed, creation, named, open, plain};
use crate::catalogue::next_id_key;
use crate::state::stats::Counted;
use crate::support::env::{AccountId, Caller, Namespace, Region};
use crate::support::layout::{Space, TableId};
use crate::tables::branch::{copy_of, fill};
use crate::tables::branch_room::Allowance;
use crate::{Branch, BranchFault, BranchLimits, CountedTogether, EngineConfig};

const SECOND: u64 = 1_800_000_000;

fn place(region: &'static str) -> Namespace {
    Namespace { account: AccountId::from("000000000001"), region: Region::from(region) }
}

fn numbered(number: i64) -> Item {
    let due = i64::try_from(SECOND).expect("small") + number;
    item([("pk", s(&number.to_string())), ("g", n(number % 3)), ("due", n(due))])
}

/// Two tables: `Shop` with an index, a stream and time to live, and the empty `Other`.
fn shop(store: MemoryStore, count: i64) -> Bed<MemoryStore> {
    let bed = open(store, EngineConfig::default());
    bed.env.now_ms.store(SECOND * 1000, std::sync::atomic::Ordering::Relaxed);
    let mut table = creation("Shop", plain());
    table.stream = Some(StreamViewType::NewAndOldImages);
    table.deletion_protection = true;
    bed.create(table).expect("it is new");
    bed.create(creation("Other", plain())).expect("it is new");
    bed.update(super::tables::add_index("Shop", "by-g", "g")).expect("it is new");
    let ttl = UpdateTimeToLive { table: named("Shop"), attribute: "due".into(), change: TtlChange::Enable };
    bed.run(Request::UpdateTimeToLive(ttl)).expect("it is disabled");
    (0..count).for_each(|number| bed.put("Shop", numbered(number)));
    bed.settle();
    bed
}

fn at(bed: &Bed<MemoryStore>, namespace: &Namespace) -> Bed<MemoryStore> {
    Bed {
        engine: bed.engine.clone(),
        env: std::sync::Arc::clone(&bed.env),
        caller: Caller::account(namespace.clone()),
    }
}

fn scan(bed: &Bed<MemoryStore>, index: Option<&str>) -> Vec<String> {
    let mut request = scan_request(index);
    request.table = named("Shop");
    let Ok(Response::Scan(page)) = bed.run(Request::Scan(Box::new(request))) else {
        panic!("it can be read")
    };
    assert!(page.last_evaluated_key.is_none(), "tests read one page");
    let mut rows: Vec<String> = items(&page).iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// All rows of the store but the next table id and the counters, which are written from time to time.
pub(super) fn stored(store: &MemoryStore) -> Vec<Entry> {
    let range = KeyRange { start: bytes::Bytes::new(), end: None };
    let all = Scan { range, direction: Direction::Forward, rows_max: usize::MAX, bytes_max: usize::MAX };
    let page = block_on(async {
        let snapshot = store.snapshot().await.expect("it opens");
        snapshot.scan(&all).await.expect("it reads")
    });
    let mut rows = page.entries;
    rows.retain(|row| row.key != next_id_key() && row.key.first() != Some(&Space::Stats.byte()));
    rows
}

#[test]
fn a_branch_has_the_items_indexes_counters_and_settings_of_one_instant() {
    let bed = shop(MemoryStore::new(), 5_000);
    let branch = at(&bed, &place("branch"));
    let made =
        block_on(bed.engine.branch(&bed.caller.namespace, &branch.caller.namespace)).expect("it is empty");
    assert_eq!(made, Branch { tables: vec!["Other".into(), "Shop".into()], items: 5_000, kept: Vec::new() });
    bed.put("Shop", numbered(9_000_000));
    let (source, copy) =
        (bed.describe("Shop").expect("it is there"), branch.describe("Shop").expect("it is"));
    assert_eq!((source.item_count, copy.item_count), (5_001, 5_000));
    assert_eq!(copy.global_secondary_indexes.as_ref().map(|indexes| indexes[0].item_count), Some(5_000));
    assert_eq!(copy.deletion_protection_enabled, source.deletion_protection_enabled);
    assert_ne!(copy.table_id, source.table_id);
    assert!(copy.table_arn.contains(":branch:000000000001:"), "{}", copy.table_arn);
    assert_ne!(copy.latest_stream_arn, source.latest_stream_arn);
    assert!(copy.latest_stream_arn.is_some());
    for index in [None, Some("by-g")] {
        let (mut source, copy) = (scan(&bed, index), scan(&branch, index));
        source.retain(|row| !row.contains("9000000"));
        assert_eq!(source, copy);
    }
}

#[test]
fn items_of_a_branch_expire_and_are_written_on_their_own() {
    let bed = shop(MemoryStore::new(), 10);
    let branch = at(&bed, &place("branch"));
    block_on(bed.engine.branch(&bed.caller.namespace, &branch.caller.namespace)).expect("it is empty");
    branch.put("Shop", numbered(100_000));
    assert_eq!((scan(&bed, None).len(), scan(&branch, None).len()), (10, 11));
    bed.env.now_ms.store((SECOND + 10_000) * 1000, std::sync::atomic::Ordering::Relaxed);
    bed.settle();
    assert_eq!((scan(&bed, None).len(), scan(&branch, None).len()), (0, 1));
    assert_eq!(scan(&branch, Some("by-g")).len(), 1);
}

#[test]
fn a_dropped_branch_leaves_no_row_and_tables_of_others_stay() {
    let store = MemoryStore::new();
    let bed = shop(store.clone(), 300);
    let before = stored(&store);
    let branch = at(&bed, &place("branch"));
    block_on(bed.engine.branch(&bed.caller.namespace, &branch.caller.namespace)).expect("it is empty");
    branch.put("Shop", numbered(7_000));
    let dropped = block_on(bed.engine.drop_branch(&branch.caller.namespace)).expect("it is a branch");
    assert_eq!(dropped.tables, ["Other", "Shop"]);
    assert!(branch.describe("Shop").is_err());
    bed.settle();
    assert_eq!(stored(&store), before);
    assert!(matches!(block_on(bed.engine.drop_branch(&branch.caller.namespace)), Err(BranchFault::NoBranch)));
    assert!(matches!(block_on(bed.engine.drop_branch(&bed.caller.namespace)), Err(BranchFault::NoBranch)));

    block_on(bed.engine.branch(&bed.caller.namespace, &branch.caller.namespace)).expect("it is empty again");
    branch.create(creation("Own", plain())).expect("it is new");
    let dropped = block_on(bed.engine.drop_branch(&branch.caller.namespace)).expect("it is a branch");
    assert_eq!(dropped.kept, ["Own"]);
    assert!(branch.describe("Own").is_ok());
}

#[test]
fn a_branch_that_a_crash_breaks_off_is_purged_at_the_next_start() {
    let store = MemoryStore::new();
    let bed = shop(store.clone(), 300);
    let before = stored(&store);
    block_on(async {
        let view = bed.engine.store().snapshot().await.expect("it opens");
        let sources =
            bed.engine.catalogue().tables_at(&view, &bed.caller.namespace).await.expect("they are read");
        let build = |first: TableId| {
            let copies = (first.0..).zip(&sources);
            copies.map(|(id, source)| copy_of(source, &place("branch"), TableId(id), "id", 0)).collect()
        };
        let copies = bed.engine.catalogue().store_unnamed(build).await.expect("they are stored");
        fill(&bed.engine, &view, (&sources, &copies), &mut Allowance::unlimited())
            .await
            .expect("they are filled");
    });
    assert_ne!(stored(&store).len(), before.len());
    drop(bed);
    let again = open(store.clone(), EngineConfig::default());
    again.env.now_ms.store((SECOND + 200_000) * 1000, std::sync::atomic::Ordering::Relaxed);
    let branch = at(&again, &place("branch"));
    assert!(branch.describe("Shop").is_err());
    again.settle();
    let left: Vec<Entry> = stored(&store);
    assert!(left.iter().all(|row| before.iter().any(|old| old.key == row.key)), "only rows of the source");
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let bed = shop(MemoryStore::new(), 3);
    let (branch, nowhere) = (place("branch"), place("nowhere"));
    let refused = |from, to| block_on(bed.engine.branch(from, to)).expect_err("it is refused");
    assert!(matches!(refused(&nowhere, &branch), BranchFault::NothingToCopy));
    block_on(bed.engine.branch(&bed.caller.namespace, &branch)).expect("it is empty");
    assert!(matches!(refused(&bed.caller.namespace, &branch), BranchFault::Occupied));
    bed.update(super::tables::add_index("Other", "new", "h")).expect("it is new");
    assert!(
        matches!(refused(&bed.caller.namespace, &nowhere), BranchFault::Changing(table) if table == "Other")
    );
}

#[test]
fn a_branch_that_outgrows_its_share_on_the_way_leaves_no_row() {
    let store = MemoryStore::new();
    let before = {
        shop(store.clone(), 300);
        stored(&store)
    };
    // As after an unclean stop: the counters do not say yet how large the table is.
    let limits =
        BranchLimits { count_max: None, bytes_max: Some(100_000), counted: CountedTogether::Account };
    let bed = open(store.clone(), EngineConfig { branches: limits, ..EngineConfig::default() });
    bed.env.now_ms.store(SECOND * 1000, std::sync::atomic::Ordering::Relaxed);
    let shop = bed.engine.catalogue().find(&bed.caller.namespace, "Shop").expect("it is there");
    bed.engine.stats().forget(Counted::Items(shop.id));
    for (_, index, _) in shop.indexes() {
        bed.engine.stats().forget(Counted::Entries(shop.id, index));
    }
    let refused =
        block_on(bed.engine.branch(&bed.caller.namespace, &place("branch"))).expect_err("it is too large");
    assert!(matches!(refused, BranchFault::TooLarge { bytes_max: 100_000, .. }), "{refused:?}");
    bed.settle();
    assert_eq!(stored(&store), before);
}

#[test]
fn tables_of_a_place_that_no_request_can_name_are_all_dropped_with_it() {
    let bed = shop(MemoryStore::new(), 3);
    let hidden = Namespace { region: Region::stored("\\evil.example"), ..bed.caller.namespace.clone() };
    at(&bed, &hidden).create(creation("Old", plain())).expect("it is new");
    assert_eq!(bed.engine.unreachable_places(9), [(hidden.clone(), 1)]);
    assert_eq!(bed.engine.places(9), [(bed.caller.namespace.clone(), 2)]);
    let dropped = block_on(bed.engine.drop_branch(&hidden)).expect("it has a table");
    assert_eq!((dropped.tables, dropped.kept), (vec!["Old".to_owned()], Vec::new()));
    assert_eq!(bed.engine.unreachable_places(9), []);
    assert!(matches!(block_on(bed.engine.drop_branch(&hidden)), Err(BranchFault::NoBranch)));
}
