//! The responses of the operations on streams.

use keywright_semantics::response::{
    GetRecordsOutput, ListStreamsOutput, ShardDescription, StreamDescription, StreamEvent, StreamIdentity,
    StreamRecord, StreamStatus, StreamSummary, TimestampMs,
};
use keywright_semantics::sequence::SequenceNumber;

use super::writer::{Array, MS_PER_SECOND, Members, Render, Writer};

/// The version of the record format, as the service numbers it.
const EVENT_VERSION: &str = "1.1";
const EVENT_SOURCE: &str = "aws:dynamodb";
/// The principal of deletes by time to live (developer guide: Time to Live and Streams).
const SERVICE_PRINCIPAL: &str = "dynamodb.amazonaws.com";
const SERVICE_TYPE: &str = "Service";

pub(super) fn list_streams(writer: &mut Writer, output: &ListStreamsOutput) {
    writer.object(|members| {
        members.put("Streams", Array(&output.streams));
        members.put_if("LastEvaluatedStreamArn", output.last_evaluated_stream_arn.as_ref());
    });
}

pub(super) fn get_records(writer: &mut Writer, output: &GetRecordsOutput) {
    writer.object(|members| {
        members.put_if("NextShardIterator", output.next_shard_iterator.as_ref());
        members.put("Records", Array(&output.records));
    });
}

impl Render for StreamSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("StreamArn", &self.stream_arn);
            members.put("TableName", &self.table_name);
            members.put("StreamLabel", &self.stream_label);
        });
    }
}

impl Render for StreamStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Enabling => "ENABLING",
            Self::Enabled => "ENABLED",
            Self::Disabling => "DISABLING",
            Self::Disabled => "DISABLED",
        });
    }
}

impl Render for StreamEvent {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Insert => "INSERT",
            Self::Modify => "MODIFY",
            Self::Remove => "REMOVE",
        });
    }
}

impl Render for SequenceNumber {
    fn render(&self, writer: &mut Writer) {
        writer.text(&self.to_string());
    }
}

impl Render for ShardDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ShardId", &self.shard_id);
            members.put_object("SequenceNumberRange", |members| {
                members.put("StartingSequenceNumber", self.starting_sequence_number);
                members.put_if("EndingSequenceNumber", self.ending_sequence_number);
            });
            members.put_if("ParentShardId", self.parent_shard_id.as_ref());
        });
    }
}

impl Render for StreamDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("StreamArn", &self.stream_arn);
            members.put("StreamLabel", &self.stream_label);
            members.put("StreamStatus", self.status);
            members.put("StreamViewType", self.view.name());
            members.put("CreationRequestDateTime", self.created);
            members.put("TableName", &self.table_name);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("Shards", Array(&self.shards));
            members.put_if("LastEvaluatedShardId", self.last_evaluated_shard_id.as_ref());
        });
    }
}

/// The time of a change in whole seconds, as the service reports it.
struct Seconds(TimestampMs);

impl Render for Seconds {
    fn render(&self, writer: &mut Writer) {
        writer.integer(self.0.0 / MS_PER_SECOND);
        writer.raw(".0");
    }
}

/// What a record says in its first members, with its time in this form.
fn change(members: &mut Members<'_>, record: &StreamRecord, created: impl Render) {
    members.put("eventID", &record.event_id);
    members.put("eventName", record.event);
    members.put("eventVersion", EVENT_VERSION);
    members.put("eventSource", EVENT_SOURCE);
    members.put("awsRegion", &record.region);
    members.put_object("dynamodb", |members| {
        members.put("ApproximateCreationDateTime", created);
        members.put("Keys", &record.keys);
        members.put_if("NewImage", record.new_image.as_ref());
        members.put_if("OldImage", record.old_image.as_ref());
        members.put("SequenceNumber", record.sequence_number);
        members.put("SizeBytes", record.size_bytes);
        members.put("StreamViewType", record.view.name());
    });
}

impl Render for StreamRecord {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            change(members, self, Seconds(self.created));
            match self.identity {
                StreamIdentity::Caller => {}
                StreamIdentity::TimeToLive => members.put_object("userIdentity", |members| {
                    members.put("PrincipalId", SERVICE_PRINCIPAL);
                    members.put("Type", SERVICE_TYPE);
                }),
            }
        });
    }
}

/// A record as Lambda hands it to functions: whole seconds, the identity in lower case, the stream's ARN.
pub(crate) fn lambda_record(record: &StreamRecord, stream_arn: &str) -> Vec<u8> {
    let bytes = usize::try_from(record.size_bytes).unwrap_or_default().saturating_mul(2);
    let mut writer = Writer::with_capacity(bytes.saturating_add(512));
    writer.object(|members| {
        change(members, record, record.created.0 / MS_PER_SECOND);
        match record.identity {
            StreamIdentity::Caller => {}
            StreamIdentity::TimeToLive => members.put_object("userIdentity", |members| {
                members.put("type", SERVICE_TYPE);
                members.put("principalId", SERVICE_PRINCIPAL);
            }),
        }
        members.put("eventSourceARN", stream_arn);
    });
    writer.finish()
}
