//! Checks with many threads on one store.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;

use super::{
    Subject, begin, commit, everything, get, get_for_write, key, logs, numbered, put_all, scan_all, snapshot,
};
use crate::contract::{CommitError, Direction, LogId, Snapshot, Store, Transaction};
use crate::random::Random;

const THREADS: usize = 8;
const ROUNDS: usize = 40;

fn number(value: Option<&Bytes>) -> u64 {
    value.map_or(0, |bytes| {
        std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).expect("the value is a number")
    })
}

/// Retries conflicts until the change is committed.
fn retry<S: Store>(store: &S, mut change: impl FnMut(&mut S::Transaction)) {
    loop {
        let mut transaction = begin(store);
        change(&mut transaction);
        match commit(transaction) {
            Ok(_) => return,
            Err(error) => assert_eq!(error, CommitError::Conflict),
        }
        std::thread::yield_now();
    }
}

pub fn counters_of_many_threads_lose_nothing<S: Subject>(subject: &S) {
    let store = subject.create();
    let counters = [key("one"), key("two")];
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    retry(&store, |transaction| {
                        let old = get_for_write(transaction, &counters);
                        for (name, old) in counters.iter().zip(&old) {
                            transaction
                                .put(name.clone(), Bytes::from((number(old.as_ref()) + 1).to_string()));
                        }
                    });
                }
            });
        }
    });
    let store = subject.reopen(store);
    let view = snapshot(&store);
    let expected = u64::try_from(THREADS * ROUNDS).unwrap_or_default();
    for counter in &counters {
        assert_eq!(number(get(&view, counter).as_ref()), expected);
    }
}

pub fn put_if_absent_lets_one_thread_win<S: Subject>(subject: &S) {
    let store = subject.create();
    let wins = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, wins) = (&store, &wins);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let name = numbered("k", round);
                    let mut transaction = begin(store);
                    if get_for_write(&mut transaction, std::slice::from_ref(&name)) == [None] {
                        transaction.put(name, numbered("thread", thread));
                        match commit(transaction) {
                            Ok(_) => _ = wins.fetch_add(1, Ordering::Relaxed),
                            Err(error) => assert_eq!(error, CommitError::Conflict),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(wins.load(Ordering::Relaxed), ROUNDS);
}

/// Transfers between accounts never change their sum, which every reader checks.
pub fn readers_see_whole_commits_only<S: Subject>(subject: &S) {
    transfers_are_read_whole(subject, |store, accounts| {
        super::block_on(snapshot(store).get_many(accounts)).expect("a read succeeds")
    });
}

/// The same for reads without a view of the caller's, in turns.
pub fn reads_of_the_store_see_whole_commits_only<S: Subject>(subject: &S) {
    let turn = AtomicUsize::new(0);
    transfers_are_read_whole(subject, |store, accounts| {
        let direction = match turn.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => return super::block_on(store.get_many(accounts)).expect("a read succeeds"),
            1 => Direction::Forward,
            _ => Direction::Backward,
        };
        let rows = scan_all(store, everything(), direction, 4);
        assert_eq!(rows.len(), accounts.len());
        rows.into_iter().map(|row| Some(row.value)).collect()
    });
}

fn transfers_are_read_whole<S: Subject>(
    subject: &S,
    read: impl Fn(&S::Store, &[Bytes]) -> Vec<Option<Bytes>> + Sync,
) {
    const ACCOUNTS: usize = 6;
    const SUM: u64 = 100 * 6;
    let store = subject.create();
    let accounts: Vec<Bytes> = (0..ACCOUNTS).map(|place| numbered("account", place)).collect();
    put_all(&store, accounts.iter().map(|name| (name.clone(), key("100"))));
    let done = AtomicBool::new(false);
    let sum_of = |values: &[Option<Bytes>]| values.iter().map(|value| number(value.as_ref())).sum::<u64>();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|seed| {
                let (store, accounts) = (&store, &accounts);
                scope.spawn(move || {
                    let mut random = Random::new(seed);
                    for _ in 0..ROUNDS {
                        transfer(store, accounts, &mut random);
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(sum_of(&read(&store, &accounts)), SUM);
                    std::thread::yield_now();
                }
            });
        }
        for writer in writers {
            writer.join().expect("a writer ends well");
        }
        done.store(true, Ordering::Relaxed);
    });
    let store = subject.reopen(store);
    assert_eq!(sum_of(&read(&store, &accounts)), SUM);
}

fn transfer<S: Store>(store: &S, accounts: &[Bytes], random: &mut Random) {
    let mut choose = || {
        let place = random.below(u64::try_from(accounts.len()).unwrap_or(1));
        accounts.get(usize::try_from(place).unwrap_or_default()).cloned().unwrap_or_default()
    };
    let (from, to) = (choose(), choose());
    if from == to {
        return;
    }
    let pair = [from, to];
    retry(store, |transaction| {
        let old = get_for_write(transaction, &pair);
        let [Some(from), Some(to)] = old.as_slice() else { panic!("the accounts exist") };
        let (from, to) = (number(Some(from)), number(Some(to)));
        let amount = from.min(7);
        for (name, value) in pair.iter().zip([from - amount, to + amount]) {
            transaction.put(name.clone(), Bytes::from(value.to_string()));
        }
    });
}

pub fn a_log_reader_misses_nothing_while_threads_append<S: Subject>(subject: &S) {
    let store = subject.create();
    let id = LogId { log: 1, shard: 1 };
    let expected = THREADS * ROUNDS * 2;
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut transaction = begin(store);
                    let name = numbered("entry", thread * ROUNDS + round);
                    transaction.put(name.clone(), key("x"));
                    transaction.append(id, name.clone());
                    transaction.append(id, name);
                    commit(transaction).expect("nothing conflicts");
                }
            });
        }
        let mut after = None;
        while seen.len() < expected {
            let view = snapshot(&store);
            let entries = logs::read(&view, id, after);
            after = entries.last().map(|entry| entry.position).or(after);
            assert_eq!(entries.len() % 2, 0, "both entries of a commit appear at once");
            for entry in entries {
                assert!(get(&view, &entry.bytes).is_some(), "the row appears with its log entry");
                seen.push(entry);
            }
            std::thread::yield_now();
        }
    });
    assert_eq!(seen.len(), expected);
    assert!(seen.is_sorted_by(|one, next| one.position < next.position));
    assert_eq!(logs::read(&snapshot(&store), id, None), seen);
}

pub fn one_thread_sees_the_commits_of_another<S: Subject>(subject: &S) {
    let store = subject.create();
    let last = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS * 2 {
                let version = put_all(&store, [(key("round"), Bytes::from(round.to_string()))]);
                assert!(snapshot(&store).version() >= version);
                last.store(round, Ordering::SeqCst);
            }
            done.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let committed = u64::try_from(last.load(Ordering::SeqCst)).unwrap_or_default();
                let seen = number(get(&snapshot(&store), b"round").as_ref());
                assert!(seen >= committed, "round {committed} was acknowledged, round {seen} was read");
            }
        });
    });
}
