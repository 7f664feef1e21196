//! The responses of the operations on streams.

use keywright_semantics::response::{
    GetRecordsOutput, ListStreamsOutput, ShardDescription, StreamDescription, StreamEvent, StreamIdentity,
    StreamRecord, StreamStatus, StreamSummary, TimestampMs,
};
use keywright_semantics::sequence::SequenceNumber;

use super::writer::{Array, MS_PER_SECOND, Render, Writer};

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

impl Render for StreamRecord {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("eventID", &self.event_id);
            members.put("eventName", self.event);
            members.put("eventVersion", EVENT_VERSION);
            members.put("eventSource", EVENT_SOURCE);
            members.put("awsRegion", &self.region);
            members.put_object("dynamodb", |members| {
                members.put("ApproximateCreationDateTime", Seconds(self.created));
                members.put("Keys", &self.keys);
                members.put_if("NewImage", self.new_image.as_ref());
                members.put_if("OldImage", self.old_image.as_ref());
                members.put("SequenceNumber", self.sequence_number);
                members.put("SizeBytes", self.size_bytes);
                members.put("StreamViewType", self.view.name());
            });
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
