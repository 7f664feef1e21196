//! Checks of order, point reads, scans and snapshots.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    Subject, everything, get, key, keys, numbered, put, put_all, range, scan, scan_all, scan_within, snapshot,
};
use crate::contract::{Direction, FirstPage, KeyRange, Scan, ScanPage, Snapshot, Store, Transaction};
use crate::kit::{begin, block_on, commit};
use crate::random::Random;

fn random_key(random: &mut Random) -> Bytes {
    // Few different bytes, the extremes included, so that many keys are prefixes of others.
    const BYTES: [u8; 6] = [0, 1, 2, 0x7F, 0xFE, 0xFF];
    let length = usize::try_from(random.below(6)).unwrap_or_default() + 1;
    (0..length).filter_map(|_| BYTES.get(usize::try_from(random.below(6)).ok()?).copied()).collect()
}

pub fn rows_are_in_bytewise_order<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut random = Random::new(1);
    let mut expected = BTreeMap::new();
    for round in 0..20 {
        let mut transaction = begin(&store);
        for _ in 0..30 {
            let key = random_key(&mut random);
            if random.below(4) == 0 {
                expected.remove(&key);
                transaction.delete(key);
            } else {
                let value = Bytes::from(format!("{round}"));
                expected.insert(key.clone(), value.clone());
                transaction.put(key, value);
            }
        }
        commit(transaction).expect("nothing conflicts");
        let view = snapshot(&store);
        let expected_keys: Vec<Bytes> = expected.keys().cloned().collect();
        let page = scan(&view, everything(), Direction::Forward);
        assert_eq!(keys(&page), expected_keys);
        assert!(page.entries.iter().all(|entry| expected.get(&entry.key) == Some(&entry.value)));
        let mut backward = keys(&scan(&view, everything(), Direction::Backward));
        backward.reverse();
        assert_eq!(backward, expected_keys);
        let (start, end) = (random_key(&mut random), random_key(&mut random));
        if start < end {
            let within: Vec<Bytes> =
                expected.range(start.clone()..end.clone()).map(|(key, _)| key.clone()).collect();
            let part = KeyRange { start, end: Some(end) };
            assert_eq!(keys(&scan(&view, part, Direction::Forward)), within);
        }
    }
}

pub fn empty_and_inverted_ranges_hold_nothing<S: Subject>(subject: &S) {
    let store = subject.create();
    let empty = scan(&snapshot(&store), everything(), Direction::Forward);
    assert!(empty.entries.is_empty() && !empty.more);
    put(&store, "b", "1");
    let view = snapshot(&store);
    for direction in [Direction::Forward, Direction::Backward] {
        for nothing in [range("b", "b"), range("c", "a"), range("a", "b"), range("ba", "z")] {
            let page = scan(&view, nothing, direction);
            assert!(page.entries.is_empty() && !page.more);
        }
    }
    block_on(store.clear_range(&range("c", "a"))).expect("nothing to clear");
    assert_eq!(get(&snapshot(&store), b"b"), Some(key("1")));
}

pub fn a_scan_stops_at_its_budget_in_both_directions<S: Subject>(subject: &S) {
    let store = subject.create();
    put_all(&store, (0..10).map(|number| (numbered("k", number), Bytes::from(vec![7; 91]))));
    let view = snapshot(&store);
    for direction in [Direction::Forward, Direction::Backward] {
        // Nine bytes of key and 91 of value each.
        let within = |rows_max, bytes_max| {
            let page = scan_within(&view, everything(), direction, rows_max, bytes_max);
            (page.entries.len(), page.more)
        };
        assert_eq!(within(3, usize::MAX), (3, true));
        assert_eq!(within(10, usize::MAX), (10, false));
        assert_eq!(within(11, usize::MAX), (10, false));
        assert_eq!(within(usize::MAX, 300), (3, true), "the row that reaches the budget is the last");
        assert_eq!(within(usize::MAX, 301), (4, true));
        assert_eq!(within(usize::MAX, 1000), (10, false));
        assert_eq!(within(usize::MAX, 1), (1, true), "one row is always returned");
        assert_eq!(within(usize::MAX, 0), (1, true));
    }
    let first = scan_within(&view, everything(), Direction::Backward, 1, usize::MAX);
    assert_eq!(keys(&first), [numbered("k", 9)]);
}

pub fn pages_join_to_the_whole_range<S: Subject>(subject: &S) {
    let store = subject.create();
    put_all(&store, (0..57).map(|number| (numbered("k", number), numbered("v", number))));
    let view = snapshot(&store);
    let mut forward = Vec::new();
    let mut rest = everything();
    loop {
        let page = scan_within(&view, rest.clone(), Direction::Forward, 10, usize::MAX);
        forward.extend(keys(&page));
        let Some(last) = page.entries.last().filter(|_| page.more) else { break };
        rest.start = [last.key.as_ref(), &[0]].concat().into();
    }
    let mut backward = Vec::new();
    let mut rest = everything();
    loop {
        let page = scan_within(&view, rest.clone(), Direction::Backward, 10, usize::MAX);
        backward.extend(keys(&page));
        let Some(last) = page.entries.last().filter(|_| page.more) else { break };
        rest.end = Some(last.key.clone());
    }
    backward.reverse();
    let expected: Vec<Bytes> = (0..57).map(|number| numbered("k", number)).collect();
    assert_eq!(forward, expected);
    assert_eq!(backward, expected);
}

pub fn values_of_any_size_come_back<S: Subject>(subject: &S) {
    let store = subject.create();
    let sizes = [0, 1, 20, 21, 4095, 4096, 70_000, 400 * 1024, 1024 * 1024];
    let value = |size: usize| {
        Bytes::from((0..size).map(|place| u8::try_from(place % 251).unwrap_or(0)).collect::<Vec<u8>>())
    };
    put_all(&store, sizes.iter().map(|size| (numbered("size", *size), value(*size))));
    let store = subject.reopen(store);
    let view = snapshot(&store);
    for size in sizes {
        assert_eq!(get(&view, &numbered("size", size)), Some(value(size)));
    }
    assert_eq!(get(&view, b"size"), None);
}

pub fn a_snapshot_never_moves<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "kept", "old");
    put(&store, "deleted", "old");
    put(&store, "cleared", "old");
    let before = snapshot(&store);
    let page = scan(&before, everything(), Direction::Forward);
    for round in 0..50 {
        put(&store, "kept", &format!("{round}"));
    }
    put(&store, "new", "new");
    let mut transaction = begin(&store);
    transaction.delete(key("deleted"));
    commit(transaction).expect("nothing conflicts");
    block_on(store.clear_range(&range("cleared", "cleared0"))).expect("a range is cleared");
    assert_eq!(get(&before, b"kept"), Some(key("old")));
    assert_eq!(get(&before, b"deleted"), Some(key("old")));
    assert_eq!(get(&before, b"cleared"), Some(key("old")));
    assert_eq!(get(&before, b"new"), None);
    assert_eq!(scan(&before, everything(), Direction::Forward), page);
    let after = snapshot(&store);
    assert!(after.version() > before.version());
    assert_eq!(get(&after, b"kept"), Some(key("49")));
    assert_eq!(keys(&scan(&after, everything(), Direction::Forward)), [key("kept"), key("new")]);
}

pub fn get_many_answers_in_the_order_asked<S: Subject>(subject: &S) {
    let store = subject.create();
    put_all(&store, [(key("a"), key("1")), (key("b"), key("2"))]);
    let wanted = [key("b"), key("missing"), key("a"), key("b")];
    let found = block_on(snapshot(&store).get_many(&wanted)).expect("a read succeeds");
    assert_eq!(found, [Some(key("2")), None, Some(key("1")), Some(key("2"))]);
}

pub fn reads_of_the_store_show_the_newest_commit<S: Subject>(subject: &S) {
    let store = subject.create();
    let wanted = [key("b"), key("missing"), key("a"), key("b")];
    let read = || {
        let values = block_on(store.get_many(&wanted)).expect("a read succeeds");
        assert_eq!(block_on(store.get(b"b")).expect("a read succeeds"), values.first().cloned().flatten());
        let rows = scan_all(&store, everything(), Direction::Forward, 10);
        let mut backward = scan_all(&store, everything(), Direction::Backward, 1);
        backward.reverse();
        assert_eq!(rows, backward);
        (values, rows.into_iter().map(|row| (row.key, row.value)).collect::<Vec<_>>())
    };
    assert_eq!(read(), (vec![None; 4], vec![]));
    assert_eq!(block_on(store.get_many(&[])), Ok(vec![]));
    put_all(&store, [(key("a"), key("1")), (key("b"), key("2"))]);
    let rows = vec![(key("a"), key("1")), (key("b"), key("2"))];
    assert_eq!(read(), (vec![Some(key("2")), None, Some(key("1")), Some(key("2"))], rows));
    let mut transaction = begin(&store);
    transaction.delete(key("a"));
    transaction.put(key("b"), key("3"));
    assert_eq!(read().1.len(), 2, "nothing is committed yet");
    commit(transaction).expect("nothing conflicts");
    let rows = vec![(key("b"), key("3"))];
    assert_eq!(read(), (vec![Some(key("3")), None, None, Some(key("3"))], rows));
}

pub fn a_scan_of_the_store_is_a_page_of_one_version<S: Subject>(subject: &S) {
    let store = subject.create();
    put_all(&store, (0..57).map(|number| (numbered("k", number), Bytes::from(vec![7; 91]))));
    let expected: Vec<Bytes> = (0..57).map(|number| numbered("k", number)).collect();
    let within = |range, direction, rows_max, bytes_max| {
        block_on(store.scan(&Scan { range, direction, rows_max, bytes_max })).expect("a scan succeeds")
    };
    for rows_max in [1, 10, 57, 100] {
        let rows = scan_all(&store, everything(), Direction::Forward, rows_max);
        assert_eq!(rows.into_iter().map(|row| row.key).collect::<Vec<_>>(), expected);
        let mut rows = scan_all(&store, range("k00000010", "k00000030"), Direction::Backward, rows_max);
        rows.reverse();
        assert_eq!(
            Some(rows.into_iter().map(|row| row.key).collect::<Vec<_>>().as_slice()),
            expected.get(10..30)
        );
    }
    for direction in [Direction::Forward, Direction::Backward] {
        for (rows_max, bytes_max) in [(3, usize::MAX), (usize::MAX, 300), (usize::MAX, 0)] {
            let page = within(everything(), direction, rows_max, bytes_max).page;
            assert!(page.more && (1..=3).contains(&page.entries.len()), "{}", page.entries.len());
        }
        for nothing in [range("b", "b"), range("c", "a"), range("a", "b")] {
            assert_eq!(within(nothing, direction, 10, usize::MAX).page, ScanPage::default());
        }
    }
    // A view that comes with the page shows what the page shows.
    let FirstPage { page, view } = within(everything(), Direction::Forward, 10, usize::MAX);
    put(&store, "k00000000", "new");
    if let Some(view) = view {
        assert_eq!(get(&view, b"k00000000"), page.entries.first().map(|row| row.value.clone()));
    }
}

pub fn a_size_estimate_is_of_the_right_order<S: Subject>(subject: &S) {
    let store = subject.create();
    let estimate =
        |range: &KeyRange| block_on(store.size_estimate_bytes(range)).expect("an estimate is made");
    assert_eq!(estimate(&everything()), 0);
    put_all(&store, (0..100).map(|number| (numbered("k", number), Bytes::from(vec![1; 1000]))));
    let bytes = estimate(&range("k", "l"));
    assert!((50_000..200_000).contains(&bytes), "{bytes}");
    assert_eq!(estimate(&range("l", "m")), 0);
}

pub fn upkeep_is_not_noticed<S: Subject>(subject: &S) {
    let store = subject.create();
    put(&store, "a", "1");
    put(&store, "b", "1");
    let view = snapshot(&store);
    let mut transaction = begin(&store);
    transaction.put(key("b"), key("of the transaction"));
    let mut removing = begin(&store);
    removing.delete(key("a"));
    commit(removing).expect("nothing conflicts");
    for _ in 0..2 {
        let next = block_on(store.tend()).expect("the store works");
        assert!(next.is_none_or(|next| !next.is_zero()), "a round is followed by a pause");
    }
    assert_eq!(keys(&scan(&view, everything(), Direction::Forward)), [key("a"), key("b")]);
    commit(transaction).expect("nobody else changed the key");
    let view = snapshot(&store);
    assert_eq!(get(&view, b"a"), None);
    assert_eq!(get(&view, b"b"), Some(key("of the transaction")));
}
