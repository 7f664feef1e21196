//! History where several processes, whose clocks differ, write one table.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::Request;
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::history::{START_MS, State, as_of, enable, present, table, write};
use super::stamps::Process;
use crate::catalogue::{Table, known_records};
use crate::history::versions::versions;
use crate::state::members::MemberId;
use crate::support::layout::Space;
use crate::support::member_row::{Knows, MemberRow};
use crate::support::stamp::Stamp;

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
        let store = FlakyStore::shared();
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
        let store = MemoryStore::shared();
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
