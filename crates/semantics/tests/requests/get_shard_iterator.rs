//! GetShardIterator.

use keywright_semantics::request::parts::{GetShardIteratorParts, ShardIteratorType};
use keywright_semantics::request::{GetShardIterator, ShardPosition};

use super::Dialect::Any;
use super::{Row, check, some};

const NUMBER: &str = "10000000000000000000001";

fn base() -> GetShardIteratorParts {
    GetShardIteratorParts {
        stream_arn: "arn:aws:dynamodb:us-east-1:1:table/Shop/stream/2026-01-02T03:04:05.678".to_owned(),
        shard_id: "shardId-00000001767323045678-00000001".to_owned(),
        shard_iterator_type: ShardIteratorType::TrimHorizon,
        sequence_number: None,
        timestamp: None,
    }
}

#[rustfmt::skip]
const ROWS: &[Row<GetShardIteratorParts>] = &[
    (Any, |p| p.stream_arn = "sdfadfsdfnlfkajakfgjalksfgklasjklasdjfklasdfasdfgasf".into(),
        "Invalid StreamArn"),
];

/// Rows are tried alone: the iterator type decides which other members are required.
#[rustfmt::skip]
const BY_TYPE: &[Row<GetShardIteratorParts>] = &[
    (Any, |p| p.shard_iterator_type = ShardIteratorType::AtSequenceNumber,
        "SequenceNumber must be provided when ShardIteratorType is AT_SEQUENCE_NUMBER"),
    (Any, |p| p.shard_iterator_type = ShardIteratorType::AfterSequenceNumber,
        "SequenceNumber must be provided when ShardIteratorType is AFTER_SEQUENCE_NUMBER"),
    (Any, |p| p.shard_iterator_type = ShardIteratorType::AtTimestamp,
        "Timestamp must be provided when ShardIteratorType is AT_TIMESTAMP"),
    (Any, |p| p.sequence_number = some(NUMBER),
        "SequenceNumber must not be provided when ShardIteratorType is TRIM_HORIZON"),
    (Any, |p| {
        p.shard_iterator_type = ShardIteratorType::AtSequenceNumber;
        p.sequence_number = some("sdfsafglldfngjdafnasdflgnald");
    }, "Invalid SequenceNumber"),
];

#[test]
fn faults_are_reported_in_this_order() {
    check(&base(), GetShardIterator::validate, ROWS);
    for row in BY_TYPE {
        check(&base(), GetShardIterator::validate, std::slice::from_ref(row));
    }
}

#[test]
fn times_are_milliseconds_and_none_lies_before_1970() {
    for (timestamp, expected) in [(1_767_323_045_678, 1_767_323_045_678), (-5, 0)] {
        let parts = GetShardIteratorParts {
            shard_iterator_type: ShardIteratorType::AtTimestamp,
            timestamp: Some(timestamp),
            ..base()
        };
        let request = GetShardIterator::validate(parts).expect("a well-formed request");
        assert_eq!(request.position, ShardPosition::AtTimestampMs(expected));
    }
}
