//! Checks of which transactions conflict.

use super::{
    Subject, begin, block_on, commit, everything, get, get_for_write, key, numbered, put, range, scan,
    snapshot,
};
use crate::contract::{CommitError, Direction, Snapshot, Store, Transaction};

pub fn a_lost_update_is_refused<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "0");
    let (mut first, mut second) = (begin(&store), begin(&store));
    get_for_write(&mut first, &[key("a")]);
    get_for_write(&mut second, &[key("a")]);
    first.put(key("a"), key("first"));
    second.put(key("a"), key("second"));
    assert!(commit(second).is_ok());
    assert_eq!(commit(first), Err(CommitError::Conflict));
    assert_eq!(get(&snapshot(&store), b"a"), Some(key("second")));
}

pub fn write_skew_is_refused<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "on duty");
    put(&store, "b", "on duty");
    let (mut first, mut second) = (begin(&store), begin(&store));
    for transaction in [&mut first, &mut second] {
        assert_eq!(
            get_for_write(transaction, &[key("a"), key("b")]),
            [Some(key("on duty")), Some(key("on duty"))]
        );
    }
    first.put(key("a"), key("off"));
    second.put(key("b"), key("off"));
    assert!(commit(first).is_ok());
    assert_eq!(commit(second), Err(CommitError::Conflict));
    assert_eq!(get(&snapshot(&store), b"b"), Some(key("on duty")));
}

pub fn a_condition_alone_is_refused_when_its_key_changed<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "0");
    let mut check = begin(&store);
    get_for_write(&mut check, &[key("a")]);
    put(&store, "a", "1");
    assert_eq!(commit(check), Err(CommitError::Conflict));
}

pub fn a_protected_absent_key_conflicts_when_it_appears<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut transaction = begin(&store);
    assert_eq!(get_for_write(&mut transaction, &[key("a")]), [None]);
    transaction.put(key("b"), key("a is absent"));
    put(&store, "a", "1");
    assert_eq!(commit(transaction), Err(CommitError::Conflict));
    assert_eq!(get(&snapshot(&store), b"b"), None);
}

pub fn a_key_protected_without_reading_conflicts_when_it_changed<S: Subject>(subject: &S) {
    let store = subject.create();
    let (mut overtaken, mut unaffected) = (begin(&store), begin(&store));
    overtaken.protect(b"a");
    overtaken.put(key("b"), key("a is absent"));
    unaffected.protect(b"c");
    unaffected.put(key("d"), key("c is absent"));
    put(&store, "a", "1");
    assert_eq!(commit(overtaken), Err(CommitError::Conflict));
    assert!(commit(unaffected).is_ok());
    let view = snapshot(&store);
    assert_eq!((get(&view, b"b"), get(&view, b"d")), (None, Some(key("c is absent"))));
}

pub fn a_change_raises_the_last_change_of_its_first_byte<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "1");
    put(&store, "b", "1");
    let before = snapshot(&store);
    assert!(before.changed_at(b'a') <= before.version());
    // Put, delete and clear each count as a change.
    let last_change = || {
        let view = snapshot(&store);
        (view.changed_at(b'a'), view.version())
    };
    let mut last = before.version();
    drop(before);
    for step in 0..3 {
        match step {
            0 => {
                put(&store, "a", "2");
            }
            1 => {
                let mut transaction = begin(&store);
                transaction.delete(key("a"));
                assert!(commit(transaction).is_ok());
                put(&store, "aa", "to be cleared");
            }
            _ => block_on(store.clear_range(&range("a", "b"))).expect("a range is cleared"),
        }
        let (changed, version) = last_change();
        assert!(last < changed && changed <= version, "step {step}: {changed:?} of {version:?}");
        last = version;
    }
    let store = subject.reopen(store);
    let view = snapshot(&store);
    assert!(view.changed_at(b'a') <= view.version());
}

pub fn a_blind_write_conflicts_with_a_later_commit<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut blind = begin(&store);
    blind.put(key("a"), key("blind"));
    put(&store, "a", "1");
    assert_eq!(commit(blind), Err(CommitError::Conflict));
    let mut deletes = begin(&store);
    deletes.delete(key("a"));
    put(&store, "a", "2");
    assert_eq!(commit(deletes), Err(CommitError::Conflict));
    assert_eq!(get(&snapshot(&store), b"a"), Some(key("2")));
}

pub fn a_key_written_and_deleted_again_has_changed<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut transaction = begin(&store);
    get_for_write(&mut transaction, &[key("a")]);
    transaction.put(key("b"), key("x"));
    put(&store, "a", "1");
    let mut deletes = begin(&store);
    deletes.delete(key("a"));
    assert!(commit(deletes).is_ok());
    assert_eq!(commit(transaction), Err(CommitError::Conflict));
}

pub fn reads_and_scans_are_not_protected<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "0");
    let mut transaction = begin(&store);
    get(&transaction, b"a");
    scan(&transaction, everything(), Direction::Forward);
    transaction.put(key("b"), key("x"));
    put(&store, "a", "1");
    put(&store, "a0", "1");
    assert!(commit(transaction).is_ok());
}

pub fn transactions_on_different_keys_do_not_conflict<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut open: Vec<_> = (0..50)
        .map(|number| {
            let mut transaction = begin(&store);
            let own = numbered("k", number);
            get_for_write(&mut transaction, std::slice::from_ref(&own));
            transaction.put(own, key("x"));
            transaction
        })
        .collect();
    while let Some(transaction) = open.pop() {
        assert!(commit(transaction).is_ok());
    }
    assert_eq!(scan(&snapshot(&store), everything(), Direction::Forward).entries.len(), 50);
}

pub fn clearing_a_range_changes_its_keys<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "0");
    let mut transaction = begin(&store);
    get_for_write(&mut transaction, &[key("a")]);
    transaction.put(key("a"), key("1"));
    block_on(store.clear_range(&range("a", "b"))).expect("a range is cleared");
    assert_eq!(commit(transaction), Err(CommitError::Conflict));
    assert_eq!(get(&snapshot(&store), b"a"), None);
}

pub fn a_conflict_is_found_however_long_the_transaction_was_open<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "0");
    let mut overtaken = begin(&store);
    get_for_write(&mut overtaken, &[key("a")]);
    overtaken.put(key("b"), key("x"));
    let mut unaffected = begin(&store);
    get_for_write(&mut unaffected, &[key("c")]);
    unaffected.put(key("d"), key("x"));
    put(&store, "a", "1");
    // Enough commits that a store prunes its record of changed keys.
    for number in 0..300 {
        put(&store, &format!("other{}", number % 7), "x");
    }
    assert_eq!(commit(overtaken), Err(CommitError::Conflict));
    assert!(commit(unaffected).is_ok());
}
