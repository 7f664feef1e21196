//! The timer of background work: calls the engine's step and sleeps for as long as the engine asks.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use keywright_engine::{Env as _, NextWake, Verdict, Verification, VerifiedReplica};
use tokio::sync::{mpsc, watch};

use super::clock_notices;
use crate::clock::{Clock, Move};
use crate::storage::database::Database;

/// The longest sleep between two steps, so that work created by a request starts soon.
const SLEEP_MS_MAX: u64 = 100;
/// The shortest, so that a busy engine does not starve requests.
const SLEEP_MS_MIN: u64 = 1;

/// Delay after a step that panicked.
const AFTER_PANIC_MS: u64 = 1000;

/// Runs steps until the server stops. Moves a clock that stands when somebody asks for it.
///
/// Changes for replicas do not wait for the next step, nor do they cause one: with many tables it would cost
/// more than the changes.
pub(crate) async fn run(
    database: Arc<Database>,
    mut moves: mpsc::Receiver<Move>,
    mut stopping: watch::Receiver<bool>,
) {
    let clock = Arc::clone(database.clock());
    while !*stopping.borrow() {
        let mut wake = step(&database, clock.now_ms()).await;
        let mut longest = pin!(tokio::time::sleep(Duration::from_millis(SLEEP_MS_MAX)));
        loop {
            let until_ms = wake.at_ms.map_or(SLEEP_MS_MAX, |at| at.saturating_sub(clock.now_ms()));
            let sleep_ms = clock.real_ms(until_ms).clamp(SLEEP_MS_MIN, SLEEP_MS_MAX);
            tokio::select! {
                () = &mut longest => break,
                () = tokio::time::sleep(Duration::from_millis(sleep_ms)) => break,
                () = replication_wanted(&database) => {
                    wake = wake.earlier(replicate(&database, clock.now_ms()).await);
                }
                Some(wish) = moves.recv() => {
                    advance(&database, &clock, wish, &stopping).await;
                    break;
                }
                _ = stopping.changed() => break,
            }
        }
    }
}

/// Waits until replicas lack a change, so that they have it some milliseconds later. Not at once: many writes
/// are sent together.
async fn replication_wanted(database: &Database) {
    match database.engine() {
        Some(engine) => engine.replication_wanted().await,
        None => std::future::pending().await,
    }
    tokio::time::sleep(Duration::from_millis(SLEEP_MS_MIN)).await;
}

/// Sends replicas what was noted.
async fn replicate(database: &Database, now_ms: u64) -> NextWake {
    let send = async {
        match database.engine() {
            Some(engine) => {
                let wake = engine.replicate(now_ms).await;
                clock_notices::log(&engine.take_clock_notices());
                wake
            }
            None => NextWake { at_ms: None },
        }
    };
    unless_it_panics(send, now_ms).await
}

/// One step.
async fn step(database: &Database, now_ms: u64) -> NextWake {
    let step = async {
        match database.engine() {
            Some(engine) => {
                let wake = engine.step(now_ms).await;
                engine.take_ended_verifications().iter().for_each(log_verification);
                clock_notices::log(&engine.take_clock_notices());
                wake
            }
            // The store is being opened again.
            None => NextWake { at_ms: None },
        }
    };
    unless_it_panics(step, now_ms).await
}

/// Does some work. A panic in it must not end all other.
async fn unless_it_panics(work: impl Future<Output = NextWake>, now_ms: u64) -> NextWake {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_panic| {
        tracing::error!("background work failed and will be retried");
        NextWake { at_ms: Some(now_ms.saturating_add(AFTER_PANIC_MS)) }
    })
}

/// Logs what a comparison of a table with its replicas found.
fn log_verification(ended: &Verification) {
    let Verification { table, region, .. } = ended;
    let (verdict, sum) = (ended.verdict(), |count: fn(&VerifiedReplica) -> u64| -> u64 {
        ended.replicas.iter().map(count).sum()
    });
    let (differences, undecided) = (sum(|one| one.differences), sum(|one| one.undecided));
    let uncompared = sum(|one| u64::from(one.is_uncompared()));
    match verdict {
        Verdict::Running | Verdict::Equal => {
            tracing::info!(table, region, "the replicas of the table are equal");
        }
        Verdict::Repaired => {
            let repaired = sum(|one| one.repaired);
            tracing::warn!(table, region, repaired, "replicas of the table differed and were repaired");
        }
        Verdict::Undecided => {
            tracing::warn!(
                table,
                region,
                undecided,
                uncompared,
                "changes to the table did not reach its replicas, or replicas were not reached"
            );
        }
        Verdict::Differs => {
            tracing::error!(table, region, differences, "replicas of the table differ");
        }
    }
}

/// Moves the clock, and does all work on the way when it is due, while the client waits.
///
/// Invariant: the clock never shows a time before which work is left. So a move that is abandoned leaves an
/// earlier time than was wanted, and a database as if that time had been asked for.
async fn advance(database: &Database, clock: &Clock, wish: Move, stopping: &watch::Receiver<bool>) {
    let to_ms = clock.now_ms().saturating_add(wish.by_ms);
    while !*stopping.borrow() && !wish.is_abandoned() {
        let now = clock.now_ms();
        let due = step(database, now).await.at_ms.filter(|at| *at <= to_ms);
        match due {
            None if now >= to_ms => {
                // The client may have left just now.
                let _ = wish.done.send(());
                return;
            }
            // Work that is due now is done by the next step.
            due => clock.set(due.unwrap_or(to_ms)),
        }
        // A step that finds everything in memory never waits, and other tasks of this thread do.
        tokio::task::yield_now().await;
    }
}
