//! Random operations against a naive map: after every step items, index rows and sizes are what the map says,
//! and the rows of expiry what the items say.

use std::collections::BTreeMap;

use keywright_semantics::request::TtlChange;
use keywright_semantics::schema::TableSchema;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, Scan, Snapshot, Store};

use super::harness::*;
use crate::bind::source::holds;
use crate::support::layout::{Space, TableId, prefix_range, table_prefix};
use crate::write::collections;

/// A small pseudo-random generator: the seed determines a run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn text(&mut self, sides: u64) -> AttributeValue {
        s(&format!("v{}", self.roll(sides)))
    }
}

type Oracle = BTreeMap<(String, String), Item>;

fn random_key(dice: &mut Dice) -> (String, String) {
    (format!("p{}", dice.roll(3)), format!("s{}", dice.roll(4)))
}

fn key_item(key: &(String, String)) -> Item {
    item([("pk", s(&key.0)), ("sk", s(&key.1))])
}

/// Index keys and other attributes, each present or absent at random.
fn random_rest(dice: &mut Dice) -> Item {
    let mut rest = Item::new();
    for name in ["g", "m", "l", "x", "y"] {
        if dice.roll(3) > 0 {
            rest.insert(name.into(), dice.text(3));
        }
    }
    if dice.roll(3) > 0 {
        rest.insert("h".into(), n(i64::try_from(dice.roll(3)).expect("small") - 1));
    }
    if dice.roll(2) > 0 {
        let time = i64::try_from(dice.roll(4)).expect("small") - 1;
        rest.insert("ends".into(), if time < 2 { n(time) } else { s("no number") });
    }
    rest
}

fn step(bench: &Bench<MemoryStore>, oracle: &mut Oracle, dice: &mut Dice) {
    let key = random_key(dice);
    let exists = oracle.contains_key(&key);
    match dice.roll(6) {
        0 => {
            bench.delete(&delete_request(key_item(&key))).expect("delete");
            oracle.remove(&key);
        }
        1 => {
            let mut request = put_request(key_item(&key));
            request.write.condition = Some(Box::new(condition("attribute_not_exists(pk)", [])));
            assert_eq!(bench.put_with(&request).is_ok(), !exists);
            oracle.entry(key.clone()).or_insert_with(|| key_item(&key));
        }
        2 => {
            let names = ["g", "l", "x", "y", "ends"];
            let name = names[usize::try_from(dice.roll(5)).expect("small")];
            bench
                .update(&update_request(key_item(&key), Some(update(&format!("REMOVE {name}"), []))))
                .expect("update");
            if let Some(item) = oracle.get_mut(&key) {
                item.remove(name);
            }
        }
        3 => {
            let value = dice.text(3);
            let set = update("SET l = :v, x = :v", [(":v", value.clone())]);
            bench.update(&update_request(key_item(&key), Some(set))).expect("update");
            let item = oracle.entry(key.clone()).or_insert_with(|| key_item(&key));
            item.insert("l".into(), value.clone());
            item.insert("x".into(), value);
        }
        _ => {
            let mut item = key_item(&key);
            item.extend(random_rest(dice));
            bench.put(item.clone()).expect("put");
            oracle.insert(key, item);
        }
    }
}

fn sorted(mut rows: Vec<Item>) -> Vec<String> {
    rows.sort_by_key(|row| format!("{row:?}"));
    rows.iter().map(|row| format!("{row:?}")).collect()
}

fn expected_rows(schema: &TableSchema, oracle: &Oracle, place: usize) -> Vec<Item> {
    let index = &schema.indexes[place];
    oracle
        .values()
        .filter(|item| index.key.attributes().all(|attribute| item.contains_key(&attribute.name)))
        .map(|item| {
            let held = item.iter().filter(|(name, _)| holds(&schema.key, index, name));
            held.map(|(name, value)| (name.clone(), value.clone())).collect()
        })
        .collect()
}

/// The sum of the stored sizes of all collections.
fn collection_bytes(bench: &Bench<MemoryStore>) -> u64 {
    let scan = Scan {
        range: prefix_range(table_prefix(Space::Collections, TableId(1))),
        direction: Direction::Forward,
        rows_max: 100,
        bytes_max: 1 << 20,
    };
    let page = block_on(async { bench.engine.store().snapshot().await.expect("snapshot").scan(&scan).await });
    page.expect("scan").entries.iter().map(|entry| collections::decode(Some(&entry.value))).sum()
}

fn check(bench: &Bench<MemoryStore>, schema: &TableSchema, oracle: &Oracle) {
    assert_eq!(sorted(bench.scan_all(None)), sorted(oracle.values().cloned().collect()));
    for (place, index) in schema.indexes.iter().enumerate() {
        assert_eq!(
            sorted(bench.scan_all(Some(&index.name))),
            sorted(expected_rows(schema, oracle, place)),
            "{}",
            index.name
        );
    }
    let items: usize = oracle.values().map(item_bytes).sum();
    let local: usize = expected_rows(schema, oracle, 0).iter().map(item_bytes).sum();
    assert_eq!(collection_bytes(bench), u64::try_from(items + local).expect("small"));
    bench.check_expiry_rows("ends");
}

#[test]
fn random_writes_keep_items_indexes_and_sizes_as_a_naive_map_has_them() {
    for seed in seeds(12) {
        let (bench, schema) = (bench(), schema());
        bench.set_ttl("ends", TtlChange::Enable).expect("it is disabled");
        let mut oracle = Oracle::new();
        let mut dice = Dice(seed);
        for number in 0..150 {
            step(&bench, &mut oracle, &mut dice);
            check(&bench, &schema, &oracle);
            let key = random_key(&mut dice);
            assert_eq!(bench.get(key_item(&key)).as_ref(), oracle.get(&key), "seed {seed}, step {number}");
        }
    }
}
