//! History where several processes, whose clocks differ, write one table.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::Request;
use keywright_store::faulty::{Faults, FaultyStore};
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::history::{START_MS, State, as_of, enable, present, table, write};
use super::stamps::Process;
use crate::background::members;
use crate::catalogue::{Table, known_records};
use crate::history::versions::versions;
use crate::support::layout::Space;
use crate::support::member_row::{Knows, MemberId, MemberRow};
use crate::support::stamp::Stamp;
use crate::{BackupWish, DueBackup};

/// Processes over one store, with a table whose history is on.
fn processes<S: Store>(store: &S, clocks_ms: &[u64]) -> Vec<Process<S>> {
    let open = |(number, now_ms): (u64, &u64)| Process::open(store, number, *now_ms);
    let processes: Vec<_> = (1..).zip(clocks_ms).map(open).collect();
    let create = Request::CreateTable(Box::new(create_request(schema())));
    block_on(processes[0].engine.execute(&caller(), create)).expect("it is new");
    enable(&processes[0].engine, 35);
    for process in &processes {
        block_on(process.engine.catalogue().follow(process.clock.pass(1))).expect("it is read");
    }
    processes
}

/// Whether the writers of a random test have slots.
const fn has_slots(seed: u64) -> bool {
    seed % 2 == 1
}

fn store_of(seed: u64) -> MemoryStore {
    let store = MemoryStore::shared();
    if has_slots(seed) { store.with_exclusive_protection() } else { store }
}

/// The values that each item had, in the order of the commits.
#[derive(Default)]
struct Seen(BTreeMap<Bytes, Vec<Option<Bytes>>>);

impl Seen {
    fn note(&mut self, before: &State, after: &State) {
        for within in before.keys().chain(after.keys()) {
            let value = after.get(within).cloned();
            let values = self.0.entry(within.clone()).or_insert_with(|| vec![before.get(within).cloned()]);
            if values.last() != Some(&value) {
                values.push(value);
            }
        }
    }
}

#[test]
fn versions_of_an_item_are_in_the_order_of_its_commits_though_clocks_differ() {
    for seed in seeds(15) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = if has_slots(seed) { FlakyStore::exclusive() } else { FlakyStore::shared() };
        let processes = processes(&store, &[START_MS, START_MS + 40_000, START_MS - 15_000]);
        let mut seen = Seen::default();
        let mut last = present(&processes[0].engine);
        for _ in 0..80 {
            if random.u8(..8) == 0 {
                let fates = [Fate::Conflict, Fate::UnknownWritten, Fate::UnknownLost];
                store.next(&[fates[random.usize(..fates.len())]]);
            }
            let process = &processes[random.usize(..processes.len())];
            process.clock.pass(random.u64(..100));
            write(&process.engine, &mut random);
            let now = present(&process.engine);
            seen.note(&last, &now);
            last = now;
        }
        let engine = &processes[0].engine;
        let view = block_on(engine.store().snapshot()).expect("a view");
        for (within, values) in &seen.0 {
            let table = table(engine);
            let (all, _) = block_on(versions(&view, &table, within, (None, usize::MAX))).expect("versions");
            let mut found: Vec<Option<Bytes>> = all.into_iter().rev().map(|version| version.value).collect();
            // An unknown outcome that was tried again writes an item twice.
            found.dedup();
            assert_eq!(&found, values, "seed {seed}");
        }
    }
}

#[test]
fn a_table_as_of_the_settled_stamp_stays_as_it_was() {
    for seed in seeds(10) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = store_of(seed);
        let processes = processes(&store, &[START_MS, START_MS + 40_000, START_MS - 15_000]);
        let mut cuts: Vec<(Stamp, State)> = Vec::new();
        for _ in 0..60 {
            let process = &processes[random.usize(..processes.len())];
            write(&process.engine, &mut random);
            for process in &processes {
                let now_ms = process.clock.pass(700);
                block_on(process.engine.step(now_ms));
            }
            let settled = processes[0].engine.settled_before(process.clock.pass(0));
            if settled >= table(&processes[0].engine).history.since() {
                cuts.push((settled, as_of(&processes[0].engine, settled)));
            }
        }
        assert!(cuts.len() > 20, "seed {seed}: stamps settle");
        for (cut, state) in &cuts {
            assert_eq!(as_of(&processes[1].engine, *cut), *state, "seed {seed}");
        }
        // In the end everything is settled.
        for _ in 0..60 {
            for process in &processes {
                let now_ms = process.clock.pass(1_500);
                block_on(process.engine.step(now_ms));
            }
        }
        let engine = &processes[2].engine;
        assert_eq!(as_of(engine, engine.settled_before(0)), present(engine), "seed {seed}");
    }
}

#[test]
fn history_waits_for_processes_of_a_release_that_would_write_no_undo_rows() {
    let store = MemoryStore::shared();
    let process = Process::open(&store, 1, START_MS);
    let create = Request::CreateTable(Box::new(create_request(schema())));
    block_on(process.engine.execute(&caller(), create)).expect("it is new");
    let older = MemberId(77).row_key(Space::Members);
    let knows = Knows { format: 3, sections: known_records().sections };
    let mut txn = block_on(store.begin()).expect("begin");
    txn.put(older.clone(), MemberRow { beat: 1, knows }.encode());
    block_on(txn.commit()).expect("commit");
    let on = |table: &mut Table| {
        table.history.enable_recovery(START_MS, 35, Stamp::first_of(START_MS));
        Ok(())
    };
    let id = table(&process.engine).id;
    let refused = block_on(process.engine.catalogue().change(id, on)).expect_err("an older process lives");
    assert_eq!(refused.kind, ErrorKind::ContinuousBackupsUnavailable);
    let text = "Backups are being enabled for the table: t. Please retry later";
    assert!(refused.to_string().ends_with(text), "{refused}");
    let mut txn = block_on(store.begin()).expect("begin");
    txn.delete(older);
    block_on(txn.commit()).expect("commit");
    block_on(process.engine.catalogue().change(id, on)).expect("it is gone");
}

/// The stamp as of which this process backs up the table.
fn cut<S: Store>(process: &Process<S>) -> Stamp {
    let wish = BackupWish { table: TABLE.to_owned(), name: "cut".to_owned(), expires_ms: None };
    let made = block_on(process.engine.back_up(&namespace(), &[wish])).expect("it is backed up");
    let (table, id) = (table(&process.engine), &made[0].id);
    let hold = table.history.holds().iter().find(|hold| hold.owner == *id);
    hold.expect("the backup holds the history").stamp
}

fn put<S: Store>(process: &Process<S>, name: &str) {
    let request = put_request(item([("pk", s(name)), ("sk", s(name))]));
    block_on(process.engine.execute(&caller(), Request::PutItem(Box::new(request)))).expect("it is written");
}

#[test]
fn a_backup_has_what_a_process_with_a_clock_ahead_has_answered_however_short_it_is_there() {
    let store = MemoryStore::shared();
    let processes = processes(&store, &[START_MS]);
    let behind = &processes[0];
    let joined = Process::open(&store, 2, START_MS + 50_000);
    put(&joined, "of one that the other does not know yet");
    let (first, before) = (cut(behind), present(&behind.engine));
    put(behind, "later");
    joined.clock.pass(5_000);
    put(&joined, "of one that is late with its sign of life");
    block_on(members::leave(&joined.engine)).expect("it says goodbye");
    let (second, after) = (cut(behind), present(&behind.engine));
    put(behind, "last");
    assert_eq!((before.len(), after.len()), (1, 3));
    assert_eq!(as_of(&behind.engine, first), before);
    assert_eq!(as_of(&behind.engine, second), after);
}

#[test]
fn backups_are_as_the_table_was_while_processes_with_other_clocks_come_and_go() {
    for seed in seeds(10) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = store_of(seed);
        let mut processes = processes(&store, &[START_MS, START_MS + 40_000, START_MS - 15_000]);
        let mut opened = 3;
        let mut cuts: Vec<(Stamp, State)> = Vec::new();
        for _ in 0..60 {
            let process = &processes[random.usize(..processes.len())];
            process.clock.pass(random.u64(..1_000));
            match random.u8(..10) {
                0 => {
                    opened += 1;
                    let now_ms = START_MS + random.u64(..60_000);
                    processes.push(Process::open(&store, opened, now_ms));
                }
                1 if processes.len() > 2 => {
                    let gone = processes.swap_remove(random.usize(..processes.len()));
                    if random.bool() {
                        block_on(members::leave(&gone.engine)).expect("it says goodbye");
                    }
                }
                2 => {
                    // Those that died are forgotten.
                    for _ in 0..45 {
                        for process in &processes {
                            process.clock.pass(1_500);
                            process.work();
                        }
                    }
                }
                3..=5 => cuts.push((cut(process), present(&process.engine))),
                _ => write(&process.engine, &mut random),
            }
        }
        assert!(cuts.len() > 5, "seed {seed}");
        for (cut, state) in &cuts {
            assert_eq!(as_of(&processes[0].engine, *cut), *state, "seed {seed}");
        }
    }
}

#[test]
fn two_processes_that_both_take_a_table_for_their_own_make_one_backup_when_it_is_due() {
    let mut both_owned = 0;
    for seed in seeds(30) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = FaultyStore::shared(seed, Faults::NONE);
        let one = Process::open(&store, seed * 2 + 1, START_MS);
        let create = Request::CreateTable(Box::new(create_request(schema())));
        block_on(one.engine.execute(&caller(), create)).expect("it is new");
        // The first process does not know of it yet.
        let other = Process::open(&store, seed * 2 + 2, START_MS);
        both_owned += u32::from(other.engine.owns(table(&other.engine).id));
        let due_ms = one.clock.pass(1_000);
        other.clock.pass(1_000);
        let due = || DueBackup {
            place: None,
            wish: BackupWish { table: TABLE.to_owned(), name: "due-1".to_owned(), expires_ms: None },
            prefix: "due-".to_owned(),
            due_ms,
        };
        store.set_faults(Faults { yield_per_mille: 500, ..Faults::NONE });
        let mut context = Context::from_waker(Waker::noop());
        let mut both: Vec<_> = [&one, &other]
            .map(|process| {
                let (engine, due) = (process.engine.clone(), due());
                Box::pin(async move { engine.back_up_if_due(&due).await.map(|made| made.len()) })
            })
            .into();
        let mut made = 0;
        while !both.is_empty() {
            let place = random.usize(..both.len());
            if let Poll::Ready(ended) = both[place].as_mut().poll(&mut context) {
                made += ended.expect("it is made or not due");
                drop(both.swap_remove(place));
            }
        }
        assert_eq!(made, 1, "seed {seed}");
    }
    assert!(both_owned > 5, "both take it for their own at times: {both_owned}");
}

#[test]
fn a_due_backup_of_a_table_whose_owner_has_died_is_made_by_another_process_within_ten_seconds() {
    let store = MemoryStore::shared();
    let processes = processes(&store, &[START_MS, START_MS]);
    let pass = |process: &Process<MemoryStore>| block_on(process.engine.step(process.clock.pass(500)));
    for _ in 0..10 {
        for process in &processes {
            let _wake = pass(process);
        }
    }
    let id = table(&processes[0].engine).id;
    let [left, owner] = [false, true].map(|owns| {
        processes.iter().find(|process| process.engine.owns(id) == owns).expect("it has one owner")
    });
    let due_ms = owner.clock.pass(0);
    let due = DueBackup {
        place: None,
        wish: BackupWish { table: TABLE.to_owned(), name: "due-1".to_owned(), expires_ms: None },
        prefix: "due-".to_owned(),
        due_ms,
    };
    let mut made = Vec::new();
    while made.is_empty() {
        let _wake = pass(left);
        assert!(left.clock.pass(0) < due_ms + 10_000, "nobody makes it");
        made = block_on(left.engine.back_up_if_due(&due)).expect("it is made or not due");
    }
    // The first one was only paused.
    owner.clock.pass(10_000);
    assert_eq!(block_on(owner.engine.back_up_if_due(&due)).expect("it is not due"), []);
}
