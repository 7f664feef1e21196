//! Renders responses about Kinesis destinations, and the changes that Kinesis streams get.
//!
//! Source of the form of changes: records of real streams in public repositories.

use keywright_semantics::request::parts::ApproximateCreationDateTimePrecision as Precision;
use keywright_semantics::response::{
    ChangedDestination, Configuration, DestinationDescription, DestinationRecord, DestinationStatus,
    DestinationsDescription, StreamIdentity,
};

use super::writer::{MS_PER_SECOND, Members, Render, Writer};

const EVENT_SOURCE: &str = "aws:dynamodb";
const RECORD_FORMAT: &str = "application/json";
/// The principal of deletes by time to live (developer guide: Time to Live and Streams).
const SERVICE_PRINCIPAL: &str = "dynamodb.amazonaws.com";
/// Bytes of a record around its keys and images.
const AROUND_IMAGES_BYTES: usize = 512;
const US_PER_MS: u64 = 1_000_000 / MS_PER_SECOND;

struct Null;

impl Render for Null {
    fn render(&self, writer: &mut Writer) {
        writer.raw("null");
    }
}

fn precision(members: &mut Members<'_>, precision: Option<Precision>) {
    members.put_if("ApproximateCreationDateTimePrecision", precision.map(Precision::name));
}

impl Render for DestinationStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Enabling => "ENABLING",
            Self::Active => "ACTIVE",
            Self::Disabling => "DISABLING",
            Self::Disabled => "DISABLED",
            Self::EnableFailed => "ENABLE_FAILED",
            Self::Updating => "UPDATING",
        });
    }
}

impl Render for DestinationDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("StreamArn", &self.stream_arn);
            members.put("DestinationStatus", self.status);
            members.put_if("DestinationStatusDescription", self.description.as_ref());
            precision(members, self.precision);
        });
    }
}

impl Render for DestinationsDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put_array("KinesisDataStreamDestinations", &self.destinations);
        });
    }
}

impl Render for ChangedDestination {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put("StreamArn", &self.stream_arn);
            members.put("DestinationStatus", self.status);
            match self.configuration {
                Configuration::Absent => {}
                Configuration::Enabled(set) => {
                    members.put_object("EnableKinesisStreamingConfiguration", |members| {
                        precision(members, set);
                    });
                }
                Configuration::Updated(set) => {
                    members.put_object("UpdateKinesisStreamingConfiguration", |members| {
                        precision(members, Some(set));
                    });
                }
            }
        });
    }
}

impl Render for DestinationRecord {
    fn render(&self, writer: &mut Writer) {
        let is_fine = self.precision == Some(Precision::Microsecond);
        let created = if is_fine { self.created_us } else { self.created_us / US_PER_MS };
        writer.object(|members| {
            members.put("awsRegion", &self.region);
            members.put("eventID", &self.event_id);
            members.put("eventName", self.event);
            match self.identity {
                StreamIdentity::Caller => members.put("userIdentity", Null),
                StreamIdentity::TimeToLive => members.put_object("userIdentity", |members| {
                    members.put("type", "Service");
                    members.put("principalId", SERVICE_PRINCIPAL);
                }),
            }
            members.put("recordFormat", RECORD_FORMAT);
            members.put("tableName", &self.table_name);
            members.put_object("dynamodb", |members| {
                members.put("ApproximateCreationDateTime", created);
                members.put("Keys", &self.keys);
                members.put_if("NewImage", self.new_image.as_ref());
                members.put_if("OldImage", self.old_image.as_ref());
                members.put("SizeBytes", self.size_bytes);
                precision(members, self.precision.filter(|_| is_fine));
            });
            members.put("eventSource", EVENT_SOURCE);
        });
    }
}

/// The data of a record of a Kinesis stream: one JSON document without a line end.
pub fn kinesis_record(record: &DestinationRecord) -> Vec<u8> {
    let images = [Some(&record.keys), record.new_image.as_ref(), record.old_image.as_ref()];
    let stored: usize = images.into_iter().flatten().map(|image| image.as_bytes().len()).sum();
    let mut writer = Writer::with_capacity(AROUND_IMAGES_BYTES + stored + stored / 2);
    record.render(&mut writer);
    writer.finish()
}

#[cfg(test)]
mod tests {
    use keywright_semantics::codec::EncodedItem;
    use keywright_semantics::response::StreamEvent;
    use keywright_semantics::value::AttributeValue;

    use super::*;

    fn record() -> DestinationRecord {
        let item = |pairs: &[(&str, &str)]| {
            let value = |text: &&str| AttributeValue::S((*text).to_owned());
            EncodedItem::encode(&pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect())
        };
        DestinationRecord {
            event_id: "e".to_owned(),
            event: StreamEvent::Insert,
            identity: StreamIdentity::Caller,
            region: "us-east-2".to_owned(),
            table_name: "t".to_owned(),
            created_us: 1_721_011_165_891_234,
            precision: None,
            keys: item(&[("pk", "1")]),
            new_image: Some(item(&[("pk", "1"), ("a", "x")])),
            old_image: None,
            size_bytes: 137,
            partition_key: "K".to_owned(),
        }
    }

    fn text(record: &DestinationRecord) -> String {
        String::from_utf8(kinesis_record(record)).expect("JSON is text")
    }

    #[test]
    fn a_record_has_the_form_of_real_ones_in_milliseconds() {
        let expected = concat!(
            r#"{"awsRegion":"us-east-2","eventID":"e","eventName":"INSERT","userIdentity":null,"#,
            r#""recordFormat":"application/json","tableName":"t","dynamodb":{"#,
            r#""ApproximateCreationDateTime":1721011165891,"Keys":{"pk":{"S":"1"}},"#,
            r#""NewImage":{"a":{"S":"x"},"pk":{"S":"1"}},"SizeBytes":137},"eventSource":"aws:dynamodb"}"#
        );
        assert_eq!(text(&record()), expected);
        let set = DestinationRecord { precision: Some(Precision::Millisecond), ..record() };
        assert_eq!(text(&set), expected);
    }

    #[test]
    fn microseconds_are_named_and_an_expired_items_record_names_the_service() {
        let expired = DestinationRecord {
            precision: Some(Precision::Microsecond),
            event: StreamEvent::Remove,
            identity: StreamIdentity::TimeToLive,
            new_image: None,
            old_image: record().new_image,
            ..record()
        };
        let expected = concat!(
            r#"{"awsRegion":"us-east-2","eventID":"e","eventName":"REMOVE","#,
            r#""userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},"#,
            r#""recordFormat":"application/json","tableName":"t","dynamodb":{"#,
            r#""ApproximateCreationDateTime":1721011165891234,"Keys":{"pk":{"S":"1"}},"#,
            r#""OldImage":{"a":{"S":"x"},"pk":{"S":"1"}},"SizeBytes":137,"#,
            r#""ApproximateCreationDateTimePrecision":"MICROSECOND"},"eventSource":"aws:dynamodb"}"#
        );
        assert_eq!(text(&expired), expected);
    }
}
