//! The stream of a table at an endpoint: whether it can be followed, its shards, their records.

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::super::writes::Change;
use super::progress::{Mark, Place};
use crate::client::endpoint::{Client, Refusal};
use crate::client::paging::Pages;
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// The views that show items as they are after a change.
const VIEWS: [&str; 2] = ["NEW_IMAGE", "NEW_AND_OLD_IMAGES"];

/// Who deletes items by time to live.
const SERVICE: &str = "dynamodb.amazonaws.com";

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
pub(crate) struct Described {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    /// The number that it begins with, if the endpoint says so.
    pub(crate) first: Option<String>,
}

/// All shards of a stream.
pub(super) async fn shards(client: &mut Client, stream: &Stream) -> Result<Vec<Described>, Refusal> {
    let mut request = Json::object([("StreamArn", Json::text(&stream.0))]);
    let mut pages = Pages::new("DescribeStream", None);
    let mut found = Vec::new();
    loop {
        let answer = client.ask_streams_again("DescribeStream", &request).await?;
        let description = answer.get("StreamDescription");
        let shards = description.and_then(|own| own.get("Shards")).map_or(&[][..], Json::elements);
        for shard in shards {
            let id = shard.str_at("ShardId");
            let id = id.ok_or_else(|| Refusal::from("DescribeStream: a shard has no ShardId".to_owned()))?;
            let parent = shard.str_at("ParentShardId").map(str::to_owned);
            let first = shard.at(&["SequenceNumberRange", "StartingSequenceNumber"]).and_then(Json::as_str);
            found.push(Described { id: id.to_owned(), parent, first: first.map(str::to_owned) });
        }
        let next =
            description.and_then(|own| own.get("LastEvaluatedShardId")).filter(|next| **next != Json::Null);
        pages.note(shards.len(), next)?;
        let Some(next) = next else { return Ok(found) };
        request.set("ExclusiveStartShardId", next.clone());
    }
}

/// When a stream was turned on, by the source's clock; `None` if the source does not say so.
pub(super) async fn created_ms(client: &mut Client, stream: &Stream) -> Result<Option<u64>, Failure> {
    let request = Json::object([("StreamArn", Json::text(&stream.0)), ("Limit", Json::number(1))]);
    let answer = client.ask_streams_again("DescribeStream", &request).await?;
    Ok(answer.at(&["StreamDescription", "CreationRequestDateTime"]).and_then(milliseconds))
}

/// Where a shard is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start<'s> {
    /// After the last record that is there now.
    Tip,
    /// With the oldest record that is there.
    Oldest,
    /// With the record of this number, or the next one. It is refused if that is no longer there.
    At(&'s str),
    /// After the record of this number.
    After(&'s str),
}

impl<'s> Start<'s> {
    /// What comes after a place.
    pub(super) fn at(place: &'s Place) -> Self {
        match place {
            Place::After(mark) | Place::Older(mark) => Self::After(&mark.number),
            Place::Beginning(Some(first)) => Self::At(first),
            Place::Beginning(None) | Place::Tip | Place::End => Self::Oldest,
        }
    }
}

/// An iterator.
pub(super) async fn iterator(
    client: &mut Client,
    stream: &Stream,
    shard: &str,
    start: Start<'_>,
) -> Result<String, Refusal> {
    let (kind, number) = match start {
        Start::Tip => ("LATEST", None),
        Start::Oldest => ("TRIM_HORIZON", None),
        Start::At(number) => ("AT_SEQUENCE_NUMBER", Some(number)),
        Start::After(number) => ("AFTER_SEQUENCE_NUMBER", Some(number)),
    };
    let mut request = Json::object([
        ("StreamArn", Json::text(&stream.0)),
        ("ShardId", Json::text(shard)),
        ("ShardIteratorType", Json::text(kind)),
    ]);
    if let Some(number) = number {
        request.set("SequenceNumber", Json::text(number));
    }
    let answer = client.ask_streams_again("GetShardIterator", &request).await?;
    let iterator = answer.str_at("ShardIterator").map(str::to_owned);
    iterator.ok_or_else(|| "GetShardIterator: the answer has no ShardIterator".to_owned().into())
}

/// A record of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) change: Change,
    /// The item before the change, if there was one and the stream shows it.
    pub(crate) before: Option<Item>,
    pub(crate) number: String,
    /// When the record was made, by the source's clock.
    pub(crate) made_ms: Option<u64>,
    /// Whether time to live deleted the item.
    pub(crate) is_expiry: bool,
}

impl Record {
    /// What a place after it keeps of it.
    pub(crate) fn mark(&self) -> Mark {
        Mark { number: self.number.clone(), made_ms: self.made_ms }
    }

    /// Whether it is the record that was read.
    pub(super) fn is(&self, mark: &Mark) -> bool {
        let is_made_then = mark.made_ms.is_none() || self.made_ms == mark.made_ms;
        self.number == mark.number && is_made_then
    }
}

/// Some records of a shard.
pub(crate) struct Batch {
    pub(crate) records: Vec<Record>,
    /// Where to go on; `None` at the end of the shard.
    pub(crate) next: Option<String>,
}

/// The records after an iterator: what the endpoint sends at once, or at most so many.
pub(super) async fn records(
    client: &mut Client,
    iterator: &str,
    count: Option<u32>,
) -> Result<Batch, Refusal> {
    let mut request = Json::object([("ShardIterator", Json::text(iterator))]);
    if let Some(count) = count {
        request.set("Limit", Json::number(count));
    }
    let answer = client.ask_streams_again("GetRecords", &request).await?;
    let records = answer.get("Records").map_or(&[][..], Json::elements);
    let records = records.iter().map(read_record).collect::<Result<_, _>>()?;
    Ok(Batch { records, next: answer.str_at("NextShardIterator").map(str::to_owned) })
}

fn read_record(record: &Json) -> Result<Record, Refusal> {
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
    let number = record.at(&["dynamodb", "SequenceNumber"]).and_then(Json::as_str);
    Ok(Record {
        change: Change { key, image },
        before: item("OldImage"),
        number: number.ok_or_else(|| missing("SequenceNumber"))?.to_owned(),
        made_ms: record.at(&["dynamodb", "ApproximateCreationDateTime"]).and_then(milliseconds),
        is_expiry: record.at(&["userIdentity", "PrincipalId"]).and_then(Json::as_str) == Some(SERVICE),
    })
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
        let read = |record: &str| read_record(&Json::parse(record).unwrap()).map_err(String::from);
        let put = read(
            r#"{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"7","Keys":{"k":{"N":"1"}},"NewImage":{"k":{"N":"1"},"a":{"S":"x"}}}}"#,
        );
        let put = put.unwrap();
        assert_eq!((put.change.image.unwrap().len(), put.number.as_str()), (2, "7"));
        let delete = |identity: &str| {
            let members = r#""Keys":{"k":{"N":"1"}},"SequenceNumber":"8","ApproximateCreationDateTime":5.0"#;
            read(&format!(r#"{{"eventName":"REMOVE","dynamodb":{{{members}}}{identity}}}"#)).unwrap()
        };
        let deleted = delete("");
        assert_eq!((deleted.change.image, deleted.made_ms, deleted.is_expiry), (None, Some(5000), false));
        let by =
            |principal: &str| format!(r#","userIdentity":{{"Type":"Service","PrincipalId":"{principal}"}}"#);
        assert!(delete(&by("dynamodb.amazonaws.com")).is_expiry);
        assert!(!delete(&by("another")).is_expiry);
        let without = read(r#"{"eventName":"INSERT","dynamodb":{"Keys":{"k":{"N":"1"}}}}"#);
        assert!(without.unwrap_err().contains("NewImage"));
        assert_eq!(milliseconds(&Json::parse("1700000000.25").unwrap()), Some(1_700_000_000_250));
        assert_eq!(milliseconds(&Json::parse("1700000000").unwrap()), Some(1_700_000_000_000));
    }
}
