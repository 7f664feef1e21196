//! GetShardIterator: its typed request.

use super::parts::{GetShardIteratorParts, ShardIteratorType};
use super::stream_ref::StreamRef;
use crate::error::Error;
use crate::messages::stream as messages;
use crate::sequence::SequenceNumber;

/// Where in a shard reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardPosition {
    /// At the oldest record that is kept.
    TrimHorizon,
    /// After the newest record.
    Latest,
    /// At the record of this number.
    At(SequenceNumber),
    /// After the record of this number.
    After(SequenceNumber),
    /// At the first record written at this time or later, in milliseconds since 1970.
    AtTimestampMs(u64),
}

/// A GetShardIterator.
#[derive(Clone, Debug)]
pub struct GetShardIterator {
    /// The stream, by ARN.
    pub stream: StreamRef,
    /// The shard's id, which may not exist.
    pub shard_id: String,
    /// Where reading begins.
    pub position: ShardPosition,
}

impl GetShardIterator {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: GetShardIteratorParts) -> Result<Self, Error> {
        let stream = StreamRef::parse(&parts.stream_arn)?;
        let position = position(&parts)?;
        Ok(Self { stream, shard_id: parts.shard_id, position })
    }
}

fn position(parts: &GetShardIteratorParts) -> Result<ShardPosition, Error> {
    let kind = parts.shard_iterator_type;
    let number = match (kind, &parts.sequence_number) {
        (ShardIteratorType::AtSequenceNumber | ShardIteratorType::AfterSequenceNumber, None) => {
            return Err(Error::validation(messages::sequence_number_missing(kind.name())));
        }
        (ShardIteratorType::AtSequenceNumber | ShardIteratorType::AfterSequenceNumber, Some(text)) => {
            let number = SequenceNumber::parse(text);
            Some(number.ok_or_else(|| Error::validation(messages::INVALID_SEQUENCE_NUMBER))?)
        }
        (_, Some(_)) => return Err(Error::validation(messages::sequence_number_unwanted(kind.name()))),
        (_, None) => None,
    };
    match (kind, number, parts.timestamp) {
        (ShardIteratorType::AtSequenceNumber, Some(number), _) => Ok(ShardPosition::At(number)),
        (ShardIteratorType::AfterSequenceNumber, Some(number), _) => Ok(ShardPosition::After(number)),
        (ShardIteratorType::AtTimestamp, _, None) => Err(Error::validation(messages::TIMESTAMP_MISSING)),
        (ShardIteratorType::AtTimestamp, _, Some(ms)) => {
            Ok(ShardPosition::AtTimestampMs(u64::try_from(ms).unwrap_or(0)))
        }
        (ShardIteratorType::Latest, ..) => Ok(ShardPosition::Latest),
        (ShardIteratorType::TrimHorizon, ..) => Ok(ShardPosition::TrimHorizon),
        (ShardIteratorType::AtSequenceNumber | ShardIteratorType::AfterSequenceNumber, None, _) => {
            Err(Error::validation(messages::sequence_number_missing(kind.name())))
        }
    }
}
