//! Commits that fail, and commits whose outcome is unknown: nothing is done twice, nothing acknowledged is
//! missing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::parts::ReturnValue;
use keywright_semantics::request::transact_write_items::{
    Fingerprint, RequestToken, TransactAction, TransactWriteItems,
};
use keywright_semantics::response::TransactWriteItemsOutput;
use keywright_semantics::value::AttributeValue;

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::transactions::{act, key, transaction};
use crate::support::env::Env as _;
use crate::write::change::{Action, Effect};

fn flaky() -> (Bench<FlakyStore>, FlakyStore) {
    let store = FlakyStore::default();
    (bench_on(store.clone(), schema(), u64::MAX), store)
}

fn counted(bench: &Bench<FlakyStore>) -> Option<AttributeValue> {
    bench.get(key("a")).and_then(|item| item.get("x").cloned())
}

fn add_one(bench: &Bench<FlakyStore>) -> Result<Option<AttributeValue>, Error> {
    let mut request = update_request(key("a"), Some(update("ADD x :one", [(":one", n(1))])));
    request.write.return_values = ReturnValue::AllNew;
    let output = bench.update(&request)?;
    Ok(output.attributes.and_then(|item| item.decode().remove("x")))
}

fn run(bench: &Bench<FlakyStore>, request: &TransactWriteItems) -> Result<TransactWriteItemsOutput, Error> {
    block_on(crate::batch::transact_write_items::transact_write_items(&bench.engine, &caller(), request))
}

#[test]
fn whatever_commits_do_an_acknowledged_increment_counts_exactly_once() {
    use Fate::{Conflict, UnknownLost, UnknownWritten};
    let (bench, store) = flaky();
    let stories: [&[Fate]; 6] = [
        &[Conflict, Conflict],
        &[UnknownWritten],
        &[UnknownLost],
        // The commit that resolves the first one has an unknown outcome too.
        &[UnknownLost, UnknownWritten],
        &[UnknownLost, UnknownLost, Conflict],
        &[UnknownLost, Conflict, UnknownLost, UnknownWritten],
    ];
    for (done, story) in (1_i64..).zip(stories) {
        store.next(story);
        assert_eq!(add_one(&bench).expect("it is settled"), Some(n(done)), "{story:?}");
        assert_eq!((counted(&bench), store.untouched()), (Some(n(done)), 0), "{story:?}");
    }
}

#[test]
fn a_single_write_that_never_gets_through_is_answered_as_a_conflict() {
    let (bench, store) = flaky();
    store.next(&[Fate::Conflict; 100]);
    let error = add_one(&bench).expect_err("every try conflicts");
    assert_eq!(error.kind, ErrorKind::TransactionConflict);
    assert!(store.untouched() > 0, "tries are bounded");
    assert_eq!(counted(&bench), None);
}

#[test]
fn a_write_over_a_slow_store_is_given_up_in_time() {
    let store = FlakyStore::shared();
    let bench = bench_on(store.clone(), schema(), u64::MAX);
    bench.put(key("a")).expect("put");
    for fate in [Fate::Conflict, Fate::UnknownLost] {
        store.next(&[fate; 100]);
        bench.env.look_ms.store(700, Ordering::Relaxed);
        let began_ms = bench.env.now_ms();
        let error = add_one(&bench).expect_err("every try fails");
        let took_ms = bench.env.now_ms() - began_ms;
        bench.env.look_ms.store(0, Ordering::Relaxed);
        let expected = match fate {
            Fate::Conflict => ErrorKind::TransactionConflict,
            _ => ErrorKind::InternalServerError,
        };
        assert_eq!(error.kind, expected, "{fate:?}");
        assert!(took_ms < 45_000, "{fate:?}: {took_ms} ms");
        assert!(store.untouched() > 50, "{fate:?}: {} commits are left", store.untouched());
        store.calm();
    }
}

#[test]
fn writers_of_several_processes_make_way_for_each_other_after_the_second_conflict() {
    let store = FlakyStore::shared();
    let bench = bench_on(store.clone(), schema(), u64::MAX);
    let pauses = || std::mem::take(&mut *bench.env.pauses_ms.lock().expect("not poisoned"));
    store.next(&[Fate::Conflict; 2]);
    add_one(&bench).expect("the third try succeeds");
    assert_eq!(pauses(), [0; 0], "ordinary contention waits for nothing");
    store.next(&[Fate::Conflict; 10]);
    add_one(&bench).expect("the eleventh try succeeds");
    let (pauses, longest) = (pauses(), [2, 4, 8, 16, 32, 64, 64, 64]);
    assert_eq!(pauses.len(), longest.len(), "{pauses:?}");
    assert!(
        pauses.iter().zip(longest).all(|(ms, longest)| (longest / 2..=longest).contains(ms)),
        "{pauses:?}"
    );
    assert_eq!(counted(&bench), Some(n(2)));
}

#[test]
fn a_transaction_with_a_token_is_settled_by_its_row() {
    let (bench, store) = flaky();
    let add = update("ADD x :one", [(":one", n(1))]);
    let mut request = transaction(vec![act(TransactAction::Update { key: key("a"), update: add })]);
    for (done, fate) in (1_i64..).zip([Fate::UnknownWritten, Fate::UnknownLost]) {
        request.token = Some(RequestToken { token: done.to_string(), fingerprint: Fingerprint([1; 32]) });
        store.next(&[fate]);
        run(&bench, &request).expect("it is settled");
        run(&bench, &request).expect("it is a repetition");
        assert_eq!(counted(&bench), Some(n(done)), "{fate:?}");
    }
}

#[test]
fn a_transaction_that_never_gets_through_is_cancelled_for_conflict() {
    let (bench, store) = flaky();
    store.next(&[Fate::Conflict; 100]);
    let error = run(&bench, &transaction(vec![act(TransactAction::Put { item: key("a") })]));
    assert_eq!(
        error.expect_err("every try conflicts").message,
        "Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]"
    );
}

#[test]
fn of_actions_that_collided_those_with_changed_items_are_named() {
    let (bench, _store) = flaky();
    let table = bench.engine.catalogue().lookup(&namespace(), &table_ref()).expect("it is there");
    let action = |sk: &str| {
        let key = crate::bind::key::bind_key(table.id, &table.schema, &key(sk)).expect("it is a key");
        Action { table: Arc::clone(&table), key, effect: Effect::Check, condition: None, given: None }
    };
    bench.put(key("b")).expect("put");
    let unchanged = Some(EncodedItem::encode(&key("b")));
    let collided = |read: [Option<EncodedItem>; 2]| {
        let actions = [action("a"), action("b")];
        block_on(crate::write::group::collided(&bench.engine, &actions, read.into())).expect("it can be read")
    };
    assert_eq!(collided([None, None]), [false, true]);
    assert_eq!(collided([unchanged.clone(), unchanged.clone()]), [true, false]);
    assert_eq!(collided([None, unchanged]), [true, true]);
}

#[test]
fn a_batch_too_large_for_one_commit_is_written_in_several() {
    use keywright_semantics::request::batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
    use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
    let (bench, store) = flaky();
    let writes: Vec<BatchWrite> =
        ["a", "b", "c", "d", "e"].iter().map(|sk| BatchWrite::Put(key(sk))).collect();
    let request = BatchWriteItem {
        tables: vec![BatchWriteTable { table: table_ref(), writes, orders: Vec::new() }],
        capacity: ReturnConsumedCapacity::Total,
        metrics: ReturnItemCollectionMetrics::Size,
    };
    store.next(&[Fate::TooLarge, Fate::TooLarge]);
    let output =
        block_on(crate::batch::batch_write_item::batch_write_item(&bench.engine, &caller(), &request));
    let output = output.expect("it is written");
    assert!(output.unprocessed_items.is_empty());
    assert_eq!(output.item_collection_metrics.expect("asked for")[0].1.len(), 1);
    assert_eq!(bench.scan_all(None).len(), 5);
}
