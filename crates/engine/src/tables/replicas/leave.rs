//! UpdateTable that removes a replica: its table is deleted as DeleteTable does it.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::response::{TableDescription, TableStatus as TableStatusName};
use keywright_store::Store;

use super::{check_region, member_in};
use crate::catalogue::{Table, TableStatus};
use crate::state::Engine;
use crate::tables::delete::remove;
use crate::tables::describe::{View, describe};
use crate::tables::group::{check_group_settled, check_no_source, in_use};

/// Removes the replica in a region. The response shows the table as ACTIVE (observed).
pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    (found, region): (&Arc<Table>, &str),
) -> Result<TableDescription, Error> {
    check_region(found, region)?;
    let leaver = member_in(found, region)?;
    let permit = |table: &Table| {
        check_no_source(engine, table)?;
        check_group_settled(table)?;
        if table.status != TableStatus::Active {
            return Err(in_use(table_messages::delete_while_updated(&table.name)));
        }
        if table.deletion_protection {
            return Err(Error::validation(messages::protected(&table.name, &table.region)));
        }
        Ok(())
    };
    let tables = remove(engine, (found, leaver), permit).await?;
    let own = tables.first().unwrap_or(found);
    let mut description = describe(own, View::of(engine));
    description.table_status = TableStatusName::Active;
    Ok(description)
}
