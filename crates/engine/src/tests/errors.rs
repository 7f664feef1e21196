//! Errors of the schema stage: one row for each fault, with the service's text in the last column.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::expression::{KeyClause, KeyCondition, KeyPredicate, legacy};
use keywright_semantics::request::common::{Consistency, SelectMode};
use keywright_semantics::request::parts::AttributeValueUpdateParts;
use keywright_semantics::request::query::FilterDialect;
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::EngineConfig;

fn text<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".into(),
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Validation, "{error}");
            error.message
        }
    }
}

fn long(bytes: usize) -> AttributeValue {
    s(&"k".repeat(bytes))
}

#[test]
fn faults_of_an_item_to_put_and_their_order() {
    let bench = bench();
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an \
                 empty string value. Key: ";
    let table: Vec<(Item, String)> = vec![
        (item([]), "One or more parameter values were invalid: Missing the key pk in the item".into()),
        (item([("pk", s("a"))]), "One or more parameter values were invalid: Missing the key sk in the item".into()),
        (
            item([("pk", n(1)), ("sk", s(""))]),
            "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N".into(),
        ),
        (item([("pk", s("")), ("sk", n(1))]), format!("{empty}pk")),
        (item([("pk", s("a")), ("sk", s(""))]), format!("{empty}sk")),
        (
            item([("pk", s("a")), ("sk", s("a")), ("h", s("x")), ("g", s(""))]),
            "One or more parameter values are not valid. A value specified for a secondary index key is not \
             supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: gsi, \
             IndexKey: g"
                .into(),
        ),
        (
            item([("pk", s("a")), ("sk", s("a")), ("h", s("x"))]),
            "One or more parameter values were invalid: Type mismatch for Index Key h Expected: N Actual: S IndexName: \
             gsi"
                .into(),
        ),
        (
            item([("pk", long(2049)), ("sk", s("a"))]),
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
                .into(),
        ),
        (
            item([("pk", long(2048)), ("sk", long(1025))]),
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit \
             of 1024 bytes"
                .into(),
        ),
        (item([("pk", long(2048)), ("sk", long(1024))]), "no error".into()),
        (
            item([("pk", s("a")), ("sk", s("a")), ("x", long(409_600))]),
            "Item size has exceeded the maximum allowed size".into(),
        ),
        (item([("pk", s("a")), ("sk", s("a")), ("x", long(409_600 - 7))]), "no error".into()),
        (
            item([("pk", s("a")), ("sk", s("a")), ("x", long(409_600 - 6))]),
            "Item size has exceeded the maximum allowed size".into(),
        ),
    ];
    for (item, expected) in table {
        let got = text(bench.put(item.clone()));
        assert_eq!(got, expected);
    }
}

#[test]
fn a_key_must_be_exactly_the_tables_key() {
    let bench = bench();
    let mismatch = "The provided key element does not match the schema";
    for key in [
        item([]),
        item([("pk", s("a"))]),
        item([("pk", s("a")), ("sk", n(1))]),
        item([("pk", s("a")), ("other", s("a"))]),
        item([("pk", s("a")), ("sk", s("a")), ("x", s("a"))]),
    ] {
        assert_eq!(text(bench.delete(&delete_request(key.clone()))), mismatch);
        assert_eq!(text(bench.update(&update_request(key, None))), mismatch);
    }
}

#[test]
fn an_update_may_not_touch_the_key_nor_break_an_index() {
    let bench = bench();
    let key = item([("pk", s("a")), ("sk", s("a"))]);
    let table = [
        (
            update("SET sk = :v", [(":v", s("b"))]),
            "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key",
        ),
        (
            update("SET h = :v", [(":v", s("b"))]),
            "One or more parameter values were invalid: Type mismatch for Index Key h Expected: N Actual: S IndexName: \
             gsi",
        ),
        (
            update(
                "SET x.y = :v ADD h :b",
                [(":v", s("b")), (":b", AttributeValue::Ss(["b".to_owned()].into()))],
            ),
            "One or more parameter values were invalid: Type mismatch for Index Key h Expected: N Actual: SS IndexName: \
             gsi",
        ),
        (
            update("SET h = sk", []),
            "The update expression attempted to update the secondary index key to unsupported type",
        ),
        (
            update("SET x = :v", [(":v", long(409_600))]),
            "Item size to update has exceeded the maximum allowed size",
        ),
    ];
    for (update, expected) in table {
        assert_eq!(text(bench.update(&update_request(key.clone(), Some(update)))), expected);
    }
    assert_eq!(bench.get(key), None);
}

#[test]
fn legacy_updates_are_limited_by_the_finished_item_alone() {
    let bench = bench();
    let key = item([("pk", s("a")), ("sk", s("a"))]);
    let outcome = |bytes| {
        let part = AttributeValueUpdateParts { value: Some(Ok(long(bytes))), action: None };
        let update = legacy::attribute_updates(&[("x".to_owned(), part)]).expect("the update is right");
        text(bench.update(&update_request(key.clone(), Some(update))))
    };
    assert_eq!(outcome(409_600 - 7), "no error");
    assert_eq!(outcome(409_600 - 6), "Item size to update has exceeded the maximum allowed size");
}

#[test]
fn an_update_may_not_put_a_value_deeper_than_an_item_nests() {
    let nested = |wraps| (0..wraps).fold(s("x"), |value, _| AttributeValue::L(vec![value]));
    let bench = bench();
    let key = item([("pk", s("a")), ("sk", s("a"))]);
    let mut stored = key.clone();
    stored.insert("deep".into(), AttributeValue::L(vec![AttributeValue::L(Vec::new())]));
    bench.put(stored).expect("put");
    let set = |wraps| update("SET deep[0][0] = :v", [(":v", nested(wraps))]);
    let outcome = |wraps| bench.update(&update_request(key.clone(), Some(set(wraps))));
    assert_eq!(text(outcome(30)), "Nesting Levels have exceeded supported limits");
    assert!(outcome(29).is_ok());
}

#[test]
fn faults_of_a_key_condition() {
    let bench = bench();
    let pk = || (":p", s("a"));
    let table = [
        (None, key_condition("sk = :p", [pk()]), "Query condition missed key schema element: pk"),
        (None, key_condition("pk = :p AND x = :p", [pk()]), "Query condition missed key schema element: sk"),
        (None, key_condition("pk > :p", [pk()]), "Query key condition not supported"),
        (
            None,
            key_condition("pk = :p AND sk > :p AND x = :p", [pk()]),
            "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
        ),
        (
            None,
            key_condition("pk = :p AND sk = :n", [pk(), (":n", n(1))]),
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            None,
            KeyCondition {
                clauses: vec![KeyClause { attribute: "pk".into(), predicate: KeyPredicate::NotIndexable }],
            },
            "Attempted conditional constraint is not an indexable operation",
        ),
        (Some("nope"), key_condition("pk = :p", [pk()]), "The table does not have the specified index: nope"),
        (
            Some("multi"),
            key_condition("g = :p", [pk()]),
            "HASH key attributes m must have equality conditions specified in the query",
        ),
        (
            Some("multi"),
            key_condition("g > :p AND l = :p", [pk()]),
            "HASH key attributes g, m must have equality conditions specified in the query",
        ),
        (
            Some("multi"),
            key_condition("g = :p AND h = :n AND m = :p", [pk(), (":n", n(1))]),
            "RANGE key attributes l must have equality conditions specified in the query because a condition is present \
             on key attribute h",
        ),
        (
            Some("multi"),
            key_condition("g = :p AND h = :n AND m = :p AND l > :p", [pk(), (":n", n(1))]),
            "RANGE key attributes l must have equality conditions specified in the query because a condition is present \
             on key attribute h",
        ),
    ];
    for (index, condition, expected) in table {
        assert_eq!(text(bench.query(&query_request(index, condition))), expected);
    }
    for bytes in [1025, 65_534, 65_535, 65_536, 1_000_000] {
        for condition in ["sk = :s", "sk < :s", "sk >= :s", "sk BETWEEN :p AND :s", "begins_with(sk, :s)"] {
            let condition = key_condition(&format!("pk = :p AND {condition}"), [pk(), (":s", long(bytes))]);
            assert_eq!(
                text(bench.query(&query_request(None, condition))),
                "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit \
                 of 1024 bytes"
            );
        }
        let condition = key_condition("pk = :p", [(":p", long(bytes + 1024))]);
        assert_eq!(
            text(bench.query(&query_request(None, condition))),
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
        );
    }
}

#[test]
fn a_partition_of_one_item_takes_one_condition_and_is_never_resumed() {
    let table = TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() };
    let bench = bench_with(MemoryStore::new(), EngineConfig::default(), create_request(table));
    bench.put(item([("pk", s("a"))])).expect("put");
    let two = key_condition("pk = :p AND x = :p", [(":p", s("a"))]);
    assert_eq!(text(bench.query(&query_request(None, two))), "Query key condition not supported");
    let mut request = query_request(None, key_condition("pk = :p", [(":p", s("a"))]));
    request.limit = limit(1);
    assert_eq!(bench.query(&request).expect("query").last_evaluated_key, None);
    request.exclusive_start_key = Some(item([("pk", s("a"))]));
    assert_eq!(
        text(bench.query(&request)),
        "The provided exclusive start key is invalid: ExclusiveStartKey: {pk=AttributeValue: {S:a}}"
    );
}

#[test]
fn faults_of_what_a_page_may_ask_of_its_source() {
    let bench = bench();
    let on = |index, condition| query_request(index, condition);
    let pk = || key_condition("pk = :p", [(":p", s("a"))]);
    let gsi = || key_condition("g = :p", [(":p", s("a"))]);

    let mut strong = on(Some("gsi"), gsi());
    strong.consistency = Consistency::Strong;
    assert_eq!(text(bench.query(&strong)), "Consistent reads are not supported on global secondary indexes");

    let mut filtered = on(None, pk());
    filtered.filter = Some(condition("sk > :v", [(":v", s("a"))]));
    assert_eq!(
        text(bench.query(&filtered)),
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    );

    let mut whole = on(Some("gsi"), gsi());
    whole.select = Some(SelectMode::AllAttributes);
    assert_eq!(
        text(bench.query(&whole)),
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary \
         index gsi because its projection type is not ALL"
    );

    let mut more = on(Some("gsi"), gsi());
    more.projection = Some(projection("pk, x, y"));
    assert_eq!(
        text(bench.query(&more)),
        "One or more parameter values were invalid: Global secondary index gsi does not project [x, y]"
    );

    let mut legacy = on(None, key_condition("pk = :p", [(":p", s("a"))]));
    legacy.filter = Some(condition("sk = :v", [(":v", s("a"))]));
    legacy.filter_dialect = FilterDialect::Legacy;
    assert_eq!(
        text(bench.query(&legacy)),
        "QueryFilter can only contain non-primary key attributes: Primary key attribute: sk"
    );

    let mut unheld = on(Some("gsi"), gsi());
    unheld.filter = Some(condition("y = :v AND x = :v", [(":v", s("a"))]));
    assert_eq!(
        text(bench.query(&unheld)),
        "One or more parameter values were invalid: Secondary index gsi does not project one or more filter attributes: \
         [y, x]"
    );
}

#[test]
fn faults_of_a_starting_key() {
    let bench = bench();
    let condition = || key_condition("pk = :p AND sk > :s", [(":p", s("a")), (":s", s("m"))]);
    let started = |start: Item| {
        let mut request = query_request(None, condition());
        request.exclusive_start_key = Some(start);
        text(bench.query(&request))
    };
    assert_eq!(started(item([("pk", s("a"))])), "The provided starting key is invalid");
    assert_eq!(
        started(item([("pk", s("b")), ("sk", s("z"))])),
        "The query can return at most one row and cannot be restarted"
    );
    assert_eq!(
        started(item([("pk", s("b")), ("sk", s("a"))])),
        "The provided starting key does not match the range key predicate"
    );
    let mut whole = query_request(None, key_condition("pk = :p", [(":p", s("a"))]));
    whole.exclusive_start_key = Some(item([("pk", s("b")), ("sk", s("z"))]));
    assert_eq!(
        text(bench.query(&whole)),
        "The provided starting key is outside query boundaries based on provided conditions"
    );
    whole.exclusive_start_key = Some(item([("pk", s("a")), ("other", s("z"))]));
    assert_eq!(text(bench.query(&whole)), "The provided starting key is invalid");
    whole.key_condition = key_condition("sk = :p", [(":p", s("a"))]);
    assert_eq!(text(bench.query(&whole)), "Query condition missed key schema element: pk");
    assert_eq!(
        started(item([("pk", s("a")), ("sk", s("b"))])),
        "The provided starting key does not match the range key predicate"
    );
    assert_eq!(started(item([("pk", s("a")), ("sk", s("z"))])), "no error");

    let mut scan = scan_request(None);
    scan.exclusive_start_key = Some(item([("pk", s("a"))]));
    assert_eq!(
        text(bench.scan(&scan)),
        "The provided starting key is invalid: The provided key element does not match the schema"
    );
}

#[test]
fn a_table_that_does_not_exist_is_not_found() {
    let bench = bench();
    let mut request = put_request(item([]));
    request.table.name = "other".into();
    let error = bench.put_with(&request).expect_err("there is no such table");
    assert_eq!(error.kind, ErrorKind::ResourceNotFound);
    assert_eq!(error.message, "Requested resource not found");
}
