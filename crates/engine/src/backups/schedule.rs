//! Backups that are made when they are due. The backups that exist say whether one is, so that a restart or
//! another owner of the table makes none twice.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::create::{BackedUp, BackupWish};
use super::describe::each;
use crate::catalogue::backup::{self, Backup, BackupName};
use crate::catalogue::{Table, TableStatus, owner};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;

/// Tries while others change the table.
const TRIES_MAX: usize = 20;

/// A backup that is due at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueBackup {
    /// Account and region; `None` for all that have such a table.
    pub place: Option<(String, String)>,
    /// What is made.
    pub wish: BackupWish,
    /// What the names of all backups of the schedule begin with.
    pub prefix: String,
    /// Since when it is due, in milliseconds since 1970.
    pub due_ms: u64,
}

impl<S: Store> Engine<S> {
    /// Backs up the tables of this name that this process owns, that were there when the backup became due,
    /// and that have none with such a name since then.
    pub async fn back_up_if_due(&self, due: &DueBackup) -> Result<Vec<BackedUp>, Error> {
        let mut made = Vec::new();
        for table in self.catalogue().all_members() {
            let is_meant = table.name == due.wish.table
                && due.place.as_ref().is_none_or(|(account, region)| {
                    table.account == account.as_str() && table.region == region.as_str()
                });
            let is_there = !matches!(table.status, TableStatus::Creating | TableStatus::Deleting);
            if !is_meant || !is_there || table.created_ms > due.due_ms || !self.owns(table.id) {
                continue;
            }
            made.extend(self.back_up_once(&table, due).await?);
        }
        Ok(made)
    }

    /// Backs up a table, if that was not done yet. A backup changes the table's record: of two processes
    /// that both take the table for their own, one finds it changed since it looked, and looks again.
    async fn back_up_once(&self, table: &Table, due: &DueBackup) -> Result<Vec<BackedUp>, Error> {
        let namespace = owner(table);
        let has_changed = AtomicBool::new(false);
        for _ in 0..TRIES_MAX {
            self.catalogue().refresh(table.id).await?;
            let Some(newest) = self.catalogue().with_id(table.id) else { break };
            if has_one(self, &namespace, due).await? {
                break;
            }
            has_changed.store(false, Ordering::Relaxed);
            let check = |tables: &[Table]| {
                if tables.iter().all(|table| table.id == newest.id && table.version == newest.version) {
                    return Ok(());
                }
                has_changed.store(true, Ordering::Relaxed);
                Err(fault::internal())
            };
            match self.back_up_tables(&namespace, std::slice::from_ref(&due.wish), check).await {
                Err(_) if has_changed.load(Ordering::Relaxed) => {}
                made => return made,
            }
        }
        Ok(Vec::new())
    }
}

async fn has_one<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    due: &DueBackup,
) -> Result<bool, Error> {
    let mut is_found = false;
    let since = backup::between(namespace, (Some(due.due_ms), None), None);
    let take = |_: BackupName, backup: Backup| {
        is_found = backup.name.starts_with(&due.prefix);
        if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    each(engine, since, |name| name.table == due.wish.table, take).await?;
    Ok(is_found)
}
