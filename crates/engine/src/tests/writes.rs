//! Effects and responses of single-item writes.

use keywright_semantics::error::{ErrorDetail, ErrorKind};
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::parts::ReturnValue;
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;

fn key() -> Item {
    item([("pk", s("p")), ("sk", s("s"))])
}

fn with(name: &str, value: keywright_semantics::value::AttributeValue) -> Item {
    let mut item = key();
    item.insert(name.into(), value);
    item
}

#[test]
fn a_put_replaces_the_whole_item_and_returns_the_old_one_when_asked() {
    let bench = bench();
    assert!(bench.put(with("x", s("1"))).expect("it is put").attributes.is_none());
    let mut request = put_request(with("y", s("2")));
    request.write.return_values = ReturnValue::AllOld;
    let old = bench.put_with(&request).expect("it is put").attributes.expect("there was one");
    assert_eq!(old.decode(), with("x", s("1")));
    assert_eq!(bench.get(key()), Some(with("y", s("2"))));
}

#[test]
fn a_failed_condition_writes_nothing_and_carries_the_item_when_asked() {
    let bench = bench();
    bench.put(with("x", s("1"))).expect("it is put");
    let mut request = put_request(with("x", s("2")));
    request.write.condition = Some(Box::new(condition("attribute_not_exists(pk)", [])));
    let error = bench.put_with(&request).expect_err("it exists");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::ConditionalCheckFailed, "The conditional request failed")
    );
    assert!(matches!(*error.detail, ErrorDetail::None));
    request.write.on_condition_failure = OnConditionFailure::ReturnItem;
    let error = bench.put_with(&request).expect_err("it exists");
    let ErrorDetail::Item(found) = *error.detail else { panic!("the item was asked for") };
    assert_eq!(found.decode(), with("x", s("1")));
    assert_eq!(bench.get(key()), Some(with("x", s("1"))));
}

#[test]
fn an_update_returns_each_of_its_images() {
    let bench = bench();
    let mut old = with("x", n(1));
    old.insert("y".into(), s("kept"));
    bench.put(old.clone()).expect("it is put");
    let mut new = old.clone();
    new.insert("x".into(), n(2));
    let table = [
        (ReturnValue::None, None),
        (ReturnValue::AllOld, Some(old.clone())),
        (ReturnValue::AllNew, Some(new)),
        (ReturnValue::UpdatedOld, Some(item([("x", n(1))]))),
        (ReturnValue::UpdatedNew, Some(item([("x", n(2))]))),
    ];
    for (values, expected) in table {
        bench.put(old.clone()).expect("it is put");
        let mut request = update_request(key(), Some(update("SET x = x + :one", [(":one", n(1))])));
        request.write.return_values = values;
        let attributes = bench.update(&request).expect("it is updated").attributes;
        assert_eq!(attributes.map(|item| item.decode()), expected, "{values:?}");
    }
}

#[test]
fn an_update_creates_a_missing_item_unless_it_only_removes() {
    let bench = bench();
    let remove = update_request(key(), Some(update("REMOVE x", [])));
    bench.update(&remove).expect("nothing to remove");
    assert_eq!(bench.get(key()), None);
    bench.update(&update_request(key(), None)).expect("it is created");
    assert_eq!(bench.get(key()), Some(key()));
}

#[test]
fn a_delete_removes_the_item_and_its_index_rows() {
    let bench = bench();
    let mut full = with("g", s("g"));
    full.insert("h".into(), n(1));
    bench.put(full.clone()).expect("it is put");
    assert_eq!(bench.scan_all(Some("gsi")).len(), 1);
    let mut request = delete_request(key());
    request.write.return_values = ReturnValue::AllOld;
    let old = bench.delete(&request).expect("it is deleted").attributes.expect("there was one");
    assert_eq!(old.decode(), full);
    assert_eq!(bench.scan_all(Some("gsi")), []);
    assert!(bench.delete(&request).expect("a second time too").attributes.is_none());
}

#[test]
fn an_item_collection_reports_its_size_and_stops_at_its_limit() {
    let bench = bench_on(MemoryStore::new(), schema(), 100);
    let small = bench.put(with("x", s(&"x".repeat(50)))).expect("it fits");
    let metrics = small.item_collection_metrics.expect("the table has a local index");
    assert_eq!(metrics.key.decode(), item([("pk", s("p"))]));
    assert_eq!(metrics.size_estimate_range_gb, [0, 1]);
    let other = item([("pk", s("p")), ("sk", s("t")), ("x", s(&"x".repeat(50)))]);
    let error = bench.put(other.clone()).expect_err("two do not fit");
    assert_eq!(error.kind, ErrorKind::ItemCollectionSizeLimitExceeded);
    bench.delete(&delete_request(key())).expect("shrinking is always allowed");
    bench.put(other).expect("it fits now");
}
