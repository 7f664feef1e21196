//! The moment from which on changes go both ways: the second table has all that the first one had.

use keywright_model::json::Json;

use super::super::extent::Extent;
use super::super::follow::progress::Progress;
use super::super::follow::{Interruption, Stream};
use super::super::side::Side;
use super::super::source_stream::{Missing, stream};
use super::book::Book;
use super::reader::Reader;
use super::rival::origin;
use crate::client::endpoint::Client;
use crate::process::environment::now;
use crate::process::failure::Failure;

/// The view that both streams need.
const VIEW: &str = "NEW_AND_OLD_IMAGES";

/// Refuses a stream that does not show items before a change.
pub(crate) fn check_view(description: &Json, table: &str) -> Result<(), Failure> {
    let view = description.at(&["Table", "StreamSpecification", "StreamViewType"]).and_then(Json::as_str);
    if view == Some(VIEW) {
        return Ok(());
    }
    Err(Failure::new(format!("the stream of {table} does not show items before and after a change"))
        .advising(format!("turn it off and on again with {VIEW}: both ways need it of both tables")))
}

/// The stream of the second table, which is turned on if it is off.
pub(crate) async fn second_stream(client: &mut Client, second: &Side) -> Result<Stream, Failure> {
    let description = second.describe(client).await?;
    let (stream, description) = stream(client, second, (Missing::TurnOn, Extent::Done), description).await?;
    check_view(&description, &second.place())?;
    stream.ok_or_else(|| Failure::new("the second table has no stream"))
}

/// The book with nothing under way, from the places of the follower. What the second stream has until now is
/// left out: it came of the copy.
pub(crate) async fn begin(
    (second, id): (&Side, &str),
    second_stream: Stream,
    first_places: Progress,
) -> Result<Book, Interruption> {
    let mut reader = Reader::from_oldest(second, second_stream.clone()).await?;
    reader.read_to_end(|_| false).await?;
    Ok(Book::new(second_stream.0, first_places, reader.places, origin(id, now().0)))
}
