//! UpdateKinesisStreamingDestination. Changes that are not delivered yet get the new precision too.

use keywright_semantics::error::Error;
use keywright_semantics::messages::destination as messages;
use keywright_semantics::request::UpdateKinesisStreamingDestination;
use keywright_semantics::response::{ChangedDestination, Configuration, DestinationStatus, Response};
use keywright_store::Store;

use super::{check_changeable, table_of};
use crate::catalogue::{Phase, Precision, Purpose, Table};
use crate::state::Engine;
use crate::support::env::Namespace;

pub(crate) async fn update<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UpdateKinesisStreamingDestination,
) -> Result<Response, Error> {
    let found = table_of(engine, namespace, &request.table)?;
    let now_ms = engine.env().now_ms();
    let settled_ms = now_ms.saturating_add(engine.config().transition_ms);
    let update = |table: &mut Table| change(table, request, (now_ms, settled_ms));
    let (table, ()) = engine.change_table(found.target(), update).await?;
    Ok(Response::UpdateKinesisStreamingDestination(ChangedDestination {
        table_name: table.name.clone(),
        stream_arn: request.stream_arn.clone(),
        status: DestinationStatus::Updating,
        configuration: Configuration::Updated(request.precision),
    }))
}

fn change(
    table: &mut Table,
    request: &UpdateKinesisStreamingDestination,
    (now_ms, settled_ms): (u64, u64),
) -> Result<(), Error> {
    check_changeable(table)?;
    let arn = &request.stream_arn;
    let missing = || Error::validation(messages::not_found(&table.name, arn));
    let destination = table.destinations.of_stream(arn).ok_or_else(missing)?;
    if destination.status(now_ms) != DestinationStatus::Active {
        return Err(Error::validation(messages::not_to_be_updated(&table.name, arn)));
    }
    let wanted = Precision::from(request.precision);
    // Milliseconds are the default, also where nothing was set (observed).
    if destination.precision.unwrap_or(Precision::Milliseconds) == wanted {
        let text = messages::same_precision(request.precision.name(), &table.public_id, arn);
        return Err(Error::validation(text));
    }
    let id = destination.id;
    if let Some(destination) = table.destinations.with_id_mut(id) {
        destination.precision = Some(wanted);
        destination.phase = Phase::Updating;
        destination.settled_ms = settled_ms;
    }
    for log in &mut table.logs {
        if let Purpose::Destination(terms) = &mut log.purpose
            && terms.id == id
        {
            terms.precision = Some(wanted);
        }
    }
    Ok(())
}
