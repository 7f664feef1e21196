//! Kinesis destinations: the operations on them, and what the caller needs to deliver a table's changes.
//!
//! Each enabling has a change log of its own (`catalogue::Purpose::Destination`), whose records the commit
//! of a change appends (`write::append`). The engine reaches no stream: the caller asks which logs of tables
//! that this process owns have something to do ([`Engine::deliveries`]), tells how the first contact went,
//! and sends pages of records. How far a shard is delivered is a row of its own, which each commit compares
//! (`changes::delivered`): of two callers that believe to own a table, one is overtaken. A record may be sent
//! twice, after a crash or by two owners for a moment; it is never left out.
//!
//! The order of an item's changes is kept: a shard waits until its parent is delivered, a log until older
//! logs of the same stream are.

mod deliver;
mod disable;
mod enable;
mod list;
mod update;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::TableRef;
use keywright_store::Store;

pub use deliver::{Contact, Delivery, DeliveryPage, PagedRecord, Sent, Want};
pub(crate) use disable::disable;
pub(crate) use enable::enable;
pub use list::DestinationView;
pub(crate) use list::describe;
pub(crate) use update::update;

use std::sync::Arc;

use crate::catalogue::{Table, TableStatus};
use crate::state::Engine;
use crate::support::env::Namespace;

/// The table of a request: none while it is being created (observed).
fn table_of<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    table: &TableRef,
) -> Result<Arc<Table>, Error> {
    let found = engine.catalogue().lookup_any(namespace, table)?;
    check_created(&found)?;
    Ok(found)
}

fn check_created(table: &Table) -> Result<(), Error> {
    match table.status {
        TableStatus::Creating => {
            Err(Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(&table.name)))
        }
        TableStatus::Active | TableStatus::Updating | TableStatus::Deleting => Ok(()),
    }
}

/// Checks that the destinations of a table may be changed.
fn check_changeable(table: &Table) -> Result<(), Error> {
    check_created(table)?;
    if table.status == TableStatus::Deleting {
        return Err(Error::new(ErrorKind::ResourceInUse, messages::being_deleted(&table.name)));
    }
    Ok(())
}
