//! Settings of an engine.

use std::sync::Arc;

use keywright_semantics::limits::{
    EXPORT_WINDOW_MS_MIN, LOCAL_COLLECTION_BYTES_MAX, STREAM_SHARD_OPEN_MS_MAX, TABLES_MAX,
};

use crate::support::image_memory::ImageMemory;
use crate::support::lane::Lane;
use crate::support::observer::{Observer, Unobserved};
use crate::support::throughput::ThroughputConfig;

/// Definitions of all tables of all accounts and regions: some 30,000 plain tables, or 600 with every index
/// and tag.
const RECORD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// One machine's writes cannot fill more shards.
const STREAM_SHARDS_MAX: u32 = 64;
/// 64 open shards, each replaced after four hours, are 384 in a day.
const STREAM_SHARDS_KEPT_MAX: usize = 1000;
/// The service takes up to a few days. With a minute, applications still see expired items now and then.
const TTL_DELAY_MS: u64 = 60_000;

/// What branches may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchLimits {
    /// Branches at one time; `None` for any number.
    pub count_max: Option<usize>,
    /// Bytes that all of them have copied; `None` for any number.
    pub bytes_max: Option<u64>,
    /// Which branches the limits count.
    pub counted: CountedTogether,
}

/// Which branches one limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedTogether {
    /// Those of one account.
    Account,
    /// Those of all accounts: for a server on which a client can name any account.
    Everything,
}

/// Jobs of each kind that one process works on at a time; further ones wait.
const JOB_THREADS: usize = 2;

/// Settings of one engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// How long a table or index stays CREATING, UPDATING or DELETING beyond the work itself.
    pub transition_ms: u64,
    /// The size beyond which an item collection of a table with local indexes must not grow.
    pub item_collection_bytes_max: u64,
    /// Tables that one account may have in one region.
    pub tables_max: usize,
    /// Bytes of the definitions of all tables of all accounts and regions, deleted ones with a stream
    /// included.
    pub record_bytes_max: usize,
    /// Limits on branches.
    pub branches: BranchLimits,
    /// Open shards of one stream.
    pub stream_shards_max: u32,
    /// Shards of one stream, closed ones included; at this number none is split or replaced until old ones
    /// expire.
    pub stream_shards_kept_max: usize,
    /// How long a stream's shard takes records before a new shard replaces it.
    pub stream_shard_open_ms_max: u64,
    /// How long after its expiry time an item is deleted.
    pub ttl_delay_ms: u64,
    /// How long after a change of a resource policy the next one is refused; the service's is 15 seconds.
    pub policy_change_wait_ms: u64,
    /// Whether new tables have point-in-time recovery.
    pub pitr_default: bool,
    /// How far the latest time to which a table can be restored is behind.
    pub pitr_lag_ms: u64,
    /// The shortest window of an incremental export.
    pub export_window_ms_min: u64,
    /// Jobs that this process works on at a time: so many of those that the engine does alone, and so many of
    /// those that need objects.
    pub job_threads: usize,
    /// Rows that all restores of this process together write in a second; `None` for no limit. What a caller
    /// feeds from outside is not among them.
    pub load_rate: Option<u64>,
    /// Whether backups are copied to a store of their own. Without one they keep the history of their tables.
    pub seals: bool,
    /// Whether metrics are those of the service alone, without ours of tables.
    pub strict_metrics: bool,
    /// Runs long computations.
    pub lane: Arc<Lane>,
    /// Memory for the images of large items that are being written.
    pub images: Arc<ImageMemory>,
    /// Receives what requests consume.
    pub observer: Arc<dyn Observer>,
    /// Limits of throughput.
    pub throughput: ThroughputConfig,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            transition_ms: 0,
            item_collection_bytes_max: LOCAL_COLLECTION_BYTES_MAX,
            tables_max: TABLES_MAX,
            record_bytes_max: RECORD_BYTES_MAX,
            branches: BranchLimits { count_max: None, bytes_max: None, counted: CountedTogether::Account },
            stream_shards_max: STREAM_SHARDS_MAX,
            stream_shards_kept_max: STREAM_SHARDS_KEPT_MAX,
            stream_shard_open_ms_max: STREAM_SHARD_OPEN_MS_MAX,
            ttl_delay_ms: TTL_DELAY_MS,
            policy_change_wait_ms: 0,
            pitr_default: false,
            pitr_lag_ms: 0,
            export_window_ms_min: EXPORT_WINDOW_MS_MIN,
            job_threads: JOB_THREADS,
            load_rate: None,
            seals: false,
            strict_metrics: false,
            lane: Arc::default(),
            images: Arc::default(),
            observer: Arc::new(Unobserved),
            throughput: ThroughputConfig::default(),
        }
    }
}
