//! DisableKinesisStreamingDestination. The changes that the table has logged until then are still delivered.

use keywright_semantics::error::Error;
use keywright_semantics::messages::destination as messages;
use keywright_semantics::request::DisableKinesisStreamingDestination;
use keywright_semantics::response::{ChangedDestination, Configuration, DestinationStatus, Response};
use keywright_store::Store;

use super::{check_changeable, table_of};
use crate::catalogue::{Phase, Rest, Table};
use crate::state::Engine;
use crate::support::env::Namespace;

pub(crate) async fn disable<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DisableKinesisStreamingDestination,
) -> Result<Response, Error> {
    let found = table_of(engine, namespace, &request.table)?;
    let now_ms = engine.env().now_ms();
    let settled_ms = now_ms.saturating_add(engine.config().transition_ms);
    let disable = |table: &mut Table| change(table, &request.stream_arn, (now_ms, settled_ms));
    let (table, ()) = engine.change_table(found.target(), disable).await?;
    Ok(Response::DisableKinesisStreamingDestination(ChangedDestination {
        table_name: table.name.clone(),
        stream_arn: request.stream_arn.clone(),
        status: DestinationStatus::Disabling,
        configuration: Configuration::Absent,
    }))
}

fn change(table: &mut Table, stream_arn: &str, (now_ms, settled_ms): (u64, u64)) -> Result<(), Error> {
    check_changeable(table)?;
    let refused = || Error::validation(messages::not_to_be_disabled());
    let destination = table.destinations.of_stream(stream_arn).ok_or_else(refused)?;
    let id = destination.id;
    match destination.status(now_ms) {
        DestinationStatus::Active => {}
        // Observed: a second request is accepted.
        DestinationStatus::Disabling => return Ok(()),
        DestinationStatus::Enabling
        | DestinationStatus::Disabled
        | DestinationStatus::EnableFailed
        | DestinationStatus::Updating => return Err(refused()),
    }
    if let Some(destination) = table.destinations.with_id_mut(id) {
        destination.phase = Phase::Disabled;
        destination.settled_ms = settled_ms;
    }
    table.close_destination(id, now_ms, Rest::Delivered);
    Ok(())
}
