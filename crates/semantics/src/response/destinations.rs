//! The responses of the operations on Kinesis destinations, and the changes that destinations get.

use super::{StreamEvent, StreamIdentity};
use crate::codec::EncodedItem;
use crate::request::parts::ApproximateCreationDateTimePrecision as Precision;

/// The state of a destination (API reference: `DestinationStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationStatus {
    /// The stream was not reached yet.
    Enabling,
    /// The stream gets the table's changes.
    Active,
    /// It gets no more.
    Disabling,
    /// It gets no more.
    Disabled,
    /// The stream cannot be used.
    EnableFailed,
    /// The precision of times changes.
    Updating,
}

/// A destination as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationDescription {
    /// The stream.
    pub stream_arn: String,
    /// The state.
    pub status: DestinationStatus,
    /// Why it could not be enabled.
    pub description: Option<String>,
    /// The precision of times, once it was set.
    pub precision: Option<Precision>,
}

/// The response of DescribeKinesisStreamingDestination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationsDescription {
    /// The table.
    pub table_name: String,
    /// Its destinations, the newest first.
    pub destinations: Vec<DestinationDescription>,
}

/// What the response about a changed destination repeats of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// Nothing.
    Absent,
    /// `EnableKinesisStreamingConfiguration`, which may be empty.
    Enabled(Option<Precision>),
    /// `UpdateKinesisStreamingConfiguration`.
    Updated(Precision),
}

/// The response of the operations that change a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDestination {
    /// The table.
    pub table_name: String,
    /// The stream.
    pub stream_arn: String,
    /// The state.
    pub status: DestinationStatus,
    /// What the client asked for.
    pub configuration: Configuration,
}

/// A change of an item, as a Kinesis stream gets it.
#[derive(Clone, Debug)]
pub struct DestinationRecord {
    /// A unique id; a consumer that gets a record twice sees it again.
    pub event_id: String,
    /// What happened to the item.
    pub event: StreamEvent,
    /// Who changed the item.
    pub identity: StreamIdentity,
    /// The region of the table.
    pub region: String,
    /// The table.
    pub table_name: String,
    /// When the change was made, in microseconds since 1970.
    pub created_us: u64,
    /// The precision in which its time is reported, if it was set.
    pub precision: Option<Precision>,
    /// The item's primary key.
    pub keys: EncodedItem,
    /// The item after the change.
    pub new_image: Option<EncodedItem>,
    /// The item before the change.
    pub old_image: Option<EncodedItem>,
    /// Size of the keys and images in bytes.
    pub size_bytes: u64,
    /// The key by which the stream chooses a shard: the same for all changes of an item.
    pub partition_key: String,
}
