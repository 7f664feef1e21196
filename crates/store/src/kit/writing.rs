//! Checks of single transactions: what they write, and that it is still there after reopening.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use bytes::Bytes;

use super::{
    Subject, begin, block_on, commit, everything, get, key, keys, numbered, put, put_all, range, scan,
    snapshot,
};
use crate::contract::{CommitError, Direction, Snapshot, Store, Transaction};

pub fn a_transaction_does_not_see_its_own_writes<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "old");
    let mut transaction = begin(&store);
    transaction.put(key("a"), key("new"));
    transaction.put(key("b"), key("new"));
    assert_eq!(get(&transaction, b"a"), Some(key("old")));
    assert_eq!(get(&transaction, b"b"), None);
    assert_eq!(keys(&scan(&transaction, everything(), Direction::Forward)), [key("a")]);
    put(&store, "c", "later");
    assert_eq!(get(&transaction, b"c"), None, "a transaction reads at its start version");
}

pub fn the_last_write_of_a_key_counts<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut transaction = begin(&store);
    transaction.put(key("a"), key("1"));
    transaction.put(key("a"), key("2"));
    transaction.put(key("b"), key("1"));
    transaction.delete(key("b"));
    transaction.delete(key("c"));
    transaction.put(key("c"), key("3"));
    commit(transaction).expect("nothing conflicts");
    let view = snapshot(&store);
    assert_eq!(get(&view, b"a"), Some(key("2")));
    assert_eq!(get(&view, b"b"), None);
    assert_eq!(get(&view, b"c"), Some(key("3")));
}

pub fn a_dropped_transaction_writes_nothing<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut transaction = begin(&store);
    transaction.put(key("a"), key("1"));
    drop(transaction);
    assert_eq!(get(&snapshot(&store), b"a"), None);
}

pub fn a_transaction_that_writes_nothing_commits<S: Subject>(subject: &S) {
    let store = subject.create();
    let version = put(&store, "a", "1");
    assert!(commit(begin(&store)).expect("nothing conflicts") >= version);
    let mut transaction = begin(&store);
    super::get_for_write(&mut transaction, &[key("a")]);
    assert!(commit(transaction).expect("nothing conflicts") >= version);
}

pub fn versions_grow_across_reopening<S: Subject>(subject: &S) {
    let mut store = subject.create();
    let mut last = snapshot(&store).version();
    for round in 0..4 {
        for _ in 0..3 {
            let version = put(&store, "a", &format!("{round}"));
            assert!(version > last);
            assert!(snapshot(&store).version() >= version);
            last = version;
        }
        store = subject.reopen(store);
        assert!(snapshot(&store).version() >= last);
    }
}

pub fn acknowledged_commits_survive_reopening<S: Subject>(subject: &S) {
    let mut store = subject.create();
    for round in 0..5 {
        let mut transaction = begin(&store);
        transaction.put(numbered("round", round), key("there"));
        transaction.put(key("last"), numbered("", round));
        if let Some(before) = round.checked_sub(2) {
            transaction.delete(numbered("round", before));
        }
        commit(transaction).expect("nothing conflicts");
        let mut unfinished = begin(&store);
        unfinished.put(key("unfinished"), key("x"));
        drop(unfinished);
        store = subject.reopen(store);
        let view = snapshot(&store);
        assert_eq!(get(&view, b"last"), Some(numbered("", round)));
        assert_eq!(get(&view, b"unfinished"), None);
        for earlier in 0..=round {
            assert_eq!(get(&view, &numbered("round", earlier)).is_some(), earlier + 2 > round);
        }
    }
}

/// More than the engine's largest request writes (4 MB of items and their index entries), and quick to test.
const LARGE_BYTES: usize = 24 * 1024 * 1024;

pub fn a_large_transaction_is_written_whole<S: Subject>(subject: &S) {
    let store = subject.create();
    assert!(store.capabilities().transaction_bytes_max >= 64 * 1024 * 1024);
    let value = Bytes::from(vec![5; 256 * 1024]);
    let count = LARGE_BYTES / value.len();
    put_all(&store, (0..count).map(|number| (numbered("large", number), value.clone())));
    let store = subject.reopen(store);
    let page = scan(&snapshot(&store), everything(), Direction::Forward);
    assert_eq!(page.entries.len(), count);
    assert!(page.entries.iter().all(|entry| entry.value == value));
}

pub fn a_transaction_beyond_the_capabilities_is_refused<S: Subject>(subject: &S) {
    let store = subject.create();
    let capabilities = store.capabilities();
    let mut long_key = begin(&store);
    long_key.put(Bytes::from(vec![b'k'; capabilities.key_bytes_max + 1]), key("v"));
    assert_eq!(commit(long_key), Err(CommitError::TooLarge));
    let mut large_value = begin(&store);
    large_value.put(key("a"), Bytes::from(vec![0; capabilities.value_bytes_max + 1]));
    assert_eq!(commit(large_value), Err(CommitError::TooLarge));
    let mut large = begin(&store);
    // The rows share one buffer, but each counts towards the transaction's size.
    let value = Bytes::from(vec![0; capabilities.value_bytes_max]);
    for number in 0..=capabilities.transaction_bytes_max / value.len() {
        large.put(numbered("k", number), value.clone());
    }
    assert_eq!(commit(large), Err(CommitError::TooLarge));
    assert!(scan(&snapshot(&store), everything(), Direction::Forward).entries.is_empty());
}

pub fn long_keys_are_kept<S: Subject>(subject: &S) {
    let store = subject.create();
    let long = |length: usize, last: u8| {
        let mut key = vec![0xAB; length];
        key.push(last);
        Bytes::from(key)
    };
    let lengths = [2199, store.capabilities().key_bytes_max.min(8192) - 1];
    for length in lengths {
        put_all(
            &store,
            [(long(length, 1), numbered("one", length)), (long(length, 2), numbered("two", length))],
        );
    }
    let store = subject.reopen(store);
    let view = snapshot(&store);
    for length in lengths {
        assert_eq!(get(&view, &long(length, 1)), Some(numbered("one", length)));
        assert_eq!(get(&view, &long(length, 2)), Some(numbered("two", length)));
        assert_eq!(get(&view, &long(length, 3)), None);
    }
    let mut sorted = keys(&scan(&view, everything(), Direction::Forward));
    assert_eq!(sorted.len(), 4);
    assert!(sorted.is_sorted());
    sorted.reverse();
    assert_eq!(keys(&scan(&view, everything(), Direction::Backward)), sorted);
}

pub fn clearing_a_range_leaves_its_neighbours<S: Subject>(subject: &S) {
    let store = subject.create();
    // More keys than any backend clears in one commit.
    put_all(&store, (0..2500).map(|number| (numbered("b", number), key("x"))));
    put_all(&store, ["a", "b", "c"].map(|name| (key(name), key("kept"))));
    block_on(store.clear_range(&range("b0", "c"))).expect("a range is cleared");
    assert_eq!(
        keys(&scan(&snapshot(&store), everything(), Direction::Forward)),
        [key("a"), key("b"), key("c")]
    );
    let store = subject.reopen(store);
    assert_eq!(
        keys(&scan(&snapshot(&store), everything(), Direction::Backward)),
        [key("c"), key("b"), key("a")]
    );
    put(&store, "b00000001", "again");
    assert_eq!(get(&snapshot(&store), b"b00000001"), Some(key("again")));
    block_on(store.clear_range(&everything())).expect("everything is cleared");
    assert!(scan(&snapshot(&store), everything(), Direction::Forward).entries.is_empty());
}

pub fn a_commit_nobody_waits_for_is_whole_or_absent<S: Subject>(subject: &S) {
    let store = subject.create();
    for number in 0..20 {
        let mut transaction = begin(&store);
        transaction.put(numbered("left", number), key("x"));
        transaction.put(numbered("right", number), key("x"));
        let mut commit = pin!(transaction.commit());
        // Polled once and dropped.
        let _ = commit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    put(&store, "after", "x");
    let store = subject.reopen(store);
    let view = snapshot(&store);
    assert!(get(&view, b"after").is_some());
    for number in 0..20 {
        let left = get(&view, &numbered("left", number));
        assert_eq!(left, get(&view, &numbered("right", number)));
    }
}

pub fn a_token_row_resolves_an_unknown_commit<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut expected = 0;
    for number in 0..20 {
        let token = numbered("token", number);
        {
            let mut transaction = begin(&store);
            super::get_for_write(&mut transaction, std::slice::from_ref(&token));
            transaction.put(token.clone(), key("x"));
            transaction.put(numbered("effect", number), key("x"));
            let mut commit = pin!(transaction.commit());
            let _ = commit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        // The outcome is unknown now. A retry with the same token finds the commit done or does it.
        let mut again = begin(&store);
        let found = super::get_for_write(&mut again, std::slice::from_ref(&token));
        if found == [None] {
            again.put(token.clone(), key("x"));
            again.put(numbered("effect", number), key("x"));
            match commit(again) {
                Ok(_) => {}
                Err(error) => assert_eq!(error, CommitError::Conflict, "the dropped commit came first"),
            }
        }
        expected += 1;
    }
    let effects = scan(&snapshot(&store), range("effect", "effectz"), Direction::Forward);
    assert_eq!(effects.entries.len(), expected);
}
