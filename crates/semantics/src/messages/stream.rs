//! Messages about streams, shards and shard iterators.

/// Observed (us-east-1): text that is not the ARN of a stream.
pub const INVALID_ARN: &str = "Invalid StreamArn";

/// Observed (us-east-1): text that is no shard iterator of the service.
pub const INVALID_ITERATOR: &str = "Invalid ShardIterator";

/// Text that is no sequence number.
pub const INVALID_SEQUENCE_NUMBER: &str = "Invalid SequenceNumber";

/// The service model's text of `ExpiredIteratorException`.
pub const ITERATOR_EXPIRED: &str = "The provided iterator exceeds the maximum age allowed.";

/// The service model's text of `TrimmedDataAccessException`.
pub const TRIMMED: &str = "The data you are trying to access has been trimmed.";

/// A shard iterator of type `AT_TIMESTAMP` with a time in the future. The service model names the exception;
/// the text is ours.
pub const TIMESTAMP_IN_FUTURE: &str =
    "Timestamp must not be in the future when ShardIteratorType is AT_TIMESTAMP";

/// A shard iterator of type `AT_TIMESTAMP` without a time.
pub const TIMESTAMP_MISSING: &str = "Timestamp must be provided when ShardIteratorType is AT_TIMESTAMP";

/// Observed (us-east-1).
pub fn stream_not_found(arn: &str) -> String {
    format!("Requested resource not found: Stream: {arn} not found")
}

/// Observed (us-east-1).
pub const SHARD_NOT_FOUND: &str = "Requested resource not found: Shard does not exist";

/// A shard iterator type that needs a sequence number, without one.
pub fn sequence_number_missing(iterator_type: &str) -> String {
    format!("SequenceNumber must be provided when ShardIteratorType is {iterator_type}")
}

/// A shard iterator type that takes no sequence number, with one.
pub fn sequence_number_unwanted(iterator_type: &str) -> String {
    format!("SequenceNumber must not be provided when ShardIteratorType is {iterator_type}")
}
