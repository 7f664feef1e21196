//! Backups, continuous backups and restores: the operations, and the end of backups that expire.
//!
//! A backup is a stamp and the settings of its table. It holds the history of the table, so it is complete
//! once its row is committed, and needs no copy of the items. If a backup store is set, a job copies them to
//! it later (`jobs::objects`), and the history is held no longer. A restore is a job too (`jobs::restore`).
//!
//! - `create`: CreateBackup, and backups of several tables at one stamp.
//! - `describe`: DescribeBackup and ListBackups.
//! - `remove`: DeleteBackup, and the end of backups that have expired.
//! - `continuous`: UpdateContinuousBackups and DescribeContinuousBackups.
//! - `schedule`: backups that are made when they are due.
//! - `restore`: RestoreTableFromBackup and RestoreTableToPointInTime.
//! - `settings`: what a restored table takes over from its source.
//!
//! The backup that the system makes of a deleted table is made by `tables::delete`, in the commit that
//! deletes it.

mod continuous;
mod create;
mod describe;
mod remove;
mod restore;
mod schedule;
mod settings;

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::backup as messages;
use keywright_semantics::request::{ArnScope, TableRef};
use keywright_store::Store;

pub(crate) use continuous::{describe as describe_continuous, update as update_continuous};
pub(crate) use create::create;
pub(crate) use describe::{describe, list};
pub(crate) use remove::{remove, step};
pub(crate) use restore::{from_backup, to_point_in_time};

pub use create::{BackedUp, BackupWish};
pub use describe::BackupView;
pub use schedule::DueBackup;

use crate::catalogue::{Table, TableStatus};
use crate::state::Engine;
use crate::support::env::Namespace;

/// The table of an operation on backups. Until it is made there is none.
fn lookup<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    table: &TableRef,
) -> Result<Arc<Table>, Error> {
    let not_found = || Error::new(ErrorKind::TableNotFound, messages::table_not_found(&table.name));
    match engine.catalogue().lookup_any(namespace, table) {
        Ok(table) if table.status == TableStatus::Creating => Err(not_found()),
        Err(error) if error.kind == ErrorKind::ResourceNotFound => Err(not_found()),
        found => found,
    }
}

/// Where a caller's ARNs are.
fn scope(namespace: &Namespace) -> ArnScope {
    ArnScope { region: namespace.region.to_string(), account: namespace.account.to_string() }
}
