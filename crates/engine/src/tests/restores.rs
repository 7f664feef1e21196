//! Restores that are stopped, fail and are done by several processes: each ends as an undisturbed one does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::{Request, RestoreOverrides, RestoreTableToPointInTime, RestoreTime};
use keywright_semantics::response::TableStatus;
use keywright_store::faulty::{Faults, FaultyStore};
use keywright_store::memory::MemoryStore;
use keywright_store::{Store, Transaction};

use super::backups::{Contents, START_MS, bed, bed_with, full_row, reopen};
use super::flaky_store::Fate::{self, Conflict, TooLarge, UnknownLost, UnknownWritten};
use super::flaky_store::FlakyStore;
use super::harness::*;
use super::tables::{Bed, creation, kind, named};
use crate::support::env::Env;
use crate::support::layout::{Space, items_prefix};
use crate::{Engine, EngineConfig, JobKind, JobState, JobView};

const ITEMS: i64 = 1_100;

/// A table with recovery, of which a part was written and removed after the second to be restored.
fn source<S: Store>(bed: &Bed<S>) -> (RestoreTime, Contents) {
    source_of(bed, ITEMS)
}

fn source_of<S: Store>(bed: &Bed<S>, items: i64) -> (RestoreTime, Contents) {
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    (0..items).for_each(|number| bed.put("Shop", full_row(number)));
    bed.pass(1_000);
    let time = RestoreTime::At(bed.env.now_ms());
    let contents = bed.contents("Shop");
    for number in 0..items / 2 {
        let mut row = full_row(number);
        row.insert("g".to_owned(), s("changed"));
        bed.put("Shop", row);
    }
    bed.pass(1_000);
    (time, contents)
}

fn job<S: Store>(engine: &Engine<S>) -> JobView {
    let mut jobs = block_on(engine.jobs(None, 10)).expect("jobs are listed");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
}

fn assert_restored<S: Store>(bed: &Bed<S>, expected: &Contents, story: &str) {
    assert_eq!(bed.describe("Copy").expect("it is there").table_status, TableStatus::Active, "{story}");
    bed.contents("Copy").assert_eq(expected, story);
    let job = job(&bed.engine);
    assert_eq!((job.kind, &job.state), (JobKind::Restore, &JobState::Completed), "{story}");
    assert_eq!(job.items, expected.item_count, "{story}");
    let source = bed.engine.catalogue().find(&namespace(), "Shop").expect("it is there");
    assert!(source.history.holds().is_empty(), "{story}");
}

#[test]
fn a_restore_that_is_stopped_after_any_step_goes_on_where_it_stopped() {
    for steps in 1..3 {
        let store = MemoryStore::new();
        let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
        let (time, expected) = source(&bed);
        bed.restore_to("Shop", "Copy", time).expect("it is within the window");
        let mut now_ms = bed.env.now_ms();
        drop(bed);
        let mut lives = 0;
        loop {
            now_ms += 10;
            let bed = reopen(store.clone(), EngineConfig::default(), now_ms);
            if job(&bed.engine).state == JobState::Completed {
                bed.settle();
                assert_restored(&bed, &expected, &format!("{steps} steps in a life"));
                break;
            }
            (0..steps).for_each(|_| bed.step());
            lives += 1;
        }
        assert!(lives > 1, "it took {lives} lives");
    }
}

#[test]
fn a_restore_gets_through_conflicts_and_unknown_outcomes_of_its_commits() {
    let fates: [&[Fate]; 6] = [
        &[Conflict, Conflict, Conflict],
        &[UnknownWritten],
        &[UnknownLost],
        &[UnknownLost, Conflict, UnknownWritten],
        &[TooLarge, TooLarge],
        &[UnknownWritten, UnknownWritten],
    ];
    for seed in seeds(3) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = FlakyStore::default();
        let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
        let (time, expected) = source_of(&bed, 600);
        store.next(random.choice(fates.iter().take(4)).expect("some"));
        bed.restore_to("Shop", "Copy", time).expect("it is settled");
        while job(&bed.engine).ended_ms.is_none() {
            store.next(random.choice(fates.iter()).expect("some"));
            bed.step();
            bed.pass(1_000);
        }
        store.calm();
        bed.settle();
        assert_restored(&bed, &expected, &format!("seed {seed}"));
    }
}

#[test]
fn of_two_processes_that_believe_to_own_a_restore_only_one_writes_each_part() {
    // Each takes the store for its own.
    let store = FlakyStore::default();
    let one = reopen(store.clone(), EngineConfig::default(), START_MS);
    let (time, expected) = source(&one);
    one.restore_to("Shop", "Copy", time).expect("it is within the window");
    let mut met = 0;
    while job(&one.engine).ended_ms.is_none() {
        let other = reopen(store.clone(), EngineConfig::default(), one.env.now_ms());
        let before = job(&one.engine).items;
        let engine = other.engine.clone();
        store.before_next_rows(move || {
            block_on(engine.step(START_MS + 5_000));
        });
        one.step();
        let after = job(&one.engine).items;
        met += u32::from(after > before);
        one.pass(1_000);
        assert!(after - before <= 512, "one part at a time");
    }
    assert!(met > 1);
    let again = reopen(store, EngineConfig::default(), one.env.now_ms());
    again.settle();
    assert_restored(&again, &expected, "two owners");
}

#[test]
fn a_restore_goes_on_after_its_process_has_gone_from_a_shared_store() {
    let store = MemoryStore::shared();
    let env = Arc::new(TestEnv::default());
    env.now_ms.store(START_MS, Ordering::Relaxed);
    let open = || {
        let shared: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
        let engine = block_on(Engine::open(store.clone(), shared, EngineConfig::default()));
        Bed { engine: engine.expect("the store opens"), env: Arc::clone(&env), caller: caller() }
    };
    let mut beds = vec![open(), open()];
    let work = |beds: &[Bed<MemoryStore>], ms: u64| {
        for _ in 0..ms / 100 {
            env.now_ms.fetch_add(100, Ordering::Relaxed);
            beds.iter().for_each(Bed::step);
        }
    };
    work(&beds, 5_000);
    let (time, expected) = source(&beds[0]);
    work(&beds, 5_000);
    beds[1].restore_to("Shop", "Copy", time).expect("it is within the window");
    let target = beds[1].engine.catalogue().find(&namespace(), "Copy").expect("it is being made");
    while job(&beds[0].engine).items == 0 {
        work(&beds, 100);
    }
    let owner = beds.iter().position(|bed| bed.engine.owns(target.id)).expect("one does");
    drop(beds.remove(owner));
    assert_eq!(job(&beds[0].engine).state, JobState::Running);
    work(&beds, 10_000);
    let done = job(&beds[0].engine).items;
    assert_eq!(i64::try_from(done).ok(), Some(ITEMS), "it was taken over within ten seconds");
    work(&beds, 90_000);
    assert_restored(&beds[0], &expected, "taken over");
}

#[test]
fn a_damaged_item_ends_the_restore_with_its_key_and_leaves_no_table() {
    let store = MemoryStore::new();
    let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
    source(&bed);
    let arn = bed.back_up("Shop").backup_arn;
    let id = bed.engine.catalogue().find(&namespace(), "Shop").expect("it is there").id;
    let foreign = [&items_prefix(id)[..], &[7; 20]].concat();
    block_on(async {
        let mut txn = store.begin().await.expect("a store in memory begins");
        txn.put(foreign.into(), bytes::Bytes::from_static(&[0xff]));
        txn.commit().await.expect("a store in memory commits");
    });
    bed.try_restore(&arn, "Copy").expect("it is available");
    bed.settle();
    assert_eq!(kind(bed.describe("Copy")).0, ErrorKind::ResourceNotFound);
    let JobState::Failed { code, message } = job(&bed.engine).state else { panic!("it failed") };
    assert_eq!(code, "DamagedItem");
    assert_eq!(
        message,
        format!("table Copy cannot be restored: the item with the key {} cannot be read", "07".repeat(20))
    );
    bed.delete_backup(&arn).expect("nothing is restored from it");
    bed.settle();
    let table = bed.engine.catalogue().find(&namespace(), "Shop").expect("it is there");
    assert!(table.history.holds().is_empty());
}

#[test]
fn a_restore_does_not_see_what_is_written_while_it_runs() {
    let bed = bed();
    source(&bed);
    let before = bed.contents("Shop");
    bed.restore_to("Shop", "Copy", RestoreTime::Latest).expect("it is on");
    for number in 0..ITEMS {
        let mut row = full_row(number);
        row.insert("x".to_owned(), s("later"));
        bed.put("Shop", row);
        if number % 400 == 0 {
            bed.step();
        }
    }
    bed.delete("Shop").expect("it is there");
    bed.settle();
    bed.contents("Copy").assert_eq(&before, "");
    let kept = bed.rows_in(Space::Items);
    assert!(i64::try_from(kept).is_ok_and(|kept| kept >= 2 * ITEMS), "the backup of the system has them too");
}

/// The time that a restore takes, and the most rows that it wrote at a time.
fn restored_at(load_rate: Option<u64>) -> (u64, u64) {
    let bed = bed_with(EngineConfig { load_rate, ..EngineConfig::default() });
    let (time, expected) = source(&bed);
    let begun_ms = bed.env.now_ms();
    bed.restore_to("Shop", "Copy", time).expect("it is within the window");
    let mut most = 0;
    while job(&bed.engine).ended_ms.is_none() {
        let before = job(&bed.engine).items;
        bed.step();
        most = most.max(job(&bed.engine).items - before);
        bed.pass(10);
    }
    bed.contents("Copy").assert_eq(&expected, "");
    (bed.env.now_ms() - begun_ms, most)
}

#[test]
fn a_restore_keeps_to_its_rate_in_small_pieces() {
    let items = u64::try_from(ITEMS).expect("few");
    let (free_ms, most) = restored_at(None);
    assert!(free_ms < 200 && most == 512, "{free_ms} ms, {most} rows at a time");
    let (paced_ms, most) = restored_at(Some(1_000));
    assert_eq!(most, 100);
    assert!((items - 100..=items * 11 / 10).contains(&paced_ms), "{items} items in {paced_ms} ms");
}

#[test]
fn the_restores_of_all_processes_count_together_also_those_that_begin_at_one_moment() {
    let store = FlakyStore::default();
    let one = reopen(store.clone(), EngineConfig::default(), START_MS);
    let (time, _) = source_of(&one, 10);
    // Each takes the store for its own, and does not see what the other does.
    let other = reopen(store.clone(), EngineConfig::default(), one.env.now_ms());
    for number in 0..49 {
        let begins = if number % 2 == 0 { &one } else { &other };
        begins.restore_to("Shop", &format!("Copy{number}"), time).expect("it is within the window");
    }
    let engine = other.engine.clone();
    let last = Bed { engine, env: Arc::clone(&other.env), caller: caller() };
    store.before_next_commit(move || {
        last.restore_to("Shop", "Fiftieth", time).expect("there is room for one");
    });
    let refused = kind(one.restore_to("Shop", "Refused", time)).0;
    assert_eq!(refused, ErrorKind::LimitExceeded);
    assert_eq!(kind(other.restore_to("Shop", "Refused", time)).0, ErrorKind::LimitExceeded);
    let restores = block_on(one.engine.jobs(None, 100)).expect("they are listed").len();
    assert_eq!(restores, 50);
}

#[test]
fn a_restore_whose_first_step_comes_before_its_table_is_known_is_not_taken_for_one_of_a_deleted_table() {
    let mut was_early = 0;
    for seed in seeds(20) {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = FaultyStore::new(seed, Faults::NONE);
        let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
        let (time, expected) = source_of(&bed, 10);
        let (source, overrides) = (named("Shop"), RestoreOverrides::default());
        let request = RestoreTableToPointInTime { source, target: "Copy".to_owned(), time, overrides };
        let (engine, caller) = (bed.engine.clone(), caller());
        let request = Request::RestoreTableToPointInTime(Box::new(request));
        // An unknown outcome is found out by reading again.
        store.set_faults(Faults { unknown_per_mille: 500, yield_per_mille: 700, ..Faults::NONE });
        let mut ordering = Some(Box::pin(engine.execute(&caller, request)));
        let mut stepping = None;
        let mut context = Context::from_waker(Waker::noop());
        while ordering.is_some() || stepping.is_some() {
            if let Some(future) = ordering.as_mut().filter(|_| random.bool())
                && future.as_mut().poll(&mut context).is_ready()
            {
                ordering = None;
            }
            if stepping.is_none() && ordering.is_some() {
                was_early += u32::from(bed.describe("Copy").is_err() && !bed.job_states().is_empty());
                // As another job would.
                bed.engine.due().jobs.wake_at(START_MS);
                stepping = Some(Box::pin(bed.engine.step(bed.env.now_ms())));
            }
            if let Some(future) = stepping.as_mut().filter(|_| random.bool())
                && future.as_mut().poll(&mut context).is_ready()
            {
                stepping = None;
            }
        }
        store.set_faults(Faults::NONE);
        // What a fault has stopped is tried again.
        bed.pass(2_000);
        bed.settle();
        assert_restored(&bed, &expected, &format!("seed {seed}"));
    }
    assert!(was_early > 0, "no step came before the table was known");
}
