//! Change records as Lambda hands them to functions, the patterns that choose among them, answers of
//! functions, and reports about records that were passed over.
//!
//! Source: Lambda's guide on DynamoDB event sources. It knows JSON and neither shards nor HTTP.

mod answer;
mod failure;
mod pattern;
mod removals;

pub use answer::{BatchAnswer, WindowAnswer, batch_answer, window_answer};
pub use failure::{Condition, FailedBatch, Payload, failed_batch};
pub use pattern::Pattern;
pub use removals::archive_warning;

use keywright_semantics::response::StreamRecord;

use crate::render::Writer;

/// A record of a stream as an element of an event.
pub fn lambda_record(record: &StreamRecord, stream_arn: &str) -> Vec<u8> {
    crate::render::lambda_record(record, stream_arn)
}

/// A tumbling window as an event shows it.
#[derive(Clone, Copy, Debug)]
pub struct Window<'w> {
    /// Its first moment, in milliseconds since 1970.
    pub start_ms: u64,
    /// Its end.
    pub end_ms: u64,
    /// What the function answered last, as JSON.
    pub state: &'w str,
    /// The shard.
    pub shard_id: &'w str,
    /// The stream.
    pub stream_arn: &'w str,
    /// Whether no more records follow in the window.
    pub is_final: bool,
    /// Whether it ends before its time.
    pub is_early: bool,
}

/// The event of a batch. The records are JSON.
pub fn lambda_event<R: AsRef<[u8]>>(records: &[R], window: Option<&Window<'_>>) -> Vec<u8> {
    let bytes: usize = records.iter().map(|record| record.as_ref().len() + 1).sum();
    let room = window.map_or(0, |window| window.state.len() + 512);
    let mut writer = Writer::with_capacity(bytes + room + 32);
    writer.raw("{\"Records\":[");
    for (place, record) in records.iter().enumerate() {
        if place > 0 {
            writer.raw(",");
        }
        writer.bytes(record.as_ref());
    }
    writer.raw("]");
    if let Some(window) = window {
        assert!(window.start_ms < window.end_ms, "a window has a length");
        assert!(!window.state.is_empty(), "a state is JSON");
        writer.raw(",\"window\":{\"start\":");
        writer.text(&seconds(window.start_ms));
        writer.raw(",\"end\":");
        writer.text(&seconds(window.end_ms));
        writer.raw("},\"state\":");
        writer.raw(window.state);
        writer.raw(",\"shardId\":");
        writer.text(window.shard_id);
        writer.raw(",\"eventSourceARN\":");
        writer.text(window.stream_arn);
        writer.raw(if window.is_final {
            ",\"isFinalInvokeForWindow\":true"
        } else {
            ",\"isFinalInvokeForWindow\":false"
        });
        writer.raw(if window.is_early {
            ",\"isWindowTerminatedEarly\":true"
        } else {
            ",\"isWindowTerminatedEarly\":false"
        });
    }
    writer.raw("}");
    writer.finish()
}

fn date(ms: u64) -> time::OffsetDateTime {
    let seconds = i64::try_from(ms / 1000).unwrap_or_default();
    time::OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
}

/// `2026-01-02T03:04:05Z`.
fn seconds(ms: u64) -> String {
    let date = date(ms);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        date.year(),
        u8::from(date.month()),
        date.day(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

#[cfg(test)]
mod tests {
    use keywright_semantics::codec::EncodedItem;
    use keywright_semantics::response::{StreamEvent, StreamIdentity, TimestampMs};
    use keywright_semantics::schema::StreamView;
    use keywright_semantics::sequence::SequenceNumber;
    use keywright_semantics::value::AttributeValue;

    use super::*;

    fn record(identity: StreamIdentity) -> StreamRecord {
        let item = |pairs: &[(&str, &str)]| {
            let value = |text: &&str| AttributeValue::S((*text).to_owned());
            EncodedItem::encode(&pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect())
        };
        StreamRecord {
            event_id: "e".to_owned(),
            event: StreamEvent::Remove,
            identity,
            region: "eu-west-1".to_owned(),
            created: TimestampMs(1_721_011_165_891),
            size_bytes: 26,
            keys: item(&[("pk", "a")]),
            new_image: None,
            old_image: Some(item(&[("pk", "a"), ("x", "1")])),
            sequence_number: SequenceNumber::new(5, 0),
            view: StreamView::NewAndOldImages,
        }
    }

    #[test]
    fn an_expired_items_record_names_the_service_in_lower_case_and_others_nobody() {
        let body = "{\"eventID\":\"e\",\"eventName\":\"REMOVE\",\"eventVersion\":\"1.1\",\
            \"eventSource\":\"aws:dynamodb\",\"awsRegion\":\"eu-west-1\",\"dynamodb\":{\
            \"ApproximateCreationDateTime\":1721011165,\"Keys\":{\"pk\":{\"S\":\"a\"}},\
            \"OldImage\":{\"pk\":{\"S\":\"a\"},\"x\":{\"S\":\"1\"}},\
            \"SequenceNumber\":\"10000000000000005000000\",\"SizeBytes\":26,\
            \"StreamViewType\":\"NEW_AND_OLD_IMAGES\"}";
        let text = |identity| String::from_utf8(lambda_record(&record(identity), "arn")).unwrap_or_default();
        assert_eq!(text(StreamIdentity::Caller), format!("{body},\"eventSourceARN\":\"arn\"}}"));
        assert_eq!(
            text(StreamIdentity::TimeToLive),
            format!(
                "{body},\"userIdentity\":{{\"type\":\"Service\",\"principalId\":\"dynamodb.amazonaws.com\"}},\
                 \"eventSourceARN\":\"arn\"}}"
            )
        );
    }

    #[test]
    fn an_event_has_its_records_and_its_window() {
        assert_eq!(lambda_event(&[b"{}", b"{}"], None), b"{\"Records\":[{},{}]}");
        let window = Window {
            start_ms: 60_000,
            end_ms: 120_000,
            state: "{\"sum\":1}",
            shard_id: "s",
            stream_arn: "a",
            is_final: true,
            is_early: false,
        };
        let none: [&[u8]; 0] = [];
        assert_eq!(
            String::from_utf8(lambda_event(&none, Some(&window))).as_deref(),
            Ok(
                "{\"Records\":[],\"window\":{\"start\":\"1970-01-01T00:01:00Z\",\"end\":\"1970-01-01T00:02:00Z\"},\
                \"state\":{\"sum\":1},\"shardId\":\"s\",\"eventSourceARN\":\"a\",\"isFinalInvokeForWindow\":true,\
                \"isWindowTerminatedEarly\":false}"
            )
        );
    }
}
