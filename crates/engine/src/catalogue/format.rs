//! The format of the catalogue: the lowest number that a reader of the store must know.
//!
//! A row of its own has it, under the number 0 among the tables' records. Releases before the row take it for
//! a record in a format that they do not know: they refuse to open the store, and a running one refuses its
//! requests as soon as it reads the catalogue again. So a process of such a release that joins late, or that
//! was thought to be gone, never serves a store whose format has risen.
//!
//! The format rises in the commit that first needs it. A store without the row has the format of its oldest
//! readers. Over a shared store it rises once all processes know the new format.

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{backup as messages, destination, global, resource_policy};
use keywright_store::{Snapshot, Store, StoreError, Transaction};

use super::guard::TableChange;
use super::record::TAGGED;
use super::rows::format_key;
use super::table::Table;
use super::{Catalogue, record};
use crate::support::fault;
use crate::support::layout::{Space, prefix_range};
use crate::support::member_row::{Knows, MemberRow};
use crate::support::rows::each_row;

/// The format of stores whose tables have history, were restored, or had a bulk put: their writers must write
/// undo rows.
const HISTORY: u8 = 4;
/// The format of stores with tables that have Kinesis destinations: their writers must log changes for them.
const DESTINATIONS: u8 = 5;
/// The format of stores with tables that have replicas in other regions: their writers must write versions.
const REPLICAS: u8 = 6;
/// The format of shared stores whose writers have slots: who changes a table must write its slots.
pub(super) const SLOTS: u8 = 7;
/// The newest format that this release knows.
pub(super) const NEWEST: u8 = SLOTS;

/// The format that a store must have for this table to be in it.
fn needed_for(table: &Table) -> u8 {
    if record::has_replicas(table) {
        REPLICAS
    } else if record::has_destinations(table) {
        DESTINATIONS
    } else if record::has_history(table) {
        HISTORY
    } else {
        TAGGED
    }
}

/// Which records this release reads, as its processes publish it.
pub(crate) fn known() -> Knows {
    Knows { format: NEWEST, sections: record::known_tags().collect() }
}

/// The format of a store, from its row.
pub(super) fn of_row(row: Option<&Bytes>) -> u8 {
    row.and_then(|row| row.first()).copied().unwrap_or(0)
}

impl<S: Store> Catalogue<S> {
    /// Refuses a table's first policy while a process over the store would not judge requests by it.
    pub(crate) async fn check_knows_policies(&self, table: &str) -> Result<(), Error> {
        if self.all_know_tagged().await? { Ok(()) } else { Err(no_policy_yet(table)) }
    }

    /// Refuses a strongly consistent group while a process over the store would not know its names.
    pub(crate) async fn check_knows_strong(&self, table: &str) -> Result<(), Error> {
        if self.all_know_tagged().await? { Ok(()) } else { Err(not_strong_yet(table)) }
    }

    /// Whether every process over the store reads records with sections, and all critical ones that this one
    /// writes.
    pub(crate) async fn all_know_tagged(&self) -> Result<bool, Error> {
        if !self.store.capabilities().is_shared {
            return Ok(true);
        }
        let view = self.store.snapshot().await.map_err(|fault| fault::storage(&fault))?;
        all_know(&view, TAGGED).await.map_err(|fault| fault::storage(&fault))
    }

    /// Writes the records of a change, in the newest form that every process over the store reads, and raises
    /// the store's format if that form needs it. `stored` is the format that the transaction has read under
    /// protection.
    pub(super) async fn write_records(
        &self,
        txn: &mut TableChange<S::Transaction>,
        stored: u8,
    ) -> Result<(), Error> {
        // A later release can have taken this process for gone, and raised the format since the last reading.
        if stored > NEWEST {
            return Err(fault::internal());
        }
        let Some(needed) = txn.records().map(needed_for).max() else { return Ok(()) };
        if stored < needed {
            let is_shared = self.store.capabilities().is_shared;
            if is_shared && !all_know(&**txn, needed).await.map_err(|fault| fault::storage(&fault))? {
                if let Some(table) = txn.records().find(|table| record::has_policies(table)) {
                    return Err(no_policy_yet(&table.name));
                }
                if let Some(table) = txn.records().find(|table| record::is_strong(table)) {
                    return Err(not_strong_yet(&table.name));
                }
                if txn.records().any(|table| table.copied_by.is_some()) {
                    // A process of an earlier release came after the branch had begun: it would purge them.
                    return Err(fault::internal());
                }
                if needed > TAGGED {
                    return Err(not_yet(txn.records()));
                }
                txn.write_records(record::encode_untagged);
                return Ok(());
            }
            txn.put(format_key(), Bytes::copy_from_slice(&[needed]));
        }
        txn.write_records(record::encode);
        Ok(())
    }
}

fn no_policy_yet(table: &str) -> Error {
    Error::new(ErrorKind::ResourceInUse, resource_policy::older_servers(table))
}

fn not_strong_yet(table: &str) -> Error {
    Error::new(ErrorKind::ResourceInUse, global::older_servers(table))
}

/// The error of a change that must wait until no process of an older release serves the store.
fn not_yet<'t>(records: impl Iterator<Item = &'t Table>) -> Error {
    let newest = records.max_by_key(|table| needed_for(table));
    let name = newest.map_or("", |table| &table.name);
    if newest.is_some_and(record::has_replicas) {
        return Error::new(ErrorKind::ResourceInUse, global::older_servers(name));
    }
    if newest.is_some_and(record::has_destinations) {
        return Error::new(ErrorKind::ResourceInUse, destination::older_servers(name));
    }
    Error::new(ErrorKind::ContinuousBackupsUnavailable, messages::being_enabled(name))
}

/// Whether every process over a shared store knows this format, and all critical sections that this one
/// writes. A process whose sign of life is missing counts until its row is removed.
pub(super) async fn all_know(view: &impl Snapshot, format: u8) -> Result<bool, StoreError> {
    let mut all = true;
    each_row(view, prefix_range(vec![Space::Members.byte()]), |row| {
        if !MemberRow::is_at(&row.key) {
            return;
        }
        let knows = MemberRow::decode(&row.value).map(|row| row.knows).unwrap_or_default();
        all &= knows.format >= format && record::critical_tags().all(|tag| knows.sections.contains(&tag));
    })
    .await?;
    Ok(all)
}
