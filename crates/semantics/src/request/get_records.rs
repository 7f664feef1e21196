//! GetRecords: its typed request.

use super::parts::GetRecordsParts;
use crate::limits::STREAM_RECORDS_PER_PAGE_MAX;

/// A GetRecords.
#[derive(Clone, Debug)]
pub struct GetRecords {
    pub shard_iterator: String,
    /// Records on a page at most.
    pub limit: usize,
}

impl GetRecords {
    pub fn validate(parts: GetRecordsParts) -> Self {
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok());
        Self { shard_iterator: parts.shard_iterator, limit: limit.unwrap_or(STREAM_RECORDS_PER_PAGE_MAX) }
    }
}
