//! UpdateContinuousBackups and DescribeContinuousBackups, and the times to which a table can be restored.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::backup as messages;
use keywright_semantics::request::{DescribeContinuousBackups, RecoveryChange, UpdateContinuousBackups};
use keywright_semantics::response::{
    ContinuousBackupsDescription, RecoveryWindow, Response, TimestampSeconds,
};
use keywright_store::Store;

use super::lookup;
use crate::catalogue::backup::{BackupName, is_of_system};
use crate::catalogue::{OtherRows, RECOVERY_PERIOD_DAYS, Recovery, Table, TableStatus};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::stamp::Stamp;

/// The states to which a table can be restored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The table can be read as of this stamp and every later one.
    since: Stamp,
    earliest_ms: u64,
    latest: Stamp,
    period_days: u8,
}

impl Window {
    /// The window of a table; `None` while point-in-time recovery is off.
    pub(super) fn of<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Option<Self> {
        let Recovery { period_days, .. } = table.history.recovery()?;
        let since = table.history.since();
        let earliest_ms = table.history.earliest_ms(now_ms)?;
        let settled = engine.settled_before(now_ms);
        let latest = match engine.config().pitr_lag_ms {
            0 => settled,
            lag_ms => Stamp::first_of(settled.ms().saturating_sub(lag_ms)),
        };
        Some(Self { since, earliest_ms, latest, period_days })
    }

    /// The latest state, in milliseconds.
    fn latest_ms(&self) -> u64 {
        self.latest.ms().max(self.earliest_ms)
    }

    /// The latest state: every commit that is in it was answered, or may be.
    pub(super) fn latest(&self) -> Stamp {
        self.latest.max(self.since)
    }

    /// The state as of a time, in whole seconds. The earliest second stands for the state in which recovery
    /// was turned on.
    pub(super) fn at(&self, ms: u64) -> Result<Stamp, Error> {
        let seconds = |ms: u64| ms / 1000;
        if seconds(ms) < seconds(self.earliest_ms) || seconds(ms) > seconds(self.latest_ms()) {
            let text = messages::outside_window(ms, self.earliest_ms, self.latest_ms());
            return Err(Error::new(ErrorKind::InvalidRestoreTime, text));
        }
        Ok(Stamp::first_of(ms).max(Stamp::first_of(self.earliest_ms)).max(self.since))
    }

    fn description(&self) -> RecoveryWindow {
        RecoveryWindow {
            period_days: u32::from(self.period_days),
            earliest: TimestampSeconds(self.earliest_ms / 1000),
            latest: TimestampSeconds(self.latest_ms() / 1000),
        }
    }
}

pub(crate) async fn update<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UpdateContinuousBackups,
) -> Result<Response, Error> {
    let found = lookup(engine, namespace, &request.table)?;
    let now_ms = engine.env().now_ms();
    let change = |tables: &mut [Table], rows: &mut OtherRows| {
        let [table] = tables else { return Err(fault::internal()) };
        if table.status == TableStatus::Creating {
            return Err(Error::new(ErrorKind::TableNotFound, messages::table_not_found(&table.name)));
        }
        match request.change {
            RecoveryChange::Enable { period_days } => {
                let current = table.history.recovery().map(|recovery| recovery.period_days);
                let asked = period_days.and_then(|days| u8::try_from(days).ok());
                let period_days = asked.or(current).unwrap_or(RECOVERY_PERIOD_DAYS);
                table.history.enable_recovery(now_ms, period_days, engine.stamps().beginning(now_ms));
            }
            RecoveryChange::Disable => {
                table.history.disable_recovery();
                if table.status == TableStatus::Deleting {
                    forget_system_backup(table, namespace, rows);
                }
            }
        }
        Ok(())
    };
    let permit = || engine.pace().check_presence();
    let (tables, ()) = engine.catalogue().change_all(&[found.target()], &[], permit, change).await?;
    let table = tables.first().ok_or_else(fault::internal)?;
    let recovery = Window::of(engine, table, now_ms).map(|window| window.description());
    Ok(Response::UpdateContinuousBackups(ContinuousBackupsDescription { recovery }))
}

/// A table whose recovery is turned off while it is being deleted leaves no backup (observed).
fn forget_system_backup(table: &mut Table, namespace: &Namespace, rows: &mut OtherRows) {
    let owners = table.history.holds().iter().map(|hold| hold.owner.clone());
    let ids: Vec<String> = owners.filter(|owner| is_of_system(owner)).collect();
    for id in ids {
        table.history.release(&id);
        rows.delete(BackupName { table: table.name.clone(), id }.key(namespace));
    }
}

pub(crate) fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeContinuousBackups,
) -> Result<Response, Error> {
    let table = lookup(engine, namespace, &request.table)?;
    let window = Window::of(engine, &table, engine.env().now_ms());
    let recovery = window.map(|window| window.description());
    Ok(Response::DescribeContinuousBackups(ContinuousBackupsDescription { recovery }))
}
