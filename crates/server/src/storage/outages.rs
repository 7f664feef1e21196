//! Watches a store on another machine: says in the log when it is lost and why, and when it answers again.
//!
//! Requests that fail meanwhile say nothing of it, because there may be thousands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::database::{Database, Lost};
use crate::process::environment;

/// Interval at which the store is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Runs until the server stops.
pub(crate) async fn run(database: Arc<Database>, mut stopping: watch::Receiver<bool>) {
    if database.sharing().is_some() {
        tokio::select! {
            () = watch_for_ever(&database) => {}
            () = stopped(&mut stopping) => {}
        }
    } else {
        stopped(&mut stopping).await;
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _stopped = stopping.wait_for(|stopping| *stopping).await;
}

async fn watch_for_ever(database: &Database) {
    for warning in database.warnings_of_servers().await {
        tracing::warn!("{warning}");
    }
    let mut log = Log::default();
    loop {
        log.look(database);
        tokio::time::sleep(LOOK).await;
    }
}

/// What was said last.
#[derive(Default)]
struct Log {
    /// Since when the store is lost.
    lost: Option<Instant>,
    /// Why its upkeep fails.
    upkeep: Option<String>,
}

impl Log {
    fn look(&mut self, database: &Database) {
        self.look_at_upkeep(database.upkeep_fault());
        match (database.lost(), self.lost) {
            (Some(lost), None) => {
                let now = environment::instant();
                self.lost = Some(now.checked_sub(lost.lasted).unwrap_or(now));
                let Lost { reason, failing, advice, .. } = lost;
                tracing::warn!("{reason}; {failing} fail with HTTP 500 meanwhile; {advice}");
            }
            (None, Some(since)) => {
                self.lost = None;
                let (place, seconds) = (database.answering(), since.elapsed().as_secs_f64());
                tracing::warn!("the store answers again after {seconds:.1} s, at {place}");
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// A reason is said once, until another one or none comes.
    fn look_at_upkeep(&mut self, fault: Option<String>) {
        if fault == self.upkeep {
            return;
        }
        if let Some(reason) = &fault {
            tracing::warn!(
                "the upkeep of the store failed and is tried again: {reason}; old versions of rows take room until \
                 it succeeds"
            );
        } else {
            tracing::warn!("the upkeep of the store succeeds again, or another server does it");
        }
        self.upkeep = fault;
    }
}
