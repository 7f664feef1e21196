//! Sets: several tables read as of one stamp while clients write, increments, and what is left of them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::request::transact_write_items::TransactAction;
use keywright_semantics::request::{DeleteItem, Request};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::{block_on, delete_request, item, n, namespace, s, seeds};
use super::tables::{Bed, creation, named, open, plain};
use super::transactions::{act, transaction};
use crate::support::env::AccountId;
use crate::support::layout::Space;
use crate::{BegunSet, EngineConfig, NewSet, SetFault, Wanted};

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
        let number = random.i64(..20);
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
