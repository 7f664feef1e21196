//! Order, ranges, pages and segments of Query and Scan.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use keywright_semantics::request::common::SortOrder;
use keywright_semantics::request::query::Query;
use keywright_semantics::request::scan::Segment;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::*;

fn filled() -> Bench<MemoryStore> {
    filled_on(MemoryStore::new())
}

/// An own store, and one that several processes share: its pages are mostly begun again on a view.
fn stores() -> [MemoryStore; 2] {
    [MemoryStore::new(), MemoryStore::shared()]
}

fn filled_on(store: MemoryStore) -> Bench<MemoryStore> {
    let bench = bench_on(store, schema(), u64::MAX);
    for pk in ["p", "q"] {
        for sk in ["", "a", "ab", "abc", "b", "c\u{0}", "c"] {
            let sk = format!("k{sk}");
            let row =
                [("pk", s(pk)), ("sk", s(&sk)), ("g", s("one")), ("h", n(1)), ("m", s("m")), ("l", s("l"))];
            bench.put(item(row)).expect("put");
        }
    }
    bench
}

fn sort_keys(bench: &Bench<MemoryStore>, request: &Query) -> Vec<String> {
    let text = |item: Item| match item.get("sk") {
        Some(AttributeValue::S(text)) => text.clone(),
        _ => panic!("every item has a sort key"),
    };
    items(&bench.query(request).expect("query")).into_iter().map(text).collect()
}

#[test]
fn every_predicate_selects_its_range_in_order() {
    let bench = filled();
    let table: Vec<(&str, Vec<&str>)> = vec![
        ("pk = :p", vec!["k", "ka", "kab", "kabc", "kb", "kc", "kc\u{0}"]),
        ("pk = :p AND sk = :a", vec!["kab"]),
        ("pk = :p AND sk < :a", vec!["k", "ka"]),
        ("pk = :p AND sk <= :a", vec!["k", "ka", "kab"]),
        ("pk = :p AND sk > :a", vec!["kabc", "kb", "kc", "kc\u{0}"]),
        ("pk = :p AND sk >= :a", vec!["kab", "kabc", "kb", "kc", "kc\u{0}"]),
        ("pk = :p AND sk BETWEEN :a AND :b", vec!["kab", "kabc", "kb"]),
        ("pk = :p AND begins_with(sk, :a)", vec!["kab", "kabc"]),
        ("pk = :p AND sk BETWEEN :b AND :z", vec!["kb", "kc", "kc\u{0}"]),
    ];
    for (text, expected) in table {
        let all = [(":p", s("p")), (":a", s("kab")), (":b", s("kb")), (":z", s("z"))];
        let mut request = query_request(None, key_condition(text, all));
        assert_eq!(sort_keys(&bench, &request), expected, "{text}");
        request.order = SortOrder::Descending;
        let reversed: Vec<&str> = expected.into_iter().rev().collect();
        assert_eq!(sort_keys(&bench, &request), reversed, "{text} descending");
    }
}

#[test]
fn pages_of_any_size_join_to_the_whole_in_both_directions_and_on_indexes() {
    stores().into_iter().map(filled_on).for_each(|bench| check_pages_of_any_size(&bench));
}

fn check_pages_of_any_size(bench: &Bench<MemoryStore>) {
    let conditions: [(Option<&str>, _, &[&str]); 4] = [
        (None, key_condition("pk = :p", [(":p", s("p"))]), &["pk", "sk"]),
        (Some("gsi"), key_condition("g = :p", [(":p", s("one"))]), &["g", "h", "pk", "sk"]),
        (Some("lsi"), key_condition("pk = :p", [(":p", s("q"))]), &["l", "pk", "sk"]),
        (
            Some("multi"),
            key_condition("g = :p AND m = :m AND l = :l", [(":p", s("one")), (":m", s("m")), (":l", s("l"))]),
            &["g", "h", "l", "m", "pk", "sk"],
        ),
    ];
    for (index, condition, position) in conditions {
        for order in [SortOrder::Ascending, SortOrder::Descending] {
            let mut request = query_request(index, condition.clone());
            request.order = order;
            let whole = items(&bench.query(&request).expect("query"));
            assert!(whole.len() >= 7);
            for size in 1..=whole.len() + 1 {
                request.limit = limit(u32::try_from(size).expect("small"));
                request.exclusive_start_key = None;
                let mut joined = Vec::new();
                loop {
                    let page = bench.query(&request).expect("query");
                    joined.extend(items(&page));
                    assert!(page.scanned_count <= u64::try_from(size).expect("small"));
                    let Some(last) = page.last_evaluated_key else { break };
                    assert_eq!(last.decode().keys().collect::<Vec<_>>(), position);
                    request.exclusive_start_key = Some(last.decode());
                }
                assert_eq!(joined, whole);
            }
        }
    }
}

#[test]
fn a_page_that_reaches_its_limit_has_a_position_even_at_the_end() {
    for bench in stores().map(filled_on) {
        let mut request = query_request(None, key_condition("pk = :p", [(":p", s("p"))]));
        request.limit = limit(7);
        assert!(bench.query(&request).expect("query").last_evaluated_key.is_some());
        request.limit = limit(8);
        assert!(bench.query(&request).expect("query").last_evaluated_key.is_none());
    }
}

#[test]
fn a_page_ends_with_the_row_that_reaches_a_megabyte() {
    for store in stores() {
        let bench = bench_on(store, schema(), u64::MAX);
        for place in 0..6 {
            let big = s(&"x".repeat(300_000));
            bench.put(item([("pk", s("p")), ("sk", s(&place.to_string())), ("y", big)])).expect("put");
        }
        let mut request = query_request(None, key_condition("pk = :p", [(":p", s("p"))]));
        let first = bench.query(&request).expect("query");
        assert_eq!((first.count, first.last_evaluated_key.is_some()), (4, true));
        request.exclusive_start_key = first.last_evaluated_key.map(|key| key.decode());
        let second = bench.query(&request).expect("query");
        assert_eq!((second.count, second.last_evaluated_key.is_some()), (2, false));
    }
}

#[test]
fn segments_are_disjoint_and_together_the_whole() {
    let bench = bench();
    for place in 0..100 {
        bench
            .put(item([("pk", s(&place.to_string())), ("sk", s("s")), ("g", n(1))].map(|(name, value)| {
                // `g` is an index key of type S.
                if name == "g" { ("free", value) } else { (name, value) }
            })))
            .expect("put");
    }
    for total in [1, 3, 7] {
        let mut seen = BTreeSet::new();
        for number in 0..total {
            let mut request = scan_request(None);
            request.segment = Segment::new(number, NonZeroU32::new(total).expect("positive"));
            for row in items(&bench.scan(&request).expect("scan")) {
                assert!(seen.insert(format!("{row:?}")), "no row is in two segments");
            }
        }
        assert_eq!(seen.len(), 100);
    }
}

#[test]
fn a_starting_key_of_another_segment_is_refused() {
    let bench = bench();
    let start = item([("pk", s("p")), ("sk", s("s"))]);
    let refused: Vec<bool> = (0..2)
        .map(|number| {
            let mut request = scan_request(None);
            request.segment = Segment::new(number, NonZeroU32::new(2).expect("positive"));
            request.exclusive_start_key = Some(start.clone());
            bench.scan(&request).is_err()
        })
        .collect();
    assert_eq!(refused.iter().filter(|refused| **refused).count(), 1);
}
