//! The history of an item, as callers ask for it.

use std::sync::atomic::Ordering;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::value::Item;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::catalogue::Table;
use crate::history::item::{HistoryFault, ItemHistory, ItemVersion};
use crate::support::stamp::DAY_MS;

const START_MS: u64 = 1_800_000_000_000;

impl<S: Store> Bench<S> {
    pub(super) fn at_ms(&self, now_ms: u64) {
        self.env.now_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Turns point-in-time recovery on.
    pub(super) fn keep_history(&self, period_days: u8) {
        let table = self.engine.catalogue().find(&namespace(), TABLE).expect("the table exists");
        let now_ms = self.engine.env().now_ms();
        let enable = |table: &mut Table| {
            table.history.enable_recovery(now_ms, period_days, self.engine.stamps().beginning(now_ms));
            Ok(())
        };
        block_on(self.engine.catalogue().change(table.id, enable)).expect("it is enabled");
    }

    fn versions(&self, key: &Item, page: (Option<u64>, usize)) -> Result<ItemHistory, HistoryFault> {
        block_on(self.engine.item_history(&namespace(), TABLE, key, page))
    }

    pub(super) fn item_at(&self, key: &Item, at_ms: u64) -> Result<Option<Item>, HistoryFault> {
        let item = block_on(self.engine.item_at(&namespace(), TABLE, key, at_ms))?;
        Ok(item.map(|item| item.decode()))
    }
}

fn kept() -> Bench<MemoryStore> {
    let bench = bench();
    bench.at_ms(START_MS);
    bench
}

fn key() -> Item {
    item([("pk", s("a")), ("sk", s("b"))])
}

fn with_value(value: i64) -> Item {
    item([("pk", s("a")), ("sk", s("b")), ("v", n(value))])
}

fn value(version: &ItemVersion) -> (Option<u64>, Option<Item>) {
    let at_ms = version.change.map(|change| change.at_ms - START_MS);
    (at_ms, version.item.as_ref().map(EncodedItem::decode))
}

#[test]
fn the_versions_of_an_item_are_paged_newest_first_and_end_with_the_one_before_the_history() {
    let bench = kept();
    bench.put(with_value(0)).expect("written");
    bench.keep_history(35);
    for (after_ms, number) in [(1_000, 1), (2_000, 2), (DAY_MS, 3)] {
        bench.at_ms(START_MS + after_ms);
        bench.put(with_value(number)).expect("written");
    }
    bench.delete(&delete_request(key())).expect("deleted");
    let expected = [
        (Some(DAY_MS), None),
        (Some(DAY_MS), Some(with_value(3))),
        (Some(2_000), Some(with_value(2))),
        (Some(1_000), Some(with_value(1))),
        (None, Some(with_value(0))),
    ];
    for limit in 1..7 {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = bench.versions(&key(), (before, limit)).expect("the history is on");
            assert!(page.versions.len() <= limit);
            found.extend(page.versions.iter().map(value));
            before = page.before;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{limit}");
    }
    let other = item([("pk", s("a")), ("sk", s("c"))]);
    let never = bench.versions(&other, (None, 9)).expect("the history is on");
    assert_eq!(never.versions.iter().map(value).collect::<Vec<_>>(), [(None, None)]);
}

#[test]
fn large_versions_make_short_pages() {
    let bench = kept();
    bench.keep_history(35);
    let large = |number: u8| {
        let text = char::from(b'a' + number).to_string().repeat(390_000);
        item([("pk", s("a")), ("sk", s("b")), ("v", s(&text))])
    };
    for number in 0..8 {
        bench.put(large(number)).expect("written");
    }
    let page = bench.versions(&key(), (None, 100)).expect("the history is on");
    assert_eq!(page.versions.len(), 3, "they are a MiB together");
    let next = bench.versions(&key(), (page.before, 100)).expect("the history is on");
    assert_eq!(next.versions.first().map(|version| value(version).1), Some(Some(large(4))));
}

#[test]
fn an_item_at_a_time_is_what_the_commits_before_it_left() {
    let bench = kept();
    bench.keep_history(35);
    for number in 1..4 {
        bench.at_ms(START_MS + number * 1_000);
        bench.put(with_value(i64::try_from(number).expect("small"))).expect("written");
    }
    bench.at_ms(START_MS + 9_000);
    let at = |after_ms| bench.item_at(&key(), START_MS + after_ms).expect("it is in the history");
    assert_eq!([at(1), at(1_000), at(1_001)], [None, None, Some(with_value(1))]);
    assert_eq!([at(3_000), at(9_000)], [Some(with_value(2)), Some(with_value(3))]);
    for after_ms in [9_001, DAY_MS] {
        let fault = bench.item_at(&key(), START_MS + after_ms).expect_err("it is later").to_string();
        assert!(fault.ends_with("from 2027-01-15T08:00:00.000Z to 2027-01-15T08:00:09.000Z"), "{fault}");
    }
    assert!(bench.item_at(&key(), START_MS - 1).is_err());
}

#[test]
fn the_span_of_a_history_ends_with_its_period_and_its_bytes_grow_with_changes() {
    let bench = kept();
    let span = || block_on(bench.engine.history_of(&namespace(), TABLE)).expect("the table exists");
    assert_eq!(span(), None);
    bench.keep_history(1);
    let begun = span().expect("the history is on");
    assert_eq!(begun.bytes, 0);
    for number in 0..100 {
        bench.put(with_value(number)).expect("written");
    }
    assert!(span().expect("the history is on").bytes > 100 * 40);
    bench.at_ms(START_MS + 3 * DAY_MS);
    let later = span().expect("the history is on");
    assert_eq!((later.earliest_ms, later.latest_ms), (START_MS + 2 * DAY_MS, START_MS + 3 * DAY_MS));
}

#[test]
fn faults_name_the_table_and_what_is_wrong_with_the_question() {
    let bench = kept();
    let text = |fault: HistoryFault| fault.to_string();
    let off = bench.versions(&key(), (None, 9)).map_err(text).expect_err("it is off");
    assert!(off.contains("Table t keeps no history"), "{off}");
    assert_eq!(bench.item_at(&key(), START_MS).map_err(text), Err(off));
    bench.keep_history(35);
    let half = item([("pk", s("a"))]);
    let fault = bench.versions(&half, (None, 9)).map_err(text).expect_err("half a key");
    assert!(fault.starts_with("The key does not match table t: "), "{fault}");
    let other = block_on(bench.engine.item_at(&namespace(), "other", &key(), START_MS)).map_err(text);
    assert_eq!(other, Err("There is no table other".to_owned()));
}
