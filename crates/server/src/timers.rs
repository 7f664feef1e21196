//! The timer of background work: calls the engine's step and sleeps for as long as the engine asks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use keywright_engine::NextWake;
use tokio::sync::watch;

use crate::backend::Backend;
use crate::database::Database;
use crate::environment;

/// The longest sleep between two steps, so that work created by a request starts soon.
const SLEEP_MS_MAX: u64 = 100;
/// The shortest, so that a busy engine does not starve requests.
const SLEEP_MS_MIN: u64 = 1;

/// Delay after a step that panicked.
const AFTER_PANIC_MS: u64 = 1000;

/// Runs steps until the server stops.
pub(crate) async fn run<B: Backend>(database: Arc<Database<B>>, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        let now = environment::now().0;
        // A panic in one step must not end the others.
        let step = async {
            match database.engine() {
                Some(engine) => engine.step(now).await,
                // The store is being opened again.
                None => NextWake { at_ms: None },
            }
        };
        let wake = AssertUnwindSafe(step).catch_unwind().await.unwrap_or_else(|_panic| {
            tracing::error!("background work failed and will be retried");
            NextWake { at_ms: Some(now.saturating_add(AFTER_PANIC_MS)) }
        });
        let sleep_ms =
            wake.at_ms.map_or(SLEEP_MS_MAX, |at| at.saturating_sub(now)).clamp(SLEEP_MS_MIN, SLEEP_MS_MAX);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(sleep_ms)) => {}
            _ = stopping.changed() => {}
        }
    }
}
