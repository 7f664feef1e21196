//! DescribeStream: its typed request.

use super::parts::DescribeStreamParts;
use super::stream_ref::StreamRef;
use crate::error::Error;
use crate::limits::SHARDS_PER_PAGE_MAX;

/// Which shards of a stream are described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardSelection {
    /// All shards of the stream.
    All,
    /// Those whose parent is this shard.
    ChildrenOf(String),
}

/// A DescribeStream.
#[derive(Clone, Debug)]
pub struct DescribeStream {
    /// The stream, by ARN.
    pub stream: StreamRef,
    /// Shards on a page at most.
    pub limit: usize,
    /// The last shard of the previous page.
    pub exclusive_start_shard_id: Option<String>,
    /// Which shards the pages list.
    pub shards: ShardSelection,
}

impl DescribeStream {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: DescribeStreamParts) -> Result<Self, Error> {
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok());
        // There is only one type of filter, and the shape check requires both of its members.
        let filter = parts.shard_filter.and_then(|filter| filter.shard_id);
        Ok(Self {
            stream: StreamRef::parse(&parts.stream_arn)?,
            limit: limit.unwrap_or(SHARDS_PER_PAGE_MAX),
            exclusive_start_shard_id: parts.exclusive_start_shard_id,
            shards: filter.map_or(ShardSelection::All, ShardSelection::ChildrenOf),
        })
    }
}
