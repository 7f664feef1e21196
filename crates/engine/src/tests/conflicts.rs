//! Concurrent writers: invariants hold, and conflicts are reported as conflicts.

use std::thread;

use keywright_semantics::error::{CancellationReason, ErrorDetail, ErrorKind};
use keywright_semantics::key::KeyValueRef;
use keywright_semantics::request::transact_write_items::{TransactAction, TransactWriteItems};
use keywright_semantics::value::{AttributeValue, Item};

use super::harness::*;
use super::transactions::{act, key, transaction};
use crate::support::latch::Holder;

const ACCOUNTS: i64 = 5;
const START: i64 = 100;

fn account(number: i64) -> Item {
    key(&format!("account{number}"))
}

fn transfer(from: i64, to: i64, amount: i64) -> TransactWriteItems {
    let mut take = act(TransactAction::Update {
        key: account(from),
        update: update("SET x = x - :a", [(":a", n(amount))]),
    });
    take.condition = Some(condition("x >= :a", [(":a", n(amount))]));
    let give = act(TransactAction::Update {
        key: account(to),
        update: update("SET x = x + :a", [(":a", n(amount))]),
    });
    transaction(vec![take, give])
}

fn balance(item: &Item) -> i64 {
    match item.get("x") {
        Some(AttributeValue::N(number)) => number.to_i64().expect("balances are small"),
        _ => panic!("an account has a balance"),
    }
}

#[test]
fn transfers_at_the_same_time_neither_make_nor_lose_money() {
    let bench = bench();
    for number in 0..ACCOUNTS {
        let mut item = account(number);
        item.insert("x".into(), n(START));
        bench.put(item).expect("put");
    }
    thread::scope(|scope| {
        for worker in 0..4 {
            let bench = &bench;
            scope.spawn(move || {
                for round in 0..100 {
                    let (from, to) = ((worker + round) % ACCOUNTS, (worker + round * 3 + 1) % ACCOUNTS);
                    if from == to {
                        continue;
                    }
                    let request = transfer(from, to, 1 + round % 7);
                    let result = block_on(crate::batch::transact_write_items::transact_write_items(
                        &bench.engine,
                        &caller(),
                        &request,
                    ));
                    if let Err(error) = result {
                        assert_eq!(error.kind, ErrorKind::TransactionCanceled, "{error}");
                    }
                }
            });
        }
        for _ in 0..50 {
            let rows = bench.scan_all(None);
            assert_eq!(rows.iter().map(balance).sum::<i64>(), ACCOUNTS * START);
        }
    });
    let rows = bench.scan_all(None);
    assert_eq!(rows.iter().map(balance).sum::<i64>(), ACCOUNTS * START);
    assert!(rows.iter().all(|row| balance(row) >= 0));
}

#[test]
fn increments_of_one_item_at_the_same_time_are_all_counted() {
    let bench = bench();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let add = update("ADD x :one", [(":one", n(1))]);
                    bench
                        .update(&update_request(key("counter"), Some(add)))
                        .expect("no conflict reaches the client");
                }
            });
        }
    });
    assert_eq!(bench.get(key("counter")).as_ref().map(balance), Some(400));
}

#[test]
fn a_transaction_does_not_wait_for_another_one_on_its_item() {
    let bench = bench();
    let request = transaction(vec![
        act(TransactAction::Put { item: item([("pk", s("free")), ("sk", s("a"))]) }),
        act(TransactAction::Put { item: key("a") }),
    ]);
    let (pk, sk) = (KeyValueRef::S("p"), KeyValueRef::S("a"));
    let latch = crate::support::layout::item_key(crate::support::layout::TableId(1), pk, Some(sk));
    let other = bench.engine.latches().try_acquire(&latch, Holder::Transaction).expect("nobody is there");
    let run = || {
        block_on(crate::batch::transact_write_items::transact_write_items(&bench.engine, &caller(), &request))
    };
    let error = run().expect_err("another transaction is at work");
    assert_eq!(
        error.message,
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, TransactionConflict]"
    );
    let ErrorDetail::Reasons(reasons) = *error.detail else { panic!("a cancellation has reasons") };
    assert!(matches!(reasons[1], CancellationReason::TransactionConflict));
    drop(other);
    run().expect("the way is free");
}
