//! Backups that are due by a schedule: of the user, named after their table and time, with an expiry.
//!
//! The backups that exist say whether one is due: after a pause or a restart a missed one is made up once.

use std::time::Duration;

use keywright_engine::{BackupWish, DueBackup, Env as _};
use tokio::time::Instant;

use crate::process::timestamp;
use crate::settings::backups::Schedule;
use crate::storage::database::Database;

/// What the names of these backups begin with.
const PREFIX: &str = "scheduled-";
/// The longest name of a backup.
const NAME_BYTES_MAX: usize = 255;
/// A backup that is due is asked for again after so long: the table may have another owner by then.
const AGAIN: Duration = Duration::from_secs(2);

/// The schedules, each with the time for which it was asked last, and when.
pub(super) struct Schedules(Vec<(Schedule, Option<(u64, Instant)>)>);

impl Schedules {
    pub(super) fn new(schedules: Vec<Schedule>) -> Self {
        Self(schedules.into_iter().map(|schedule| (schedule, None)).collect())
    }

    /// Makes what is due.
    pub(super) async fn look(&mut self, database: &Database) {
        for (schedule, asked) in &mut self.0 {
            let now_ms = database.clock().now_ms();
            let Some(due_ms) = schedule.due_at(now_ms) else { continue };
            if asked.is_some_and(|(asked_ms, at)| asked_ms == due_ms && at.elapsed() < AGAIN) {
                continue;
            }
            let Some(engine) = database.engine() else { return };
            *asked = Some((due_ms, Instant::now()));
            let table = &schedule.table;
            match engine.back_up_if_due(&due(schedule, due_ms, now_ms)).await {
                Ok(made) => {
                    for backup in made {
                        tracing::info!("table {table} is backed up by its schedule: {}", backup.arn);
                    }
                }
                Err(error) => {
                    let error = error.message;
                    tracing::warn!(
                        "table {table} is not backed up by its schedule yet, and is tried again: {error}"
                    );
                }
            }
        }
    }
}

fn due(schedule: &Schedule, due_ms: u64, now_ms: u64) -> DueBackup {
    DueBackup {
        place: schedule.place.clone(),
        wish: BackupWish {
            table: schedule.table.clone(),
            name: name(&schedule.table, now_ms),
            expires_ms: schedule.keep_ms.map(|keep_ms| now_ms.saturating_add(keep_ms)),
        },
        prefix: PREFIX.to_owned(),
        due_ms,
    }
}

/// `scheduled-Orders-20261127T033000Z`. The longest names of tables are cut.
fn name(table: &str, now_ms: u64) -> String {
    let time = timestamp::of(now_ms);
    let seconds = time.split('.').next().unwrap_or_default();
    let time: String = seconds.chars().filter(|sign| !"-:".contains(*sign)).collect();
    let room = NAME_BYTES_MAX - PREFIX.len() - "-".len() - time.len() - "Z".len();
    format!("{PREFIX}{}-{time}Z", table.get(..room).unwrap_or(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduled_backup_is_named_after_its_table_and_time() {
        assert_eq!(name("Orders", 1_795_793_400_000), "scheduled-Orders-20261127T153000Z");
        let long = name(&"x".repeat(255), 0);
        assert_eq!(long.len(), NAME_BYTES_MAX);
        assert!(long.ends_with("x-19700101T000000Z"), "{long}");
    }
}
