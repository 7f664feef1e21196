//! What whoever opens an engine may choose.

use std::sync::Arc;

use crate::support::lane::Lane;

/// Ten gigabytes: the service's limit of an item collection (developer guide: LSI).
const ITEM_COLLECTION_BYTES_MAX: u64 = 10 * 1024 * 1024 * 1024;
/// Tables of one account in one region (developer guide: `ServiceQuotas`).
const TABLES_MAX: usize = 2500;
/// More than one machine can fill.
const STREAM_SHARDS_MAX: u32 = 64;
/// At four hours each, 64 open shards come to half as many in a day.
const STREAM_SHARDS_KEPT_MAX: usize = 1000;
/// The service closes shards after about four hours (observed).
const STREAM_SHARD_OPEN_MS_MAX: u64 = 4 * 60 * 60 * 1000;
/// The service takes up to a few days; a minute lets applications meet expired items all the same.
const TTL_DELAY_MS: u64 = 60_000;

/// Settings of one engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// How long a table or index stays CREATING, UPDATING or DELETING beyond the work itself.
    pub transition_ms: u64,
    /// The size at which an item collection of a table with local indexes takes no more.
    pub item_collection_bytes_max: u64,
    /// Tables that one account may have in one region.
    pub tables_max: usize,
    /// Open shards of one stream.
    pub stream_shards_max: u32,
    /// Shards of one stream, closed ones included, at which none gives way any more until old ones are forgotten.
    pub stream_shards_kept_max: usize,
    /// How long a stream's shard takes records before a successor takes its place.
    pub stream_shard_open_ms_max: u64,
    /// How long after its time an item is deleted by time to live.
    pub ttl_delay_ms: u64,
    /// Where long computations take place.
    pub lane: Arc<Lane>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            transition_ms: 0,
            item_collection_bytes_max: ITEM_COLLECTION_BYTES_MAX,
            tables_max: TABLES_MAX,
            stream_shards_max: STREAM_SHARDS_MAX,
            stream_shards_kept_max: STREAM_SHARDS_KEPT_MAX,
            stream_shard_open_ms_max: STREAM_SHARD_OPEN_MS_MAX,
            ttl_delay_ms: TTL_DELAY_MS,
            lane: Arc::default(),
        }
    }
}
