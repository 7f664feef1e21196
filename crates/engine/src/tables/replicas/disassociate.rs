//! UpdateTable that takes the table out of its group with its data, and the protection against that.
//!
//! Background work ends it (`replication`), once what was written so far is on both sides.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::request::TableRef;
use keywright_semantics::response::{Response, TableDescription, TableStatus as TableStatusName};
use keywright_store::Store;

use super::member_in;
use crate::catalogue::{MemberStatus, OtherRows, Table, TableStatus};
use crate::state::Engine;
use crate::streams;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::tables::describe::{View, describe};
use crate::tables::group::{begin_update, change_group, check_group_settled, in_use};

/// Begins to take the table out of its group.
pub(super) async fn begin<S: Store>(
    engine: &Engine<S>,
    (found, region): (&Arc<Table>, &str),
) -> Result<TableDescription, Error> {
    if region != found.region {
        return Err(Error::validation(messages::disassociated_elsewhere(region, &found.region)));
    }
    member_in(found, region)?;
    if found.is_joining() {
        return Err(Error::validation(messages::being_added(&found.name, &found.region)));
    }
    let moment = streams::Moment::now(engine).await?;
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        let own = tables.first_mut().ok_or_else(fault::internal)?;
        check_group_settled(own)?;
        if own.status != TableStatus::Active {
            return Err(in_use(table_messages::being_updated(&own.name)));
        }
        if own.as_member().is_some_and(|member| member.is_protected) {
            let text = messages::protected_from_disassociation(&own.name, &own.region);
            return Err(Error::validation(text));
        }
        let leaver = own.id;
        own.status = TableStatus::Updating;
        own.status_until_ms = moment.settled_ms();
        for table in tables.iter_mut() {
            if let Some(member) = table.replication.as_mut().and_then(|group| group.member_mut(leaver)) {
                member.status = MemberStatus::Disassociating;
                member.until_ms = moment.settled_ms();
            }
        }
        assert!(tables.first().is_some_and(Table::is_disassociating), "a member is in its own record");
        Ok(())
    };
    let (tables, ()) = change_group(engine, found, change).await?;
    for table in &tables {
        engine.shipping().note(table.id);
    }
    let mut description = describe(tables.first().unwrap_or(found), View::of(engine));
    description.table_status = TableStatusName::Updating;
    Ok(description)
}

/// Protects a replica from being taken out of its group, or ends that.
pub(crate) async fn protect<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (table, is_protected): (&TableRef, bool),
) -> Result<Response, Error> {
    let found = engine.catalogue().lookup_any(namespace, table)?;
    if found.filling.is_some() {
        let text = table_messages::table_not_found(&found.name);
        return Err(Error::new(ErrorKind::ResourceNotFound, text));
    }
    let moment = streams::Moment::now(engine).await?;
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        let own = tables.first_mut().ok_or_else(fault::internal)?;
        if own.replication.is_none() {
            return Err(Error::validation(messages::protection_of_no_replica(&own.name)));
        }
        check_group_settled(own)?;
        if own.status != TableStatus::Active {
            return Err(in_use(table_messages::being_updated(&own.name)));
        }
        let own_id = own.id;
        begin_update(own, moment);
        for table in tables {
            if let Some(member) = table.replication.as_mut().and_then(|group| group.member_mut(own_id)) {
                member.is_protected = is_protected;
            }
        }
        Ok(())
    };
    let (tables, ()) = change_group(engine, &found, change).await?;
    let mut description = describe(tables.first().unwrap_or(&found), View::of(engine));
    description.table_status = TableStatusName::Updating;
    Ok(Response::UpdateTable(Box::new(description)))
}
