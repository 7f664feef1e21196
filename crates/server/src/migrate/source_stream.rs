//! The stream of a source, which may have to be turned on first.

use keywright_model::json::Json;

use super::extent::Extent;
use super::follow::{Stream, stream_of};
use super::side::Side;
use crate::client::endpoint::Client;
use crate::data::table;
use crate::process::failure::Failure;
use crate::process::output;

/// What to do about a source without a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Refuse,
    TurnOn,
}

/// Whether the stream of a described table is on.
pub(super) fn is_on(description: &Json) -> bool {
    let is_on = description.at(&["Table", "StreamSpecification", "StreamEnabled"]).and_then(Json::as_bool);
    is_on == Some(true)
}

/// The source's stream; `None` if it is to be turned on and this is only shown.
pub(super) async fn stream(
    client: &mut Client,
    source: &Side,
    (missing, extent): (Missing, Extent),
    description: Json,
) -> Result<(Option<Stream>, Json), Failure> {
    if is_on(&description) || missing == Missing::Refuse {
        return Ok((Some(stream_of(&description, &source.table)?), description));
    }
    if extent == Extent::Shown {
        output::note(&format!("{}: turn its stream on, with new and old images", source.table));
        return Ok((None, description));
    }
    let specification = Json::object([
        ("StreamEnabled", Json::Bool(true)),
        ("StreamViewType", Json::text("NEW_AND_OLD_IMAGES")),
    ]);
    let request =
        Json::object([("TableName", Json::text(&source.table)), ("StreamSpecification", specification)]);
    client.ask("UpdateTable", &request).await?;
    table::wait_until_active(client, &source.table).await?;
    output::note(&format!("{}: turned its stream on; it stays on", source.table));
    let description = source.describe_source(client).await?;
    Ok((Some(stream_of(&description, &source.table)?), description))
}

/// Refuses a table that is to be filled from itself. The flag names the target.
pub(super) fn refuse_itself(source: &Side, target: &Side, flag: &str) -> Result<(), Failure> {
    let is_same = source.endpoint == target.endpoint
        && source.table == target.table
        && source.region()? == target.region()?;
    if is_same { Err(refusal_of_itself(source, flag)?) } else { Ok(()) }
}

/// What is said of a table that is to be filled from itself.
pub(super) fn refusal_of_itself(source: &Side, flag: &str) -> Result<Failure, Failure> {
    Ok(Failure::new(format!("{} is both the source and the target", source.shown()?))
        .advising(format!("name another endpoint with --endpoint, or another table with {flag}")))
}
