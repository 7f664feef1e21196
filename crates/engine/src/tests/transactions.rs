//! TransactWriteItems and TransactGetItems on one connection.

use std::sync::atomic::Ordering;

use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use keywright_semantics::request::transact_get_items::{TransactGet, TransactGetItems};
use keywright_semantics::request::transact_write_items::{
    Fingerprint, RequestToken, TransactAction, TransactWrite, TransactWriteItems,
};
use keywright_semantics::response::{CapacityForm, TransactWriteItemsOutput};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::write::tokens;

pub(super) fn key(sk: &str) -> Item {
    item([("pk", s("p")), ("sk", s(sk))])
}

pub(super) fn act(action: TransactAction) -> TransactWrite {
    TransactWrite {
        table: table_ref(),
        action,
        condition: None,
        on_condition_failure: OnConditionFailure::Nothing,
    }
}

pub(super) fn transaction(actions: Vec<TransactWrite>) -> TransactWriteItems {
    TransactWriteItems {
        actions,
        token: None,
        capacity: ReturnConsumedCapacity::Indexes,
        metrics: ReturnItemCollectionMetrics::None,
    }
}

fn run(bench: &Bench<MemoryStore>, request: &TransactWriteItems) -> Result<TransactWriteItemsOutput, Error> {
    block_on(crate::batch::transact_write_items::transact_write_items(&bench.engine, &caller(), request))
}

fn reasons(error: Error) -> Vec<CancellationReason> {
    assert_eq!(error.kind, ErrorKind::TransactionCanceled, "{error}");
    let ErrorDetail::Reasons(reasons) = *error.detail else { panic!("a cancellation has reasons") };
    reasons
}

#[test]
fn all_actions_are_carried_out_together() {
    let bench = bench();
    for sk in ["a", "b", "c"] {
        bench.put(key(sk)).expect("put");
    }
    let mut check = act(TransactAction::Check { key: key("a") });
    check.condition = Some(condition("attribute_exists(pk)", []));
    let request = transaction(vec![
        check,
        act(TransactAction::Delete { key: key("b") }),
        act(TransactAction::Update { key: key("c"), update: update("SET x = :x", [(":x", s("1"))]) }),
        act(TransactAction::Put { item: key("d") }),
    ]);
    let output = run(&bench, &request).expect("it succeeds");
    let consumed = output.consumed_capacity.expect("it was asked for");
    assert_eq!(consumed.len(), 1);
    assert_eq!(
        (consumed[0].usage.table.write, consumed[0].form),
        (HalfUnits(16), CapacityForm::TransactWrite)
    );
    assert_eq!(bench.get(key("b")), None);
    assert!(bench.get(key("c")).is_some_and(|item| item.contains_key("x")));
    assert!(bench.get(key("d")).is_some());
}

#[test]
fn index_writes_of_a_transaction_are_not_doubled() {
    let bench = bench();
    let mut item = key("a");
    item.insert("l".into(), s("1"));
    let output = run(&bench, &transaction(vec![act(TransactAction::Put { item })])).expect("it succeeds");
    let usage = output.consumed_capacity.expect("it was asked for").remove(0).usage;
    assert_eq!(usage.table.write, HalfUnits(4));
    assert_eq!(usage.local_indexes["lsi"].write, HalfUnits(2));
}

#[test]
fn every_failed_condition_has_its_reason_and_nothing_is_written() {
    let bench = bench();
    bench.put(key("a")).expect("put");
    let mut absent = act(TransactAction::Put { item: key("a") });
    absent.condition = Some(condition("attribute_not_exists(pk)", []));
    absent.on_condition_failure = OnConditionFailure::ReturnItem;
    let mut present = act(TransactAction::Delete { key: key("z") });
    present.condition = Some(condition("attribute_exists(pk)", []));
    present.on_condition_failure = OnConditionFailure::ReturnItem;
    let request = transaction(vec![absent, act(TransactAction::Put { item: key("b") }), present]);
    let error = run(&bench, &request).expect_err("two conditions fail");
    assert_eq!(
        error.message,
        "Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed, None, \
         ConditionalCheckFailed]"
    );
    let reasons = reasons(error);
    assert!(
        matches!(&reasons[0], CancellationReason::ConditionalCheckFailed { item: Some(item) } if item.decode() == key("a"))
    );
    assert!(matches!(&reasons[1], CancellationReason::None));
    assert!(matches!(&reasons[2], CancellationReason::ConditionalCheckFailed { item: None }));
    assert_eq!(bench.get(key("b")), None);
}

#[test]
fn faults_of_the_request_refuse_it_and_faults_of_an_action_cancel_it() {
    let bench = bench();
    let put = |item: Item| act(TransactAction::Put { item });
    let message =
        |actions: Vec<TransactWrite>| run(&bench, &transaction(actions)).expect_err("a fault").message;
    assert_eq!(
        message(vec![put(key("a")), act(TransactAction::Delete { key: key("a") })]),
        "Transaction request cannot include multiple operations on one item"
    );
    assert_eq!(
        message(vec![put(item([("pk", n(1)), ("sk", s("a"))])), put(item([("pk", s("")), ("sk", s("a"))]))]),
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
         string value. Key: pk"
    );
    let empty = update("SET g = :g", [(":g", s(""))]);
    assert_eq!(
        message(vec![act(TransactAction::Update { key: key("a"), update: empty })]),
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key to \
         a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."
    );
    let mut big = key("a");
    big.insert("x".into(), s(&"x".repeat(409_600)));
    assert_eq!(message(vec![put(big)]), "Item size has exceeded the maximum allowed size");
    let error = run(&bench, &transaction(vec![put(key("a")), put(item([("pk", n(1)), ("sk", s("a"))]))]));
    let reasons = reasons(error.expect_err("a fault"));
    assert!(matches!(&reasons[1], CancellationReason::Validation { message }
        if message == "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"));
    let grow = update("SET x = :x", [(":x", s(&"x".repeat(409_600)))]);
    let error = run(&bench, &transaction(vec![act(TransactAction::Update { key: key("a"), update: grow })]));
    assert_eq!(
        error.expect_err("a fault").message,
        "Transaction cancelled, please refer cancellation reasons for specific reasons [ValidationError]"
    );
}

#[test]
fn a_transaction_of_more_than_four_megabytes_is_refused() {
    let bench = bench();
    let put = |place: usize| {
        let mut item = key(&place.to_string());
        item.insert("x".into(), s(&"x".repeat(400_000)));
        act(TransactAction::Put { item })
    };
    let error = run(&bench, &transaction((0..11).map(put).collect())).expect_err("4.4 MB");
    assert_eq!(error.kind, ErrorKind::Validation);
    run(&bench, &transaction((0..10).map(put).collect())).expect("4 MB fit");
}

fn with_token(mut request: TransactWriteItems, fingerprint: u8) -> TransactWriteItems {
    request.token = Some(RequestToken { token: "token".into(), fingerprint: Fingerprint([fingerprint; 32]) });
    request
}

fn increment() -> TransactWriteItems {
    let update = update("ADD x :one", [(":one", n(1))]);
    transaction(vec![act(TransactAction::Update { key: key("a"), update })])
}

#[test]
fn a_token_makes_a_repeated_request_succeed_without_effect_for_ten_minutes() {
    let bench = bench();
    let mut item = key("a");
    item.insert("d".into(), s(&"d".repeat(1500)));
    item.insert("x".into(), n(0));
    bench.put(item).expect("put");
    let x = || bench.get(key("a")).and_then(|item| item.get("x").cloned());
    let first = run(&bench, &with_token(increment(), 1)).expect("it succeeds");
    assert_eq!(first.consumed_capacity.expect("asked")[0].usage.table.write, HalfUnits(8));
    bench.env.now_ms.store(10 * 60 * 1000 - 1, Ordering::Relaxed);
    let second = run(&bench, &with_token(increment(), 1)).expect("it succeeds again");
    let consumed = second.consumed_capacity.expect("asked").remove(0);
    assert_eq!((consumed.usage.table.read, consumed.form), (HalfUnits(4), CapacityForm::TransactRead));
    assert_eq!(x(), Some(n(1)));
    let error = run(&bench, &with_token(increment(), 2)).expect_err("another request");
    assert_eq!(error.kind, ErrorKind::IdempotentParameterMismatch);
    bench.env.now_ms.store(10 * 60 * 1000, Ordering::Relaxed);
    run(&bench, &with_token(increment(), 2)).expect("the token has expired");
    assert_eq!(x(), Some(n(2)));
}

#[test]
fn a_cancelled_transaction_does_not_use_up_its_token() {
    let bench = bench();
    let mut request = with_token(increment(), 1);
    request.actions[0].condition = Some(condition("attribute_exists(pk)", []));
    run(&bench, &request).expect_err("there is no item");
    bench.put(key("a")).expect("put");
    run(&bench, &request).expect("the token is still good");
}

#[test]
fn expired_tokens_are_swept_and_others_stay() {
    let bench = bench();
    run(&bench, &with_token(increment(), 1)).expect("it succeeds");
    let sweep = |now_ms| block_on(tokens::sweep(bench.engine.store(), now_ms)).expect("it sweeps");
    assert!(!sweep(10 * 60 * 1000 - 1));
    bench.env.now_ms.store(10 * 60 * 1000 - 1, Ordering::Relaxed);
    run(&bench, &with_token(increment(), 2)).expect_err("the token is still known");
    assert!(!sweep(10 * 60 * 1000));
    run(&bench, &with_token(increment(), 2)).expect("the token is forgotten");
}

#[test]
fn a_transactional_read_answers_in_order_and_charges_missing_items() {
    let bench = bench();
    bench.put(key("a")).expect("put");
    let get = |sk: &str| TransactGet { table: table_ref(), key: key(sk), projection: None };
    let request =
        TransactGetItems { gets: vec![get("none"), get("a")], capacity: ReturnConsumedCapacity::Total };
    let output =
        block_on(crate::batch::transact_get_items::transact_get_items(&bench.engine, &caller(), &request))
            .expect("read");
    assert!(output.responses[0].is_none() && output.responses[1].is_some());
    assert_eq!(output.consumed_capacity.expect("asked")[0].usage.table.read, HalfUnits(8));
    let twice = TransactGetItems { gets: vec![get("a"), get("a")], capacity: ReturnConsumedCapacity::None };
    let error =
        block_on(crate::batch::transact_get_items::transact_get_items(&bench.engine, &caller(), &twice));
    assert_eq!(
        error.expect_err("a duplicate").message,
        "Transaction request cannot include multiple operations on one item"
    );
}
