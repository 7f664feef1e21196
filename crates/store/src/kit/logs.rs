//! Checks of log shards.

use bytes::Bytes;

use super::{Subject, begin, block_on, commit, everything, key, numbered, put, scan, snapshot};
use crate::contract::{Direction, LogEntry, LogId, LogPosition, LogRead, Snapshot, Store, Transaction};

const LOG: LogId = LogId { log: 7, shard: 3 };

fn append<S: Store>(store: &S, id: LogId, texts: &[&str]) {
    let mut transaction = begin(store);
    for text in texts {
        transaction.append(id, key(text));
    }
    commit(transaction).expect("appends do not conflict");
}

pub(crate) fn read(view: &impl Snapshot, id: LogId, after: Option<LogPosition>) -> Vec<LogEntry> {
    let read = LogRead { id, after, entries_max: usize::MAX, bytes_max: usize::MAX };
    block_on(view.read_log(read)).expect("a log is read")
}

fn texts(entries: &[LogEntry]) -> Vec<Bytes> {
    entries.iter().map(|entry| entry.bytes.clone()).collect()
}

pub fn log_entries_are_in_commit_order_under_a_slow_writer<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut slow = begin(&store);
    slow.append(LOG, key("slow"));
    append(&store, LOG, &["fast 1"]);
    append(&store, LOG, &["fast 2"]);
    let seen = read(&snapshot(&store), LOG, None);
    assert_eq!(texts(&seen), [key("fast 1"), key("fast 2")]);
    let version = commit(slow).expect("appends do not conflict");
    append(&store, LOG, &["fast 3"]);
    let view = snapshot(&store);
    assert_eq!(texts(&read(&view, LOG, None)), [key("fast 1"), key("fast 2"), key("slow"), key("fast 3")]);
    let rest = read(&view, LOG, seen.last().map(|entry| entry.position));
    assert_eq!(texts(&rest), [key("slow"), key("fast 3")], "a reader that continues misses no entry");
    assert!(rest.first().is_some_and(|entry| entry.position.version >= version));
}

pub fn log_entries_of_a_commit_keep_their_order<S: Subject>(subject: &S) {
    let store = subject.create();
    let mut transaction = begin(&store);
    let other = LogId { log: 7, shard: 4 };
    for number in 0..300 {
        transaction.append(if number % 3 == 0 { other } else { LOG }, numbered("e", number));
    }
    let version = commit(transaction).expect("appends do not conflict");
    let view = snapshot(&store);
    for (id, takes_thirds) in [(LOG, false), (other, true)] {
        let entries = read(&view, id, None);
        let expected: Vec<Bytes> = (0..300)
            .filter(|number| (number % 3 == 0) == takes_thirds)
            .map(|number| numbered("e", number))
            .collect();
        assert_eq!(texts(&entries), expected);
        assert!(entries.iter().all(|entry| entry.position.version >= version));
        assert!(entries.is_sorted_by(|one, next| one.position < next.position));
    }
}

pub fn log_shards_are_separate_from_each_other_and_from_rows<S: Subject>(subject: &S) {
    let store = subject.create();
    let ids = [
        LogId { log: 0, shard: 0 },
        LogId { log: 0, shard: 1 },
        LogId { log: 1, shard: 0 },
        LogId { log: u64::MAX, shard: u64::MAX },
    ];
    for (number, id) in ids.into_iter().enumerate() {
        append(&store, id, &[&number.to_string()]);
    }
    assert!(scan(&snapshot(&store), everything(), Direction::Forward).entries.is_empty());
    // One row for each first byte, so that some row key begins with any prefix that a backend uses for
    // logs.
    for first in 0..=255 {
        super::put_all(&store, [(Bytes::from(vec![first; 29]), key("row"))]);
    }
    let view = snapshot(&store);
    for (number, id) in ids.into_iter().enumerate() {
        assert_eq!(texts(&read(&view, id, None)), [key(&number.to_string())]);
    }
    assert_eq!(scan(&view, everything(), Direction::Backward).entries.len(), 256);
    block_on(store.clear_range(&everything())).expect("everything is cleared");
    let view = snapshot(&store);
    assert!(scan(&view, everything(), Direction::Forward).entries.is_empty());
    assert_eq!(read(&view, LogId { log: 0, shard: 0 }, None).len(), 1, "logs are not rows");
    assert!(read(&view, LogId { log: 5, shard: 5 }, None).is_empty());
}

pub fn a_snapshot_does_not_see_later_log_entries<S: Subject>(subject: &S) {
    let store = subject.create();
    append(&store, LOG, &["1"]);
    let view = snapshot(&store);
    let transaction = begin(&store);
    append(&store, LOG, &["2"]);
    assert_eq!(texts(&read(&view, LOG, None)), [key("1")]);
    assert_eq!(texts(&read(&transaction, LOG, None)), [key("1")]);
}

pub fn a_log_read_stops_at_its_budget<S: Subject>(subject: &S) {
    let store = subject.create();
    append(&store, LOG, &["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"]);
    append(&store, LOG, &["dddddddddd"]);
    let view = snapshot(&store);
    let count = |entries_max, bytes_max| {
        let read = LogRead { id: LOG, after: None, entries_max, bytes_max };
        block_on(view.read_log(read)).expect("a log is read").len()
    };
    assert_eq!(count(2, usize::MAX), 2);
    assert_eq!(count(usize::MAX, 20), 2);
    assert_eq!(count(usize::MAX, 21), 3);
    assert_eq!(count(usize::MAX, 1), 1, "one entry is always returned");
    assert_eq!(count(100, usize::MAX), 4);
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let read = LogRead { id: LOG, after, entries_max: 1, bytes_max: usize::MAX };
        let Some(entry) = block_on(view.read_log(read)).expect("a log is read").pop() else { break };
        after = Some(entry.position);
        all.push(entry);
    }
    assert_eq!(all, read(&view, LOG, None));
    assert!(read(&view, LOG, Some(LogPosition::LAST)).is_empty());
}

pub fn a_trimmed_log_keeps_what_comes_after<S: Subject>(subject: &S) {
    let store = subject.create();
    let many: Vec<String> = (0..2500).map(|number| number.to_string()).collect();
    append(&store, LOG, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let other = LogId { log: 7, shard: 4 };
    append(&store, other, &["other"]);
    append(&store, LOG, &["kept"]);
    let through = read(&snapshot(&store), LOG, None).iter().rev().nth(2).map(|entry| entry.position);
    block_on(store.trim_log(LOG, through.expect("there are entries"))).expect("a log is trimmed");
    assert_eq!(texts(&read(&snapshot(&store), LOG, None)), [key("2499"), key("kept")]);
    let store = subject.reopen(store);
    assert_eq!(texts(&read(&snapshot(&store), LOG, None)), [key("2499"), key("kept")]);
    block_on(store.trim_log(LOG, LogPosition::LAST)).expect("a log is trimmed");
    let view = snapshot(&store);
    assert!(read(&view, LOG, None).is_empty());
    assert_eq!(texts(&read(&view, other, None)), [key("other")]);
}

pub fn logs_survive_reopening<S: Subject>(subject: &S) {
    let store = subject.create();
    append(&store, LOG, &["1", "2"]);
    put(&store, "row", "x");
    let before = read(&snapshot(&store), LOG, None);
    let store = subject.reopen(store);
    assert_eq!(read(&snapshot(&store), LOG, None), before);
    append(&store, LOG, &["3"]);
    assert_eq!(texts(&read(&snapshot(&store), LOG, None)), [key("1"), key("2"), key("3")]);
}
