//! Operations on tables whose commits fail or stay unknown: each happens once, and requests see what the
//! store has.

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::Request;
use keywright_semantics::request::create_table::CreateTable;
use keywright_semantics::request::update_table::UpdateTable;
use keywright_semantics::response::{IndexStatus, Response};

use super::flaky_store::Fate::{self, Conflict, TooLarge, UnknownLost, UnknownWritten};
use super::flaky_store::FlakyStore;
use super::harness::*;
use super::tables::{Bed, add_index, creation, kind, named, nothing, open, plain};
use crate::EngineConfig;

const STORIES: [&[Fate]; 5] = [
    &[Conflict, Conflict],
    &[UnknownWritten],
    &[UnknownLost],
    &[UnknownLost, UnknownWritten],
    &[UnknownLost, Conflict, UnknownLost],
];

fn flaky() -> (Bed<FlakyStore>, FlakyStore) {
    let store = FlakyStore::default();
    (open(store.clone(), EngineConfig::default()), store)
}

/// A new engine on the same store.
fn reopened(store: &FlakyStore) -> Bed<FlakyStore> {
    open(store.clone(), EngineConfig::default())
}

#[test]
fn a_table_is_created_and_deleted_once() {
    let (bed, store) = flaky();
    for story in STORIES {
        store.next(story);
        let created = bed.create(creation("Shop", plain())).expect("it is settled");
        assert_eq!(store.untouched(), 0, "{story:?}");
        assert_eq!(bed.describe("Shop").expect("it is there").table_id, created.table_id, "{story:?}");
        let again = reopened(&store);
        assert_eq!(again.describe("Shop").expect("it is there").table_id, created.table_id, "{story:?}");
        assert_eq!(kind(bed.create(creation("Shop", plain()))).0, ErrorKind::ResourceInUse);
        store.next(story);
        bed.delete("Shop").expect("it is settled");
        assert!(bed.describe("Shop").is_err() && reopened(&store).describe("Shop").is_err(), "{story:?}");
        bed.settle();
    }
}

#[test]
fn a_change_is_made_once_and_seen_at_once() {
    let (bed, store) = flaky();
    bed.create(CreateTable { deletion_protection: false, ..creation("Shop", plain()) }).expect("it is new");
    for (story, protection) in STORIES.into_iter().zip([true, false].into_iter().cycle()) {
        store.next(story);
        let change = UpdateTable { deletion_protection: Some(protection), ..nothing("Shop") };
        let answer = bed.update(change).expect("it is settled");
        assert_eq!(answer.deletion_protection_enabled, Some(protection), "{story:?}");
        for bed in [&bed, &reopened(&store)] {
            let now = bed.describe("Shop").expect("it is there").deletion_protection_enabled;
            assert_eq!((now, store.untouched()), (Some(protection), 0), "{story:?}");
        }
    }
}

#[test]
fn a_new_index_is_not_refused_because_its_own_first_try_happened() {
    let (bed, store) = flaky();
    bed.create(creation("Shop", plain())).expect("it is new");
    store.next(&[UnknownWritten]);
    bed.update(add_index("Shop", "by-g", "g")).expect("it is settled");
    let indexes = bed.describe("Shop").expect("it is there").global_secondary_indexes;
    assert_eq!(indexes.map(|indexes| indexes.len()), Some(1));
}

#[test]
fn a_backfill_gets_through_whatever_its_commits_do() {
    let (bed, store) = flaky();
    bed.create(creation("Shop", plain())).expect("it is new");
    for number in 0..700 {
        bed.put("Shop", item([("pk", s(&number.to_string())), ("g", n(number))]));
    }
    bed.update(add_index("Shop", "by-g", "g")).expect("it may be added");
    for fate in [Conflict, UnknownWritten, UnknownLost, TooLarge, Conflict, UnknownWritten, UnknownLost] {
        store.next(&[fate]);
        bed.step();
    }
    bed.env.now_ms.fetch_add(10_000, std::sync::atomic::Ordering::Relaxed);
    bed.settle();
    let index =
        bed.describe("Shop").expect("it is there").global_secondary_indexes.expect("it has one").remove(0);
    assert_eq!((index.index_status, index.item_count), (IndexStatus::Active, 700));
    let mut request = scan_request(Some("by-g"));
    request.table = named("Shop");
    let Ok(Response::Scan(page)) = bed.run(Request::Scan(Box::new(request))) else {
        panic!("it can be read")
    };
    assert_eq!(page.count, 700);
}
