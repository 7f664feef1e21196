//! ListStreams: its typed request.

use super::parts::ListStreamsParts;
use super::stream_ref::StreamRef;
use crate::error::Error;
use crate::limits::STREAMS_PER_PAGE_MAX;

/// A ListStreams.
#[derive(Clone, Debug)]
pub struct ListStreams {
    /// Only streams of tables of this name.
    pub table_name: Option<String>,
    /// Streams on a page at most.
    pub limit: usize,
    /// The last stream of the previous page.
    pub exclusive_start: Option<StreamRef>,
}

impl ListStreams {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: ListStreamsParts) -> Result<Self, Error> {
        let start = parts.exclusive_start_stream_arn.as_deref();
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok());
        Ok(Self {
            table_name: parts.table_name,
            limit: limit.unwrap_or(STREAMS_PER_PAGE_MAX),
            exclusive_start: start.map(StreamRef::parse).transpose()?,
        })
    }
}
