//! Upkeep of the store: one process does it, and another one once that is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keywright_store::StoreError;
use keywright_store::memory::MemoryStore;

use super::flaky_store::{FlakyStore, UPKEEP};
use super::harness::*;
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::Env;

#[test]
fn one_of_several_processes_does_the_upkeep_and_another_one_takes_it_over() {
    let store = FlakyStore::shared();
    let env = Arc::new(TestEnv::default());
    env.now_ms.store(1_000_000, Ordering::Relaxed);
    let open = || {
        let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
        block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("the store opens")
    };
    let mut processes = vec![open(), open(), open()];
    let work = |processes: &[Engine<FlakyStore>], seconds: u64| {
        for _ in 0..seconds * 2 {
            let now_ms = env.now_ms.fetch_add(500, Ordering::Relaxed) + 500;
            for process in processes {
                block_on(process.step(now_ms));
            }
        }
    };
    // Until they know each other, several may take it for theirs.
    work(&processes, 10);
    store.take_rounds();
    let minutes = 10;
    work(&processes, minutes * UPKEEP.as_secs());
    let rounds = store.take_rounds();
    assert!((9..=11).contains(&rounds), "{rounds} rounds in {minutes} minutes");
    while processes.len() > 1 {
        processes.remove(0);
        work(&processes, UPKEEP.as_secs() + 15);
        assert!(store.take_rounds() >= 1, "somebody goes on");
    }
}

#[test]
fn a_round_that_fails_is_known_until_one_has_ended() {
    let store = FlakyStore::shared();
    let env = Arc::new(TestEnv::default());
    let shared_env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
    let engine = block_on(Engine::open(store.clone(), shared_env, EngineConfig::default()));
    let engine = engine.expect("the store opens");
    let next = |round| {
        store.set_upkeep(round);
        let now_ms = env.now_ms.fetch_add(2 * 60_000, Ordering::Relaxed) + 2 * 60_000;
        block_on(engine.step(now_ms));
        engine.upkeep_fault()
    };
    assert_eq!(next(None), None);
    let fault = next(Some(Err(StoreError::Io("PD does not answer".to_owned()))));
    assert_eq!(fault.as_deref(), Some("storage I/O failed: PD does not answer"));
    assert_eq!(next(Some(Ok(Some(Duration::from_secs(1))))), fault, "the next round is under way");
    assert_eq!(next(None), None);
    assert!(engine.does_upkeep());
}

#[test]
fn a_store_without_upkeep_is_asked_once() {
    let env: Arc<dyn Env> = Arc::new(TestEnv::default());
    let store = MemoryStore::default();
    let engine = block_on(Engine::open(store, env, EngineConfig::default())).expect("the store opens");
    block_on(engine.step(1));
    assert_eq!(engine.upkeep_due().load(Ordering::Relaxed), u64::MAX);
}
