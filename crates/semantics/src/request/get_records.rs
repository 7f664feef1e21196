//! GetRecords: its typed request.

use super::parts::GetRecordsParts;
use crate::limits::STREAM_RECORDS_PER_PAGE_MAX;

/// A GetRecords.
#[derive(Clone, Debug)]
pub struct GetRecords {
    /// The opaque text that GetShardIterator or the previous page returned.
    pub shard_iterator: String,
    /// Records on a page at most.
    pub limit: usize,
}

impl GetRecords {
    /// Takes the limit of the request, or the service's default. The shape check has bounded it.
    pub fn validate(parts: GetRecordsParts) -> Self {
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok());
        Self { shard_iterator: parts.shard_iterator, limit: limit.unwrap_or(STREAM_RECORDS_PER_PAGE_MAX) }
    }
}
