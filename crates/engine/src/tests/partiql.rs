//! PartiQL answers what the native request answers, for the same capacity: both are the same bound
//! operations.

use keywright_semantics::error::Error;
use keywright_semantics::request::Request;
use keywright_semantics::request::partiql::ExecuteStatement;
use keywright_semantics::request::parts::{ExecuteStatementParts, ReturnConsumedCapacity};
use keywright_semantics::request::query::Query;
use keywright_semantics::response::{ExecuteStatementOutput, Response};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;

pub(super) fn parts(statement: &str) -> ExecuteStatementParts {
    ExecuteStatementParts {
        statement: statement.to_owned(),
        parameters: None,
        consistent_read: None,
        next_token: None,
        return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
        limit: None,
        return_values_on_condition_check_failure: None,
    }
}

pub(super) fn run(
    bench: &Bench<MemoryStore>,
    parts: ExecuteStatementParts,
) -> Result<ExecuteStatementOutput, Error> {
    let request = Request::ExecuteStatement(Box::new(ExecuteStatement::validate(parts)?));
    match block_on(bench.engine.execute(&caller(), request))? {
        Response::ExecuteStatement(output) => Ok(*output),
        other => panic!("an answer of another operation: {other:?}"),
    }
}

pub(super) fn rows(output: &ExecuteStatementOutput) -> Vec<Item> {
    output.items.iter().map(keywright_semantics::codec::EncodedItem::decode).collect()
}

/// Five items in one partition and one in another; all are in the indexes.
pub(super) fn filled() -> Bench<MemoryStore> {
    let bench = bench();
    for (partition, sort) in [("p", 1), ("p", 2), ("p", 3), ("p", 4), ("p", 5), ("q", 1)] {
        let row = item([
            ("pk", s(partition)),
            ("sk", s(&sort.to_string())),
            ("l", s(&(9 - sort).to_string())),
            ("g", s("g")),
            ("h", n(sort)),
            ("d", s(&"d".repeat(3000))),
        ]);
        bench.put(row).expect("put");
    }
    bench
}

/// `SELECT *` of a local index gives what the index holds, as a Query without Select does. No record of the
/// service's behaviour was found; named columns outside the index are fetched from the table.
#[test]
fn a_select_on_a_key_range_is_the_query() {
    let bench = filled();
    let p = || ("pk = :p", [(":p", s("p"))]);
    let native: [(&str, Query); 5] = [
        (r#"SELECT * FROM "t" WHERE pk = 'p'"#, query_request(None, key_condition(p().0, p().1))),
        (
            r#"SELECT * FROM "t" WHERE pk = 'p' AND sk > '3'"#,
            query_request(None, key_condition("pk = :p AND sk > :s", [(":p", s("p")), (":s", s("3"))])),
        ),
        (
            r#"SELECT * FROM "t" WHERE sk BETWEEN '2' AND '4' AND pk = 'p'"#,
            query_request(
                None,
                key_condition(
                    "pk = :p AND sk BETWEEN :a AND :b",
                    [(":p", s("p")), (":a", s("2")), (":b", s("4"))],
                ),
            ),
        ),
        (
            r#"SELECT * FROM "t"."lsi" WHERE pk = 'p' AND begins_with(l, '7')"#,
            query_request(
                Some("lsi"),
                key_condition("pk = :p AND begins_with(l, :l)", [(":p", s("p")), (":l", s("7"))]),
            ),
        ),
        (
            r#"SELECT * FROM "t"."gsi" WHERE g = 'g' AND h <= 2"#,
            query_request(Some("gsi"), key_condition("g = :g AND h <= :h", [(":g", s("g")), (":h", n(2))])),
        ),
    ];
    for (statement, query) in native {
        let expected = bench.query(&query).expect("the native query succeeds");
        let answer = run(&bench, parts(statement)).unwrap_or_else(|fault| panic!("{statement}: {fault:?}"));
        assert_eq!(rows(&answer), items(&expected), "{statement}");
        assert_eq!(
            answer.consumed_capacity.map(|capacity| capacity.usage),
            expected.consumed_capacity.map(|capacity| capacity.usage),
            "{statement}"
        );
    }
}

#[test]
fn a_select_without_a_partition_key_is_the_scan() {
    let bench = filled();
    let expected = bench.scan(&scan_request(None)).expect("scan");
    let answer = run(&bench, parts(r#"SELECT * FROM "t""#)).expect("select");
    assert_eq!(rows(&answer), items(&expected));
    assert_eq!(
        answer.consumed_capacity.map(|capacity| capacity.usage),
        expected.consumed_capacity.map(|capacity| capacity.usage)
    );
}

#[test]
fn pages_of_a_select_show_every_row_once_in_both_directions() {
    let bench = filled();
    for (order, expected) in [("ASC", ["1", "2", "3", "4", "5"]), ("DESC", ["5", "4", "3", "2", "1"])] {
        let mut seen = Vec::new();
        let mut request = parts(&format!(r#"SELECT sk FROM "t" WHERE pk = 'p' ORDER BY sk {order}"#));
        request.limit = Some(2);
        loop {
            let page = run(&bench, request.clone()).expect("a page");
            assert!(page.items.len() <= 2);
            seen.extend(rows(&page));
            match page.next_token {
                Some(token) => request.next_token = Some(token),
                None => break,
            }
        }
        assert_eq!(seen, expected.map(|sort| item([("sk", s(sort))])));
    }
}

#[test]
fn writes_leave_and_cost_what_native_writes_do() {
    let (native, partiql) = (bench(), bench());
    let key = || item([("pk", s("p")), ("sk", s("1"))]);
    let mut row = key();
    row.extend(item([("g", s("g")), ("h", n(1)), ("c", n(1))]));
    let steps = [
        (r#"INSERT INTO "t" VALUE {'pk': 'p', 'sk': '1', 'g': 'g', 'h': 1, 'c': 1}"#, native.put(row)),
        (
            r#"UPDATE "t" SET c = c + 1 SET h = 2 WHERE pk = 'p' AND sk = '1'"#,
            native.update(&update_request(
                key(),
                Some(update("SET c = c + :a, h = :h", [(":a", n(1)), (":h", n(2))])),
            )),
        ),
        (r#"UPDATE "t" REMOVE g WHERE pk = 'p' AND sk = '1'"#, {
            native.update(&update_request(key(), Some(update("REMOVE g", []))))
        }),
    ];
    for (statement, expected) in steps {
        let expected = expected.expect("the native write succeeds").consumed_capacity;
        let answer = run(&partiql, parts(statement)).expect("the statement succeeds");
        assert!(answer.items.is_empty());
        assert_eq!(
            answer.consumed_capacity.map(|capacity| capacity.usage),
            expected.map(|capacity| capacity.usage),
            "{statement}"
        );
    }
    assert_eq!(partiql.get(key()), native.get(key()));
    for index in [None, Some("lsi"), Some("gsi"), Some("multi")] {
        assert_eq!(partiql.scan_all(index), native.scan_all(index));
    }
    native.delete(&delete_request(key())).expect("delete");
    run(&partiql, parts(r#"DELETE FROM "t" WHERE pk = 'p' AND sk = '1'"#)).expect("delete");
    assert_eq!(partiql.get(key()), None);
    assert_eq!(partiql.scan_all(None), native.scan_all(None));
}

#[test]
fn an_update_of_a_missing_item_makes_none() {
    let bench = bench();
    run(&bench, parts(r#"UPDATE "t" SET c = 1 WHERE pk = 'p' AND sk = '1'"#)).expect_err("no such item");
    assert_eq!(bench.scan_all(None), Vec::<Item>::new());
}
