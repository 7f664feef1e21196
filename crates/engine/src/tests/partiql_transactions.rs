//! ExecuteTransaction: which faults refuse it, and which cancel it with a reason for each statement.

use keywright_semantics::error::{Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::request::Request;
use keywright_semantics::request::partiql::ExecuteTransaction;
use keywright_semantics::request::parts::{ExecuteTransactionParts, ParameterizedStatementParts};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::partiql::filled;

fn transact(bench: &Bench<MemoryStore>, statements: &[&str]) -> Result<(), Error> {
    transact_once(bench, statements, None)
}

fn transact_once(bench: &Bench<MemoryStore>, statements: &[&str], token: Option<&str>) -> Result<(), Error> {
    let statement = |text: &&str| ParameterizedStatementParts {
        statement: (*text).to_owned(),
        parameters: None,
        return_values_on_condition_check_failure: None,
    };
    let parts = ExecuteTransactionParts {
        transact_statements: statements.iter().map(statement).collect(),
        client_request_token: token.map(str::to_owned),
        return_consumed_capacity: None,
    };
    let request = Request::ExecuteTransaction(ExecuteTransaction::validate(parts)?);
    block_on(bench.engine.execute(&caller(), request)).map(|_| ())
}

/// `code: message` of each reason, or the text of the error.
fn shown(bench: &Bench<MemoryStore>, statements: &[&str]) -> Vec<String> {
    match transact(bench, statements) {
        Ok(()) => vec!["done".to_owned()],
        Err(error) => match *error.detail {
            ErrorDetail::Reasons(reasons) => reasons
                .iter()
                .map(|reason| match reason.message() {
                    Some(message) => format!("{}: {message}", reason.code()),
                    None => reason.code().to_owned(),
                })
                .collect(),
            _ => vec![error.message],
        },
    }
}

const SELECT: &str = "SELECT * FROM t WHERE pk = 'p' AND sk = '1'";
const UPDATE: &str = "UPDATE t SET c = 1 WHERE pk = 'p' AND sk = '1'";
const MISSING: &str = "ResourceNotFound: Requested resource not found";
const KEY: &str = "ValidationError: The provided key element does not match the schema";

#[test]
fn a_missing_table_is_a_reason_unless_a_statement_is_wrong_by_itself() {
    let bench = filled();
    let update = "UPDATE nowhere SET a = 1 WHERE pk = 'x' RETURNING ALL NEW *";
    assert_eq!(shown(&bench, &[UPDATE, update]), ["None", MISSING]);
    assert_eq!(shown(&bench, &["SELECT * FROM nowhere.i WHERE pk = 'x'", SELECT]), [MISSING, "None"]);
    let returning = format!("{UPDATE} RETURNING ALL NEW *");
    assert_eq!(
        shown(&bench, &[update, &returning]),
        [messages::in_transaction(1, messages::TRANSACTION_RETURNING)]
    );
    assert_eq!(
        shown(&bench, &["SELECT * FROM nowhere WHERE pk = 'x'", "SELECT * FROM t.gsi WHERE g = 'g'"]),
        [messages::in_transaction(1, messages::TRANSACTION_READS_INDEX)]
    );
}

#[test]
fn keys_that_do_not_fit_are_reasons_each() {
    let bench = filled();
    assert_eq!(
        shown(
            &bench,
            &[
                "UPDATE t SET a = 1 WHERE pk = 'p'",
                "DELETE FROM t WHERE pk IN ['p'] AND sk = '1'",
                "UPDATE t SET a = 1 WHERE pk = 'p' AND sk = '1' AND pk = 'q'",
                "UPDATE t SET a = 1 WHERE pk = 'p' AND sk = 1",
                "INSERT INTO t VALUE {'pk': 'p'}",
                UPDATE,
            ]
        ),
        [
            KEY,
            KEY,
            KEY,
            KEY,
            "ValidationError: One or more parameter values were invalid: Missing the key sk in the item",
            "None"
        ]
    );
    let wrong = "SELECT * FROM t WHERE pk = 'p' AND sk = 1";
    assert_eq!(shown(&bench, &[SELECT, SELECT, wrong]), ["None", "None", KEY]);
}

#[test]
fn reads_name_one_item_each() {
    let bench = filled();
    let refused = |text: &str| vec![messages::in_transaction(0, text)];
    for (clause, expected) in [
        ("pk IN ['p'] AND sk IN ['1']", vec!["done".to_owned()]),
        ("pk = 'p' AND sk = '1' AND pk = 'p'", vec!["done".to_owned()]),
        ("pk = 'p' AND sk = '1' AND h = 1", refused(messages::TRANSACTION_SELECT_NEEDS_KEY)),
        ("pk = 'p'", refused(messages::TRANSACTION_SELECT_NEEDS_KEY)),
        ("pk IN ['p', 'p'] AND sk = '1'", refused(messages::OVERLAPPING_RANGES)),
    ] {
        assert_eq!(shown(&bench, &[&format!("SELECT * FROM t WHERE {clause}")]), expected, "{clause}");
    }
    assert_eq!(
        shown(&bench, &[SELECT, SELECT]),
        ["Transaction request cannot include multiple operations on one item"]
    );
    assert_eq!(shown(&bench, &[SELECT, UPDATE]), [messages::MIXED_TRANSACTION]);
}

#[test]
fn exists_asks_more_than_the_key() {
    let bench = filled();
    let exists = |clause: &str| format!("EXISTS(SELECT * FROM t WHERE {clause})");
    let other = "UPDATE t SET c = 1 WHERE pk = 'p' AND sk = '2'";
    let failed = "ConditionalCheckFailed: The conditional request failed";
    for (clause, expected) in [
        ("pk = 'p' AND sk = '1' AND h = 1", vec!["done".to_owned()]),
        ("pk = 'p' AND sk = '1' AND h = 2", vec![failed.to_owned(), "None".to_owned()]),
        ("pk = 'p' AND sk = '1' AND pk = 'q' AND h = 1", vec![failed.to_owned(), "None".to_owned()]),
        ("pk = 'p' AND sk = '1'", vec![messages::in_transaction(0, messages::EXISTS_NEEDS_CONDITION)]),
        (
            "pk IN ['p'] AND sk = '1' AND h = 1",
            vec![messages::in_transaction(0, messages::EXISTS_NEEDS_CONDITION)],
        ),
    ] {
        assert_eq!(shown(&bench, &[&exists(clause), other]), expected, "{clause}");
    }
}

/// As for TransactWriteItems: a repeated request gets the same response, even if the table is gone.
#[test]
fn a_token_is_looked_at_before_the_tables() {
    let bench = filled();
    let insert = ["INSERT INTO t VALUE {'pk': 'new', 'sk': '1'}"];
    transact_once(&bench, &insert, Some("token")).expect("the first time");
    transact_once(&bench, &insert, Some("token")).expect("the same again");
    let delete = keywright_semantics::request::DeleteTable { table: table_ref() };
    block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("deleted");
    transact_once(&bench, &insert, Some("token")).expect("the same again");
    let other = transact_once(&bench, &["DELETE FROM t WHERE pk = 'x'"], Some("token")).expect_err("another");
    assert_eq!(other.kind, ErrorKind::IdempotentParameterMismatch);
}
