//! Watches the store: reports why it refuses writes, and opens it again once a full disk has room.

use std::sync::Arc;
use std::time::Duration;

use keywright_store_local::FaultCause;
use tokio::sync::watch;

use super::database::{Database, NotReopened};
use crate::limits::{REOPEN_MS_MAX, REOPEN_MS_MIN};
use crate::process::environment;

/// Interval at which the store is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// A store that works for so long after it was opened again has recovered.
const RECOVERED: Duration = Duration::from_mins(1);

/// Runs until the server stops.
pub(crate) async fn run(database: Arc<Database>, mut stopping: watch::Receiver<bool>) {
    let mut pace = Pace::default();
    let mut reported: Option<FaultCause> = None;
    while !*stopping.borrow() {
        tokio::select! {
            () = tokio::time::sleep(pace.next_look(reported)) => {}
            _ = stopping.changed() => return,
        }
        let cause = database.fault().map(|fault| fault.cause);
        if cause != reported
            && let Some((reason, advice)) = database.health().explain()
        {
            tracing::error!("{reason}; {advice}");
        }
        reported = cause;
        if cause.is_none_or(|cause| !cause.may_reopen()) {
            continue;
        }
        if !tokio::task::block_in_place(|| database.has_room()) {
            continue;
        }
        match database.reopen().await {
            Ok(()) => {
                pace.reopened();
                reported = None;
                tracing::warn!(
                    "there is room on the disk again: the store was opened again and takes writes"
                );
            }
            Err(NotReopened::InUse) => tracing::warn!("the store is in use and is opened again later"),
            Err(NotReopened::Down) => {
                if let Some((reason, advice)) = database.health().explain() {
                    tracing::error!("{reason}; {advice}");
                }
                // Nothing here can help any more.
                let _stopped = stopping.wait_for(|stopping| *stopping).await;
                return;
            }
        }
    }
}

/// How long to wait before the next attempt: longer, the more often the disk is full again right away.
struct Pace {
    wait: Duration,
    reopened: Option<std::time::Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { wait: Duration::from_millis(REOPEN_MS_MIN), reopened: None }
    }
}

impl Pace {
    fn next_look(&self, reported: Option<FaultCause>) -> Duration {
        if reported.is_some() { self.wait } else { LOOK }
    }

    fn reopened(&mut self) {
        let now = environment::instant();
        let soon = self.reopened.is_some_and(|last| now.duration_since(last) < RECOVERED);
        let longer = (self.wait * 2).min(Duration::from_millis(REOPEN_MS_MAX));
        self.wait = if soon { longer } else { Duration::from_millis(REOPEN_MS_MIN) };
        self.reopened = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_fails_again_soon_is_opened_less_and_less_often() {
        let mut pace = Pace::default();
        let waits: Vec<u128> = (0..8)
            .map(|_| {
                pace.reopened();
                pace.next_look(Some(FaultCause::NoRoom)).as_millis()
            })
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        pace.reopened = None;
        pace.reopened();
        assert_eq!(pace.next_look(Some(FaultCause::NoRoom)), Duration::from_millis(500));
        assert_eq!(pace.next_look(None), LOOK);
    }
}
