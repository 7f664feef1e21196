//! Reports about records that were passed over, as Lambda's destinations on failure get them.

use crate::render::Writer;

/// Why records were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// They were tried as often as allowed.
    RetryAttemptsExhausted,
    /// They were too old.
    RecordAgeExceeded,
}

impl Condition {
    /// The name that readers see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetryAttemptsExhausted => "RetryAttemptsExhausted",
            Self::RecordAgeExceeded => "RecordAgeExceeded",
        }
    }
}

/// Whether a report holds the event too: objects do, other destinations do not.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'p> {
    /// The event.
    Event(&'p [u8]),
    /// Nothing.
    Absent,
}

/// Records that were passed over.
#[derive(Clone, Copy, Debug)]
pub struct FailedBatch<'b> {
    /// The id of the last invocation.
    pub request_id: &'b str,
    /// The target.
    pub function_arn: &'b str,
    /// Why.
    pub condition: Condition,
    /// How often they were sent.
    pub invocations: u64,
    /// What the target answered last: status, and the function's error. `None`: it was not called.
    pub answer: Option<(u16, Option<&'b str>)>,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// The shard.
    pub shard_id: &'b str,
    /// The first record's sequence number.
    pub first: &'b str,
    /// The last record's.
    pub last: &'b str,
    /// When the first change was made, in milliseconds since 1970.
    pub first_ms: u64,
    /// When the last one was.
    pub last_ms: u64,
    /// How many there are.
    pub records: usize,
    /// The stream.
    pub stream_arn: &'b str,
}

/// `2026-01-02T03:04:05.678Z`.
fn ms(ms: u64) -> String {
    let seconds = super::seconds(ms);
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), ms % 1000)
}

/// The report.
pub fn failed_batch(batch: &FailedBatch<'_>, payload: Payload<'_>) -> Vec<u8> {
    assert!(batch.records > 0, "a report is about records");
    let mut writer = Writer::with_capacity(1024);
    writer.object(|members| {
        members.put_object("requestContext", |members| {
            members.put("requestId", batch.request_id);
            members.put("functionArn", batch.function_arn);
            members.put("condition", batch.condition.name());
            members.put("approximateInvokeCount", batch.invocations);
        });
        if let Some((status, error)) = batch.answer {
            members.put_object("responseContext", |members| {
                members.put("statusCode", u64::from(status));
                members.put("executedVersion", "$LATEST");
                members.put_if("functionError", error);
            });
        }
        members.put("version", "1.0");
        members.put("timestamp", ms(batch.now_ms));
        members.put_object("DDBStreamBatchInfo", |members| {
            members.put("shardId", batch.shard_id);
            members.put("startSequenceNumber", batch.first);
            members.put("endSequenceNumber", batch.last);
            members.put("approximateArrivalOfFirstRecord", ms(batch.first_ms));
            members.put("approximateArrivalOfLastRecord", ms(batch.last_ms));
            members.put("batchSize", u64::try_from(batch.records).unwrap_or(u64::MAX));
            members.put("streamArn", batch.stream_arn);
        });
        if let Payload::Event(event) = payload {
            members.put("payload", String::from_utf8_lossy(event).as_ref());
        }
    });
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_was_passed_over_and_why() {
        let batch = FailedBatch {
            request_id: "r",
            function_arn: "f",
            condition: Condition::RetryAttemptsExhausted,
            invocations: 3,
            answer: Some((200, Some("Unhandled"))),
            now_ms: 1_500,
            shard_id: "s",
            first: "1",
            last: "2",
            first_ms: 0,
            last_ms: 1_007,
            records: 2,
            stream_arn: "a",
        };
        assert_eq!(
            String::from_utf8(failed_batch(&batch, Payload::Event(b"{\"Records\":[]}"))).as_deref(),
            Ok("{\"requestContext\":{\"requestId\":\"r\",\"functionArn\":\"f\",\
                \"condition\":\"RetryAttemptsExhausted\",\"approximateInvokeCount\":3},\
                \"responseContext\":{\"statusCode\":200,\"executedVersion\":\"$LATEST\",\
                \"functionError\":\"Unhandled\"},\"version\":\"1.0\",\"timestamp\":\"1970-01-01T00:00:01.500Z\",\
                \"DDBStreamBatchInfo\":{\"shardId\":\"s\",\"startSequenceNumber\":\"1\",\
                \"endSequenceNumber\":\"2\",\"approximateArrivalOfFirstRecord\":\"1970-01-01T00:00:00.000Z\",\
                \"approximateArrivalOfLastRecord\":\"1970-01-01T00:00:01.007Z\",\"batchSize\":2,\
                \"streamArn\":\"a\"},\"payload\":\"{\\\"Records\\\":[]}\"}")
        );
    }
}
