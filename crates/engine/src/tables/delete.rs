//! DeleteTable: the name is removed at once or after the transition, the rows in the background. A table with
//! point-in-time recovery leaves a backup.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{backup as backup_messages, global, table as messages};
use keywright_semantics::request::DeleteTable;
use keywright_semantics::response::{Response, TableDescription, TableStatus as TableStatusName};
use keywright_store::Store;

use super::describe::{View, describe};
use super::group::{
    begin_leaving, begin_update, change_group, check_all_replicated, check_group_settled, check_no_source,
    in_use,
};
use crate::catalogue::backup::{self, Backup, Maker, NewBackup};
use crate::catalogue::{IndexStatus, OtherRows, Rest, Table, TableStatus, owner};
use crate::history::cut::Cut;
use crate::state::Engine;
use crate::state::stats::{Counted, Tally};
use crate::streams;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::stamp::{DAY_MS, Stamp};

/// How long the backup of a deleted table is kept.
const SYSTEM_BACKUP_KEPT_MS: u64 = 35 * DAY_MS;

pub(crate) async fn run<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DeleteTable,
) -> Result<Response, Error> {
    let found = engine.catalogue().lookup_any(namespace, &request.table)?;
    let now_ms = engine.env().now_ms();
    check(&found, now_ms)?;
    let permit = |table: &Table| {
        check(table, now_ms)?;
        check_no_source(engine, table)
    };
    let tables = remove(engine, (&found, found.id), permit).await?;
    let table = tables.into_iter().next().ok_or_else(fault::internal)?;
    let mut description = describe(&table, View::of(engine));
    description.table_status = TableStatusName::Deleting;
    omit_what_the_service_omits(&mut description);
    if engine.config().transition_ms == 0 && !table.is_leaving() {
        engine.catalogue().unname(&table).await?;
    }
    Ok(Response::DeleteTable(Box::new(description)))
}

/// Begins to delete a table or one of its replicas, unless `permit` refuses; returns the records of the
/// group, the table's first. The name of one that has replicas goes once they have all of its writes.
pub(super) async fn remove<S: Store>(
    engine: &Engine<S>,
    (found, doomed): (&Arc<Table>, TableId),
    permit: impl Fn(&Table) -> Result<(), Error>,
) -> Result<Vec<Arc<Table>>, Error> {
    let own = engine.catalogue().with_id(doomed).ok_or_else(fault::internal)?;
    permit(&own)?;
    check_all_replicated(engine, &own).await?;
    let now_ms = engine.env().now_ms();
    let until_ms = now_ms.saturating_add(engine.config().transition_ms);
    let moment = streams::Moment::now(engine).await?;
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let backup = backup::new_system_name(&view, &owner(found), &found.name, now_ms).await?;
    drop(view);
    let cut = Cut::prepare(engine, now_ms).await?;
    let doom = |tables: &mut [Table], rows: &mut OtherRows| {
        let own = tables.iter_mut().find(|table| table.id == doomed);
        let table = own.ok_or_else(|| in_use(global::REPLICA_CHANGES.to_owned()))?;
        let stamp = cut.draw(engine, std::slice::from_ref(table));
        permit(table)?;
        if table.history.recovery().is_some() {
            let items = engine.stats().get(Counted::Items(table.id));
            let row = system_backup(table, (&backup.id, stamp), items, now_ms);
            assert!(table.history.hold(&backup.id, stamp), "a new stamp is in the history");
            rows.put(backup.key(&owner(table)), row.encode());
        }
        table.status = TableStatus::Deleting;
        table.status_until_ms = until_ms;
        streams::disable(table, moment);
        table.end_destinations(now_ms, Rest::Delivered);
        begin_leaving(tables, doomed, until_ms);
        if let Some(asked) = tables.first_mut().filter(|asked| asked.id != doomed) {
            begin_update(asked, moment);
        }
        Ok(())
    };
    let (tables, ()) = change_group(engine, found, doom).await?;
    engine.shipping().note(doomed);
    engine.due().expiring_backups.wake_at(now_ms.saturating_add(SYSTEM_BACKUP_KEPT_MS));
    Ok(tables)
}

/// The backup of a table that had point-in-time recovery. It ends when the recovery would have.
fn system_backup(table: &Table, (id, stamp): (&str, Stamp), items: Tally, now_ms: u64) -> Backup {
    Backup::of(
        table,
        NewBackup {
            id,
            name: &format!("{}$DeletedTableBackup", table.name),
            maker: Maker::System,
            created_ms: now_ms,
            expires_ms: Some(now_ms.saturating_add(SYSTEM_BACKUP_KEPT_MS)),
            stamp,
            item_count: u64::try_from(items.rows).unwrap_or(0),
            size_bytes: u64::try_from(items.bytes).unwrap_or(0),
            seal: None,
        },
    )
}

/// Observed: a deleted table is described without its keys, its indexes and its age.
fn omit_what_the_service_omits(description: &mut TableDescription) {
    description.attribute_definitions = None;
    description.key_schema = None;
    description.creation_date_time = None;
    description.local_secondary_indexes = None;
    description.global_secondary_indexes = None;
    description.warm_throughput = None;
}

fn check(table: &Table, now_ms: u64) -> Result<(), Error> {
    if table.deletion_protection {
        return Err(Error::validation(messages::DELETION_PROTECTED));
    }
    if table.strong.is_some() {
        return Err(Error::validation(global::STRONG_REPLICA_ALONE));
    }
    let in_use = |text: String| Err(Error::new(ErrorKind::ResourceInUse, text));
    match table.status {
        TableStatus::Creating if table.is_joining() => {
            return in_use(global::delete_while_added(&table.name));
        }
        TableStatus::Creating if table.filling.is_some() => {
            return in_use(backup_messages::table_in_use(&table.name));
        }
        TableStatus::Creating => return in_use(messages::being_created(&table.name)),
        TableStatus::Deleting => return in_use(messages::being_deleted(&table.name)),
        TableStatus::Updating if changes_its_stream(table, now_ms) => {
            return in_use(messages::delete_while_stream_changes());
        }
        TableStatus::Updating => return in_use(messages::delete_while_updated(&table.name)),
        TableStatus::Active => check_group_settled(table)?,
    }
    if table.key_change.as_ref().is_some_and(|change| now_ms < change.until_ms) {
        return in_use(messages::encryption_being_updated());
    }
    if table.states.iter().any(|state| state.status != IndexStatus::Active)
        || !table.doomed_indexes.is_empty()
    {
        return in_use(messages::delete_while_indexes_change());
    }
    Ok(())
}

/// Whether the table is UPDATING because its stream begins or ends. A new replica may enable a stream too:
/// the table waits for the replica then.
fn changes_its_stream(table: &Table, now_ms: u64) -> bool {
    let is_in_group = table.replicas().next().is_some() || !table.remote.members.is_empty();
    !is_in_group && table.streams().any(|stream| now_ms < stream.terms.settled_ms)
}
