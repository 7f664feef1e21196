//! Stamps and the settled stamp: commits of unknown outcome, several processes, and clocks that jump.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

use bytes::Bytes;
use keywright_semantics::request::Request;
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::request::transact_write_items::{Fingerprint, RequestToken, TransactAction};
use keywright_semantics::response::Response;
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::value::AttributeValue;
use keywright_store::faulty::{Faults, FaultyStore};
use keywright_store::memory::MemoryStore;
use keywright_store::{CommitError, Store, Transaction};

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::transactions::{act, transaction};
use crate::background::{members, stamp_rows};
use crate::state::Engine;
use crate::state::stamps::{InFlight, Stamps};
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::layout::TableId;
use crate::support::stamp::Stamp;

const NONE: Stamp = Stamp::first_of(0);

#[test]
fn a_stamp_is_in_flight_until_its_commit_has_certainly_ended() {
    let store = FlakyStore::default();
    let (stamps, later) = (Stamps::new(false), Stamp::first_of(9));
    let begin = |now_ms| {
        let mut txn = block_on(store.begin()).expect("a transaction");
        txn.put(Bytes::from_static(b"row"), Bytes::new());
        (stamps.draw(now_ms, NONE), txn)
    };
    let (drawn, _txn) = begin(5);
    drop(drawn);
    assert!(stamps.lowest(9) >= later, "without a commit nothing can come");
    for fates in [[].as_slice(), &[Fate::Conflict], &[Fate::TooLarge]] {
        store.next(fates);
        let (drawn, txn) = begin(10);
        let stamp = drawn.stamp();
        assert_eq!(stamps.lowest(11), stamp);
        let _ = block_on(drawn.commit(txn.commit()));
        assert!(stamps.lowest(11) > stamp, "{fates:?}");
    }
    for fate in [Fate::UnknownWritten, Fate::UnknownLost] {
        store.next(&[fate]);
        let (drawn, txn) = begin(20);
        let stamp = drawn.stamp();
        assert_eq!(block_on(drawn.commit(txn.commit())), Err(CommitError::Unknown));
        assert_eq!(stamps.lowest(30), stamp, "{fate:?}");
        stamps.end(stamp);
        assert!(stamps.lowest(30) > stamp);
    }
}

#[test]
fn a_commit_whose_future_is_dropped_half_way_stays_in_flight() {
    let store = FaultyStore::new(1, Faults { yield_per_mille: 1_000, ..Faults::NONE });
    let stamps = Stamps::new(false);
    let mut txn = block_on(store.begin()).expect("a transaction");
    txn.put(Bytes::from_static(b"row"), Bytes::new());
    let drawn = stamps.draw(5, NONE);
    let stamp = drawn.stamp();
    {
        let mut commit = pin!(drawn.commit(txn.commit()));
        let polled = commit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "the store yields before it commits");
    }
    assert_eq!(stamps.lowest(9), stamp);
}

/// A process's environment: a clock of its own.
pub(super) struct OwnClock {
    now_ms: AtomicU64,
    random: AtomicU64,
}

impl OwnClock {
    pub(super) fn new(process: u64, now_ms: u64) -> Arc<Self> {
        Arc::new(Self { now_ms: now_ms.into(), random: (process << 32).into() })
    }

    pub(super) fn pass(&self, ms: u64) -> u64 {
        self.now_ms.fetch_add(ms, Ordering::Relaxed) + ms
    }
}

impl Env for OwnClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn random_u128(&self) -> u128 {
        // Well spread, as the numbers of processes are.
        let number = self.random.fetch_add(1, Ordering::Relaxed);
        u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

pub(super) struct Process<S: Store> {
    pub(super) engine: Engine<S>,
    pub(super) clock: Arc<OwnClock>,
}

impl<S: Store> Process<S> {
    pub(super) fn open(store: &S, number: u64, now_ms: u64) -> Self {
        let clock = OwnClock::new(number, now_ms);
        let env: Arc<dyn Env> = Arc::<OwnClock>::clone(&clock);
        let engine = block_on(Engine::open(store.clone(), env, EngineConfig::default()));
        Self { engine: engine.expect("the store opens"), clock }
    }

    /// What a step does of members and stamps. A fault ends it; a later one goes on.
    pub(super) fn work(&self) {
        let now_ms = self.clock.now_ms();
        let _ = block_on(members::step(&self.engine, now_ms));
    }
}

/// Lets processes do what a step does of members and stamps, all at the same time.
fn work_together<S: Store>(random: &mut fastrand::Rng, processes: &[&Process<S>]) {
    let mut context = Context::from_waker(Waker::noop());
    let step = |process: &&Process<S>| {
        let (engine, now_ms) = (process.engine.clone(), process.clock.now_ms());
        // A fault ends it; a later step goes on.
        Box::pin(async move { drop(members::step(&engine, now_ms).await) })
    };
    let mut steps: Vec<_> = processes.iter().map(step).collect();
    while !steps.is_empty() {
        let place = random.usize(..steps.len());
        if steps[place].as_mut().poll(&mut context).is_ready() {
            drop(steps.swap_remove(place));
        }
    }
}

/// A commit that is under way: which process draws it, and its place among the rows.
struct Commit<'s, T> {
    drawn: InFlight<'s>,
    txn: T,
    key: Bytes,
    /// The row's stamp when the transaction began.
    last: Stamp,
}

fn stamp_in(row: Option<&Bytes>) -> Stamp {
    row.and_then(|row| row.first_chunk::<8>()).map_or(NONE, |bytes| Stamp::of_bytes(*bytes))
}

/// Begins a commit that writes its own stamp into one of a few rows; `None` while its process may not.
fn begin<S: Store>(process: &Process<S>, row: u8) -> Option<Commit<'_, S::Transaction>> {
    let key = Bytes::from(vec![0xfe, row]);
    let mut txn = block_on(process.engine.store().begin()).expect("a transaction");
    let [joined, _] = stamp_rows::row_keys(process.engine.members().own());
    let rows = block_on(txn.get_for_write(&[key.clone(), joined])).expect("it reads");
    if process.engine.is_shared() && rows[1].is_none() {
        return None;
    }
    let last = stamp_in(rows[0].as_ref());
    let drawn = process.engine.stamps().draw(process.clock.now_ms(), last.next());
    Some(Commit { drawn, txn, key, last })
}

/// Ends a commit; returns its stamp if it certainly happened.
fn end<S: Store>(process: &Process<S>, commit: Commit<'_, S::Transaction>) -> Option<Stamp> {
    let Commit { drawn, mut txn, key, last } = commit;
    let stamp = drawn.stamp();
    assert!(stamp > last, "the later commit on a row has the greater stamp");
    txn.put(key.clone(), Bytes::copy_from_slice(&stamp.to_bytes()));
    match block_on(drawn.commit(txn.commit())) {
        Ok(_) => Some(stamp),
        Err(CommitError::Unknown) => {
            // The row is written again: what did not happen yet cannot happen any more.
            loop {
                let mut again = block_on(process.engine.store().begin()).expect("a transaction");
                let rows = block_on(again.get_for_write(std::slice::from_ref(&key))).expect("it reads");
                let found = stamp_in(rows[0].as_ref());
                again.put(key.clone(), Bytes::copy_from_slice(&found.to_bytes()));
                if block_on(again.commit()).is_ok() {
                    break;
                }
            }
            process.engine.stamps().end(stamp);
            None
        }
        Err(_) => None,
    }
}

/// The greatest settled stamp that any of the processes goes by.
fn settled<S: Store>(processes: &[Process<S>]) -> Stamp {
    let of = |process: &Process<S>| process.engine.settled_before(process.clock.now_ms());
    processes.iter().map(of).max().unwrap_or(NONE)
}

#[test]
fn no_commit_of_any_process_comes_below_the_settled_stamp() {
    for seed in seeds(12) {
        let mut random = fastrand::Rng::with_seed(seed);
        let faults =
            Faults { conflict_per_mille: 50, unknown_per_mille: 100, yield_per_mille: 500, ..Faults::NONE };
        let store = FaultyStore::shared(seed, Faults::NONE);
        let mut opened = 0;
        let mut open = |now_ms| {
            opened += 1;
            Process::open(&store, opened, now_ms)
        };
        let mut processes: Vec<_> = (0..3).map(|_| open(1_000_000 + random.u64(..30_000))).collect();
        let mut committed = 0;
        for _ in 0..30 {
            store.set_faults(faults);
            committed += turns(&mut random, &processes);
            store.set_faults(Faults::NONE);
            // One dies with what it had not published, or leaves, and another one comes: it joins while the
            // others raise the settled stamp.
            let gone = processes.swap_remove(random.usize(..processes.len()));
            if random.bool() {
                block_on(members::leave(&gone.engine)).expect("the store has no faults");
            }
            drop(gone);
            let others_ms = processes.iter().map(|process| process.clock.now_ms()).max().expect("two");
            processes.push(open(others_ms - random.u64(..30_000)));
            for process in &processes {
                process.clock.pass(2_000);
            }
            store.set_faults(Faults { yield_per_mille: 500, ..Faults::NONE });
            work_together(&mut random, &processes.iter().collect::<Vec<_>>());
        }
        assert!(committed > 500, "{seed}: {committed}");
        // Once the dead are forgotten, the slowest clock decides.
        for _ in 0..200 {
            for process in &processes {
                process.clock.pass(1_000);
                process.work();
            }
        }
        let slowest_ms = processes.iter().map(|process| process.clock.now_ms()).min().expect("three");
        assert!(settled(&processes) >= Stamp::first_of(slowest_ms - 5_000), "{seed}");
    }
}

/// Lets the processes work and commit in any order, while their clocks jump; returns how many commits there
/// were. What is in flight at the end ends before.
fn turns<S: Store>(random: &mut fastrand::Rng, processes: &[Process<S>]) -> usize {
    let mut under_way: Vec<(usize, Commit<'_, S::Transaction>)> = Vec::new();
    let mut committed = 0;
    let mut finish = |(of, commit): (usize, Commit<'_, S::Transaction>)| {
        let before = settled(processes);
        if let Some(stamp) = end(&processes[of], commit) {
            assert!(stamp >= before, "a commit came below the settled stamp");
            committed += 1;
        }
    };
    for _ in 0..200 {
        let of = random.usize(..processes.len());
        let process = &processes[of];
        match random.u8(..8) {
            0 => drop(process.clock.pass(random.u64(..6_000))),
            1 if random.u8(..8) == 0 => {
                let jump = random.u64(..60_000);
                let now_ms = process.clock.now_ms();
                let jumped = if random.bool() { now_ms + jump } else { now_ms - jump.min(now_ms) };
                process.clock.now_ms.store(jumped, Ordering::Relaxed);
            }
            1..=3 => {
                let some: Vec<_> = processes.iter().filter(|_| random.bool()).collect();
                work_together(random, &some);
            }
            4..=5 => under_way.extend(begin(process, random.u8(..20)).map(|commit| (of, commit))),
            _ if !under_way.is_empty() => finish(under_way.swap_remove(random.usize(..under_way.len()))),
            _ => {}
        }
    }
    under_way.into_iter().for_each(&mut finish);
    committed
}

#[test]
fn in_a_store_of_one_process_the_lowest_stamp_in_flight_is_settled() {
    let process = Process::open(&MemoryStore::new(), 1, 1_000);
    let settled = |now_ms| process.engine.settled_before(now_ms);
    let [first, second] = [0, 1].map(|row| begin(&process, row).expect("it has nobody to join"));
    assert_eq!(settled(2_000), first.drawn.stamp());
    let later = second.drawn.stamp();
    end(&process, first).expect("it commits");
    assert_eq!(settled(2_000), later);
    end(&process, second).expect("it commits");
    assert_eq!(settled(2_000), Stamp::first_of(2_000));
}

#[test]
fn a_process_that_was_taken_for_dead_joins_above_the_settled_stamp() {
    let store = MemoryStore::shared();
    let (ahead, paused) = (Process::open(&store, 1, 1_000_000), Process::open(&store, 2, 970_000));
    for _ in 0..10 {
        ahead.clock.pass(1_000);
        paused.clock.pass(1_000);
        ahead.work();
        paused.work();
    }
    let held_back = settled(std::slice::from_ref(&ahead));
    assert!(held_back.ms() < 1_005_000, "the slower clock holds the settled stamp back");
    for _ in 0..80 {
        ahead.clock.pass(1_000);
        ahead.work();
    }
    let settled = settled(std::slice::from_ref(&ahead));
    assert!(settled.ms() > 1_080_000, "the silent process holds nothing back any more");
    paused.clock.pass(80_000);
    assert!(begin(&paused, 0).is_none(), "it has not joined again");
    paused.work();
    let begun = begin(&paused, 0).expect("it has joined");
    assert!(begun.drawn.stamp() >= settled && paused.clock.now_ms() < settled.ms());
}

#[test]
fn a_token_is_kept_until_it_has_expired_on_the_clock_of_every_process() {
    let store = MemoryStore::shared();
    let processes = [Process::open(&store, 1, 1_000_000), Process::open(&store, 2, 1_000_000)];
    let create = create_request(TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() });
    let run = |process: &Process<MemoryStore>, request| {
        block_on(process.engine.execute(&caller(), request)).expect("it is accepted")
    };
    run(&processes[0], Request::CreateTable(Box::new(create)));
    let pass = |ms: u64| {
        for _ in 0..ms / 500 {
            for process in &processes {
                block_on(process.engine.step(process.clock.pass(500)));
            }
        }
    };
    pass(5_000);
    // The one that sweeps tokens is 50 seconds ahead.
    let (sweeping, other) = if processes[0].engine.owns(TableId(0)) {
        (&processes[0], &processes[1])
    } else {
        (&processes[1], &processes[0])
    };
    sweeping.clock.pass(50_000);
    pass(5_000);
    let add = || {
        let update = update("ADD n :one", [(":one", n(1))]);
        let mut request =
            transaction(vec![act(TransactAction::Update { key: item([("pk", s("a"))]), update })]);
        request.token = Some(RequestToken { token: "once".into(), fingerprint: Fingerprint([7; 32]) });
        request.capacity = ReturnConsumedCapacity::None;
        Request::TransactWriteItems(request)
    };
    run(other, add());
    // Ten minutes have passed on the one clock, and not on the other.
    pass(590_000);
    sweeping.engine.token_sweep().store(0, Ordering::Relaxed);
    pass(2_000);
    run(other, add());
    let Response::GetItem(read) = run(other, Request::GetItem(get_request(item([("pk", s("a"))])))) else {
        panic!("a get is answered by its output")
    };
    let counted = read.item.expect("it is there").decode().remove("n");
    assert_eq!(counted, Some(AttributeValue::from(1)), "the second request is the first one again");
}
