//! The stream of a table at an endpoint: whether it can be followed, its shards, their records.

use keywright_model::item_json::read_item;
use keywright_model::json::Json;

use super::super::writes::Change;
use super::progress::Place;
use crate::client::endpoint::{Client, Refusal};
use crate::client::paging::Pages;
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// The views that show items as they are after a change.
const VIEWS: [&str; 2] = ["NEW_IMAGE", "NEW_AND_OLD_IMAGES"];

/// The ARN of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream(pub(crate) String);

/// The stream of a described table.
///
/// # Errors
///
/// If it is off, or shows no items.
pub(crate) fn stream_of(description: &Json, table: &str) -> Result<Stream, Failure> {
    let settings = description.at(&["Table", "StreamSpecification"]);
    let is_on = settings.and_then(|own| own.get("StreamEnabled")).and_then(Json::as_bool) == Some(true);
    let arn = description.at(&["Table", "LatestStreamArn"]).and_then(Json::as_str);
    let Some(arn) = arn.filter(|_| is_on) else {
        return Err(Failure::new(format!(
            "the table {table} has no stream, by which its changes are followed"
        ))
        .advising("pass --enable-stream to turn it on, with new and old images"));
    };
    let view = settings.and_then(|own| own.str_at("StreamViewType")).unwrap_or_default();
    if VIEWS.contains(&view) {
        return Ok(Stream(arn.to_owned()));
    }
    Err(Failure::new(format!(
        "the stream of the table {table} has the view {}, which does not show items: it needs {} or {}",
        inline(view),
        VIEWS[0],
        VIEWS[1]
    ))
    .advising("turn the stream off and on again with one of them"))
}

/// A shard as it is described. Whether it is closed shows at its end only: some endpoints give a last number
/// of open ones, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) id: String,
    pub(super) parent: Option<String>,
}

/// All shards of a stream.
pub(super) async fn shards(client: &mut Client, stream: &Stream) -> Result<Vec<Described>, Failure> {
    let mut request = Json::object([("StreamArn", Json::text(&stream.0))]);
    let mut pages = Pages::new("DescribeStream", None);
    let mut found = Vec::new();
    loop {
        let answer = client.ask_streams_again("DescribeStream", &request).await?;
        let description = answer.get("StreamDescription");
        let shards = description.and_then(|own| own.get("Shards")).map_or(&[][..], Json::elements);
        for shard in shards {
            let id = shard.str_at("ShardId").ok_or("DescribeStream: a shard has no ShardId")?;
            let parent = shard.str_at("ParentShardId").map(str::to_owned);
            found.push(Described { id: id.to_owned(), parent });
        }
        let next =
            description.and_then(|own| own.get("LastEvaluatedShardId")).filter(|next| **next != Json::Null);
        pages.note(shards.len(), next)?;
        let Some(next) = next else { return Ok(found) };
        request.set("ExclusiveStartShardId", next.clone());
    }
}

/// Where a shard is read from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start<'s> {
    /// After the last record that is there now.
    Tip,
    /// After what the progress says.
    Place(&'s Place),
}

/// An iterator.
pub(super) async fn iterator(
    client: &mut Client,
    stream: &Stream,
    shard: &str,
    start: Start<'_>,
) -> Result<String, Refusal> {
    let mut request = Json::object([("StreamArn", Json::text(&stream.0)), ("ShardId", Json::text(shard))]);
    let kind = match start {
        Start::Tip => "LATEST",
        Start::Place(Place::After(number)) => {
            request.set("SequenceNumber", Json::text(number));
            "AFTER_SEQUENCE_NUMBER"
        }
        Start::Place(Place::Beginning | Place::Tip | Place::End) => "TRIM_HORIZON",
    };
    request.set("ShardIteratorType", Json::text(kind));
    let answer = client.ask_streams_again("GetShardIterator", &request).await?;
    let iterator = answer.str_at("ShardIterator").map(str::to_owned);
    iterator.ok_or_else(|| "GetShardIterator: the answer has no ShardIterator".to_owned().into())
}

/// Some records of a shard.
pub(super) struct Batch {
    pub(super) changes: Vec<Change>,
    /// The number of the last record.
    pub(super) last: Option<String>,
    /// When the last record was made, by the source's clock.
    pub(super) last_ms: Option<u64>,
    /// Where to go on; `None` at the end of the shard.
    pub(super) next: Option<String>,
}

/// The records after an iterator.
pub(super) async fn records(client: &mut Client, iterator: &str) -> Result<Batch, Refusal> {
    let request = Json::object([("ShardIterator", Json::text(iterator))]);
    let answer = client.ask_streams_again("GetRecords", &request).await?;
    let mut batch = Batch {
        changes: Vec::new(),
        last: None,
        last_ms: None,
        next: answer.str_at("NextShardIterator").map(str::to_owned),
    };
    for record in answer.get("Records").map_or(&[][..], Json::elements) {
        batch.changes.push(change(record)?);
        batch.last = record.at(&["dynamodb", "SequenceNumber"]).and_then(Json::as_str).map(str::to_owned);
        batch.last_ms = record.at(&["dynamodb", "ApproximateCreationDateTime"]).and_then(milliseconds);
    }
    if !batch.changes.is_empty() && batch.last.is_none() {
        return Err("GetRecords: a record has no SequenceNumber".to_owned().into());
    }
    Ok(batch)
}

fn change(record: &Json) -> Result<Change, Refusal> {
    let item = |name: &str| {
        let found = record.at(&["dynamodb", name]).and_then(read_item)?;
        found.typed.then_some(found.item)
    };
    let missing = |name: &str| Refusal::from(format!("GetRecords: a record has no {name}"));
    let key = item("Keys").ok_or_else(|| missing("Keys"))?;
    let image = match record.str_at("eventName") {
        Some("REMOVE") => None,
        _ => Some(item("NewImage").ok_or_else(|| missing("NewImage"))?),
    };
    Ok(Change { key, image })
}

/// Seconds with a fraction, as whole milliseconds.
fn milliseconds(seconds: &Json) -> Option<u64> {
    let text = seconds.compact();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_must_be_on_and_show_items() {
        let of = |settings: &str| {
            let text = format!(r#"{{"Table":{{"LatestStreamArn":"arn"{settings}}}}}"#);
            stream_of(&Json::parse(&text).unwrap(), "T").map_err(|fault| fault.to_string())
        };
        let on = |view: &str| {
            of(&format!(r#","StreamSpecification":{{"StreamEnabled":true,"StreamViewType":"{view}"}}"#))
        };
        assert_eq!(on("NEW_IMAGE"), Ok(Stream("arn".to_owned())));
        assert!(on("KEYS_ONLY").unwrap_err().contains("NEW_AND_OLD_IMAGES"));
        // The stream that was on last is named after it was turned off, too.
        assert!(of("").unwrap_err().contains("--enable-stream"));
    }

    #[test]
    fn records_are_puts_and_deletes() {
        let read = |record: &str| change(&Json::parse(record).unwrap()).map_err(String::from);
        let put = read(
            r#"{"eventName":"MODIFY","dynamodb":{"Keys":{"k":{"N":"1"}},"NewImage":{"k":{"N":"1"},"a":{"S":"x"}}}}"#,
        );
        assert_eq!(put.unwrap().image.unwrap().len(), 2);
        let delete =
            read(r#"{"eventName":"REMOVE","dynamodb":{"Keys":{"k":{"N":"1"}},"OldImage":{"k":{"N":"1"}}}}"#);
        assert_eq!(delete.unwrap().image, None);
        let without = read(r#"{"eventName":"INSERT","dynamodb":{"Keys":{"k":{"N":"1"}}}}"#);
        assert!(without.unwrap_err().contains("NewImage"));
        assert_eq!(milliseconds(&Json::parse("1700000000.25").unwrap()), Some(1_700_000_000_250));
        assert_eq!(milliseconds(&Json::parse("1700000000").unwrap()), Some(1_700_000_000_000));
    }
}
