//! The two calls of Kinesis that deliver changes: their bodies, and what their answers say.
//!
//! Source: API reference of Kinesis Data Streams. It does not know sockets and signatures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The `x-amz-target` of `DescribeStreamSummary`.
pub const DESCRIBE_TARGET: &str = "Kinesis_20131202.DescribeStreamSummary";
/// The `x-amz-target` of `PutRecords`.
pub const PUT_TARGET: &str = "Kinesis_20131202.PutRecords";
/// Records of one `PutRecords`.
pub const RECORDS_MAX: usize = 500;
/// Bytes of data and partition keys of one `PutRecords`.
pub const PUT_BYTES_MAX: usize = 5 * 1024 * 1024;
/// Bytes of one record's data and partition key.
pub const RECORD_BYTES_MAX: usize = 1024 * 1024;

/// A stream as its ARN names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamName {
    /// The region's code.
    pub region: String,
    /// The stream's name.
    pub name: String,
}

impl StreamName {
    /// Reads `arn:aws:kinesis:REGION:ACCOUNT:stream/NAME`. `None` for any other text.
    pub fn of_arn(arn: &str) -> Option<Self> {
        let parts: Vec<&str> = arn.split(':').collect();
        let &["arn", _partition, "kinesis", region, _account, resource] = parts.as_slice() else {
            return None;
        };
        let name = resource.strip_prefix("stream/")?;
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let is_region = !region.is_empty()
            && region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        (is_name && is_region).then(|| Self { region: region.to_owned(), name: name.to_owned() })
    }
}

/// A record to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Chooses the stream's shard.
    pub partition_key: String,
    /// The data.
    pub data: Vec<u8>,
}

impl Record {
    /// Bytes that limits count.
    pub fn counted_bytes(&self) -> usize {
        self.partition_key.len() + self.data.len()
    }
}

/// The body of a `DescribeStreamSummary`.
pub fn describe_body(arn: &str, name: &str) -> Vec<u8> {
    serde_json::json!({ "StreamARN": arn, "StreamName": name }).to_string().into_bytes()
}

/// The body of a `PutRecords`.
pub fn put_body<'r>(arn: &str, name: &str, records: impl IntoIterator<Item = &'r Record>) -> Vec<u8> {
    let text = |text: &str| Value::from(text).to_string();
    let mut body = format!("{{\"StreamARN\":{},\"StreamName\":{},\"Records\":[", text(arn), text(name));
    for (place, record) in records.into_iter().enumerate() {
        if place > 0 {
            body.push(',');
        }
        body.push_str("{\"PartitionKey\":");
        body.push_str(&text(&record.partition_key));
        body.push_str(",\"Data\":\"");
        STANDARD.encode_string(&record.data, &mut body);
        body.push_str("\"}");
    }
    body.push_str("]}");
    body.into_bytes()
}

/// Whether each of `count` records of a `PutRecords` was put; `None` if the answer does not say.
pub fn put_records(answer: &[u8], count: usize) -> Option<Vec<bool>> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let records = answer.get("Records")?.as_array()?;
    let is_put = |record: &Value| {
        let failed = record.get("ErrorCode").is_some_and(|code| !code.is_null());
        !failed && record.get("SequenceNumber").is_some_and(Value::is_string)
    };
    (records.len() == count).then(|| records.iter().map(is_put).collect())
}

/// The first `ErrorCode` of a `PutRecords` answer.
pub fn first_error(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let records = answer.get("Records")?.as_array()?;
    records.iter().find_map(|record| Some(record.get("ErrorCode")?.as_str()?.to_owned()))
}

/// Whether a `DescribeStreamSummary` answer tells of a stream that takes records; `None` if it tells of none.
pub fn is_active(answer: &[u8]) -> Option<bool> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let status = answer.get("StreamDescriptionSummary")?.get("StreamStatus")?.as_str()?;
    Some(matches!(status, "ACTIVE" | "UPDATING"))
}

/// The name of the error in an answer, without the part before `#`.
pub fn error_name(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let name = answer.get("__type")?.as_str()?;
    Some(name.rsplit('#').next().unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streams_arn_is_read_and_no_other() {
        let found = StreamName::of_arn("arn:aws:kinesis:eu-west-1:123456789012:stream/Orders-1");
        assert_eq!(found, Some(StreamName { region: "eu-west-1".to_owned(), name: "Orders-1".to_owned() }));
        for arn in [
            "",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders",
            "arn:aws:kinesis:eu-west-1:123456789012:stream/",
            "arn:aws:kinesis:eu-west-1:123456789012:stream/a/consumer/b:1",
            "arn:aws:kinesis:x.example/?:123456789012:stream/a",
            "arn:aws:firehose:eu-west-1:123456789012:deliverystream/a",
        ] {
            assert_eq!(StreamName::of_arn(arn), None, "{arn}");
        }
    }

    #[test]
    fn a_body_has_the_records_in_their_order() {
        let record = |key: &str, data: &[u8]| Record { partition_key: key.to_owned(), data: data.to_vec() };
        let records = [record("A", b"one"), record("B", b"\xff\x00")];
        let body = String::from_utf8(put_body("a\"rn", "n", &records)).expect("JSON is text");
        assert_eq!(
            body,
            r#"{"StreamARN":"a\"rn","StreamName":"n","Records":[{"PartitionKey":"A","Data":"b25l"},{"PartitionKey":"B","Data":"/wA="}]}"#
        );
    }

    #[test]
    fn an_answer_tells_which_records_were_put() {
        let answer = br#"{"FailedRecordCount":1,"Records":[{"SequenceNumber":"1","ShardId":"s"},
            {"ErrorCode":"ProvisionedThroughputExceededException","ErrorMessage":"m"}]}"#;
        assert_eq!(put_records(answer, 2), Some(vec![true, false]));
        assert_eq!(first_error(answer).as_deref(), Some("ProvisionedThroughputExceededException"));
        assert_eq!(put_records(answer, 3), None);
        assert_eq!(put_records(b"{}", 0), None);
        assert_eq!(put_records(b"<html>", 1), None);
        let none = br#"{"FailedRecordCount":0,"Records":[{"SequenceNumber":"1","ErrorCode":null}]}"#;
        assert_eq!((put_records(none, 1), first_error(none)), (Some(vec![true]), None));
    }

    #[test]
    fn a_stream_takes_records_while_it_is_active_or_updated() {
        let answer = |status: &str| {
            format!(r#"{{"StreamDescriptionSummary":{{"StreamStatus":"{status}"}}}}"#).into_bytes()
        };
        assert_eq!(is_active(&answer("ACTIVE")), Some(true));
        assert_eq!(is_active(&answer("UPDATING")), Some(true));
        assert_eq!(is_active(&answer("CREATING")), Some(false));
        assert_eq!(is_active(b"{}"), None);
        assert_eq!(
            error_name(br#"{"__type":"com.amazonaws#ResourceNotFoundException"}"#).as_deref(),
            Some("ResourceNotFoundException")
        );
    }
}
