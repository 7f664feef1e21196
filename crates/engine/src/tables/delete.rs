//! DeleteTable: the name is removed at once or after the transition, the rows in the background.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::DeleteTable;
use keywright_semantics::response::{Response, TableDescription, TableStatus as TableStatusName};
use keywright_store::Store;

use super::describe::{View, describe};
use crate::catalogue::{IndexStatus, Table, TableStatus};
use crate::state::Engine;
use crate::streams;
use crate::support::env::Namespace;

pub(crate) async fn run<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DeleteTable,
) -> Result<Response, Error> {
    let found = engine.catalogue().lookup_any(namespace, &request.table)?;
    let until_ms = engine.env().now_ms().saturating_add(engine.config().transition_ms);
    let moment = streams::Moment::now(engine).await?;
    let doom = |table: &mut Table| {
        check(table)?;
        table.status = TableStatus::Deleting;
        table.status_until_ms = until_ms;
        streams::disable(table, moment);
        Ok(())
    };
    let (table, ()) = engine.change_table(found.id, doom).await?;
    let mut description = describe(&table, View::of(engine));
    description.table_status = TableStatusName::Deleting;
    omit_what_the_service_omits(&mut description);
    if engine.config().transition_ms == 0 {
        engine.catalogue().unname(&table).await?;
    }
    Ok(Response::DeleteTable(Box::new(description)))
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

fn check(table: &Table) -> Result<(), Error> {
    if table.deletion_protection {
        return Err(Error::validation(messages::DELETION_PROTECTED));
    }
    let in_use = |text: String| Err(Error::new(ErrorKind::ResourceInUse, text));
    match table.status {
        TableStatus::Creating => return in_use(messages::being_created(&table.name)),
        TableStatus::Deleting => return in_use(messages::being_deleted(&table.name)),
        TableStatus::Updating => return in_use(messages::delete_while_updated(&table.name)),
        TableStatus::Active => {}
    }
    if table.states.iter().any(|state| state.status != IndexStatus::Active)
        || !table.doomed_indexes.is_empty()
    {
        return in_use(messages::delete_while_indexes_change());
    }
    Ok(())
}
