//! A table as of any stamp equals a model that kept every state: with conflicts, commits of unknown outcome,
//! clocks that go back, restarts, transactions and expiry.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::request::Request;
use keywright_semantics::request::transact_write_items::TransactAction;
use keywright_semantics::value::Item;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::transactions::{act, transaction};
use crate::catalogue::Table;
use crate::history::as_of::AsOf;
use crate::history::bound;
use crate::history::merge::Part;
use crate::history::versions::versions;
use crate::history::window::Window;
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::layout::items_prefix;
use crate::support::rows::Budget;
use crate::support::stamp::{DAY_MS, Stamp};

pub(super) type State = BTreeMap<Bytes, Bytes>;

pub(super) const START_MS: u64 = 1_800_000_000_000;
const SMALL: Budget = Budget { rows_max: 3, bytes_max: 1_000_000 };

pub(super) fn table<S: Store>(engine: &Engine<S>) -> Arc<Table> {
    engine.catalogue().find(&namespace(), TABLE).expect("the table exists")
}

pub(super) fn enable<S: Store>(engine: &Engine<S>, period_days: u8) {
    let now_ms = engine.env().now_ms();
    let change = |table: &mut Table| {
        table.history.enable_recovery(now_ms, period_days, engine.stamps().beginning(now_ms));
        Ok(())
    };
    block_on(engine.catalogue().change(table(engine).id, change)).expect("it is enabled");
}

/// The present items, by their keys within the table.
pub(super) fn present<S: Store>(engine: &Engine<S>) -> State {
    let prefix = items_prefix(table(engine).id);
    let range = crate::support::layout::prefix_range(prefix.clone());
    let view = block_on(engine.store().snapshot()).expect("a view");
    let mut state = State::new();
    let all = crate::support::rows::each_row(&view, range, |entry| {
        state.insert(entry.key.slice(prefix.len()..), entry.value.clone());
    });
    block_on(all).expect("it is read");
    state
}

/// The table as of a stamp, read in small pages, each in a view of its own.
pub(super) fn as_of<S: Store>(engine: &Engine<S>, at: Stamp) -> State {
    let as_of = AsOf::of(&table(engine), at).expect("the history reaches back to it");
    let mut state = State::new();
    let mut part = Part::default();
    loop {
        let view = block_on(engine.store().snapshot()).expect("a view");
        let page = block_on(as_of.page(&view, &part, SMALL)).expect("a page");
        assert!(page.items.is_sorted_by(|one, next| one.within < next.within));
        for item in page.items {
            let single = block_on(as_of.item(&view, &item.within)).expect("an item");
            assert_eq!(single.as_ref(), Some(&item.value), "one item is read as in the page");
            assert!(state.insert(item.within, item.value).is_none(), "each item once");
        }
        let Some(next) = page.next else { return state };
        part.start = next;
    }
}

pub(super) fn random_item(random: &mut fastrand::Rng) -> Item {
    let (pk, sk) = (random.u8(..4).to_string(), random.u8(..4).to_string());
    item([("pk", s(&pk)), ("sk", s(&sk)), ("v", n(random.i64(..))), ("g", s(&random.u8(..3).to_string()))])
}

fn key_of(item: &Item) -> Item {
    let is_key = |name: &str| matches!(name, "pk" | "sk");
    item.iter().filter(|(name, _)| is_key(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// One random write; it may fail.
pub(super) fn write<S: Store>(engine: &Engine<S>, random: &mut fastrand::Rng) {
    let given = random_item(random);
    let request = match random.u8(..4) {
        0 => Request::PutItem(Box::new(put_request(given))),
        1 => Request::DeleteItem(Box::new(delete_request(key_of(&given)))),
        _ => {
            let mut actions = BTreeMap::new();
            for _ in 0..random.usize(1..5) {
                let item = random_item(random);
                let action = if random.bool() {
                    TransactAction::Put { item: item.clone() }
                } else {
                    TransactAction::Delete { key: key_of(&item) }
                };
                actions.insert(format!("{:?}", key_of(&item)), act(action));
            }
            Request::TransactWriteItems(transaction(actions.into_values().collect()))
        }
    };
    let _may_conflict = block_on(engine.execute(&caller(), request));
}

fn open<S: Store>(store: S, env: &Arc<TestEnv>) -> Engine<S> {
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(env);
    block_on(Engine::open(store, env, EngineConfig::default())).expect("it opens")
}

#[test]
fn a_table_as_of_any_stamp_is_what_it_was_then() {
    for seed in seeds(25) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = FlakyStore::default();
        let Bench { mut engine, env } = bench_on(store.clone(), schema(), u64::MAX);
        env.now_ms.store(START_MS, Ordering::Relaxed);
        for _ in 0..random.usize(..10) {
            write(&engine, &mut random);
        }
        enable(&engine, 35);
        let mut kept: Vec<(Stamp, State)> = Vec::new();
        let mut last = present(&engine);
        for _ in 0..60 {
            match random.u8(..12) {
                // Hours forth, minutes back.
                0 => drop(env.now_ms.fetch_add(random.u64(..40_000_000), Ordering::Relaxed)),
                1 => drop(env.now_ms.fetch_sub(random.u64(..200_000), Ordering::Relaxed)),
                2 => {
                    drop(engine);
                    engine = open(store.clone(), &env);
                }
                3 => {
                    let fates = [Fate::Conflict, Fate::UnknownWritten, Fate::UnknownLost];
                    store.next(&[fates[random.usize(..fates.len())]]);
                }
                _ => {}
            }
            write(&engine, &mut random);
            // A stamp that no commit has drawn is forgotten at a restart.
            let state = present(&engine);
            if state != last {
                kept.push((engine.settled_before(engine.env().now_ms()), state.clone()));
                last = state;
            }
        }
        assert!(kept.is_sorted_by_key(|(stamp, _)| *stamp), "{seed}: settled stamps rise");
        for (stamp, state) in &kept {
            assert_eq!(as_of(&engine, *stamp), *state, "seed {seed}, {stamp:?}");
        }
        check_windows(&engine, &kept, &mut random);
        check_versions(&engine, &kept);
    }
}

/// What changed between two stamps is the difference of the states, and perhaps items that are as they were.
fn check_windows<S: Store>(engine: &Engine<S>, kept: &[(Stamp, State)], random: &mut fastrand::Rng) {
    for _ in 0..10 {
        let (from, to) = (random.usize(..kept.len()), random.usize(..kept.len()));
        let ((from, old), (to, new)) = (&kept[from.min(to)], &kept[from.max(to)]);
        let window = Window::of(&table(engine), *from, *to).expect("the history reaches back to it");
        let mut part = Part::default();
        let mut replayed = old.clone();
        loop {
            let view = block_on(engine.store().snapshot()).expect("a view");
            let page = block_on(window.page(&view, &part, SMALL)).expect("a page");
            for changed in page.items {
                assert!(changed.first >= *from && changed.first <= changed.last && changed.last < *to);
                assert_eq!(changed.old.as_ref(), old.get(&changed.within));
                match changed.new {
                    Some(value) => drop(replayed.insert(changed.within, value)),
                    None => drop(replayed.remove(&changed.within)),
                }
            }
            let Some(next) = page.next else { break };
            part.start = next;
        }
        assert_eq!(replayed, *new);
    }
}

/// Each state shows the newest version that was made before it.
fn check_versions<S: Store>(engine: &Engine<S>, kept: &[(Stamp, State)]) {
    let items: std::collections::BTreeSet<&Bytes> = kept.iter().flat_map(|(_, state)| state.keys()).collect();
    let view = block_on(engine.store().snapshot()).expect("a view");
    for within in items {
        let all = block_on(versions(&view, &table(engine), within, (None, usize::MAX))).expect("versions");
        let (all, has_more) = all;
        assert!(
            !has_more && all.is_sorted_by_key(|version| std::cmp::Reverse(version.made.map(|made| made.0)))
        );
        for (stamp, state) in kept {
            let then = all.iter().find(|version| version.made.is_none_or(|(made, _)| made < *stamp));
            assert_eq!(then.and_then(|version| version.value.as_ref()), state.get(within), "{stamp:?}");
            let (older, _) =
                block_on(versions(&view, &table(engine), within, (Some(*stamp), 1))).expect("versions");
            assert_eq!(older.first(), then, "the newest version before a stamp");
        }
    }
}

#[test]
fn a_cut_splits_no_transaction_of_two_tables() {
    let Bench { engine, env } = bench();
    env.now_ms.store(START_MS, Ordering::Relaxed);
    enable(&engine, 35);
    let put = |sk: &str, v: i64| {
        act(TransactAction::Put { item: item([("pk", s("a")), ("sk", s(sk)), ("v", n(v))]) })
    };
    let mut cuts = Vec::new();
    for round in 0..20 {
        // All within one millisecond.
        let writes = vec![put("one", round), put("two", -round)];
        let request = Request::TransactWriteItems(transaction(writes));
        block_on(engine.execute(&caller(), request)).expect("nobody else writes");
        cuts.push(engine.settled_before(START_MS));
    }
    let mut stamp = cuts[0];
    let mut states = std::collections::BTreeSet::new();
    while stamp < *cuts.last().expect("there are cuts") {
        let state = as_of(&engine, stamp);
        assert_eq!(state.len(), 2);
        let parts: Vec<i64> = state.values().map(number).collect();
        assert_eq!(parts.iter().sum::<i64>(), 0, "{stamp:?}");
        states.insert(parts);
        stamp = stamp.next();
    }
    assert_eq!(states.len(), 19, "each transaction can be told from the one before it");
}

fn number(value: &Bytes) -> i64 {
    let item = keywright_semantics::codec::EncodedItem::from_stored(value.clone()).expect("an item").decode();
    (-20..20).find(|number| item.get("v") == Some(&n(*number))).expect("a small number")
}

#[test]
fn stamps_go_on_above_the_bound_after_a_restart_and_a_clean_clock_is_followed_again_within_a_second() {
    let store = MemoryStore::new();
    let Bench { engine, env } = bench_on(store.clone(), schema(), u64::MAX);
    env.now_ms.store(START_MS, Ordering::Relaxed);
    enable(&engine, 35);
    let put = |engine: &Engine<MemoryStore>| {
        let request =
            Request::PutItem(Box::new(put_request(item([("pk", s("a")), ("sk", s("b")), ("v", n(1))]))));
        block_on(engine.execute(&caller(), request)).expect("it is written");
    };
    put(&engine);
    let last = engine.settled_before(START_MS);
    drop(engine);
    env.now_ms.store(START_MS - 3_600_000, Ordering::Relaxed);
    let engine = open(store.clone(), &env);
    let view = block_on(store.snapshot()).expect("a view");
    let stored = block_on(bound::read(&view)).expect("the bound");
    assert!(stored >= last && stored.ms() <= START_MS + 1_000);
    assert!(engine.settled_before(env.now_ms()) >= stored);
    drop(view);
    env.now_ms.store(START_MS + 1_000, Ordering::Relaxed);
    put(&engine);
    assert_eq!(engine.settled_before(START_MS + 1_000).ms(), START_MS + 1_000);
}

#[test]
fn a_table_without_history_writes_no_undo_row_and_draws_no_stamp() {
    let bench = bench();
    bench.put(item([("pk", s("a")), ("sk", s("b"))])).expect("it is written");
    let view = block_on(bench.engine.store().snapshot()).expect("a view");
    assert_eq!(block_on(bound::read(&view)).expect("no bound"), Stamp::default());
    assert!(table(&bench.engine).history.generation().is_none());
}

#[test]
fn history_is_trimmed_by_days_and_an_ended_span_is_purged() {
    let store = MemoryStore::new();
    let Bench { engine, env } = bench_on(store.clone(), schema(), u64::MAX);
    env.now_ms.store(START_MS, Ordering::Relaxed);
    enable(&engine, 2);
    let rows = || {
        let range = crate::support::layout::prefix_range(vec![crate::support::layout::Space::History.byte()]);
        let view = block_on(store.snapshot()).expect("a view");
        let mut rows = 0;
        let all = crate::support::rows::each_row(&view, range, |_| rows += 1);
        block_on(all).expect("it is read");
        rows
    };
    let work = || {
        let now_ms = engine.env().now_ms();
        while block_on(engine.step(now_ms)).at_ms.is_some_and(|at_ms| at_ms <= now_ms) {}
    };
    let write = |round: i64| {
        let put = put_request(item([("pk", s("a")), ("sk", s("b")), ("v", n(round))]));
        block_on(engine.execute(&caller(), Request::PutItem(Box::new(put)))).expect("it is written");
    };
    for day in 0..6 {
        write(day);
        work();
        assert_eq!(
            rows(),
            usize::try_from(day + 1).expect("small").min(3),
            "two days, and the day that ends"
        );
        env.now_ms.fetch_add(DAY_MS, Ordering::Relaxed);
    }
    let change = |table: &mut Table| {
        table.history.disable_recovery();
        Ok(())
    };
    block_on(engine.catalogue().change(table(&engine).id, change)).expect("it is disabled");
    work();
    assert_eq!(rows(), 0);
    assert!(table(&engine).history.doomed.is_empty());
    enable(&engine, 1);
    write(9);
    work();
    assert_eq!(rows(), 1, "the new span has its own rows");
}

#[test]
fn a_copy_of_a_store_has_its_history_and_goes_on_above_its_stamps() {
    for target in [MemoryStore::new, MemoryStore::shared] {
        let (from, to) = (MemoryStore::new(), target());
        let Bench { engine, env } = bench_on(from.clone(), schema(), u64::MAX);
        env.now_ms.store(START_MS, Ordering::Relaxed);
        enable(&engine, 35);
        let mut random = fastrand::Rng::with_seed(1);
        let mut kept = Vec::new();
        for _ in 0..20 {
            write(&engine, &mut random);
            kept.push((engine.settled_before(START_MS), present(&engine)));
        }
        let mut copy = block_on(crate::Copy::begin(from, to.clone(), "test")).expect("it begins");
        block_on(copy.run(&mut |_| ())).expect("it is copied");
        block_on(copy.verify(&mut |_| ())).expect("nothing differs");
        block_on(copy.finish()).expect("it ends");
        env.now_ms.store(START_MS - 50_000, Ordering::Relaxed);
        let copied = open(to, &env);
        for _ in 0..10 {
            write(&copied, &mut random);
        }
        for (stamp, state) in kept {
            assert_eq!(as_of(&copied, stamp), state);
        }
    }
}
