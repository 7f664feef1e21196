//! EnableKinesisStreamingDestination.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{destination as messages, global, table};
use keywright_semantics::request::EnableKinesisStreamingDestination;
use keywright_semantics::response::{ChangedDestination, Configuration, DestinationStatus, Response};
use keywright_store::Store;

use super::{check_changeable, table_of};
use crate::catalogue::{DestinationTerms, Purpose, Table};
use crate::state::Engine;
use crate::streams::{self, Moment};
use crate::support::env::Namespace;

pub(crate) async fn enable<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &EnableKinesisStreamingDestination,
) -> Result<Response, Error> {
    let found = table_of(engine, namespace, &request.table)?;
    let moment = Moment::now(engine).await?;
    let (table, ()) = engine.change_table(found.target(), |table| change(table, request, moment)).await?;
    Ok(Response::EnableKinesisStreamingDestination(ChangedDestination {
        table_name: table.name.clone(),
        stream_arn: request.stream_arn.clone(),
        status: DestinationStatus::Enabling,
        configuration: Configuration::Enabled(request.precision),
    }))
}

fn change(
    table: &mut Table,
    request: &EnableKinesisStreamingDestination,
    moment: Moment,
) -> Result<(), Error> {
    use DestinationStatus::{Disabled, EnableFailed};
    check_changeable(table)?;
    if table.strong.is_some() {
        return Err(Error::validation(global::STRONG_WITHOUT_DESTINATIONS));
    }
    let now_ms = moment.now_ms();
    let mut known = table.destinations.all.iter().map(|destination| destination.status(now_ms));
    // One that is being disabled counts too (observed).
    if !known.all(|status| matches!(status, Disabled | EnableFailed)) {
        return Err(Error::validation(messages::not_to_be_enabled()));
    }
    if streams::are_too_many(table, moment) {
        return Err(Error::new(ErrorKind::LimitExceeded, table::too_many_streams(&table.name)));
    }
    let precision = request.precision.map(Into::into);
    let times = (now_ms, moment.settled_ms());
    let id = table.destinations.enable((&request.stream_arn, precision), times);
    let stream_arn = request.stream_arn.clone();
    let terms = DestinationTerms { id, stream_arn, precision, is_discarded: false };
    moment.open_log(table, Purpose::Destination(terms));
    Ok(())
}
