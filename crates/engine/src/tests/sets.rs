//! Sets: several tables read as of one stamp while clients write, increments, and what is left of them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::request::transact_write_items::TransactAction;
use keywright_semantics::request::{DeleteItem, Request, StreamChange, TtlChange, UpdateTimeToLive};
use keywright_semantics::response::{Response, TableStatus};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::{block_on, delete_request, item, items, n, namespace, s, scan_request, seeds};
use super::tables::{Bed, creation, named, open, plain};
use super::transactions::{act, transaction};
use crate::support::env::AccountId;
use crate::support::layout::Space;
use crate::{BegunSet, EngineConfig, NewSet, RestoreFault, SetFault, Wanted};

const HOUR_MS: u64 = 3_600_000;
const TABLES: [&str; 2] = ["Left", "Right"];

type Rows = BTreeMap<Bytes, Bytes>;

fn account(name: &str, units: i64) -> Item {
    item([("pk", s(name)), ("units", n(units))])
}

/// Two tables with accounts of 100 units each.
fn bank(store: MemoryStore, accounts: i64) -> Bed<MemoryStore> {
    let bed = open(store, EngineConfig::default());
    bed.env.now_ms.store(1_800_000_000_000, Ordering::Relaxed);
    for table in TABLES {
        bed.create(creation(table, plain())).expect("it is new");
        (0..accounts).for_each(|number| bed.put(table, account(&number.to_string(), 100)));
    }
    bed
}

/// Moves units from an account of one table to one of the other.
fn transfer(bed: &Bed<MemoryStore>, random: &mut fastrand::Rng, units: &mut BTreeMap<(usize, i64), i64>) {
    let (from, moved) = (random.usize(..2), random.i64(1..10));
    let mut puts = Vec::new();
    for (table, change) in [(from, -moved), (1 - from, moved)] {
        let number = random.i64(0..20);
        let left = units.entry((table, number)).or_insert(100);
        *left += change;
        let mut put = act(TransactAction::Put { item: account(&number.to_string(), *left) });
        put.table = named(TABLES[table]);
        puts.push(put);
    }
    bed.run(Request::TransactWriteItems(transaction(puts))).expect("nothing conflicts");
}

fn delete(bed: &Bed<MemoryStore>, table: &str, name: &str) {
    let request = DeleteItem { table: named(table), ..delete_request(item([("pk", s(name))])) };
    bed.run(Request::DeleteItem(Box::new(request))).expect("it is deleted");
}

fn begin(bed: &Bed<MemoryStore>, parents: BTreeMap<String, u64>) -> BegunSet {
    let set = NewSet { account: None, tables: None, parents };
    block_on(bed.engine.begin_set(&set)).expect("there are tables")
}

/// All rows of a table of a set, in small pages; between them, `meanwhile` is called.
fn rows(
    bed: &Bed<MemoryStore>,
    set: &BegunSet,
    number: u64,
    mut meanwhile: impl FnMut(),
) -> Vec<(Bytes, Option<Bytes>)> {
    let (mut found, mut next) = (Vec::new(), Some(None));
    while let Some(after) = next {
        let page = block_on(bed.engine.set_page(None, &set.id, (number, after), 200)).expect("it is read");
        assert!(page.rows.len() <= 10, "a page keeps its budget");
        found.extend(page.rows);
        next = page.next.map(Some);
        meanwhile();
    }
    found
}

fn whole(bed: &Bed<MemoryStore>, set: &BegunSet, number: u64) -> Rows {
    let rows = rows(bed, set, number, || {});
    rows.into_iter().map(|(key, value)| (key, value.expect("all items are read"))).collect()
}

fn units(rows: &Rows) -> i64 {
    let units = rows.values().map(|value| {
        let item = EncodedItem::from_stored(value.clone()).expect("it is an item").decode();
        match item.get("units") {
            Some(AttributeValue::N(number)) => number.to_string().parse::<i64>().expect("small"),
            other => panic!("no units: {other:?}"),
        }
    });
    units.sum()
}

fn has_history(store: &MemoryStore) -> bool {
    let keys = super::branches::stored(store);
    keys.iter().any(|row| row.key.first() == Some(&Space::History.byte()))
}

#[test]
fn a_set_splits_no_transaction_however_long_it_is_read() {
    for seed in seeds(5) {
        let mut random = fastrand::Rng::with_seed(seed);
        let bed = bank(MemoryStore::new(), 20);
        let mut balances = BTreeMap::new();
        (0..20).for_each(|_| transfer(&bed, &mut random, &mut balances));
        let set = begin(&bed, BTreeMap::new());
        assert_eq!(set.tables.len(), 2);
        let mut sum = 0;
        for number in &set.tables {
            let found = rows(&bed, &set, *number, || transfer(&bed, &mut random, &mut balances));
            let found: Rows = found.into_iter().map(|(key, value)| (key, value.expect("an item"))).collect();
            assert_eq!(found.len(), 20);
            sum += units(&found);
        }
        assert_eq!(sum, 4000, "seed {seed}");
    }
}

#[test]
fn an_increment_has_what_changed_since_the_set_whose_history_was_kept() {
    let store = MemoryStore::new();
    let bed = bank(store.clone(), 20);
    let first = begin(&bed, BTreeMap::new());
    let ids: Vec<String> = first
        .tables
        .iter()
        .map(|number| {
            block_on(bed.engine.set_table(None, &first.id, *number)).expect("it is there").public_id
        })
        .collect();
    let full = whole(&bed, &first, first.tables[0]);
    block_on(bed.engine.end_set(None, &first.id, Some(24 * HOUR_MS))).expect("it ends");
    bed.env.now_ms.fetch_add(2 * HOUR_MS, Ordering::Relaxed);
    bed.settle();
    bed.put("Left", account("3", 7));
    bed.put("Left", account("new", 1));
    bed.put("Left", account("short", 1));
    delete(&bed, "Left", "short");
    delete(&bed, "Left", "5");
    let parents = ids.iter().map(|id| (id.clone(), first.stamp)).collect();
    let second = begin(&bed, parents);
    bed.put("Left", account("after", 1));
    let table = block_on(bed.engine.set_table(None, &second.id, second.tables[0])).expect("it is there");
    assert_eq!((table.from, table.public_id), (Some(first.stamp), ids[0].clone()));
    let changed = rows(&bed, &second, second.tables[0], || {});
    assert_eq!(changed.len(), 3, "changed, new and deleted; one that was never there at either end is not");
    assert_eq!(rows(&bed, &second, second.tables[1], || {}), []);
    let mut restored = full;
    for (key, value) in changed {
        match value {
            Some(value) => drop(restored.insert(key, value)),
            None => drop(restored.remove(&key).expect("it was there")),
        }
    }
    let third = begin(&bed, BTreeMap::new());
    let mut present = whole(&bed, &third, third.tables[0]);
    present.retain(|_, value| units(&BTreeMap::from([(Bytes::new(), value.clone())])) > 0);
    assert_eq!(present.len(), restored.len() + 1, "`after` came later");
    assert!(restored.iter().all(|(key, value)| present.get(key) == Some(value)));
    for set in [&first, &second, &third] {
        block_on(bed.engine.end_set(None, &set.id, None)).expect("it ends");
    }
    bed.settle();
    assert!(!has_history(&store), "nothing needs it");
    let fourth = begin(&bed, ids.iter().map(|id| (id.clone(), second.stamp)).collect());
    let table = block_on(bed.engine.set_table(None, &fourth.id, fourth.tables[0])).expect("it is there");
    assert_eq!(table.from, None, "the history was given up meanwhile");
}

#[test]
fn a_set_that_nobody_reads_is_released_after_an_hour_and_each_page_renews_it() {
    let store = MemoryStore::new();
    let bed = bank(store.clone(), 20);
    let set = begin(&bed, BTreeMap::new());
    bed.put("Left", account("3", 7));
    for _ in 0..4 {
        bed.env.now_ms.fetch_add(HOUR_MS - 1, Ordering::Relaxed);
        bed.settle();
        assert_eq!(units(&whole(&bed, &set, set.tables[0])), 2000);
    }
    assert!(has_history(&store));
    bed.env.now_ms.fetch_add(HOUR_MS, Ordering::Relaxed);
    bed.settle();
    assert!(!has_history(&store));
    let gone = block_on(bed.engine.set_page(None, &set.id, (set.tables[0], None), 200));
    assert!(matches!(gone, Err(SetFault::Gone(id)) if id == set.id));
}

#[test]
fn a_table_that_is_deleted_meanwhile_is_read_to_its_end() {
    let store = MemoryStore::new();
    let bed = bank(store.clone(), 20);
    let set = begin(&bed, BTreeMap::new());
    bed.put("Left", account("3", 7));
    bed.delete("Left").expect("it is there");
    bed.settle();
    bed.create(creation("Left", plain())).expect("the name is free");
    assert_eq!(units(&whole(&bed, &set, set.tables[0])), 2000);
    block_on(bed.engine.end_set(None, &set.id, None)).expect("it ends");
    bed.settle();
    assert!(!has_history(&store));
}

#[test]
fn a_set_has_the_tables_that_are_named_and_only_its_account_reads_it() {
    let bed = bank(MemoryStore::new(), 1);
    let named = |place, name: &str| NewSet {
        account: Some(namespace().account),
        tables: Some(vec![Wanted { place, name: name.to_owned() }]),
        parents: BTreeMap::new(),
    };
    let own = block_on(bed.engine.begin_set(&named(None, "Right"))).expect("it is there");
    let [number] = own.tables[..] else { panic!("one table: {own:?}") };
    let read = |account: &str| {
        block_on(bed.engine.set_table(Some(&AccountId::from(account)), &own.id, number))
            .map(|table| table.name)
    };
    assert_eq!(read(namespace().account.as_str()).expect("its own"), "Right");
    assert!(matches!(read("000000000009"), Err(SetFault::Gone(_))));
    let missing = block_on(bed.engine.begin_set(&named(None, "Middle")));
    assert!(matches!(missing, Err(SetFault::NoTable(name)) if name == "Middle"));
    let elsewhere = crate::Namespace { region: crate::Region::from("test-1"), ..namespace() };
    let missing = block_on(bed.engine.begin_set(&named(Some(elsewhere), "Right")));
    assert!(matches!(missing, Err(SetFault::NoTable(_))));
    let foreign = NewSet { account: Some(AccountId::from("000000000009")), ..NewSet::default() };
    assert!(matches!(block_on(bed.engine.begin_set(&foreign)), Err(SetFault::NoTables)));
}

#[test]
fn a_cut_is_not_below_an_earlier_one_after_a_restart_with_a_clock_that_was_set_back() {
    let store = MemoryStore::new();
    let bed = bank(store.clone(), 5);
    let first = begin(&bed, BTreeMap::new());
    block_on(bed.engine.end_set(None, &first.id, Some(24 * HOUR_MS))).expect("it ends");
    let ids = |bed: &Bed<MemoryStore>, set: &BegunSet| {
        block_on(bed.engine.set_table(None, &set.id, set.tables[0])).expect("it is there").public_id
    };
    let id = ids(&bed, &first);
    drop(bed);
    let again = open(store, EngineConfig::default());
    again.env.now_ms.store(1_700_000_000_000, Ordering::Relaxed);
    again.put("Left", account("3", 7));
    let second = begin(&again, BTreeMap::from([(id, first.stamp)]));
    assert!(second.stamp > first.stamp);
    assert_eq!(rows(&again, &second, second.tables[0], || {}).len(), 1, "the change after the first");
}

/// Rows of a table of a set that go into a restore.
fn sent(rows: &Rows) -> Vec<(Bytes, Bytes)> {
    rows.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A bank with an index, a stream, time to live and recovery on its first table, and a set of it.
fn full_bank() -> (Bed<MemoryStore>, BegunSet) {
    let bed = bank(MemoryStore::new(), 20);
    bed.update(super::tables::add_index("Left", "by-units", "units")).expect("it is new");
    let ttl = UpdateTimeToLive { table: named("Left"), attribute: "due".into(), change: TtlChange::Enable };
    bed.run(Request::UpdateTimeToLive(ttl)).expect("it is off");
    let mut update = super::tables::nothing("Left");
    update.stream = Some(StreamChange::Enable(StreamViewType::KeysOnly));
    bed.update(update).expect("it is off");
    bed.settle();
    let set = begin(&bed, BTreeMap::new());
    (bed, set)
}

/// Begins a restore of a set's first table under a name; returns its id and the table's number.
fn restoring(bed: &Bed<MemoryStore>, set: &BegunSet, name: &str) -> (String, u64) {
    let table = block_on(bed.engine.set_table(None, &set.id, set.tables[0])).expect("it is there");
    let begun = block_on(bed.engine.begin_restore(None, "a source")).expect("it begins");
    let place = namespace();
    let made = bed.engine.restore_table(None, &begun.id, (&place, name), &table.settings);
    let number = block_on(made).expect("the name is free").number;
    (begun.id, number)
}

fn feed(
    bed: &Bed<MemoryStore>,
    restore: &str,
    number: u64,
    rows: Vec<(Bytes, Bytes)>,
) -> Result<u64, RestoreFault> {
    block_on(bed.engine.feed_restore(None, restore, number, rows))
}

fn index_rows(bed: &Bed<MemoryStore>, table: &str) -> usize {
    let mut request = scan_request(Some("by-units"));
    request.table = named(table);
    match bed.run(Request::Scan(Box::new(request))) {
        Ok(Response::Scan(page)) => items(&page).len(),
        other => panic!("no page: {other:?}"),
    }
}

#[test]
fn a_restored_table_is_as_it_was_and_all_tables_become_active_together() {
    let (bed, set) = full_bank();
    let rows = whole(&bed, &set, set.tables[0]);
    let (restore, number) = restoring(&bed, &set, "Again");
    let (other, settings) = {
        let right = block_on(bed.engine.set_table(None, &set.id, set.tables[1])).expect("it is there");
        ((namespace(), "Other"), right.settings)
    };
    let made = block_on(bed.engine.restore_table(None, &restore, (&other.0, other.1), &settings));
    assert_eq!(made.expect("the name is free").items, 0);
    assert_eq!(feed(&bed, &restore, number, sent(&rows)).expect("they are whole"), 20);
    bed.settle();
    for name in ["Again", "Other"] {
        assert_eq!(bed.describe(name).expect("it is there").table_status, TableStatus::Creating);
    }
    assert_eq!(block_on(bed.engine.end_restore(None, &restore)).expect("it ends"), (2, 20));
    bed.settle();
    let (was, is) = (bed.describe("Left").expect("it is there"), bed.describe("Again").expect("it is there"));
    assert_eq!(
        (is.table_status, is.item_count, is.table_size_bytes),
        (TableStatus::Active, 20, was.table_size_bytes)
    );
    assert_ne!(is.table_id, was.table_id);
    assert_eq!(is.stream_specification, was.stream_specification);
    let table = bed.engine.catalogue().find(&namespace(), "Again").expect("it is there");
    assert_eq!(table.ttl.enabled().map(|(_, attribute)| attribute), Some("due"));
    assert_eq!(index_rows(&bed, "Again"), 20);
    let again = begin(&bed, BTreeMap::new());
    let numbers = again.tables.iter().find(|number| **number == number_of(&bed, "Again"));
    assert_eq!(whole(&bed, &again, *numbers.expect("it is in the set")), rows);
}

fn number_of(bed: &Bed<MemoryStore>, name: &str) -> u64 {
    bed.engine.catalogue().find(&namespace(), name).expect("it is there").id.0
}

#[test]
fn a_restore_goes_on_where_it_stopped_and_rows_that_are_sent_again_are_passed_over() {
    let (bed, set) = full_bank();
    let rows = sent(&whole(&bed, &set, set.tables[0]));
    let (restore, number) = restoring(&bed, &set, "Again");
    assert_eq!(feed(&bed, &restore, number, rows[..7].to_vec()).expect("they are whole"), 7);
    let resumed = block_on(bed.engine.begin_restore(None, "a source")).expect("it goes on");
    assert_eq!((resumed.id.clone(), resumed.is_resumed), (restore.clone(), true));
    assert!(!block_on(bed.engine.begin_restore(None, "another")).expect("it begins").is_resumed);
    let settings =
        block_on(bed.engine.set_table(None, &set.id, set.tables[0])).expect("it is there").settings;
    let place = namespace();
    let table = bed.engine.restore_table(None, &restore, (&place, "Again"), &settings);
    let table = block_on(table).expect("it goes on");
    assert_eq!((table.number, table.after, table.items), (number, Some(rows[6].0.clone()), 7));
    assert_eq!(feed(&bed, &restore, number, rows[3..].to_vec()).expect("they are whole"), 20);
    assert_eq!(block_on(bed.engine.end_restore(None, &restore)).expect("it ends"), (1, 20));
    let taken = block_on(bed.engine.begin_restore(None, "a source")).expect("it begins");
    let place = namespace();
    let exists = bed.engine.restore_table(None, &taken.id, (&place, "Again"), &settings);
    assert!(matches!(block_on(exists), Err(RestoreFault::Exists(name)) if name == "Again"));
}

#[test]
fn a_restore_that_is_given_up_or_forgotten_disappears_with_its_tables() {
    let (bed, set) = full_bank();
    let rows = sent(&whole(&bed, &set, set.tables[0]));
    let (restore, number) = restoring(&bed, &set, "Again");
    let swapped = vec![rows[1].clone(), rows[0].clone()];
    assert!(matches!(feed(&bed, &restore, number, swapped), Err(RestoreFault::Damaged(_))));
    let wrong = vec![(rows[0].0.clone(), rows[1].1.clone())];
    assert!(matches!(feed(&bed, &restore, number, wrong), Err(RestoreFault::Damaged(_))));
    feed(&bed, &restore, number, rows.clone()).expect("they are whole");
    block_on(bed.engine.abort_restore(None, &restore)).expect("it is given up");
    assert!(bed.describe("Again").is_err());
    assert!(matches!(feed(&bed, &restore, number, rows.clone()), Err(RestoreFault::Gone(_))));

    let (restore, number) = restoring(&bed, &set, "Again");
    bed.env.now_ms.fetch_add(HOUR_MS - 1, Ordering::Relaxed);
    bed.settle();
    feed(&bed, &restore, number, rows).expect("it is there");
    bed.env.now_ms.fetch_add(HOUR_MS - 1, Ordering::Relaxed);
    bed.settle();
    assert!(bed.describe("Again").is_ok(), "it was fed within the hour");
    bed.env.now_ms.fetch_add(1, Ordering::Relaxed);
    bed.settle();
    assert!(bed.describe("Again").is_err());
    bed.create(creation("Again", plain())).expect("the name is free");
}
