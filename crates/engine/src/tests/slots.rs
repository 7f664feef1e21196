//! Writers with slots, in a store where commits that protect one row conflict: they leave each other alone,
//! and no change of their table is missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use keywright_semantics::capacity::Usage;
use keywright_semantics::error::Error;
use keywright_semantics::request::update_table::IndexUpdate;
use keywright_semantics::request::{DeleteTable, Request};
use keywright_semantics::response::Response;
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::throttle::{Direction, Limit};
use keywright_store::faulty::{Faults, FaultyStore};
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::flaky_store::FlakyStore;
use super::harness::*;
use super::history::{START_MS, enable};
use super::stamps::{OwnClock, Process};
use super::tables::new_index;
use crate::background::members;
use crate::catalogue::{format_key, known_records, slots_of_members};
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::layout::{Space, prefix_range};
use crate::support::member_row::{Knows, MemberId, MemberRow};
use crate::support::observer::Observer;
use crate::support::rows::each_row;
use crate::{Engine, Guarding};

fn plain() -> TableSchema {
    TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() }
}

fn run<S: Store>(engine: &Engine<S>, request: Request) -> Result<Response, Error> {
    block_on(engine.execute(&caller(), request))
}

fn put_of(pk: &str) -> Request {
    Request::PutItem(Box::new(put_request(item([("pk", s(pk)), ("g", n(1))]))))
}

fn put<S: Store>(process: &Process<S>, pk: &str) {
    run(&process.engine, put_of(pk)).expect("it is written");
}

fn add_index() -> Request {
    index_request(IndexUpdate::Create(new_index("by-g", "g")))
}

/// Processes over one store, with a table.
fn processes<S: Store>(store: &S, count: u64) -> Vec<Process<S>> {
    let processes: Vec<_> = (1..=count).map(|number| Process::open(store, number, START_MS)).collect();
    run(&processes[0].engine, Request::CreateTable(Box::new(create_request(plain())))).expect("it is new");
    processes
}

fn count_of<S: Store>(store: &S, space: Space) -> usize {
    let mut count = 0;
    block_on(async {
        let view = store.snapshot().await.expect("a view");
        each_row(&view, prefix_range(vec![space.byte()]), |_| count += 1).await.expect("it reads");
    });
    count
}

fn slots_of<S: Store>(store: &S, member: MemberId) -> usize {
    block_on(async {
        let view = store.snapshot().await.expect("a view");
        slots_of_members(&view, &[member], usize::MAX).await.expect("it reads").len()
    })
}

fn format_of<S: Store>(store: &S) -> Option<u8> {
    block_on(store.get(&format_key())).expect("it reads").map(|row| row[0])
}

/// The first tries of commits of items that were written, and all of them.
fn written(store: &FlakyStore) -> (usize, usize) {
    let commits = store.take_commits();
    (commits.iter().filter(|commit| commit.is_written).count(), commits.len())
}

#[test]
fn writers_of_a_table_leave_each_other_alone_in_one_process_and_in_several() {
    for history in [false, true] {
        for own in [true, false] {
            let store = FlakyStore::exclusive();
            let processes = processes(&store, 2);
            if history {
                enable(&processes[0].engine, 35);
            }
            for process in &processes {
                put(process, "warm");
            }
            store.take_commits();
            let other = processes[usize::from(!own)].engine.clone();
            store.before_next_rows(move || drop(run(&other, put_of("b")).expect("it is written")));
            put(&processes[0], "a");
            assert_eq!(written(&store), (2, 2), "history: {history}, in one process: {own}");
        }
    }
}

#[test]
fn writers_that_protect_the_record_conflict_in_such_a_store() {
    let store = FlakyStore::exclusive();
    let processes = processes(&store, 2);
    join_older(&store);
    for process in &processes {
        put(process, "warm");
    }
    store.take_commits();
    let other = processes[1].engine.clone();
    store.before_next_rows(move || drop(run(&other, put_of("b")).expect("it is written")));
    put(&processes[0], "a");
    assert_eq!(written(&store), (2, 3), "the first try meets the other commit");
}

/// A process of a release before slots.
fn join_older<S: Store>(store: &S) {
    let mut txn = block_on(store.begin()).expect("a transaction");
    let knows = Knows { format: 6, sections: known_records().sections };
    txn.put(MemberId(77).row_key(Space::Members), MemberRow { beat: 1, knows }.encode());
    block_on(txn.commit()).expect("it commits");
}

#[test]
fn no_slots_are_registered_before_all_processes_know_them() {
    let store = MemoryStore::shared().with_exclusive_protection();
    let processes = processes(&store, 1);
    join_older(&store);
    put(&processes[0], "a");
    assert_eq!((count_of(&store, Space::Slots), format_of(&store)), (0, Some(3)));
    // It is forgotten after a minute.
    for _ in 0..70 {
        let now_ms = processes[0].clock.pass(1_000);
        block_on(processes[0].engine.step(now_ms));
    }
    put(&processes[0], "b");
    assert!(count_of(&store, Space::Slots) > 1);
    assert_eq!(format_of(&store), Some(7), "an older release does not open the store any more");
}

#[test]
fn stores_that_share_protection_have_no_slots_unless_a_test_wants_them() {
    for (guarding, has_slots) in [(Guarding::ByStore, false), (Guarding::Slots, true)] {
        let store = MemoryStore::shared();
        let config = EngineConfig { guarding, ..EngineConfig::default() };
        let bench = bench_with(store.clone(), config, create_request(plain()));
        bench.put(item([("pk", s("a"))])).expect("it is written");
        assert_eq!(count_of(&store, Space::Slots) > 0, has_slots, "{guarding:?}");
    }
}

/// Lets the first process see that the others are gone.
fn count_out<S: Store>(left: &Process<S>) {
    for _ in 0..50 {
        left.clock.pass(1_500);
        left.work();
    }
}

#[test]
fn a_process_that_is_counted_out_loses_its_slots_and_its_late_commit_conflicts() {
    for changes in [false, true] {
        for history in [false, true] {
            let store = FlakyStore::exclusive();
            let [left, paused]: [_; 2] = processes(&store, 2).try_into().ok().expect("two");
            if history {
                enable(&left.engine, 35);
            }
            put(&left, "b");
            put(&paused, "c");
            let member = paused.engine.members().own();
            assert!(slots_of(&store, member) > 0);
            store.take_commits();
            let (inner, meanwhile) = (store.clone(), left.engine.clone());
            let (clock, woken) = (Arc::clone(&left.clock), paused.engine.clone());
            let paused_clock = Arc::clone(&paused.clock);
            store.before_next_rows(move || {
                let left = Process { engine: meanwhile, clock };
                count_out(&left);
                assert_eq!(slots_of(&inner, member), 0);
                if changes {
                    run(&left.engine, add_index()).expect("it is accepted");
                }
                // It joins again before its late commit.
                paused_clock.pass(60_000);
                block_on(members::step(&woken, paused_clock.now_ms())).expect("it joins");
            });
            put(&paused, "late");
            let commits = store.take_commits();
            let ends: Vec<bool> = commits.iter().map(|commit| commit.is_written).collect();
            assert_eq!(ends, [false, true], "changes: {changes}, history: {history}");
            let has_entry = commits[1].spaces.contains("index entries");
            assert_eq!(has_entry, changes, "it was bound anew");
            assert_eq!(commits[1].spaces.contains("history"), history);
            assert!(slots_of(&store, member) > 0, "it has registered anew");
        }
    }
}

#[test]
fn a_writer_that_begins_after_its_process_was_counted_out_is_right_too() {
    let store = FlakyStore::exclusive();
    let [left, paused]: [_; 2] = processes(&store, 2).try_into().ok().expect("two");
    put(&paused, "c");
    count_out(&left);
    // It has not joined again, so it protects the record.
    put(&paused, "a");
    assert_eq!(slots_of(&store, paused.engine.members().own()), 0);
    run(&left.engine, add_index()).expect("it is accepted");
    store.take_commits();
    put(&paused, "b");
    assert!(store.take_commits().last().expect("a commit").spaces.contains("index entries"));
}

#[test]
fn slots_go_with_their_process_and_with_their_table() {
    let store = MemoryStore::shared().with_exclusive_protection();
    let processes = processes(&store, 2);
    for process in &processes {
        put(process, "a");
    }
    let [stays, leaves] = [0, 1].map(|place| processes[place].engine.members().own());
    assert!(slots_of(&store, stays) > 0 && slots_of(&store, leaves) > 0);
    block_on(members::leave(&processes[1].engine)).expect("it says goodbye");
    assert_eq!(slots_of(&store, leaves), 0);
    assert!(slots_of(&store, stays) > 0);
    run(&processes[0].engine, Request::DeleteTable(DeleteTable { table: table_ref() })).expect("it is there");
    for _ in 0..20 {
        let now_ms = processes[0].clock.pass(1_000);
        block_on(processes[0].engine.step(now_ms));
    }
    assert_eq!(count_of(&store, Space::Slots), 0);
}

#[test]
fn a_change_comes_through_while_writers_of_two_processes_write_all_the_time() {
    for seed in seeds(5) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = FaultyStore::exclusive(seed, Faults::NONE);
        let processes = processes(&store, 2);
        for process in &processes {
            put(process, "warm");
        }
        store.set_faults(Faults { yield_per_mille: 600, ..Faults::NONE });
        let is_over = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU64::new(0));
        let writer = |number: usize| {
            let engine = processes[number % 2].engine.clone();
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
            Box::pin(async move {
                for step in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let put = put_of(&format!("w{number}-{step}"));
                    engine.execute(&caller(), put).await.expect("it is written");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let mut writers: Vec<_> = (0..6).map(writer).collect();
        let changer = processes[0].engine.clone();
        let mut change = Box::pin(async move { changer.execute(&caller(), add_index()).await });
        let mut context = Context::from_waker(Waker::noop());
        let mut polls = 0;
        loop {
            polls += 1;
            assert!(polls < 200_000, "seed {seed}: the change does not come through");
            let place = random.usize(..=writers.len());
            match writers.get_mut(place) {
                Some(writer) => assert!(writer.as_mut().poll(&mut context).is_pending()),
                None => {
                    if let Poll::Ready(changed) = change.as_mut().poll(&mut context) {
                        changed.expect("it is changed");
                        break;
                    }
                }
            }
        }
        let during = answered.load(Ordering::Relaxed);
        // The writers go on, with the index.
        while answered.load(Ordering::Relaxed) < during + 50 {
            polls += 1;
            assert!(polls < 400_000, "seed {seed}: the writers stand still");
            let place = random.usize(..writers.len());
            assert!(writers[place].as_mut().poll(&mut context).is_pending());
        }
        is_over.store(true, Ordering::Relaxed);
        store.set_faults(Faults::NONE);
        while !writers.is_empty() {
            let place = random.usize(..writers.len());
            if writers[place].as_mut().poll(&mut context).is_ready() {
                drop(writers.swap_remove(place));
            }
        }
        for _ in 0..50 {
            for process in &processes {
                let now_ms = process.clock.pass(500);
                block_on(process.engine.step(now_ms));
            }
        }
        let entries = count_of(&store, Space::IndexEntries);
        assert_eq!(entries, count_of(&store, Space::Items), "seed {seed}: the index equals the table");
    }
}

/// Counts commits that met another one.
#[derive(Debug, Default)]
struct Conflicts(AtomicU64);

impl Observer for Conflicts {
    fn charged(&self, _: Usage) {}

    fn conflicted(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn throttled(&self, _: Limit, _: Direction) {}
}

const WRITERS: usize = 6;
const WRITES: u64 = 40;

/// Three processes write different items of one table, whose commits overlap; returns how many commits met
/// another one.
fn conflicts_of_writers(store: &FaultyStore, has_older: bool) -> u64 {
    let mut random = fastrand::Rng::with_seed(7);
    let conflicts = Arc::new(Conflicts::default());
    let open = |number| {
        let config =
            EngineConfig { observer: Arc::<Conflicts>::clone(&conflicts), ..EngineConfig::default() };
        let env: Arc<dyn Env> = OwnClock::new(number, START_MS);
        block_on(Engine::open(store.clone(), env, config)).expect("the store opens")
    };
    let engines = [1, 2, 3].map(open);
    run(&engines[0], Request::CreateTable(Box::new(create_request(plain())))).expect("it is new");
    if has_older {
        join_older(store);
    }
    for engine in &engines {
        run(engine, put_of("warm")).expect("it is written");
    }
    let before = conflicts.0.load(Ordering::Relaxed);
    store.set_faults(Faults { yield_per_mille: 500, ..Faults::NONE });
    let mut context = Context::from_waker(Waker::noop());
    let mut writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let engine = engines[writer % engines.len()].clone();
            Box::pin(async move {
                for number in 0..WRITES {
                    let put = put_of(&format!("{writer}-{number}"));
                    engine.execute(&caller(), put).await.expect("it is written at last");
                }
            })
        })
        .collect();
    while !writers.is_empty() {
        let place = random.usize(..writers.len());
        if writers[place].as_mut().poll(&mut context).is_ready() {
            drop(writers.swap_remove(place));
        }
    }
    conflicts.0.load(Ordering::Relaxed) - before
}

#[test]
fn writers_of_three_processes_conflict_without_slots_and_not_with_them() {
    let found = [true, false]
        .map(|has_older| conflicts_of_writers(&FaultyStore::exclusive(1, Faults::NONE), has_older));
    let writes = WRITES * 6;
    println!("conflicts of {writes} writes without slots and with them: {found:?}");
    assert!(found[0] > writes / 2, "{found:?}");
    assert_eq!(found[1], 0);
}

#[test]
fn a_slot_that_a_change_left_closed_is_opened_again() {
    let store = MemoryStore::shared().with_exclusive_protection();
    let processes = processes(&store, 1);
    put(&processes[0], "a");
    // As a process leaves them that dies between the closing and its change.
    let mut rows = Vec::new();
    block_on(async {
        let view = store.snapshot().await.expect("a view");
        let range = prefix_range(vec![Space::Slots.byte()]);
        each_row(&view, range, |row| rows.push((row.key.clone(), row.value.clone())))
            .await
            .expect("it reads");
    });
    let mut txn = block_on(store.begin()).expect("a transaction");
    for (key, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        txn.put(key, Bytes::from([&[2][..], &value[1..]].concat()));
    }
    block_on(txn.commit()).expect("it commits");
    for number in 0..20 {
        put(&processes[0], &format!("b{number}"));
    }
    assert_eq!(count_of(&store, Space::Items), 21);
}
