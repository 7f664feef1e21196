//! What becomes of every kind of row when its table is deleted or branched, and when its store is copied: as
//! the table of key spaces says, which these tests go through.

use std::collections::BTreeSet;

use bytes::Bytes;
use keywright_semantics::request::contributor_insights::{InsightsTarget, UpdateContributorInsights};
use keywright_semantics::request::parts::{BillingMode, ContributorInsightsMode};
use keywright_semantics::request::{
    DeleteTable, RecoveryChange, Request, Throughput, TtlChange, UpdateContinuousBackups,
};
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, Entry, Scan, Snapshot, Store, Transaction};

use super::harness::*;
use super::replicas::{add_replica, remove_replica};
use crate::catalogue::{TtlGeneration, next_id_key};
use crate::copy::Copy;
use crate::state::stats::{self, Counted};
use crate::support::config::EngineConfig;
use crate::support::layout::{
    Branched, InCopy, IndexId, Owner, SPACES, Space, TableId, all_rows, index_prefix, space_of, table_prefix,
    table_spaces,
};
use crate::support::member_row::MemberId;
use crate::support::throughput::{Throttle, ThroughputConfig};
use crate::write::expiry_rows::rows_prefix;
use crate::{Namespace, Region};

/// A number that no other bytes of a key look like.
const TABLE_ID: TableId = TableId(0x5afe_c0de_d00d_0001);
const START: i64 = 1_800_000_000;
/// The region of the table's replica.
const REPLICA: &str = "eu-west-1";
/// The end of a row that no engine writes.
const FOREIGN: &[u8] = &[0xfe, 0xed];

async fn put(store: &MemoryStore, key: Vec<u8>) {
    let mut txn = store.begin().await.expect("a store in memory begins");
    txn.put(key.into(), Bytes::from_static(&[0xff]));
    txn.commit().await.expect("a store in memory commits");
}

fn keys(store: &MemoryStore) -> BTreeSet<Bytes> {
    let (direction, range) = (Direction::Forward, all_rows());
    let scan = Scan { range, direction, rows_max: usize::MAX, bytes_max: usize::MAX };
    let view = block_on(store.snapshot()).expect("a view");
    let page = block_on(view.scan(&scan)).expect("it is read");
    page.entries.into_iter().map(|Entry { key, .. }| key).collect()
}

fn has_number(key: &[u8], table: TableId) -> bool {
    key.windows(8).any(|part| part == table.0.to_be_bytes())
}

/// A table with that number, local and global indexes, time to live, limits, contributor insights, history
/// and a replica, and items that give it every kind of row.
fn full(store: &MemoryStore) -> Bench<MemoryStore> {
    block_on(async {
        let mut txn = store.begin().await.expect("a store in memory begins");
        txn.put(next_id_key(), Bytes::copy_from_slice(&TABLE_ID.0.to_be_bytes()));
        txn.commit().await.expect("a store in memory commits");
    });
    let throughput = ThroughputConfig { throttle: Throttle::Full, ..ThroughputConfig::default() };
    let config = EngineConfig { throughput, ..EngineConfig::default() };
    let mut table = create_request(schema());
    table.billing = BillingMode::Provisioned;
    let units = Some(Throughput { read_units: 100, write_units: 100 });
    table.throughput = units;
    table.indexes.iter_mut().for_each(|index| index.throughput = units);
    let bench = bench_with(store.clone(), config, table);
    bench.go_to(START);
    bench.set_ttl("due", TtlChange::Enable).expect("it is disabled");
    let target = InsightsTarget { table: table_ref(), index: None };
    let mode = Some(ContributorInsightsMode::AccessedAndThrottledKeys);
    let insights = UpdateContributorInsights { target, mode };
    block_on(bench.engine.execute(&caller(), Request::UpdateContributorInsights(insights)))
        .expect("it is off");
    set_recovery(&bench, RecoveryChange::Enable { period_days: None });
    assert!(add_replica(&bench.engine, "us-east-1", REPLICA), "its region has no table");
    (0..5).for_each(|_| bench.work());
    for number in 0..5 {
        let row = item([
            ("pk", s("p")),
            ("sk", s(&number.to_string())),
            ("l", s("l")),
            ("g", s("g")),
            ("h", n(number)),
            ("m", s("m")),
            ("due", n(START + 100_000)),
        ]);
        block_on(bench.engine.execute(&caller(), Request::PutItem(Box::new(put_request(row))))).expect("put");
    }
    let deleted = delete_request(item([("pk", s("p")), ("sk", s("0"))]));
    block_on(bench.engine.execute(&caller(), Request::DeleteItem(Box::new(deleted)))).expect("delete");
    for minute in 1..4 {
        bench.go_to(START + 60 * minute);
        bench.work();
    }
    bench
}

/// Removes the replica: what it has of the table's number goes with it.
fn remove(bench: &Bench<MemoryStore>) {
    assert!(remove_replica(&bench.engine, REPLICA), "there is one");
    for second in 0..5 {
        bench.go_to(START + 600 + second);
        bench.work();
    }
}

fn set_recovery(bench: &Bench<MemoryStore>, change: RecoveryChange) {
    let request = UpdateContinuousBackups { table: table_ref(), change };
    let request = Request::UpdateContinuousBackups(request);
    block_on(bench.engine.execute(&caller(), request)).expect("it may be changed");
}

#[test]
fn a_deleted_table_leaves_no_row_with_its_number_once_its_backup_has_expired() {
    for store in [MemoryStore::new(), MemoryStore::shared().with_exclusive_protection()] {
        check_that_nothing_is_left(&store);
    }
}

fn check_that_nothing_is_left(store: &MemoryStore) {
    let bench = full(store);
    let spaces = |is_wanted: fn(&Bytes) -> bool| -> BTreeSet<&'static str> {
        let keys = keys(store);
        let wanted = keys.iter().filter(|key| is_wanted(key));
        wanted.map(|key| key.first().copied().and_then(space_of).map_or("?", Space::name)).collect()
    };
    let found = spaces(|key| key.get(1..9) == Some(&TABLE_ID.0.to_be_bytes()));
    // A space that is missing on the left has no row in this test yet; one that is missing on the right has
    // rows of tables, which the table of spaces does not know.
    let is_of_shared = |space: &Space| matches!(space, Space::ItemStamps | Space::Slots);
    let is_kept = |space: &Space| !is_of_shared(space) || store.capabilities().is_shared;
    assert_eq!(found, table_spaces().filter(is_kept).map(Space::name).collect());
    remove(&bench);
    let delete = Request::DeleteTable(DeleteTable { table: table_ref() });
    block_on(bench.engine.execute(&caller(), delete)).expect("it is there");
    bench.work();
    let of_backup = [Space::Catalogue, Space::Items, Space::History].map(Space::name);
    assert_eq!(spaces(|key| has_number(key, TABLE_ID)), BTreeSet::from(of_backup));
    bench.go_to(START + 36 * 86_400);
    // Over a shared store the first step joins again, and the second does the work.
    bench.work();
    bench.work();
    assert_eq!(spaces(|key| has_number(key, TABLE_ID)), BTreeSet::new());
}

/// A row of each space that no engine wrote, of the table with this number where rows are a table's.
fn foreign_rows(table: TableId, index: IndexId) -> Vec<(Space, Vec<u8>)> {
    let row = |space: Space| match space.traits().owner {
        Owner::Installation => vec![space.byte()],
        Owner::Table { branched: Branched::LiveIndexes, .. } => index_prefix(table, index),
        Owner::Table { branched: Branched::LiveExpiries, .. } => rows_prefix(table, TtlGeneration(0)),
        Owner::Table { .. } => table_prefix(space, table),
    };
    SPACES.iter().map(|space| (*space, [&row(*space), FOREIGN].concat())).collect()
}

#[test]
fn a_branch_has_the_rows_that_spaces_give_it_and_keeps_them_when_the_source_is_purged() {
    let store = MemoryStore::new();
    let bench = full(&store);
    let source = bench.engine.catalogue().find(&namespace(), TABLE).expect("it is there");
    let (_, index, _) = source.indexes().last().expect("it has indexes");
    let foreign = foreign_rows(source.id, index);
    for (_, key) in &foreign {
        block_on(put(&store, key.clone()));
    }
    let to = Namespace { region: Region::from("branch"), ..namespace() };
    block_on(bench.engine.branch(&namespace(), &to)).expect("it is empty");
    let copy = bench.engine.catalogue().find(&to, TABLE).expect("it is there");
    let of_copy = foreign_rows(copy.id, index);
    let is_in_branch = |space: Space| match space.traits().owner {
        Owner::Installation => true,
        Owner::Table { branched, .. } => branched != Branched::Nothing,
    };
    let expected = |is_there: &dyn Fn(Space) -> bool| -> BTreeSet<&'static str> {
        SPACES.iter().filter(|space| is_there(**space)).map(|space| space.name()).collect()
    };
    let present = |rows: &[(Space, Vec<u8>)]| -> BTreeSet<&'static str> {
        let keys = keys(&store);
        rows.iter().filter(|(_, key)| keys.contains(key.as_slice())).map(|(space, _)| space.name()).collect()
    };
    assert_eq!(present(&of_copy), expected(&is_in_branch));
    assert_eq!(present(&foreign), expected(&|_| true));
    remove(&bench);
    // Otherwise a backup would keep items.
    set_recovery(&bench, RecoveryChange::Disable);
    let delete = Request::DeleteTable(DeleteTable { table: table_ref() });
    block_on(bench.engine.execute(&caller(), delete)).expect("it is there");
    bench.work();
    assert_eq!(present(&foreign), expected(&|space| !space.is_of_tables()));
    assert_eq!(present(&of_copy), expected(&is_in_branch));
}

#[test]
fn a_copy_between_stores_has_the_rows_that_spaces_give_it() {
    for target in [MemoryStore::new, MemoryStore::shared] {
        let (from, to) = (MemoryStore::new(), target());
        let mut rows = foreign_rows(TABLE_ID, IndexId(1));
        rows.retain(|(space, _)| *space != Space::Stats);
        let counted = Counted::Items(TABLE_ID);
        let of_process = stats::member_row_key(counted, MemberId(7)).to_vec();
        rows.extend([(Space::Stats, stats::row_key(counted).to_vec()), (Space::Stats, of_process.clone())]);
        for (_, key) in &rows {
            block_on(put(&from, key.clone()));
        }
        let is_shared = to.capabilities().is_shared;
        let mut copy = block_on(Copy::begin(from, to.clone(), "a")).expect("the target is empty");
        block_on(copy.run(&mut |_| ())).expect("it is copied");
        block_on(copy.verify(&mut |_| ())).expect("both are equal");
        let of_triggers = rows.iter().filter(|(space, _)| *space == Space::Triggers);
        assert_eq!(block_on(copy.triggers()), Ok(of_triggers.map(|_| 1).sum()));
        block_on(copy.finish()).expect("it ends");
        let carried = rows.into_iter().filter(|(space, key)| match space.traits().in_copy {
            InCopy::Always => true,
            InCopy::OfProcessesToSharedStores => is_shared || *key != of_process,
            InCopy::Never => false,
        });
        assert_eq!(keys(&to), carried.map(|(_, key)| Bytes::from(key)).collect(), "shared: {is_shared}");
    }
}
